"""Running headers, footers and page numbers: lines that repeat at the edge of several pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pincite.parsing.pdf.lines import Segment, same_line

__all__ = ["without_furniture"]

_EDGE = 0.17  # of the page's height, at the top and at the bottom
_PAGES = 3
_OUTERMOST = 2  # lines of each edge that can be furniture
_INTEGER = re.compile(r"(?<![\d.,])\d{1,5}(?![.,]?\d)")
_MOST_INTEGERS = 3

_Key = tuple[str, int, bool, int]  # text, number less page, at the top, height
_EdgeLine = tuple[list[Segment], list[_Key]]


def without_furniture(
    pages: Sequence[list[Segment]], heights: Sequence[float], body_size: float
) -> list[list[Segment]]:
    """The pages' segments without the lines that stand at one height on three pages or more.

    A line repeats when its text is the same, or the same but for one number that counts with
    the pages. Such numbers are looked for only in text that is not larger than the body, so
    that the numbered titles of chapters stay.
    """
    found = [
        _edge_lines(page, number, heights[number], body_size) for number, page in enumerate(pages)
    ]
    seen: dict[_Key, set[int]] = {}
    for number, lines in enumerate(found):
        for _, keys in lines:
            for text, offset, top, place in keys:
                for near in (place - 1, place, place + 1):
                    seen.setdefault((text, offset, top, near), set()).add(number)
    running = {key for key, numbers in seen.items() if len(numbers) >= _PAGES}
    return [_without(page, lines, running) for page, lines in zip(pages, found, strict=True)]


def _without(page: list[Segment], lines: Sequence[_EdgeLine], running: set[_Key]) -> list[Segment]:
    gone = {
        id(segment)
        for segments, keys in lines
        if not running.isdisjoint(keys)
        for segment in segments
    }
    return [segment for segment in page if id(segment) not in gone]


def _edge_lines(
    page: Sequence[Segment], number: int, height: float, body_size: float
) -> list[_EdgeLine]:
    """The outermost lines of both edges with the keys under which they may repeat."""
    lines: list[_EdgeLine] = []
    for top in (True, False):
        for line in _outermost([s for s in page if _at_edge(s, height, top=top)], top=top):
            place = round(line[0].box.middle / 4)
            small = max(s.words[0].size for s in line) <= 1.15 * body_size
            texts = _texts(line, number, numbers=small)
            lines.append((line, [(text, offset, top, place) for text, offset in texts]))
    return lines


def _outermost(segments: list[Segment], *, top: bool) -> list[list[Segment]]:
    lines: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda s: s.box.middle if top else -s.box.middle):
        if lines and same_line(lines[-1][0].box, segment.box):
            lines[-1].append(segment)
        elif len(lines) < _OUTERMOST:
            lines.append([segment])
        else:
            break
    return lines


def _at_edge(segment: Segment, height: float, *, top: bool) -> bool:
    middle = segment.box.middle
    return middle < _EDGE * height if top else middle > (1 - _EDGE) * height


def _texts(line: Sequence[Segment], page: int, *, numbers: bool) -> Iterator[tuple[str, int]]:
    """The line's text, and its text without each number, with what that number is ahead of
    the page."""
    ordered = sorted(line, key=lambda segment: segment.box.x0)
    text = " ".join(word.text for segment in ordered for word in segment.words)
    yield text, 0
    integers = list(_INTEGER.finditer(text)) if numbers else []
    if len(integers) <= _MOST_INTEGERS:
        for found in integers:
            yield f"{text[: found.start()]}#{text[found.end() :]}", int(found[0]) - page
