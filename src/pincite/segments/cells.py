"""The codes of a column's rows, read from stored values.

Whole columns of plain values (the usual case) are coded by C loops; anything else, a value that
misfits among them, goes through ``stored_scalars`` one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.model.fields import Field, FieldType
from pincite.model.values import stored_scalars

__all__ = ["Cells", "read_cells"]

_PLAIN: Final[Mapping[str, type]] = {
    "keyword": str, "text": str, "integer": int, "boolean": bool,
}  # fmt: skip
"""Classes whose instances are canonical as they are."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The codes of a field: row ``rows[i]`` holds ``codes[i]``, rows ascending, each code once a
    row. Codes are ranks in ``values`` (sorted, distinct) from 1; absent rows do not occur."""

    values: list[Any]
    rows: NDArray[np.uint32]
    codes: NDArray[np.uint32]


def read_cells(column: Sequence[Any], field: Field) -> Cells:
    """The codes of one stored value (or None) a row. Values that misfit ``field`` are absent."""
    if field.many:
        return _read_lists(column, field)
    plain = _PLAIN.get(field.type)
    if set(map(type, column)) <= {plain, type(None)}:
        return _ranked(column, np.arange(len(column), dtype=np.uint32))
    if field.type is FieldType.NUMBER and set(map(type, column)) == {float}:
        floats = np.array(column, dtype=np.float64)
        if np.isfinite(floats).all():
            return _ranked_floats(floats)
    return _flattened([stored_scalars(cell, field) for cell in column])


def _read_lists(column: Sequence[Any], field: Field) -> Cells:
    if set(map(type, column)) <= {list, tuple}:
        plain = _PLAIN.get(field.type)
        if set(map(type, chain.from_iterable(column))) <= {plain, type(None)}:
            return _flattened(column)
    return _flattened([stored_scalars(cell, field) for cell in column])


def _flattened(column: Sequence[Sequence[Any]]) -> Cells:
    lengths = np.fromiter(map(len, column), dtype=np.intp, count=len(column))
    rows = np.repeat(np.arange(len(column), dtype=np.uint32), lengths)
    cells = _ranked(list(chain.from_iterable(column)), rows)
    if len(lengths) and int(lengths.max()) > 1:
        return _distinct(cells)
    return cells


def _ranked(values: Sequence[Any], rows: NDArray[np.uint32]) -> Cells:
    known: defaultdict[Any, int] = defaultdict(count(1).__next__)
    known[None] = 0
    first_seen = np.fromiter(map(known.__getitem__, values), dtype=np.intp, count=len(values))
    del known[None]
    ordered: list[Any] = sorted(known)
    rank = np.zeros(len(ordered) + 1, dtype=np.uint32)
    order = np.fromiter(map(known.__getitem__, ordered), dtype=np.intp, count=len(ordered))
    rank[order] = np.arange(1, len(ordered) + 1, dtype=np.uint32)
    present = first_seen > 0
    return Cells(ordered, rows[present], rank[first_seen[present]])


def _ranked_floats(floats: NDArray[np.float64]) -> Cells:
    values, ranks = np.unique(floats, return_inverse=True)
    rows = np.arange(len(floats), dtype=np.uint32)
    return Cells(values.tolist(), rows, ranks.astype(np.uint32) + np.uint32(1))


def _distinct(cells: Cells) -> Cells:
    span = np.uint64(len(cells.values) + 1)
    # Keys are nearly in order, which a stable sort makes use of.
    keys = np.sort(cells.rows.astype(np.uint64) * span + cells.codes, kind="stable")
    first = np.append(True, keys[1:] != keys[:-1]) if len(keys) else np.zeros(0, dtype=np.bool_)
    rows, codes = np.divmod(keys[first], span)
    return Cells(cells.values, rows.astype(np.uint32), codes.astype(np.uint32))
