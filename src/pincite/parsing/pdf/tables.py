"""Tables: ruled grids, tables between horizontal rules, and rows that align without any rule."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from pincite.parsing.pdf.lines import Segment, lines_of, same_line, segments_of
from pincite.parsing.pdf.page import Box, PdfWord, union

__all__ = ["Table", "aligned_table", "ruled_tables", "tables_between_rules"]

_NEAR = 3.0  # points: rules closer than this are one
_MOST_CELLS = 20_000
_LONG_CELL = 60  # words: a grid of such cells is a page layout
_LONGEST_CELL = 300
_CELL_GAP = 0.75  # of the size: a gap that can part two cells
_REGION_MARGIN = 2.0


@dataclass(frozen=True)
class Table:
    """Rows of cells; a cell is its lines, each a sequence of words. Rows are of equal length."""

    box: Box
    rows: list[list[list[tuple[PdfWord, ...]]]]


def ruled_tables(segments: Sequence[Segment], rules: Sequence[Box]) -> list[Table]:
    """Tables whose cells are drawn: at least two columns and two rows of them."""
    tables = []
    for group in _crossing_groups(rules):
        table = _ruled(segments, group)
        if table is not None:
            tables.append(table)
    return _outermost(tables)


def tables_between_rules(segments: Sequence[Segment], rules: Sequence[Box]) -> list[Table]:
    """Tables drawn with horizontal rules only, as books and papers do."""
    tables = []
    for stack in _stacks([r for r in rules if r.height == 0 and r.width > 40]):
        region = union(stack)
        inside = [s for s in segments if _within(s.box, region)]
        table = aligned_table(inside) if inside else None
        if table is not None:
            tables.append(table)
    return _outermost(tables)


def aligned_table(segments: Sequence[Segment]) -> Table | None:
    """The table that these segments form by their alignment, None when they form none."""
    pieces = _pieces(segments)
    rows = _rows_of(pieces)
    columns = _column_edges(rows)
    if not columns or len(rows) < 2 or _is_code(pieces):
        return None
    cells = [_cells(row, columns) for row in rows]
    first, last = _table_rows(cells)
    cells, rows = cells[first:last], rows[first:last]
    if not _is_table(cells):
        return None
    merged = _without_continuations(cells, rows)
    box = union([piece.box for row in rows for piece in row])
    return Table(box, [[_lines(cell) for cell in row] for row in merged])


def _is_code(pieces: Sequence[Segment]) -> bool:
    words = [word for piece in pieces for word in piece.words]
    return 2 * sum(word.mono for word in words) > len(words)


def _rows_of(pieces: Sequence[Segment]) -> list[list[Segment]]:
    rows: list[list[Segment]] = []
    for piece in sorted(pieces, key=lambda p: (p.box.middle, p.box.x0)):
        if rows and any(same_line(piece.box, other.box) for other in rows[-1]):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return rows


def _column_edges(rows: Sequence[Sequence[Segment]]) -> list[float]:
    """Where one column ends and the next begins: x positions that hardly a row covers."""
    wide = [row for row in rows if len(row) > 1]
    if len(wide) < 2:
        return []
    events = sorted(
        event for row in wide for piece in row for event in ((piece.box.x0, 1), (piece.box.x1, -1))
    )
    allowed = 0.12 * len(wide)
    edges, covered, opened = [], 0, 0.0
    for i, (x, step) in enumerate(events):
        before, covered = covered, covered + step
        if step < 0 and covered <= allowed < before:
            opened = x
        elif step > 0 and before <= allowed < covered and i and opened:
            if x - opened >= 3.0:
                edges.append((opened + x) / 2)
            opened = 0.0
    return edges


def _cells(row: Sequence[Segment], edges: Sequence[float]) -> list[list[Segment]]:
    cells: list[list[Segment]] = [[] for _ in range(len(edges) + 1)]
    for piece in sorted(row, key=lambda p: p.box.x0):
        cells[_column(piece.box, edges)].append(piece)
    return cells


def _column(box: Box, edges: Sequence[float]) -> int:
    first, last = bisect_right(edges, box.x0), bisect_right(edges, box.x1)
    return bisect_right(edges, (box.x0 + box.x1) / 2) if last - first == 1 else first


def _table_rows(cells: Sequence[Sequence[list[Segment]]]) -> tuple[int, int]:
    """The first and the last row with two cells filled; single lines around belong to the text."""
    full = [i for i, row in enumerate(cells) if sum(map(bool, row)) > 1]
    return (full[0], full[-1] + 1) if full else (0, 0)


def _is_table(cells: Sequence[Sequence[list[Segment]]]) -> bool:
    if len(cells) < 2:
        return False
    filled = [[cell for cell in row if cell] for row in cells]
    several = sum(len(row) > 1 for row in filled)
    words = [sum(len(piece.words) for piece in cell) for row in filled for cell in row]
    columns = len(cells[0])
    if several < 0.6 * len(cells) or several < (2 if columns > 2 else 3):
        return False
    if _mixes_sizes(cells) or any(map(_is_sign, zip(*cells, strict=True))):
        return False
    most = 7 if columns == 2 else 9
    return sum(words) / len(words) <= most and _aligned(cells)


def _mixes_sizes(cells: Sequence[Sequence[list[Segment]]]) -> bool:
    """Whether a row is set much larger than most: figures above their captions, no table."""
    sizes = [
        max(piece.words[0].size for cell in row for piece in cell) for row in cells if any(row)
    ]
    return max(sizes) > 1.6 * median(sizes)


def _is_sign(column: Sequence[list[Segment]]) -> bool:
    """Whether a column is all equals signs: formulas below each other."""
    texts = [word.text for cell in column for piece in cell for word in piece.words]
    return bool(texts) and all(text in "=≤≥<>≈∈:=" for text in texts)


def _aligned(cells: Sequence[Sequence[list[Segment]]]) -> bool:
    """Whether most cells of most columns share a left end, a right end or a centre."""
    good = 0
    for column in zip(*cells, strict=True):
        boxes = [union([piece.box for piece in cell]) for cell in column if cell]
        ends = (
            [box.x0 for box in boxes],
            [box.x1 for box in boxes],
            [(box.x0 + box.x1) / 2 for box in boxes],
        )
        good += len(boxes) < 2 or max(map(_sharing, ends)) >= 0.6 * len(boxes)
    return good >= 0.75 * len(cells[0])


def _sharing(values: Sequence[float]) -> int:
    """How many of the values lie within three points of their median."""
    middle = median(values)
    return sum(abs(value - middle) <= _NEAR for value in values)


def _without_continuations(
    cells: Sequence[Sequence[list[Segment]]], rows: Sequence[Sequence[Segment]]
) -> list[list[list[Segment]]]:
    """Rows whose first cell is empty and that stand close below another go into that one."""
    tops = [min(piece.box.y0 for piece in row) for row in rows]
    steps = [b - a for a, b in itertools.pairwise(tops)]
    usual = median(steps) if steps else 0.0
    merged: list[list[list[Segment]]] = []
    for i, row in enumerate(cells):
        close = i > 0 and steps[i - 1] <= 0.75 * usual
        if merged and close and not row[0] and sum(map(bool, row)) < len(row):
            for cell, more in zip(merged[-1], row, strict=True):
                cell.extend(more)
        else:
            merged.append([list(cell) for cell in row])
    return merged


def _lines(cell: Sequence[Segment]) -> list[tuple[PdfWord, ...]]:
    upright = [piece for piece in cell if not _is_sideways(piece)]
    sideways = [piece for piece in cell if _is_sideways(piece)]
    sideways.sort(key=lambda p: p.box.x0 if p.words[0].angle == 270 else -p.box.x1)
    return [line.words for line in lines_of(upright)] + [piece.words for piece in sideways]


def _is_sideways(piece: Segment) -> bool:
    return piece.words[0].angle != 0


def _within(box: Box, region: Box) -> bool:
    inside = region.y0 - _REGION_MARGIN <= box.middle <= region.y1 + _REGION_MARGIN
    return inside and box.x0 >= region.x0 - 8 and box.x1 <= region.x1 + 8


def _stacks(rules: Sequence[Box]) -> list[list[Box]]:
    """Horizontal rules of one left and one right end, two at least."""
    stacks: list[list[Box]] = []
    for rule in sorted(rules, key=lambda r: r.y0):
        for stack in stacks:
            if abs(stack[0].x0 - rule.x0) < 6 and abs(stack[0].x1 - rule.x1) < 6:
                stack.append(rule)
                break
        else:
            stacks.append([rule])
    return [stack for stack in stacks if len(stack) > 1 and stack[-1].y0 - stack[0].y0 > 12]


def _crossing_groups(rules: Sequence[Box]) -> list[list[Box]]:
    """Rules that touch, directly or through others; groups with both directions only."""
    parent = list(range(len(rules)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    order = sorted(range(len(rules)), key=lambda i: rules[i].y0)
    active: list[int] = []
    for i in order:
        active = [j for j in active if rules[j].y1 + _NEAR >= rules[i].y0][-400:]
        for j in active:
            a, b = rules[i], rules[j]
            if a.x0 <= b.x1 + _NEAR and b.x0 <= a.x1 + _NEAR:
                parent[root(i)] = root(j)
        active.append(i)
    groups: dict[int, list[Box]] = {}
    for i, rule in enumerate(rules):
        groups.setdefault(root(i), []).append(rule)
    return [group for group in groups.values() if len(group) >= 5]


def _ruled(segments: Sequence[Segment], group: Sequence[Box]) -> Table | None:
    region = union(group)
    xs = _levels([r.x0 for r in group if r.width == 0 and r.height > 4])
    ys = _levels([r.y0 for r in group if r.height == 0 and r.width > 4])
    if len(xs) < 3 or len(ys) < 3 or (len(xs) - 1) * (len(ys) - 1) > _MOST_CELLS:
        return None
    inside = [s for s in segments if _within(s.box, region)]
    upright = [r for r in group if r.width == 0]
    cells: list[list[list[Segment]]] = [[[] for _ in xs[1:]] for _ in ys[1:]]
    pieces = [piece for segment in inside for piece in _split(segment, upright)]
    if sum(_straddles(piece.box, xs) for piece in pieces) > 0.3 * len(pieces):
        return None
    for piece in pieces:
        row = min(max(bisect_right(ys, piece.box.middle) - 1, 0), len(ys) - 2)
        column = min(max(bisect_right(xs, piece.box.x0 + 1) - 1, 0), len(xs) - 2)
        cells[row][column].append(piece)
    return _compact(cells, region)


def _straddles(box: Box, xs: Sequence[float]) -> bool:
    """Whether text runs over a column's edge, as it does over the lines of a drawing."""
    return any(box.x0 + 2 < x < box.x1 - 2 for x in xs)


