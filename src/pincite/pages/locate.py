"""From a span of a document's Markdown to the rectangles of its words."""

from __future__ import annotations

from pincite.errors import InvalidArgument
from pincite.model.documents import Geometry
from pincite.model.geometry import BboxRect, WordBoxes

__all__ = ["locate"]


def locate(geometry: Geometry, start: int, end: int) -> list[BboxRect]:
    """The rectangles of the words in ``markdown[start:end]``, one for each line, in reading order.

    Points, top-left origin. Empty when the format has no geometry or no word is in the span.
    Raises ``InvalidArgument`` when the span is not inside the document.
    """
    if not 0 <= start <= end <= len(geometry.markdown):
        raise InvalidArgument(
            f"The span {start}..{end} is not inside the document's {len(geometry.markdown)} "
            "characters; pass offsets into its Markdown, as in hit.spans."
        )
    lines: list[BboxRect] = []
    for word in WordBoxes.unpack(geometry.words).between(start, end):
        if lines and _same_line(lines[-1], word.bbox):
            lines[-1] = _union(lines[-1], word.bbox)
        else:
            lines.append(word.bbox)
    return lines


def _same_line(line: BboxRect, word: BboxRect) -> bool:
    """Words follow each other on a line when they overlap by half a height and stand near."""
    if line.page != word.page:
        return False
    height = min(line.y1 - line.y0, word.y1 - word.y0)
    overlap = min(line.y1, word.y1) - max(line.y0, word.y0)
    gap = max(word.x0 - line.x1, line.x0 - word.x1)
    return overlap >= height / 2 and gap <= 3 * max(height, 1.0)


def _union(a: BboxRect, b: BboxRect) -> BboxRect:
    return BboxRect(a.page, min(a.x0, b.x0), min(a.y0, b.y0), max(a.x1, b.x1), max(a.y1, b.y1))
