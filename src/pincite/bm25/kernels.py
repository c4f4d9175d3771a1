"""The inner loop of keyword search in NumPy: every posting is scored, in plain sight."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.formulas import Bm25Parameters
from pincite.bm25.segment import Postings
from pincite.segments.ranking import at_least_kth

__all__ = ["Weighted", "best_rows", "rounded"]

Weighted = tuple[float, Postings]
"""A group's idf and its postings in one segment."""

_FLOAT32 = np.finfo(np.float32)


def best_rows(
    weighted: Iterable[Weighted],
    lengths: NDArray[np.uint32],
    allow: NDArray[np.bool_] | None,
    k: int,
    *,
    parameters: Bm25Parameters,
    average: float,
) -> tuple[NDArray[np.integer], NDArray[np.float32]]:
    """The matching rows of one segment that reach its k-th best score, and their scores.

    ``weighted`` comes in the order in which contributions are summed, in float64. Rows outside
    ``allow`` are not scored. Every posting is read: this is what native search must equal.
    """
    scores = np.zeros(len(lengths), dtype=np.float64)
    for idf, (rows, tfs) in weighted:
        if allow is not None:
            kept = allow[rows]
            rows, tfs = rows[kept], tfs[kept]
        scores[rows] += idf * parameters.factors(tfs, lengths[rows], average)
    touched = np.flatnonzero(scores)
    values = rounded(scores[touched])
    best = at_least_kth(values, k)
    return touched[best], values[best]


def rounded(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scores as float32, kept finite and above zero whatever k1 does to them."""
    return np.clip(scores, _FLOAT32.tiny, _FLOAT32.max).astype(np.float32)