def _compact(cells: list[list[list[Segment]]], region: Box) -> Table | None:
    """The grid without its empty rows and columns, None when that is no table."""
    rows = [row for row in cells if any(row)]
    kept = [c for c in range(len(cells[0])) if any(row[c] for row in rows)]
    filled = [cell for row in rows for cell in row if cell]
    if len(rows) < 2 or len(kept) < 2 or len(filled) < max(0.3 * len(rows) * len(kept), 3):
        return None
    words = [sum(len(piece.words) for piece in cell) for cell in filled]
    if sum(words) / len(words) > _LONG_CELL or max(words) > _LONGEST_CELL:
        return None
    columns = [part for c in kept for part in _parts([row[c] for row in rows])]
    return Table(region, [[_lines(cell) for cell in row] for row in zip(*columns, strict=True)])


def _parts(column: list[list[Segment]]) -> list[list[list[Segment]]]:
    """A column, or the columns that stand side by side in it without a rule between them."""
    lines = [_rows_of(_pieces(cell)) for cell in column]
    filled = [cell for cell in lines if cell]
    several = sum(any(len(line) > 1 for line in cell) for cell in filled)
    words = [len(piece.words) for cell in filled for line in cell for piece in line]
    if len(filled) < 3 or several < 0.7 * len(filled) or sum(words) > 3 * len(words):
        return [column]
    edges = _column_edges([line for cell in filled for line in cell])
    parts: list[list[list[Segment]]] = [[] for _ in range(len(edges) + 1)]
    for cell in lines:
        split = [_cells(line, edges) for line in cell]
        for k, part in enumerate(parts):
            part.append([piece for line in split for piece in line[k]])
    return parts


