"""Words that stand side by side as segments, and segments as lines in reading order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low

from pincite.parsing.pdf.page import Box, PdfWord, is_marker, is_rtl, union

__all__ = ["Line", "Segment", "joined", "lines_of", "same_line", "segments_of"]

_BUCKET = 8.0
_MARKER_GAP = 3.0  # of the size: between the marker of a list item and its text
_LEADERS = 4  # dots that stand alone in a line: fewer mean nothing
_WORD_GAP = 0.12  # of the size: a smaller gap without white space in the text layer is no space


@dataclass(frozen=True, eq=False)
class Segment:
    """Words on one base line without a wide gap, from left to right."""

    words: tuple[PdfWord, ...]

    @cached_property
    def box(self) -> Box:
        """The box around the words."""
        return union([word.box for word in self.words])

    @cached_property
    def core(self) -> Box:
        """The box with the height of most words, whatever tall signs stand among them."""
        tops, ends = zip(*((word.box.y0, word.box.y1) for word in self.words), strict=True)
        return Box(self.box.x0, median_low(tops), self.box.x1, median_low(ends))


@dataclass(frozen=True, eq=False)
class Line:
    """A line of text; ``words`` are in reading order."""

    words: tuple[PdfWord, ...]

    @cached_property
    def box(self) -> Box:
        """The box around the words."""
        return union([word.box for word in self.words])

    @cached_property
    def text(self) -> str:
        """The words with their spaces."""
        return "".join(text for text, _ in joined(self.words))

    @cached_property
    def size(self) -> float:
        """The font size of most characters."""
        return _most([(round(word.size, 1), len(word.text)) for word in self.words])

    @cached_property
    def bold(self) -> bool:
        """Whether nine tenths of the letters are bold."""
        letters = sum(len(word.text) for word in self.words)
        return sum(len(word.text) for word in self.words if word.bold) >= 0.9 * letters

    @cached_property
    def rtl(self) -> bool:
        """Whether most words read from right to left."""
        return _mostly_rtl(self.words)


def segments_of(
    words: Iterable[PdfWord], *, gap: float = 1.0, markers: bool = True
) -> list[Segment]:
    """Cut at horizontal gaps wider than ``gap`` font sizes.

    With ``markers`` the marker of a list item stays with a text that stands further away.
    """
    widest = max(gap, _MARKER_GAP) if markers else gap
    rows: dict[int, list[list[PdfWord]]] = {}
    every: list[list[PdfWord]] = []
    for word in sorted(words, key=lambda w: (w.box.x0, w.box.y0)):
        bucket = int(word.box.middle // _BUCKET)
        near = (run for b in (bucket - 1, bucket, bucket + 1) for run in rows.get(b, ()))
        best = min(near, key=lambda run: _distance(run, word, gap, widest), default=None)
        if best is not None and _distance(best, word, gap, widest) < _FAR:
            best.append(word)
        else:
            best = [word]
            every.append(best)
            rows.setdefault(bucket, []).append(best)
    return [Segment(tuple(run)) for run in every]


_FAR = 1e9


def _distance(run: list[PdfWord], word: PdfWord, gap: float, after_marker: float) -> float:
    last, alone = run[-1], len(run) == 1
    size = max(last.size, word.size, 1.0)
    space = word.box.x0 - last.box.x1
    widest = after_marker if alone and is_marker(last.text) else gap
    if not -0.6 * size <= space <= widest * size or not same_line(last.box, word.box):
        return _FAR
    return abs(space) + abs(last.box.y1 - word.box.y1)


def same_line(a: Box, b: Box) -> bool:
    """Whether two boxes overlap in height by half of the lower one, boxes of one height by more."""
    low, high = sorted((max(a.height, 0.1), max(b.height, 0.1)))
    overlap = min(a.y1, b.y1) - max(a.y0, b.y0)
    alike = low >= 0.75 * high
    return overlap >= 0.5 * low and not (alike and abs(a.middle - b.middle) > 0.4 * low)


def lines_of(segments: Iterable[Segment]) -> list[Line]:
    """Segments of one column as lines, from top to bottom."""
    rows: list[tuple[Box, list[PdfWord]]] = []
    for segment in sorted(segments, key=lambda s: (s.core.middle, s.core.x0)):
        for i in range(len(rows) - 1, max(len(rows) - 4, -1), -1):
            if same_line(rows[i][0], segment.core):
                rows[i][1].extend(segment.words)
                if segment.core.width > rows[i][0].width:
                    rows[i] = (segment.core, rows[i][1])
                break
        else:
            rows.append((segment.core, list(segment.words)))
    rows.sort(key=lambda row: row[0].y1)
    return [Line(_without_leaders(_in_reading_order(words))) for _, words in rows]


def _without_leaders(words: tuple[PdfWord, ...]) -> tuple[PdfWord, ...]:
    """Without the rows of dots that lead from a title to its page number, but for one of them."""
    dots = [not word.text.strip(".·…") for word in words]
    if sum(dots) < _LEADERS:
        return words
    return tuple(w for i, w in enumerate(words) if not (dots[i] and i and dots[i - 1]))


def _in_reading_order(words: list[PdfWord]) -> tuple[PdfWord, ...]:
    ordered = sorted(words, key=lambda w: w.box.x0)
    directions = [_direction(word.text) for word in ordered]
    if "R" not in directions:
        return tuple(ordered)
    base = "R" if _mostly_rtl(ordered) else "L"
    return tuple(_bidi(ordered, directions, base))


def _bidi(words: list[PdfWord], directions: list[str], base: str) -> list[PdfWord]:
    """Visual to logical order, word by word: runs against the base direction are turned."""
    against = "L" if base == "R" else "R"
    if base == "R":
        words, directions = words[::-1], directions[::-1]
    out: list[PdfWord] = []
    at = 0
    while at < len(words):
        end = at + 1
        if directions[at] == against:
            last = at
            while end < len(words) and directions[end] != base:
                last = end if directions[end] == against else last
                end += 1
            end = last + 1
            out += reversed(words[at:end])
        else:
            out.append(words[at])
        at = end
    return out


def _direction(text: str) -> str:
    if is_rtl(text):
        return "R"
    return "L" if any(char.isalnum() for char in text) else "N"


def _mostly_rtl(words: Sequence[PdfWord]) -> bool:
    right = sum(len(word.text) for word in words if is_rtl(word.text))
    return right > 0 and 2 * right > sum(len(word.text) for word in words)


def joined(words: Sequence[PdfWord]) -> list[tuple[str, PdfWord | None]]:
    """The pieces of a line: words, and the spaces between them (with None)."""
    pieces: list[tuple[str, PdfWord | None]] = []
    for i, word in enumerate(words):
        if i and _space_between(words[i - 1], word):
            pieces.append((" ", None))
        pieces.append((word.text, word))
    return pieces


def _space_between(before: PdfWord, word: PdfWord) -> bool:
    if word.spaced or (is_rtl(word.text) and not is_rtl(before.text) and before.text[-1].isalnum()):
        return True
    gap = max(before.box.x0, word.box.x0) - min(before.box.x1, word.box.x1)
    return gap > _WORD_GAP * max(before.size, word.size)


def _most(pairs: Sequence[tuple[float, int]]) -> float:
    totals: dict[float, int] = {}
    for value, weight in pairs:
        totals[value] = totals.get(value, 0) + weight
    return max(totals.items(), key=lambda pair: (pair[1], pair[0]))[0]
