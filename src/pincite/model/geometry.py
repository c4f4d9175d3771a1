"""Where text stands on a page: rectangles, layout blocks and the packed boxes of words.

Coordinates are points (1/72 inch) from the top-left corner; pages count from 1.
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pincite.errors import StoreCorrupt

__all__ = ["BboxRect", "BlockKind", "LayoutBlock", "TableSpan", "Word", "WordBoxes"]

BlockKind = Literal["heading", "paragraph", "list_item", "table", "code", "image", "other"]


@dataclass(frozen=True, slots=True)
class BboxRect:
    """A rectangle on a page: points, top-left origin, 1-based page."""

    page: int
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class LayoutBlock:
    """A stretch of Markdown that forms one block; ``bbox`` is None without geometry.

    ``level`` is the heading level (1 to 6), 0 for anything else.
    """

    kind: BlockKind
    start_char: int
    end_char: int
    page: int
    bbox: BboxRect | None = None
    level: int = 0


@dataclass(frozen=True, slots=True)
class TableSpan:
    """The range of a table in a chunk's content; ``table_id`` is its key in ``tables``."""

    start_char: int
    end_char: int
    table_id: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its offsets in the Markdown and its rectangle."""

    start_char: int
    end_char: int
    bbox: BboxRect


_MAGIC = b"PWB1"


class WordBoxes:
    """The words of a document, ordered by offset, in a few flat arrays.

    ``pack`` and ``unpack`` turn them into bytes and back (little-endian, zlib, CRC-32); the
    packed form is what ``MarkdownParseResult.words`` and the stores keep.
    """

    __slots__ = ("_boxes", "_ends", "_pages", "_starts")

    def __init__(self, words: Iterable[Word] = ()) -> None:
        self._starts, self._ends, self._pages = array("I"), array("I"), array("I")
        self._boxes = array("f")
        for word in sorted(words, key=lambda w: (w.start_char, w.end_char)):
            self._starts.append(word.start_char)
            self._ends.append(word.end_char)
            self._pages.append(word.bbox.page)
            self._boxes.extend((word.bbox.x0, word.bbox.y0, word.bbox.x1, word.bbox.y1))

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Word]:
        return (self._word(i) for i in range(len(self)))

    def between(self, start: int, end: int) -> list[Word]:
        """The words that overlap ``[start, end)``, in order."""
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        return [self._word(i) for i in range(first, last)]

    def pack(self) -> bytes:
        """The words as bytes; b"" when there are none."""
        if not self._starts:
            return b""
        columns = (self._starts, self._ends, self._pages, self._boxes)
        body = zlib.compress(b"".join(_little(c).tobytes() for c in columns), 6)
        return _MAGIC + struct.pack("<II", len(self), zlib.crc32(body)) + body

    @classmethod
    def unpack(cls, data: bytes) -> WordBoxes:
        """Read what ``pack`` wrote; raises ``StoreCorrupt`` on any other bytes."""
        words = cls()
        if not data:
            return words
        try:
            count, crc = struct.unpack_from("<II", data, 4)
            body = data[12:]
            if data[:4] != _MAGIC or zlib.crc32(body) != crc:
                raise StoreCorrupt("Word boxes fail their checksum; index the document again.")
            raw = zlib.decompress(body)
            if len(raw) != count * 28:
                raise StoreCorrupt("Word boxes have the wrong length; index the document again.")
        except (struct.error, zlib.error) as error:
            raise StoreCorrupt("Word boxes are torn; index the document again.") from error
        for k, column in enumerate((words._starts, words._ends, words._pages)):
            column.frombytes(raw[k * 4 * count : (k + 1) * 4 * count])
        words._boxes.frombytes(raw[12 * count :])
        if sys.byteorder == "big":
            for swapped in (words._starts, words._ends, words._pages, words._boxes):
                swapped.byteswap()
        return words

    def _word(self, i: int) -> Word:
        x0, y0, x1, y1 = self._boxes[4 * i : 4 * i + 4]
        return Word(self._starts[i], self._ends[i], BboxRect(self._pages[i], x0, y0, x1, y1))


def _little(column: array[int] | array[float]) -> array[int] | array[float]:
    if sys.byteorder == "little":
        return column
    swapped = column[:]
    swapped.byteswap()
    return swapped
