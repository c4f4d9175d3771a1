"""Reading order: a region is cut at its best gutter, and each part again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pincite.parsing.pdf.lines import Segment, lines_of, same_line
from pincite.parsing.pdf.page import Box, is_rtl

__all__ = ["Placed", "in_order", "reads_right_to_left"]

_MOST_CANDIDATES = 60
_DEPTH = 8
_MIN_GUTTER = 6.0
_MIN_LINES = 3


class Placed(Protocol):
    """Anything with a box: a segment, or a table found before."""

    @property
    def box(self) -> Box:
        """Where it stands."""


T = TypeVar("T", bound=Placed)
TableFinder = Callable[[list[Segment]], Placed | None]


@dataclass(frozen=True)
class _Cut:
    score: float
    top: float
    bottom: float
    left: list[Placed]
    right: list[Placed]


def in_order(items: Sequence[Placed], *, rtl: bool, find_table: TableFinder) -> list[list[Placed]]:
    """``items`` as columns in reading order; every list is one column, read downwards.

    A stretch beside a gutter whose rows align and whose cells are short is offered to
    ``find_table`` before it is taken for columns. Columns go right to left when ``rtl``.
    """
    return _ordered(list(items), _Reader(rtl, find_table), 0)


@dataclass(frozen=True)
class _Reader:
    rtl: bool
    find_table: TableFinder


def _ordered(items: list[Placed], reader: _Reader, depth: int) -> list[list[Placed]]:
    cut = _best_cut(items) if depth < _DEPTH and len(items) >= 2 * _MIN_LINES else None
    if cut is None:
        return [items] if items else []
    inside = {id(item) for item in (*cut.left, *cut.right)}
    rest = [item for item in items if id(item) not in inside]
    above = [item for item in rest if item.box.middle < (cut.top + cut.bottom) / 2]
    below = [item for item in rest if item.box.middle >= (cut.top + cut.bottom) / 2]
    return [
        *_ordered(above, reader, depth + 1),
        *_middle(cut, reader, depth),
        *_ordered(below, reader, depth + 1),
    ]


def _middle(cut: _Cut, reader: _Reader, depth: int) -> list[list[Placed]]:
    if _is_code(cut.left) and _is_code(cut.right):
        return [[*cut.left, *cut.right]]
    if _may_be_table(cut):
        segments = [item for item in (*cut.left, *cut.right) if isinstance(item, Segment)]
        table = reader.find_table(segments)
        if table is not None:
            return _around(table, [*cut.left, *cut.right], reader, depth)
    sides = [cut.right, cut.left] if reader.rtl else [cut.left, cut.right]
    return [column for side in sides for column in _ordered(side, reader, depth + 1)]


def _around(table: Placed, items: list[Placed], reader: _Reader, depth: int) -> list[list[Placed]]:
    box = table.box
    rest = [
        item
        for item in items
        if not (isinstance(item, Segment) and box.y0 <= item.box.middle <= box.y1)
    ]
    above = [item for item in rest if item.box.middle < box.middle]
    below = [item for item in rest if item.box.middle >= box.middle]
    return [*_ordered(above, reader, depth + 1), [table], *_ordered(below, reader, depth + 1)]


def _best_cut(items: list[Placed]) -> _Cut | None:
    rows = sorted(items, key=lambda item: (item.box.y0, item.box.x0))
    best: _Cut | None = None
    for x in _candidates(rows):
        for run in _runs(rows, x):
            cut = _cut(run, x)
            if cut is not None and (best is None or cut.score > best.score):
                best = cut
    return best


def _candidates(items: Sequence[Placed]) -> list[float]:
    """Positions just right of where segments end, the most common first."""
    counts: dict[int, int] = {}
    for item in items:
        place = round(item.box.x1)
        counts[place] = counts.get(place, 0) + 1
    widest = max(item.box.x1 for item in items) - _MIN_GUTTER
    common = sorted((p for p in counts if p < widest), key=lambda p: (-counts[p], p))
    return [place + 2.0 for place in sorted(common[:_MOST_CANDIDATES])]


def _runs(rows: Sequence[Placed], x: float) -> list[list[Placed]]:
    """The stretches, from top to bottom, in which no item crosses ``x``."""
    bars = sorted((r.box.y0, r.box.y1) for r in rows if _crosses(r.box, x))
    runs: list[list[Placed]] = [[]]
    at = 0
    for row in rows:
        if _crosses(row.box, x):
            continue
        passed = at
        while passed < len(bars) and sum(bars[passed]) / 2 < row.box.middle:
            passed += 1
        if passed != at:
            at = passed
            runs.append([])
        runs[-1].append(row)
    return [run for run in runs if len(run) >= 2 * _MIN_LINES]


def _crosses(box: Box, x: float) -> bool:
    """Whether a box reaches into the four points that every gutter at ``x`` keeps free."""
    return box.x0 < x + 3 and box.x1 > x + 1


def _cut(run: list[Placed], x: float) -> _Cut | None:
    left = [item for item in run if item.box.x1 <= x + 1]
    right = [item for item in run if item.box.x1 > x + 1]
    if _line_count(left) < _MIN_LINES or _line_count(right) < _MIN_LINES:
        return None
    gutter = min(item.box.x0 for item in right) - max(item.box.x1 for item in left)
    if gutter < _MIN_GUTTER:
        return None
    top = max(min(i.box.y0 for i in left), min(i.box.y0 for i in right))
    bottom = min(max(i.box.y1 for i in left), max(i.box.y1 for i in right))
    shared = [i for i in run if top - 1 <= i.box.middle <= bottom + 1]
    score = min(_filled(shared, left), _filled(shared, right)) * (1 + min(gutter, 40) / 400)
    return _Cut(score, min(i.box.y0 for i in run), max(i.box.y1 for i in run), left, right)


def _filled(shared: list[Placed], side: list[Placed]) -> float:
    """How much height one side fills where both have something."""
    ids = {id(item) for item in side}
    kept = sorted((i.box.y0, i.box.y1) for i in shared if id(i) in ids)
    total, reach = 0.0, float("-inf")
    for y0, y1 in kept:
        total += max(0.0, y1 - max(y0, reach))
        reach = max(reach, y1)
    return total


def _line_count(items: list[Placed]) -> int:
    count, reach = 0, float("-inf")
    for item in sorted(items, key=lambda i: i.box.middle):
        if item.box.middle > reach:
            count, reach = count + 1, item.box.y1
    return count


def _may_be_table(cut: _Cut) -> bool:
    """Whether rows align across the gutter while one side at least is not prose."""
    if _is_prose(cut.left) and _is_prose(cut.right):
        return False
    few, many = sorted((cut.left, cut.right), key=len)
    aligned = sum(any(same_line(a.box, b.box) for b in many) for a in few)
    return aligned >= 0.6 * len(few)


def _is_code(items: list[Placed]) -> bool:
    """Whether the words are set in a font for code: a listing with comments beside it."""
    words = [w for item in items if isinstance(item, Segment) for w in item.words]
    return 2 * sum(word.mono for word in words) > max(len(words), 1)


def _is_prose(items: list[Placed]) -> bool:
    """Whether most lines fill the column and hold several words."""
    segments = [item for item in items if isinstance(item, Segment)]
    if not segments:
        return False
    lines = lines_of(segments)
    width = max(s.box.x1 for s in segments) - min(s.box.x0 for s in segments)
    full = sum(line.box.width >= 0.6 * width and len(line.words) >= 4 for line in lines)
    return full >= 0.5 * len(lines)


def reads_right_to_left(segments: Sequence[Segment]) -> bool:
    """Whether most words of a page do."""
    words = [word.text for segment in segments for word in segment.words]
    return 2 * sum(map(is_rtl, words)) > len(words)
