"""What counts as a running line, and what only looks like one."""

from __future__ import annotations

from pincite.parsing.pdf.furniture import without_furniture
from pincite.parsing.pdf.lines import Segment, segments_of
from pincite.parsing.pdf.page import Box, PdfWord

HEIGHT = 800.0


def line(text: str, y: float, *, size: float = 10.0) -> list[Segment]:
    words = [
        PdfWord(word, Box(50.0 + 40 * i, y, 85.0 + 40 * i, y + size), size)
        for i, word in enumerate(text.split())
    ]
    return segments_of(words)


def kept(pages: list[list[Segment]]) -> list[str]:
    left = without_furniture(pages, [HEIGHT] * len(pages), 10.0)
    return [" ".join(w.text for s in page for w in s.words) for page in left]


def test_equal_lines_and_counting_numbers_go() -> None:
    pages = [
        [*line("Harbour Report", 40), *line(f"text {n}", 300), *line(f"Page {n} of 9", 770)]
        for n in (4, 5, 6)
    ]

    assert kept(pages) == ["text 4", "text 5", "text 6"]


def test_two_pages_are_too_few() -> None:
    pages = [[*line("Harbour Report", 40), *line("text", 300)] for _ in range(2)]

    assert kept(pages) == ["Harbour Report text"] * 2


def test_headers_of_left_and_right_pages_both_go() -> None:
    pages = [[*line(("Left", "Right")[n % 2], 40), *line("text", 300)] for n in range(6)]

    assert kept(pages) == ["text"] * 6


def test_rows_of_numbers_at_the_top_of_pages_stay() -> None:
    rows = ["47.0 64.3 77.8", "44.9 66.8 78.1", "42.2 66.0 78.4", "12 99 5"]
    pages = [line(row, 60) for row in rows]

    assert kept(pages) == rows


def test_large_numbered_titles_stay() -> None:
    pages = [[*line(f"Chapter {n}", 60, size=16), *line("text", 300)] for n in range(1, 5)]

    assert kept(pages) == [f"Chapter {n} text" for n in range(1, 5)]


def test_a_line_repeated_in_the_middle_stays() -> None:
    pages = [line("Total", 400) for _ in range(5)]

    assert kept(pages) == ["Total"] * 5
