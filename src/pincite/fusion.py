"""Fusion of ranked lists: pure functions on hashable keys, best first, mutating nothing.

Every function takes one list per ranker and returns ``(key, score)`` pairs, best first. A key
that a list repeats counts once, at its best place. A list of weight 0 adds no keys. Equal
scores are ordered by key, so that the result is the same in every run and process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, TypeVar, cast

from pincite.errors import InvalidArgument

__all__ = [
    "RRF_K",
    "check_weights",
    "distribution_based",
    "distribution_scores",
    "min_max",
    "min_max_scores",
    "rrf",
    "weighted",
]

RRF_K: Final = 60
"""The usual constant of reciprocal rank fusion."""

K = TypeVar("K", bound=Hashable)
Scored = Sequence[tuple[K, float]]


def rrf(
    lists: Sequence[Sequence[K]], *, k: float = RRF_K, weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """Reciprocal rank fusion: the sum of ``weight / (k + rank)``, ranks from 1.

    Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms Condorcet and individual
    rank learning methods", SIGIR 2009. Ranks are places in the list as given, so a repeated key
    leaves a gap behind it. Raises ``InvalidArgument`` for a negative or non-finite ``k`` or
    weight, and for another number of weights than of lists.
    """
    if isinstance(k, bool) or not isinstance(k, int | float) or not (0 <= k < math.inf):
        raise InvalidArgument(f"k must be a finite number >= 0, not {k!r}; the usual value is 60.")
    places = [
        _first((key, 1.0 / (k + rank)) for rank, key in enumerate(ranked, start=1))
        for ranked in lists
    ]
    return _combine(places, check_weights(weights, len(lists)))


def weighted(
    lists: Sequence[Scored[K]], *, weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """The weighted sum of the scores as they are; a key that a list lacks counts 0 there.

    "CombSUM" of Fox and Shaw, "Combination of multiple searches", TREC-2, 1994, with weights.
    Fit for scores that are already on one scale. Raises ``InvalidArgument`` as ``rrf`` does, and
    for a score that is not finite.
    """
    return _fuse(lists, weights, lambda scores: list(scores))


def min_max(
    lists: Sequence[Scored[K]], *, weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """The weighted sum of the scores after ``min_max_scores``; errors as in ``weighted``."""
    return _fuse(lists, weights, min_max_scores)


def distribution_based(
    lists: Sequence[Scored[K]], *, weights: Sequence[float] | None = None
) -> list[tuple[K, float]]:
    """The weighted sum of the scores after ``distribution_scores``; errors as in ``weighted``."""
    return _fuse(lists, weights, distribution_scores)


def min_max_scores(scores: Sequence[float]) -> list[float]:
    """Scores on 0..1: ``(s - min) / (max - min)``; when all are equal each is .5.

    Lee, "Analyses of multiple evidence combination", SIGIR 1997.
    """
    if not scores:
        return []
    low, high = min(scores), max(scores)
    if high == low:
        return [0.5] * len(scores)
    # Halves keep the range finite where high - low alone would overflow.
    span = high / 2 - low / 2
    return [min(1.0, max(0.0, (s / 2 - low / 2) / span)) for s in scores]


def distribution_scores(scores: Sequence[float], *, clip: bool = True) -> list[float]:
    """Scores on 0..1: ``(s - (mean - 3 sd)) / (6 sd)``, clipped unless ``clip`` is False.

    ``sd`` is the sample deviation (n - 1). One score, or equal scores, are .5 each.
    Mazzeschi, "Distribution-based score fusion (DBSF), a new approach to vector search ranking",
    2023; the variance is the one that Qdrant's DBSF takes.
    """
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if len(scores) < 2 or high == low:
        return [0.5] * len(scores)
    # Scaling by the largest magnitude changes nothing but keeps squares in range.
    scale = max(abs(low), abs(high))
    scaled = [s / scale for s in scores]
    mean = math.fsum(scaled) / len(scaled)
    apart = [s - mean for s in scaled]
    deviation = math.sqrt(math.fsum([d * d for d in apart]) / (len(scaled) - 1))
    if deviation == 0.0:
        return [0.5] * len(scores)
    width = 6.0 * deviation
    raw = [0.5 + d / width for d in apart]
    return [min(1.0, max(0.0, s)) for s in raw] if clip else raw


def check_weights(weights: Sequence[float] | None, count: int) -> list[float]:
    """The weights as floats, 1.0 each when None; ``InvalidArgument`` for what cannot weigh."""
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise InvalidArgument(
            f"{count} lists but {len(weights)} weights; give one weight for each list."
        )
    for weight in weights:
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not number or not (0 <= weight < math.inf):
            raise InvalidArgument(
                f"A weight must be a finite number >= 0, not {weight!r}; use 0 to leave a list out."
            )
    return [float(weight) for weight in weights]


def _fuse(
    lists: Sequence[Scored[K]],
    weights: Sequence[float] | None,
    normalize: Callable[[Sequence[float]], list[float]],
) -> list[tuple[K, float]]:
    checked = check_weights(weights, len(lists))
    places = []
    for scored in lists:
        best = _first(scored)
        for key, score in best.items():
            if not math.isfinite(score):
                raise InvalidArgument(
                    f"The score of {key!r} is {score}; drop such hits before the fusion."
                )
        places.append(dict(zip(best, normalize(list(best.values())), strict=True)))
    return _combine(places, checked)


def _first(pairs: Iterable[tuple[K, float]]) -> dict[K, float]:
    """Each key with the value of its first, so best, place."""
    best: dict[K, float] = {}
    for key, value in pairs:
        best.setdefault(key, value)
    return best


def _combine(places: Sequence[dict[K, float]], weights: Sequence[float]) -> list[tuple[K, float]]:
    parts: dict[K, list[float]] = {}
    for values, weight in zip(places, weights, strict=True):
        if weight > 0.0:
            for key, value in values.items():
                parts.setdefault(key, []).append(weight * value)
    return _ordered([(key, math.fsum(values)) for key, values in parts.items()])


def _ordered(pairs: list[tuple[K, float]]) -> list[tuple[K, float]]:
    """Best first, ties by key; keys that do not compare are ordered by type and ``repr``."""
    try:
        return sorted(pairs, key=lambda pair: (-pair[1], cast(Any, pair[0])))
    except TypeError:
        return sorted(pairs, key=lambda pair: (-pair[1], type(pair[0]).__name__, repr(pair[0])))
