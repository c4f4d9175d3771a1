"""Bytes to text: marks, UTF-16 and UTF-32, UTF-8, Western and other charsets."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.errors import ParseError
from pincite.parsing.decoding import decode
from pincite.parsing.registry import parse

NOTE = "# Le café\n\nUn café noir, s'il vous plaît.\nÀ bientôt !\n"
CURLY = "# Le café\n\nUn “café” noir – s’il vous plaît…\nÀ bientôt !\n"
VARIANTS = {
    "utf-8": NOTE.encode(),
    "utf-8 with mark": codecs.BOM_UTF8 + NOTE.encode(),
    "utf-16 le": codecs.BOM_UTF16_LE + NOTE.encode("utf-16-le"),
    "utf-16 be": codecs.BOM_UTF16_BE + NOTE.encode("utf-16-be"),
    "latin-1": NOTE.encode("latin-1"),
    "cp1252": CURLY.encode("cp1252"),
    "late": ("# Le caf\u00e9\n\n".replace("é", "e") + "word " * 1000 + "\n\ncafé").encode(),
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("extension", ["md", "txt"])
def test_every_encoding_gives_the_word_and_the_heading(name: str, extension: str) -> None:
    result = parse(VARIANTS[name], f"note.{extension}")

    assert "café" in result.markdown
    assert "\ufeff" not in result.markdown
    assert "\ufffd" not in result.markdown
    assert (result.blocks[0].kind, result.blocks[0].level) == ("heading", 1)


def test_curly_quotes_of_windows_survive() -> None:
    assert decode(CURLY.encode("cp1252")) == CURLY


def test_wide_encodings_without_a_mark_are_seen() -> None:
    assert decode(NOTE.encode("utf-16-le")) == NOTE
    assert decode(NOTE.encode("utf-16-be")) == NOTE
    assert decode(codecs.BOM_UTF32_LE + NOTE.encode("utf-32-le")) == NOTE
    assert decode(codecs.BOM_UTF32_BE + NOTE.encode("utf-32-be")) == NOTE


def test_other_alphabets_are_detected() -> None:
    russian = "Все люди рождаются свободными и равными в своём достоинстве и правах. " * 4

    assert decode(russian.encode("cp1251")) == russian


def test_markup_may_declare_its_charset() -> None:
    page = '<html><head><meta charset="iso-8859-7"></head><p>Όλοι</p></html>'

    assert "Όλοι" in decode(page.encode("iso-8859-7"), markup=True)


def test_an_unknown_declared_charset_is_not_believed() -> None:
    page = '<meta charset="klingon"><p>café</p>'

    assert "café" in decode(page.encode("latin-1"), markup=True)


def test_line_ends_become_one_kind() -> None:
    assert decode(b"a\r\nb\rc\n") == "a\nb\nc\n"


def test_binary_data_is_refused_by_name() -> None:
    with pytest.raises(ParseError, match=r"x\.txt holds binary data"):
        decode(b"a\0\0\0b\0\0\0\x01", filename="x.txt")


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff")))
def test_utf8_comes_back_as_it_was(text: str) -> None:
    assert decode(text.encode()) == text
    assert decode(codecs.BOM_UTF8 + text.encode()) == text


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_give_text_or_a_named_error(data: bytes) -> None:
    try:
        text = decode(data)
    except ParseError:
        assert b"\0" in data
    else:
        assert "\r" not in text
