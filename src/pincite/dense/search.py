"""Vector search over segments: by codes or by an exact scan, rescored in float64.

Rows are float16. An exact scan in float32 finds every row that could be among the best, given the
error bound of a float32 dot product; those are scored again in float64, in one fixed order of
summation, so that equal input gives equal output on every path.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pincite.dense.kernels import Mask, Wanted, damaged, exact_rows, half_bits, prepared
from pincite.dense.vectors import Step, Vectors
from pincite.errors import EmbeddingError, InvalidArgument, InvalidQueryError
from pincite.segments.kernels import native, warn_when_slow
from pincite.segments.ranking import Ranked, Ranking, RowId, in_id_order, ranked

__all__ = ["Mask", "Part", "Searcher", "normalize_rows", "prepare_query", "search_vectors"]

_FLOAT32_MAX = float(np.finfo(np.float32).max)
_FLOAT32: Final = np.dtype(np.float32)
_REMEMBERED: Final = 8

Part = NDArray[np.float16] | Vectors
Masks = Sequence[Mask | None]


class Searcher:
    """Vectors of segments with their live rows, ready for many searches.

    ``parts`` are (rows, dimension) matrices, or ``Vectors`` of segments, which may have codes:
    then the search looks where calibration found nearly all of the best. ``live`` holds a mask per
    part, or None for all rows. With ``normalized`` rows are of unit length (or zero), the query is
    brought to unit length, and the score is the cosine, in [-1, 1]; without, it is the raw dot
    product. Safe to share between threads.
    """

    def __init__(self, parts: Sequence[Part], live: Masks, *, normalized: bool = True) -> None:
        """Raises ``InvalidArgument`` for masks or matrices that do not fit."""
        _check_masks("live", parts, live)
        for part in parts:
            if not isinstance(part, Vectors) and (part.ndim != 2 or part.dtype != np.float16):
                raise InvalidArgument("Vectors must be matrices of float16; convert them first.")
        self._parts, self._live, self._normalized = parts, live, normalized
        self._dimensions = {part.shape[1] for part in parts}
        self._rows = sum(part.shape[0] for part in parts)
        self._plans: dict[tuple[int, ...], _Plan] = {}

    def search(
        self,
        query: Sequence[float] | NDArray[np.floating],
        k: int,
        *,
        allow: Masks | None = None,
        row_id: RowId,
    ) -> list[Ranked]:
        """The ``k`` best (part, row, score), best first, ties in the order of ``row_id``.

        Only rows in both the live mask and ``allow`` (a mask per part, None for all rows) are
        scored. Raises ``InvalidQueryError`` for k below 1 and for a query that is not finite, of
        another dimension, or all zero (it has no direction: every row would tie),
        ``InvalidArgument`` for masks that do not fit, and ``StoreCorrupt`` when a stored row is
        not finite.
        """
        ranking = self.ranking(query, k, allow=allow)
        if ranking is not None:
            return in_id_order(ranking, k, row_id)
        warn_when_slow(self._rows)
        return ranked(self._scored(_flat(query), k, allow), k, row_id)

    def ranking(
        self,
        query: Sequence[float] | NDArray[np.floating],
        k: int,
        *,
        allow: Masks | None = None,
    ) -> Ranking | None:
        """What ``search`` would put in order; None where the extension can not tell."""
        if k < 1:
            raise InvalidQueryError(f"k is {k}; ask for at least 1 result.")
        k = min(k, max(self._rows, 1))  # more than the extension's integers hold may be asked for
        flat = _flat(query)
        self._check_dimension(len(flat))
        module = native()
        plan = None if module is None else self._plan(module, k, allow)
        if plan is None or plan.native is None:
            return None
        found: Ranking
        largest, damage, number, found = plan.native.search(flat, k, self._normalized)
        if not 0.0 < largest <= _FLOAT32_MAX:
            _check_largest(largest, normalized=self._normalized)
        if damage:
            raise damaged(damage, _name(self._parts[number]))
        return found

    def _check_dimension(self, dimension: int) -> None:
        for stored in self._dimensions:
            if stored != dimension:
                raise InvalidQueryError(
                    f"The query vector has {dimension} dimensions and the stored ones "
                    f"{stored}; embed the query with the collection's model."
                )

    def _plan(self, module: ModuleType, k: int, allow: Masks | None) -> _Plan:
        """How to search, remembered: searches come with the same few masks."""
        key = (k,) if allow is None else (k, *map(id, allow))
        found = self._plans.get(key)
        if found is None or found.module is not module:
            if len(self._plans) >= _REMEMBERED:
                self._plans = {}
            steps = [
                _step(module, part, k, mask)
                for part, mask in zip(self._parts, self._masks(allow), strict=True)
            ]
            whole = None if None in steps else module.DensePlan(steps)
            found = self._plans[key] = _Plan(module, whole, allow)
        return found

    def _masks(self, allow: Masks | None) -> list[Mask | None]:
        """The rows of each part to look at."""
        if allow is None:
            return list(self._live)
        _check_masks("allow", self._parts, allow)
        return [_both(*pair) for pair in zip(self._live, allow, strict=True)]

    def _scored(
        self, flat: NDArray[np.floating], k: int, allow: Masks | None
    ) -> Iterator[tuple[int, NDArray[np.integer], NDArray[np.float32]]]:
        query = prepare_query(flat, normalized=self._normalized)
        wanted = Wanted(query, k, 1.0) if self._normalized else _product(query, k)
        for number, mask in enumerate(self._masks(allow)):
            part = self._parts[number]
            if not isinstance(part, Vectors):
                yield number, *exact_rows(part, mask, wanted)
                continue
            order = part.order
            kept = mask if mask is None or order is None else mask[order]
            places, scores = exact_rows(part.lying(), kept, wanted)
            yield number, places if order is None else order[places], scores


class _Plan(NamedTuple):
    """A ``DensePlan``, None where the extension cannot read a part, with the masks that it is for:
    while it is remembered no others can have their addresses."""

    module: ModuleType
    native: Any
    allow: Masks | None


def search_vectors(
    parts: Sequence[Part],
    live: Masks,
    allow: Masks,
    query: Sequence[float] | NDArray[np.floating],
    k: int,
    *,
    row_id: RowId,
    normalized: bool = True,
) -> list[Ranked]:
    """One search, as ``Searcher.search`` does it."""
    searcher = Searcher(parts, live, normalized=normalized)
    return searcher.search(query, k, allow=allow, row_id=row_id)


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
    vector, largest = prepared(_flat(query).astype(np.float64, copy=False), unit=normalized)
    _check_largest(largest, normalized=normalized)
    return vector


def _flat(query: Sequence[float] | NDArray[np.floating]) -> NDArray[np.floating]:
    """In float64; in float32 as it is given."""
    if type(query) is np.ndarray and query.dtype is _FLOAT32:
        flat: NDArray[np.floating] = query
    else:
        try:
            flat = np.asarray(query, dtype=np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise InvalidQueryError(f"The query is no vector ({error}); pass numbers.") from error
    if flat.ndim != 1 or not flat.size:
        raise InvalidQueryError("The query vector is empty or nested; pass a flat list of numbers.")
    return flat


def _check_largest(largest: float, *, normalized: bool) -> None:
    """Of a query's magnitudes."""
    if not math.isfinite(largest) or (not normalized and largest > _FLOAT32_MAX):
        raise InvalidQueryError("The query vector is not finite; embed the query again.")
    if not largest:
        raise InvalidQueryError("The query vector is all zero; embed a query that holds words.")


def _step(module: ModuleType, part: Part, k: int, mask: Mask | None) -> Step | None:
    if isinstance(part, Vectors):
        return part.step(k, mask)
    return module.DenseVectors(half_bits(part), None), None, mask, None


def _both(live: Mask | None, allow: Mask | None) -> Mask | None:
    if live is None or allow is None:
        return allow if live is None else live
    return live & allow


def _name(part: Part) -> str:
    return part.name if isinstance(part, Vectors) else "in memory"


def _product(query: NDArray[np.float32], k: int) -> Wanted:
    """The query times a power of two, which ranks alike: its largest value in [0.5, 1), so that a
    scan in float32 neither overflows nor vanishes."""
    _, exponent = np.frexp(np.abs(query).max())
    scan: NDArray[np.float32] = np.ldexp(query, -exponent)
    return Wanted(scan, k, math.inf, unit=math.ldexp(1.0, int(exponent)))


def _check_masks(name: str, parts: Sequence[Part], masks: Masks) -> None:
    fits = len(masks) == len(parts) and all(
        mask is None or mask.shape == part.shape[:1]
        for part, mask in zip(parts, masks, strict=False)
    )
    if not fits:
        raise InvalidArgument(f"{name} needs one mask (or None) per part, as long as it.")
