"""The inner loop of vector search: which rows could be among the k best."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreCorrupt

__all__ = ["BLOCK_ROWS", "candidates"]

BLOCK_ROWS = 4096
"""Rows widened at a time: 6 MB of float32 at 384 dimensions."""

_EPSILON = 2.0**-23


def candidates(
    part: NDArray[np.float16],
    mask: NDArray[np.bool_] | None,
    query: NDArray[np.float32],
    k: int,
) -> NDArray[np.intp]:
    """Rows of ``part`` within ``mask``, ascending, among which the k best dot products are.

    Rows within twice the error of the k-th best are kept: whichever way each dot product was
    summed in float32, the exact k best and all their ties are among them.
    """
    rows = np.arange(len(part)) if mask is None else np.flatnonzero(mask)
    scores = np.zeros(len(rows), dtype=np.float32)
    longest = np.float32(0)
    with np.errstate(invalid="ignore"):
        for block, wide in _widened(part, rows, whole=mask is None):
            scores[block] = wide @ query
            longest = np.maximum(longest, np.einsum("ij,ij->i", wide, wide).max())
    if not np.isfinite(longest):
        raise StoreCorrupt(
            "A stored vector is not finite. Run `pincite doctor --repair` to embed its text again."
        )
    if len(rows) <= k:
        return rows
    kth = float(np.partition(scores, len(scores) - k)[len(scores) - k])
    near: NDArray[np.intp] = rows[scores >= kth - 2.0 * _error(query, float(longest))]
    return near


def _error(query: NDArray[np.float32], longest_squared: float) -> float:
    """Bound of a float32 dot product's error: Higham, "Accuracy and Stability" (2002), eq. 3.5."""
    lengths = np.sqrt(longest_squared * float(np.dot(query, query)))
    return (len(query) + 8) * _EPSILON * float(lengths)


def _widened(
    part: NDArray[np.float16], rows: NDArray[np.intp], *, whole: bool
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        narrow = part[block] if whole else part[rows[block]]
        yield block, narrow.astype(np.float32)
