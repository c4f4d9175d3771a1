from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import StoreCorrupt
from pincite.model.geometry import BboxRect, LayoutBlock, Word, WordBoxes
from pincite.model.layout import MarkdownParseResult

_floats = st.floats(0, 2000, width=32)
_words = st.lists(
    st.tuples(st.integers(1, 50), st.integers(1, 9), _floats, _floats, _floats, _floats),
    max_size=30,
)


def _line_up(rows: list[tuple[int, int, float, float, float, float]]) -> list[Word]:
    words, at = [], 0
    for gap, length, *box in rows:
        words.append(Word(at + gap, at + gap + length, BboxRect(1, *box)))
        at += gap + length
    return words


@given(_words)
def test_packed_words_come_back(rows: list[tuple[int, int, float, float, float, float]]) -> None:
    words = _line_up(rows)

    assert list(WordBoxes.unpack(WordBoxes(words).pack())) == words


@given(_words, st.integers(0, 400), st.integers(0, 60))
def test_between_is_every_word_that_overlaps(
    rows: list[tuple[int, int, float, float, float, float]], start: int, length: int
) -> None:
    words = _line_up(rows)
    expected = [w for w in words if w.start_char < start + length and w.end_char > start]

    assert WordBoxes(words).between(start, start + length) == expected


@given(st.binary(min_size=1, max_size=200))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(StoreCorrupt):
        WordBoxes.unpack(data)


def test_every_flipped_bit_is_noticed() -> None:
    packed = WordBoxes([Word(0, 3, BboxRect(1, 1, 2, 3, 4))]).pack()
    for i in range(len(packed)):
        torn = bytearray(packed)
        torn[i] ^= 4
        with pytest.raises(StoreCorrupt):
            WordBoxes.unpack(bytes(torn))


def test_a_parse_result_survives_json() -> None:
    words = WordBoxes([Word(0, 1, BboxRect(1, 1, 2, 3, 4))]).pack()
    result = MarkdownParseResult(
        markdown="x",
        page_ranges=[(0, 1, 1)],
        total_pages=1,
        blocks=[LayoutBlock("paragraph", 0, 1, 1, BboxRect(1, 0, 0, 1, 1))],
        words=words,
    )

    assert MarkdownParseResult.model_validate_json(result.model_dump_json()) == result
