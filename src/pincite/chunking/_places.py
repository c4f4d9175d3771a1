"""Which pages and rectangles a span of the Markdown lies on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Generic, TypeVar

from pincite.model.chunks import ChunkResult
from pincite.model.geometry import BboxRect, TableSpan
from pincite.model.layout import MarkdownParseResult

_T = TypeVar("_T")


class Intervals(Generic[_T]):
    """Spans with a value each; ``overlapping`` finds those that share a character with a span."""

    def __init__(self, spans: Iterable[tuple[int, int, _T]]) -> None:
        self._spans = sorted(spans, key=lambda span: span[:2])
        self._starts = [start for start, _, _ in self._spans]
        # Running maximum, so that the first candidate is found even when spans are nested.
        self._reach = list(accumulate((end for _, end, _ in self._spans), max))

    def overlapping(self, start: int, end: int) -> Iterator[_T]:
        """The values of the spans that overlap ``[start, end)``, in order."""
        first, last = bisect_right(self._reach, start), bisect_left(self._starts, end)
        return (value for _, stop, value in self._spans[first:last] if stop > start)


class Places:
    """Builds the chunks of one parse result, with their pages and rectangles."""

    def __init__(self, result: MarkdownParseResult) -> None:
        self._markdown = result.markdown
        self._pages = Intervals(result.page_ranges)
        self._boxes = Intervals(
            (block.start_char, block.end_char, block.bbox)
            for block in result.blocks
            if block.bbox is not None
        )

    def chunk(
        self,
        index: int,
        start: int,
        end: int,
        *,
        context_header: str = "",
        embed_text: str = "",
        tables: Iterable[TableSpan] = (),
    ) -> ChunkResult:
        """The chunk of ``markdown[start:end]``."""
        return ChunkResult(
            content=self._markdown[start:end],
            chunk_index=index,
            start_char=start,
            end_char=end,
            pages=sorted(set(self._pages.overlapping(start, end))),
            bboxes=_unique(self._boxes.overlapping(start, end)),
            tables=list(tables),
            context_header=context_header,
            embed_text=embed_text,
        )


def _unique(boxes: Iterable[BboxRect]) -> list[BboxRect]:
    return list(dict.fromkeys(boxes))
