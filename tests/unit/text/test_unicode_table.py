"""The checked-in table is what its generator writes, and its ranges are sound."""

from __future__ import annotations

import importlib.util
import itertools
import unicodedata
from pathlib import Path

import pytest

from pincite.text import unicode_table as table

ROOT = Path(__file__).parents[3]
CLASSES = (table.LETTERS, table.DIGITS, table.MARKS, table.BIGRAMS, table.UNASSIGNED)


@pytest.mark.skipif(
    unicodedata.unidata_version != table.UNICODE_VERSION,
    reason="the generator writes the table of its interpreter's Unicode version",
)
def test_the_checked_in_table_is_the_generated_one() -> None:
    spec = importlib.util.spec_from_file_location("tool", ROOT / "tools/make_unicode_table.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)

    written = (ROOT / "src/pincite/text/unicode_table.py").read_text(encoding="utf-8")

    assert tool.render() == written


@pytest.mark.parametrize(
    "flat", [*CLASSES, table.BIGRAM_MARKS, table.JOINING, table.OPTIONAL_MARKS]
)
def test_ranges_are_sorted_and_apart(flat: tuple[int, ...]) -> None:
    assert len(flat) % 2 == 0
    assert list(flat) == sorted(flat)
    assert all(end + 1 < start for end, start in zip(flat[1::2], flat[2::2], strict=False))


def test_classes_do_not_overlap() -> None:
    spans = sorted(pair for flat in CLASSES for pair in zip(flat[::2], flat[1::2], strict=True))

    assert all(a[1] < b[0] for a, b in itertools.pairwise(spans))


@pytest.mark.parametrize(
    ("character", "flat"),
    [
        ("a", table.LETTERS), ("ß", table.LETTERS), ("ع", table.LETTERS), ("Ⅷ", table.LETTERS),
        ("7", table.DIGITS), ("٣", table.DIGITS), ("ि", table.MARKS), ("\u0301", table.MARKS),
        ("会", table.BIGRAMS), ("か", table.BIGRAMS), ("ー", table.BIGRAMS), ("々", table.BIGRAMS),
        ("회", table.BIGRAMS), ("ก", table.BIGRAMS), ("ิ", table.BIGRAMS), ("ກ", table.BIGRAMS),
        ("ក", table.BIGRAMS), ("က", table.BIGRAMS), ("\u0378", table.UNASSIGNED),
    ],
)  # fmt: skip
def test_characters_are_in_their_class(character: str, flat: tuple[int, ...]) -> None:
    code = ord(character)

    assert any(first <= code <= last for first, last in zip(flat[::2], flat[1::2], strict=True))
