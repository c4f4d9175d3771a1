"""Vector search over segments: an exact scan in blocks, rescored in float64.

Rows are float16. A scan in float32 finds every row that could be among the best, given the error
bound of a float32 dot product; those are scored again in float64, in one fixed order of summation,
so that equal input gives equal output on every path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pincite.dense.kernels import Found, Mask, Wanted, exact_rows, prepared
from pincite.dense.vectors import Vectors
from pincite.errors import EmbeddingError, InvalidArgument, InvalidQueryError
from pincite.segments.ranking import Ranked, RowId, ranked

__all__ = ["Mask", "Part", "normalize_rows", "prepare_query", "search_vectors"]

_FLOAT32_MAX = float(np.finfo(np.float32).max)

Part = NDArray[np.float16] | Vectors


def search_vectors(
    parts: Sequence[Part],
    live: Sequence[Mask | None],
    allow: Sequence[Mask | None],
    query: Sequence[float] | NDArray[np.floating],
    k: int,
    *,
    row_id: RowId,
    normalized: bool = True,
) -> list[Ranked]:
    """The ``k`` best (part, row, score), best first, ties in the order of ``row_id``.

    ``parts`` are (rows, dimension) matrices, or ``Vectors`` of segments, which may have codes:
    then the search looks where calibration found nearly all of the best. With ``normalized`` rows
    are of unit length (or zero), the query is brought to unit length, and the score is the cosine,
    in [-1, 1]; without, it is the raw dot product. ``live`` and ``allow`` hold a mask per part, or
    None for all rows; only rows in both are scored.

    Raises ``InvalidQueryError`` for k below 1 and for a query that is not finite, of another
    dimension, or all zero (it has no direction: every row would tie), ``InvalidArgument`` for
    masks that do not fit, and ``StoreCorrupt`` when a stored row is not finite.
    """
    if k < 1:
        raise InvalidQueryError(f"k is {k}; ask for at least 1 result.")
    vector = prepare_query(query, normalized=normalized)
    _check_parts(parts, live, allow, len(vector))
    wanted = Wanted(vector, k, limit=1.0) if normalized else _product(vector, k)
    best = []
    for number, part in enumerate(parts):
        found = _candidates(part, live[number], allow[number], wanted)
        best.append((number, *found))
        if number + 1 < len(parts):
            wanted = wanted.above(found)
    return ranked(best, k, row_id)


def normalize_rows(matrix: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows (n, d) brought to unit length, ready to be stored as float16; zero rows stay zero.

    Raises ``EmbeddingError`` when a value is not finite.
    """
    wide = np.asarray(matrix, dtype=np.float64)
    if not np.isfinite(wide).all():
        raise EmbeddingError("A vector holds values that are not finite; embed its text again.")
    # By the largest value first: the square of a value beyond 1e154 is infinite in float64.
    largest = np.abs(wide).max(axis=1, keepdims=True, initial=0.0)
    wide = np.divide(wide, largest, out=np.zeros_like(wide), where=largest > 0)
    lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = wide / np.where(lengths > 0, lengths, 1.0)
    return unit.astype(np.float32)


def prepare_query(
    query: Sequence[float] | NDArray[np.floating], *, normalized: bool = True
) -> NDArray[np.float32]:
    """The query as float32, of unit length when ``normalized``; else as ``search_vectors`` says."""
    wide = np.asarray(query, dtype=np.float64)
    if wide.ndim != 1 or not wide.size:
        raise InvalidQueryError("The query vector is empty or nested; pass a flat list of numbers.")
    vector, largest = prepared(wide, unit=normalized)
    if not math.isfinite(largest) or (not normalized and largest > _FLOAT32_MAX):
        raise InvalidQueryError("The query vector is not finite; embed the query again.")
    if not largest:
        raise InvalidQueryError("The query vector is all zero; embed a query that holds words.")
    return vector


def _candidates(part: Part, live: Mask | None, allow: Mask | None, wanted: Wanted) -> Found:
    if isinstance(part, Vectors):
        return part.candidates(live, allow, wanted)
    return exact_rows(part, live, allow, wanted)


def _product(query: NDArray[np.float32], k: int) -> Wanted:
    """The query times a power of two, which ranks alike: its largest value in [0.5, 1), so that a
    scan in float32 neither overflows nor vanishes."""
    _, exponent = np.frexp(np.abs(query).max())
    scan: NDArray[np.float32] = np.ldexp(query, -exponent)
    length = float(np.linalg.norm(scan))
    return Wanted(scan, k, math.inf, length=length, unit=math.ldexp(1.0, int(exponent)))


def _check_parts(
    parts: Sequence[Part],
    live: Sequence[Mask | None],
    allow: Sequence[Mask | None],
    dimension: int,
) -> None:
    for name, masks in (("live", live), ("allow", allow)):
        if len(masks) != len(parts):
            raise _misfit(name)
    for part, alive, allowed in zip(parts, live, allow, strict=True):
        if not isinstance(part, Vectors) and (part.ndim != 2 or part.dtype != np.float16):
            raise InvalidArgument("Vectors must be matrices of float16; convert them first.")
        if part.shape[1] != dimension:
            raise InvalidQueryError(
                f"The query vector has {dimension} dimensions and the stored ones "
                f"{part.shape[1]}; embed the query with the collection's model."
            )
        if alive is not None and alive.shape != part.shape[:1]:
            raise _misfit("live")
        if allowed is not None and allowed.shape != part.shape[:1]:
            raise _misfit("allow")


def _misfit(name: str) -> InvalidArgument:
    return InvalidArgument(f"{name} needs one mask (or None) per part, as long as it.")
