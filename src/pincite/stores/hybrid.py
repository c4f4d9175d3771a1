"""The one meaning of ``hybrid``: two legs, ranked apart, fused by the distribution of scores.

A driver asks ``plan`` which legs to run and how deep, runs them its own way (``run`` in the
caller's thread, or two awaits), and hands both lists to ``fuse_hits``.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pincite.fusion import distribution_scores
from pincite.model.hits import Chunk, Hit, LegScore, Span, Spans
from pincite.segments.kernels import native
from pincite.segments.ranking import Ranking, RowId

__all__ = [
    "DEFAULT_ALPHA",
    "Fused",
    "LegPlan",
    "both_spans",
    "depth_warning",
    "fuse_hits",
    "fuse_rankings",
    "fuse_scored",
    "leg_depth",
    "leg_hit",
    "plan",
    "run",
]

DEFAULT_ALPHA: Final = 0.3
"""The weight of the vector side where a collection has none of its own."""

_MIN_DEPTH = 100

_score, _second = itemgetter(0), itemgetter(1)

K = TypeVar("K", bound=Hashable)


class LegPlan(NamedTuple):
    """Which legs a hybrid search runs, and how many hits of each it fuses."""

    depth: int
    alpha: float
    keyword: bool
    vector: bool


class Fused(NamedTuple, Generic[K]):
    """A key with its fused score, its rank from 1, and its part on each leg."""

    key: K
    score: float
    rank: int
    legs: dict[str, LegScore]


def leg_depth(k: int) -> int:
    """How many hits of each leg are fused: ``max(100, 4k)``, the same for every page of ``k``.

    Never more than a machine word holds, whatever ``k`` is.
    """
    return min(max(_MIN_DEPTH, 4 * k), sys.maxsize)


def plan(
    *, query: str, limit: int, alpha: float | None, vector: Sequence[float] | None = None
) -> LegPlan:
    """The legs that can add hits: none of weight 0, no keyword leg for a blank query, and beside
    the keyword leg no vector leg for the zero vector, which is equally far from everything: that
    is what a model says of a query it does not know."""
    weight = DEFAULT_ALPHA if alpha is None else float(alpha)
    keyword = weight < 1.0 and bool(query.strip())
    known = vector is None or not keyword or any(vector)
    return LegPlan(leg_depth(limit), weight, keyword, weight > 0.0 and known)


def run(
    legs: LegPlan,
    keyword: Callable[[int], Sequence[Hit]],
    vector: Callable[[int], Sequence[Hit]],
    *,
    limit: int,
    offset: int = 0,
) -> list[Hit]:
    """Run the planned legs one after the other and fuse them; each takes its depth."""
    found = keyword(legs.depth) if legs.keyword else ()
    near = vector(legs.depth) if legs.vector else ()
    return fuse_hits(found, near, alpha=legs.alpha, limit=limit, offset=offset)


def depth_warning(k: int, offset: int) -> str | None:
    """What to tell a caller whose page reaches past the fused depth, else None."""
    depth = leg_depth(k)
    if offset + k <= depth:
        return None
    return (
        f"A search with k={k} ranks {depth} hits; those past that are left out."
        " Raise k to see more."
    )


def leg_hit(
    leg: str, chunk: Chunk, score: float, rank: int, highlights: Sequence[Span] = ()
) -> Hit:
    """A hit of one leg ("keyword" or "vector"); ``spans`` are the highlights in the document."""
    legs = {leg: LegScore(score, rank, 1.0, score)}
    return Hit(chunk, score, rank, legs, *both_spans(chunk, highlights), leg)


def both_spans(chunk: Chunk, highlights: Sequence[Span]) -> tuple[Sequence[Span], Sequence[Span]]:
    """Highlights in the chunk's content, and the same places in its document."""
    at = chunk.start_char
    if isinstance(highlights, Spans):
        return highlights, highlights.shifted(at)
    return tuple(highlights), tuple((at + start, at + end) for start, end in highlights)


def fuse_hits(
    keyword: Sequence[Hit],
    vector: Sequence[Hit],
    *,
    alpha: float | None,
    limit: int,
    offset: int = 0,
) -> list[Hit]:
    """Fuse the two legs' hits, best first, and cut out ``[offset, offset + limit)``.

    A hit's score is ``(1 - alpha) * keyword + alpha * vector`` of the ``distribution_scores`` of
    each leg, a leg without the chunk counting 0, rounded to float32; it is comparable within one
    result only. Equal scores are ordered by chunk id. When one leg alone has a say, its order
    stands as it is. Hits past ``leg_depth(limit)`` are left out: see ``depth_warning``.
    """
    hits = {_key(hit): hit for leg in (vector, keyword) for hit in reversed(leg)}
    fused = fuse_scored(
        [(_key(hit), hit.score) for hit in keyword],
        [(_key(hit), hit.score) for hit in vector],
        alpha=alpha,
        limit=limit,
        offset=offset,
    )
    # The keyword hit overwrote the vector hit above, so that its highlights stay.
    return [
        replace(hits[key], score=score, rank=rank, legs=legs, retriever="hybrid")
        for key, score, rank, legs in fused
    ]


