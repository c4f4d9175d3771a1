"""The inner loops of vector search on the pure path, and what both paths share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pincite.errors import MEND_SEGMENT, StoreCorrupt
from pincite.segments.kernels import native

__all__ = ["BLOCK_ROWS", "Found", "Wanted", "damaged", "exact_rows", "half_bits", "prepared"]

BLOCK_ROWS = 4096
"""Rows widened at a time: 6 MB of float32 at 384 dimensions."""

_EPSILON = 2.0**-23
_LANES = 8
_FLOAT32_MAX = float(np.finfo(np.float32).max)

Mask = NDArray[np.bool_]


class Wanted(NamedTuple):
    """What one query asks of every segment.

    Products count as clipped to [-limit, limit]; a score is one times ``unit``, a power of two.
    """

    query: NDArray[np.float32]
    k: int
    limit: float
    unit: float = 1.0


class Found(NamedTuple):
    """Rows and their scores, best first, ties by row: k, and all that tie with the last."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]


def half_bits(vectors: NDArray[np.float16]) -> NDArray[np.uint16]:
    """The same memory as integers, as the extension takes it; a copy when it lies askew."""
    return np.require(vectors, requirements=("C", "A")).view(np.uint16)


def prepared(query: NDArray[np.float64], *, unit: bool) -> tuple[NDArray[np.float32], float]:
    """A query in float32, of unit length if asked for, and its largest magnitude: infinity when it
    is not finite; the query counts only when that is neither infinite nor 0."""
    module = native()
    if module is not None:
        vector, largest = module.dense_prepare(query, unit)
        return vector, largest
    largest = float(np.abs(query).max())
    if not math.isfinite(largest):
        return query.astype(np.float32), math.inf
    if unit and largest:
        query = query / largest  # the square of a value beyond 1e154 is infinite
        query = query / math.sqrt(_tree(_lanes(query * query)))
    with np.errstate(over="ignore"):
        return query.astype(np.float32), largest


def exact_rows(part: NDArray[np.float16], mask: Mask | None, wanted: Wanted) -> Found:
    """The best of the masked rows of ``part``, all of which are looked at, on the pure path.

    Raises ``StoreCorrupt`` when one of them is not finite.
    """
    rows = np.arange(len(part)) if mask is None else np.flatnonzero(mask)
    scores = np.zeros(len(rows), dtype=np.float32)
    longest = np.float32(0)
    with np.errstate(invalid="ignore"):
        for block, wide in _widened(part, rows, whole=mask is None):
            scores[block] = wide @ wanted.query
            longest = np.maximum(longest, np.einsum("ij,ij->i", wide, wide).max())
    if not np.isfinite(longest):
        raise damaged("not finite")
    np.clip(scores, -wanted.limit, wanted.limit, out=scores)
    k = wanted.k
    if len(rows) > k:
        # Whichever way each product was summed, the k best and their ties are within the error.
        bar = float(np.partition(scores, len(scores) - k)[len(scores) - k])
        rows = rows[scores >= bar - 2.0 * _error(wanted.query, float(longest))]
    return _best(rows, _scores(part, rows, wanted), k)


def damaged(what: str, name: str = "in memory") -> StoreCorrupt:
    """The error for damage that a search of a segment met."""
    if what == "not finite":
        return StoreCorrupt(
            "A stored vector is not finite. Run `pincite doctor --repair` to embed its text again."
        )
    return StoreCorrupt(
        f"Segment {name} is damaged: its {what} fail their checksum. {MEND_SEGMENT}"
    )


def _scores(
    part: NDArray[np.float16], rows: NDArray[np.intp], wanted: Wanted
) -> NDArray[np.float32]:
    """Scores (len(rows),) in float64, where each product is exact, rounded to float32.

    Summed in eight lanes and those as a tree, like the extension does. A unit row rounded to
    float16 can be a little longer than 1, so scores are clipped.
    """
    sums = np.zeros((len(rows), _LANES), dtype=np.float64)
    for start in range(0, part.shape[1], _LANES):
        products = part[rows, start : start + _LANES].astype(np.float64)
        products *= wanted.query[start : start + _LANES].astype(np.float64)
        sums[:, : products.shape[1]] += products
    half = _LANES // 2
    while half:
        sums[:, :half] += sums[:, half : 2 * half]
        half //= 2
    top = wanted.limit if math.isfinite(wanted.limit) else _FLOAT32_MAX
    scores: NDArray[np.float32] = np.clip(sums[:, 0] * wanted.unit, -top, top).astype(np.float32)
    return scores


def _lanes(values: NDArray[np.float64]) -> list[float]:
    sums = np.zeros(_LANES, dtype=np.float64)
    for start in range(0, len(values), _LANES):
        block = values[start : start + _LANES]
        sums[: len(block)] += block
    lanes: list[float] = sums.tolist()
    return lanes


def _tree(lanes: list[float]) -> float:
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [a + b for a, b in zip(lanes[:half], lanes[half:], strict=True)]
    return lanes[0]


def _best(rows: NDArray[np.intp], scores: NDArray[np.float32], k: int) -> Found:
    order = np.lexsort((rows, -scores))
    rows, scores = rows[order], scores[order]
    kept = len(rows) if len(rows) <= k else int(np.count_nonzero(scores >= scores[k - 1]))
    return Found(rows[:kept], scores[:kept])


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
