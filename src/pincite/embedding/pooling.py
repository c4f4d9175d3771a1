"""Sums of a table's rows: the whole work of a static model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Table", "sums_of_rows"]

_ROWS_AT_ONCE = 4096


class Table(NamedTuple):
    """Rows of int8, shape (n, dimension), and the float32 scale of each, or rows of float32 whose
    scales are 1."""

    rows: NDArray[np.int8] | NDArray[np.float32]
    scales: NDArray[np.float32]


def sums_of_rows(
    table: Table, ids: NDArray[np.uint16], starts: NDArray[np.int64], share: float = 1.0
) -> NDArray[np.float32]:
    """The sum of the scaled rows ``ids[starts[i]:starts[i + 1]]`` for each i, shape
    (len(starts) - 1, dimension); float32, in bounded memory.

    A row that is more than ``share`` of a text's rows, and more than one, counts as the geometric
    mean of how often it stands there and of that limit: of repetition (of a variable in code) the
    first times say most, as in the saturation of BM25's term frequency.
    """
    import numpy as np

    from pincite.segments.kernels import native

    module = native()
    if module is not None and table.rows.dtype == np.int8:
        sums: NDArray[np.float32] = module.static_sums(table.rows, table.scales, ids, starts, share)
        return sums
    sums = np.zeros((len(starts) - 1, table.rows.shape[1]), dtype=np.float32)
    for place, total in enumerate(sums):
        some, weights = _damped(ids[starts[place] : starts[place + 1]], share)
        for first in range(0, len(some), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            factors = table.scales[some[part]] * weights[part]
            block = table.rows[some[part]] * factors[:, None]
            block[0] += total
            np.add.reduce(block, axis=0, out=total)
    return sums


def _damped(
    ids: NDArray[np.uint16], share: float
) -> tuple[NDArray[np.uint16], NDArray[np.float32]]:
    """The different ids in the order in which they come first, and what each counts."""
    import numpy as np

    some, first, counts = np.unique(ids, return_index=True, return_counts=True)
    order = np.argsort(first)
    most = max(1.0, share * len(ids))
    weights = np.where(counts <= most, counts, np.sqrt(counts * most))
    return some[order], weights[order].astype(np.float32)
