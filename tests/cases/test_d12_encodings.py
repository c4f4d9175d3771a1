"""One text in seven encodings: found in each, its heading known, no marks left over."""

from __future__ import annotations

import codecs

import pytest

from pincite import Library

from .conftest import found

TEXT = "# Menu caf\u00e9\n\nThe caf\u00e9 opens at nine.\nClosed on Mondays.\n"
CURLY = (
    "# Menu caf\u00e9\n\nThe caf\u00e9 \u201copens\u201d at nine \u2013 it\u2019s late.\nClosed.\n"
)
LATE = "# Menu\n\n" + "Plain words only. " * 300 + "caf\u00e9"
FILES = {
    "utf8.md": TEXT.encode(),
    "utf8-bom.md": codecs.BOM_UTF8 + TEXT.encode(),
    "utf16le.md": codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
    "utf16be.md": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "latin1.md": TEXT.encode("latin-1"),
    "cp1252.md": CURLY.encode("cp1252"),
    "late.md": LATE.encode(),
}


@pytest.fixture(scope="module")
def menus(shared: Library, tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("menus")
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    assert len(shared.add(folder).added) == len(FILES)
    return shared


def test_the_late_word_stands_behind_5000_bytes_of_ascii() -> None:
    assert FILES["late.md"][:5000].isascii()


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_the_word_is_found_in_every_file(menus: Library, mode: str) -> None:
    assert set(found(menus, "caf\u00e9", mode=mode, k=50)) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_no_mark_is_left_and_the_heading_is_known(menus: Library, name: str) -> None:
    chunks = menus.chunks(name)
    heading = "Menu" if name == "late.md" else "Menu caf\u00e9"

    assert all(chunk.context_header == heading for chunk in chunks)
    for chunk in chunks:
        assert not set("\ufeff\ufffd") & set(chunk.content + chunk.context_header)
    assert "\ufeff" not in menus.markdown(name)
    assert menus.markdown(name).startswith("# Menu")


def test_curly_quotes_are_themselves(menus: Library) -> None:
    assert menus.markdown("cp1252.md") == CURLY
