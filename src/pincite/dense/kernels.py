"""The inner loop of vector search: which rows could be among the k best."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreCorrupt
from pincite.segments.kernels import native

__all__ = ["BLOCK_ROWS", "candidates"]

BLOCK_ROWS = 4096
"""Rows widened at a time: 6 MB of float32 at 384 dimensions."""

_EPSILON = 2.0**-23


def candidates(
    part: NDArray[np.float16],
    mask: NDArray[np.bool_] | None,
    query: NDArray[np.float32],
    k: int,
    *,
    limit: float,
) -> NDArray[np.intp]:
    """Rows of ``part`` within ``mask``, ascending, among which the k best dot products are.

    Products count as clipped to [-limit, limit]. Rows within twice the error of the k-th best are
    kept: whichever way each product was summed in float32, the exact k best and all their ties are
    among them. Raises ``StoreCorrupt`` when one of the rows is not finite.
    """
    module = native()
    if module is None:
        rows, finite = _candidates(part, mask, query, k, limit)
    else:
        narrow = np.ascontiguousarray(part).view(np.uint16)
        rows, finite = module.dense_candidates(narrow, mask, query, limit, k)
    if not finite:
        raise StoreCorrupt(
            "A stored vector is not finite. Run `pincite doctor --repair` to embed its text again."
        )
    return rows


def _candidates(
    part: NDArray[np.float16],
    mask: NDArray[np.bool_] | None,
    query: NDArray[np.float32],
    k: int,
    limit: float,
) -> tuple[NDArray[np.intp], bool]:
    """The candidates, and whether every row within ``mask`` is finite."""
    rows = np.arange(len(part)) if mask is None else np.flatnonzero(mask)
    scores = np.zeros(len(rows), dtype=np.float32)
    longest = np.float32(0)
    with np.errstate(invalid="ignore"):
        for block, wide in _widened(part, rows, whole=mask is None):
            scores[block] = wide @ query
            longest = np.maximum(longest, np.einsum("ij,ij->i", wide, wide).max())
    if not np.isfinite(longest):
        return rows[:0], False
    if len(rows) <= k:
        return rows, True
    np.clip(scores, -limit, limit, out=scores)
    kth = float(np.partition(scores, len(scores) - k)[len(scores) - k])
    return rows[scores >= kth - 2.0 * _error(query, float(longest))], True


def _error(query: NDArray[np.float32], longest_squared: float) -> float:
    """Bound of a float32 dot product's error: Higham, "Accuracy and Stability" (2002), eq. 3.5."""
    squared = float(np.square(query, dtype=np.float64).sum())
    return (len(query) + 8) * _EPSILON * math.sqrt(longest_squared * squared)


def _widened(
    part: NDArray[np.float16], rows: NDArray[np.intp], *, whole: bool
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    for start in range(0, len(rows), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        narrow = part[block] if whole else part[rows[block]]
        yield block, narrow.astype(np.float32)
