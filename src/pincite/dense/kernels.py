"""The inner loops of vector search: which rows could be among the k best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreCorrupt
from pincite.segments.kernels import native

__all__ = ["BLOCK_ROWS", "Found", "Wanted", "checked", "exact_rows", "half_bits", "prepared"]

BLOCK_ROWS = 4096
"""Rows widened at a time: 6 MB of float32 at 384 dimensions."""

_EPSILON = 2.0**-23
_LANES = 8
_FLOAT32_MAX = float(np.finfo(np.float32).max)

Mask = NDArray[np.bool_]


class Wanted(NamedTuple):
    """What one query asks of every segment.

    Products count as clipped to [-limit, limit]; a score is one times ``unit``, a power of two.
    ``floor`` is what other segments promise already: a product that the k-th best of all is not
    below. ``length`` is the query's.
    """

    query: NDArray[np.float32]
    k: int
    limit: float
    floor: float = -math.inf
    length: float = 1.0
    unit: float = 1.0

    def above(self, found: Found) -> Wanted:
        """The same for the next segment, given what was found in this one."""
        if len(found.scores) < self.k:
            return self
        return self._replace(floor=max(self.floor, float(found.scores[self.k - 1]) / self.unit))


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


def exact_rows(
    part: NDArray[np.float16], live: Mask | None, allow: Mask | None, wanted: Wanted
) -> Found:
    """The best rows of ``part`` in both masks, all of which are looked at.

    Raises ``StoreCorrupt`` when one of them is not finite.
    """
    module = native()
    if module is None:
        return _exact_rows(part, _both(live, allow), wanted)
    vectors = module.DenseVectors(half_bits(part), None)
    query, k, limit, floor, _, unit = wanted
    return checked(vectors.exact(query, k, live, allow, None, limit, floor, unit))


def checked(answer: tuple[Any, Any, str], name: str = "in memory") -> Found:
    """What the extension answered; raises ``StoreCorrupt`` for the damage that it met."""
    rows, scores, damage = answer
    if damage == "not finite":
        raise _not_finite()
    if damage:
        raise StoreCorrupt(
            f"Segment {name} is damaged: its {damage} fail their checksum. Run doctor with repair, "
            "or restore a backup."
        )
    return Found(rows, scores)


def _exact_rows(part: NDArray[np.float16], mask: Mask | None, wanted: Wanted) -> Found:
    rows = np.arange(len(part)) if mask is None else np.flatnonzero(mask)
    scores = np.zeros(len(rows), dtype=np.float32)
    longest = np.float32(0)
    with np.errstate(invalid="ignore"):
        for block, wide in _widened(part, rows, whole=mask is None):
            scores[block] = wide @ wanted.query
            longest = np.maximum(longest, np.einsum("ij,ij->i", wide, wide).max())
    if not np.isfinite(longest):
        raise _not_finite()
    np.clip(scores, -wanted.limit, wanted.limit, out=scores)
    bar, k = wanted.floor, wanted.k
    if len(rows) > k:
        bar = max(bar, float(np.partition(scores, len(scores) - k)[len(scores) - k]))
    # Whichever way each product was summed, the exact k best and their ties are within the error.
    rows = rows[scores >= bar - 2.0 * _error(wanted.query, float(longest))]
    return _best(rows, _scores(part, rows, wanted), k)


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


def _both(live: Mask | None, allow: Mask | None) -> Mask | None:
    if live is None or allow is None:
        return allow if live is None else live
    return live & allow


def _not_finite() -> StoreCorrupt:
    return StoreCorrupt(
        "A stored vector is not finite. Run `pincite doctor --repair` to embed its text again."
    )
