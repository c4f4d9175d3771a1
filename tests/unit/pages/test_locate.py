from __future__ import annotations

import pytest

from pincite.errors import InvalidArgument
from pincite.model.documents import Geometry
from pincite.model.geometry import BboxRect, Word, WordBoxes
from pincite.pages.locate import locate


def _geometry(*words: tuple[int, int, int, float, float, float, float]) -> Geometry:
    boxes = WordBoxes(Word(s, e, BboxRect(page, *box)) for s, e, page, *box in words)
    return Geometry("x" * 100, words=boxes.pack())


def test_words_of_one_line_share_a_rectangle() -> None:
    geometry = _geometry((0, 3, 1, 10, 10, 30, 20), (4, 8, 1, 33, 10, 60, 21))

    assert locate(geometry, 0, 8) == [BboxRect(1, 10, 10, 60, 21)]
    assert locate(geometry, 4, 5) == [BboxRect(1, 33, 10, 60, 21)]


def test_lines_columns_and_pages_stay_apart() -> None:
    geometry = _geometry(
        (0, 3, 1, 10, 10, 30, 20),
        (4, 8, 1, 10, 24, 60, 34),
        (9, 12, 1, 300, 24, 340, 34),
        (13, 15, 2, 10, 24, 60, 34),
    )

    assert [r.page for r in locate(geometry, 0, 15)] == [1, 1, 1, 2]


def test_a_span_without_words_gives_nothing() -> None:
    assert locate(_geometry((0, 3, 1, 1, 1, 2, 2)), 50, 60) == []
    assert locate(Geometry("abc"), 0, 3) == []


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 2), (0, 101)])
def test_a_span_outside_the_document_is_refused(start: int, end: int) -> None:
    with pytest.raises(InvalidArgument, match="offsets"):
        locate(_geometry(), start, end)