def _pieces(segments: Sequence[Segment]) -> list[Segment]:
    words = [word for s in segments if not _is_sideways(s) for word in s.words]
    sideways = [segment for segment in segments if _is_sideways(segment)]
    return segments_of(words, gap=_CELL_GAP, markers=False) + sideways


def _split(segment: Segment, upright: Sequence[Box]) -> list[Segment]:
    """The segment cut where an upright rule passes between two of its words."""
    y = segment.box.middle
    bars = [r.x0 for r in upright if r.y0 - 1 <= y <= r.y1 + 1]
    bars = [x for x in bars if segment.box.x0 < x < segment.box.x1]
    if not bars:
        return [segment]
    pieces: dict[int, list[PdfWord]] = {}
    for word in segment.words:
        middle = (word.box.x0 + word.box.x1) / 2
        pieces.setdefault(sum(x < middle for x in bars), []).append(word)
    return [Segment(tuple(words)) for words in pieces.values()]


def _levels(values: Sequence[float]) -> list[float]:
    levels: list[float] = []
    for value in sorted(values):
        if not levels or value - levels[-1] > _NEAR:
            levels.append(value)
    return levels


def _outermost(tables: Sequence[Table]) -> list[Table]:
    """Without those that stand inside a larger one."""
    kept: list[Table] = []
    for table in sorted(tables, key=lambda t: -t.box.width * t.box.height):
        if not any(_overlap(table.box, other.box) for other in kept):
            kept.append(table)
    return kept


def _overlap(a: Box, b: Box) -> bool:
    return min(a.x1, b.x1) > max(a.x0, b.x0) + 1 and min(a.y1, b.y1) > max(a.y0, b.y0) + 1
