"""Running headers, footers and page numbers: what repeats at the edge of several pages."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.parsing.pdf.lines import Segment

__all__ = ["without_furniture"]

_EDGE = 0.17  # of the page's height, at the top and at the bottom
_PAGES = 3
_OUTERMOST = 2  # lines of each edge that can be furniture
_DIGITS = re.compile(r"\d+")

_Key = tuple[str, bool, int]


def without_furniture(
    pages: Sequence[list[Segment]], heights: Sequence[float], body_size: float
) -> list[list[Segment]]:
    """The pages' segments without those that stand at one height on three pages or more.

    Numbers count as equal in text that is not larger than the body, so that page numbers go and
    the numbered titles of chapters stay.
    """
    found = [
        _edge_keys(page, height, body_size) for page, height in zip(pages, heights, strict=True)
    ]
    seen: dict[_Key, set[int]] = {}
    for number, keys in enumerate(found):
        for text, top, place in keys.values():
            for near in (place - 1, place, place + 1):
                seen.setdefault((text, top, near), set()).add(number)
    running = {key for key, numbers in seen.items() if len(numbers) >= _PAGES}
    return [
        [segment for segment in page if keys.get(id(segment)) not in running]
        for page, keys in zip(pages, found, strict=True)
    ]


def _edge_keys(page: Sequence[Segment], height: float, body_size: float) -> dict[int, _Key]:
    keys: dict[int, _Key] = {}
    for top in (True, False):
        edge = [s for s in page if _at_edge(s, height, top=top)]
        edge.sort(key=lambda s: s.box.middle if top else -s.box.middle)
        lines, reach = 0, float("-inf")
        for segment in edge:
            middle = segment.box.middle if top else -segment.box.middle
            if middle > reach:
                lines, reach = lines + 1, middle + segment.box.height * 0.6
            if lines <= _OUTERMOST:
                keys[id(segment)] = (_text(segment, body_size), top, round(segment.box.middle / 4))
    return keys


def _at_edge(segment: Segment, height: float, *, top: bool) -> bool:
    middle = segment.box.middle
    return middle < _EDGE * height if top else middle > (1 - _EDGE) * height


def _text(segment: Segment, body_size: float) -> str:
    text = " ".join(word.text for word in segment.words)
    small = segment.words[0].size <= 1.15 * body_size
    return _DIGITS.sub("#", text) if small else text
