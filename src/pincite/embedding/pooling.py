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
    table: Table, ids: NDArray[np.uint16], starts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The sum of the scaled rows ``ids[starts[i]:starts[i + 1]]`` for each i, shape
    (len(starts) - 1, dimension); float32, one row after the other, in bounded memory."""
    import numpy as np

    from pincite.segments.kernels import native

    module = native()
    if module is not None and table.rows.dtype == np.int8:
        sums: NDArray[np.float32] = module.static_sums(table.rows, table.scales, ids, starts)
        return sums
    sums = np.zeros((len(starts) - 1, table.rows.shape[1]), dtype=np.float32)
    for place, total in enumerate(sums):
        for first in range(starts[place], starts[place + 1], _ROWS_AT_ONCE):
            some = ids[first : min(first + _ROWS_AT_ONCE, starts[place + 1])]
            block = table.rows[some] * table.scales[some, None]
            block[0] += total
            np.add.reduce(block, axis=0, out=total)
    return sums