def fuse_scored(
    keyword: Sequence[tuple[K, float]],
    vector: Sequence[tuple[K, float]],
    *,
    alpha: float | None,
    limit: int,
    offset: int = 0,
    name: Callable[[K], Any] | None = None,
) -> list[Fused[K]]:
    """``fuse_hits`` on keys and scores, for stores that read rows only of what is returned.

    The order of ``name(key)`` breaks ties, asked for only where there are any. Without it that of
    the keys does, which are chunk ids, or tuples that begin with them.
    """
    weight = DEFAULT_ALPHA if alpha is None else float(alpha)
    legs = {"keyword": _weigh(keyword, 1.0 - weight), "vector": _weigh(vector, weight)}
    page = slice(offset, min(offset + limit, leg_depth(limit)))
    ranked = _ranked(legs["keyword"], legs["vector"], page, name)
    return [
        Fused(key, score, rank, _leg_scores(key, legs))
        for rank, (score, key) in enumerate(ranked[page], offset + 1)
    ]


def fuse_rankings(
    keyword: Ranking,
    vector: Ranking,
    *,
    alpha: float,
    limit: int,
    offset: int,
    row_id: RowId,
) -> list[Fused[tuple[int, int]]]:
    """``fuse_scored`` of what the extension found, by the extension: of two legs that both have a
    say and a hit, the first ``leg_depth(limit)`` of each. Keys are (segment, row), whose ids break
    ties, in the legs too."""
    module = native()
    assert module is not None
    depth = leg_depth(limit)
    page = offset, min(offset + limit, depth)
    mine = 1.0 - alpha
    rows = module.fuse(keyword, vector, (mine, alpha), depth, page, row_id)
    fused = []
    for rank, (score, key, word, near) in enumerate(rows, offset + 1):
        legs = {}
        if word is not None:
            legs["keyword"] = LegScore(word[0], word[1], mine, word[2])
        if near is not None:
            legs["vector"] = LegScore(near[0], near[1], alpha, near[2])
        fused.append(Fused(key, score, rank, legs))
    return fused


class _Leg(NamedTuple, Generic[K]):
    """One leg: its weight, its keys with their places below, and for each its best rank, its score
    and its weighted share.

    Shares are not clipped: a leader far ahead of its leg stays ahead, where clipping would let the
    other leg choose among all beyond three deviations.
    """

    weight: float
    places: dict[K, int]
    ranks: Sequence[int]
    scores: Sequence[float]
    shares: list[float]


def _weigh(scored: Sequence[tuple[K, float]], weight: float) -> _Leg[K]:
    if weight <= 0.0 or not scored:
        return _Leg(weight, {}, (), (), [])
    keys: Sequence[K]
    scores: Sequence[float]
    keys, scores = zip(*scored, strict=True)
    places = dict(zip(keys, range(len(keys)), strict=True))
    ranks: Sequence[int] = range(1, len(keys) + 1)
    if len(places) < len(keys):  # a repeated key counts at its best place
        firsts = {key: rank for rank, key in reversed(list(enumerate(keys, start=1)))}
        ranks = sorted(firsts.values())
        scores = [scores[rank - 1] for rank in ranks]
        places = {keys[rank - 1]: place for place, rank in enumerate(ranks)}
    raw = distribution_scores(scores, clip=False)
    return _Leg(weight, places, ranks, scores, [weight * share for share in raw])


def _ranked(
    keyword: _Leg[K], vector: _Leg[K], page: slice, name: Callable[[K], Any] | None
) -> list[tuple[float, K]]:
    """The union with its fused scores, best first; equal scores are in order on the page."""
    scores = _sums(keyword, vector)
    pairs = list(zip(_float32(scores.values()), scores, strict=True))
    if not keyword.places or not vector.places:
        return pairs
    pairs.sort(key=_score, reverse=True)
    by = _second if name is None else lambda pair: name(pair[1])
    start = 0
    while start < min(page.stop, len(pairs)):
        stop = start + 1
        while stop < len(pairs) and pairs[stop][0] == pairs[start][0]:
            stop += 1
        if stop - start > 1 and stop > page.start:
            pairs[start:stop] = sorted(pairs[start:stop], key=by)
        start = stop
    return pairs


def _sums(one: _Leg[K], two: _Leg[K]) -> dict[K, float]:
    sums = dict(zip(one.places, one.shares, strict=True))
    sums.update(zip(two.places, two.shares, strict=True))
    for key in one.places.keys() & two.places.keys():
        sums[key] = one.shares[one.places[key]] + two.shares[two.places[key]]
    return sums


def _leg_scores(key: K, legs: Mapping[str, _Leg[K]]) -> dict[str, LegScore]:
    scores = {}
    for name, leg in legs.items():
        place = leg.places.get(key)
        if place is not None:
            share = leg.shares[place]
            scores[name] = LegScore(leg.scores[place], leg.ranks[place], leg.weight, share)
    return scores


def _key(hit: Hit) -> tuple[str, str]:
    return (hit.chunk.id, hit.chunk.collection)


def _float32(values: Iterable[float]) -> list[float]:
    return array("f", values).tolist()
