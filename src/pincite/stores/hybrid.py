"""The one meaning of ``hybrid``: two legs, ranked apart, fused by the distribution of scores.

A driver asks ``plan`` which legs to run and how deep, runs them its own way (``run`` in the
caller's thread, or two awaits), and hands both lists to ``fuse_hits``.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pincite.fusion import distribution_scores
from pincite.model.hits import Chunk, Hit, LegScore, Span

__all__ = [
    "DEFAULT_ALPHA",
    "LegPlan",
    "depth_warning",
    "fuse_hits",
    "leg_depth",
    "leg_hit",
    "plan",
    "run",
]

DEFAULT_ALPHA: Final = 0.3
"""The weight of the vector side where a collection has none of its own."""

_MIN_DEPTH = 100

Key = tuple[str, str]


class LegPlan(NamedTuple):
    """Which legs a hybrid search runs, and how many hits of each it fuses."""

    depth: int
    alpha: float
    keyword: bool
    vector: bool


class _Part(NamedTuple):
    hit: Hit
    score: LegScore
    unclipped: float


def leg_depth(k: int) -> int:
    """How many hits of each leg are fused: ``max(100, 4k)``, the same for every page of ``k``.

    Never more than a machine word holds, whatever ``k`` is.
    """
    return min(max(_MIN_DEPTH, 4 * k), sys.maxsize)


def plan(*, query: str, limit: int, alpha: float | None) -> LegPlan:
    """The legs that can add hits: none of weight 0, and no keyword leg for a blank query."""
    weight = DEFAULT_ALPHA if alpha is None else float(alpha)
    return LegPlan(leg_depth(limit), weight, weight < 1.0 and bool(query.strip()), weight > 0.0)


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
    spans = tuple((chunk.start_char + start, chunk.start_char + end) for start, end in highlights)
    return Hit(
        chunk,
        score,
        rank,
        {leg: LegScore(score, rank, 1.0, score)},
        tuple(highlights),
        spans,
        leg,
    )


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
    weight = DEFAULT_ALPHA if alpha is None else float(alpha)
    found, near = _weigh(keyword, 1.0 - weight), _weigh(vector, weight)
    ranked = _merge(found, near)
    if found and near:
        ranked.sort(key=_order)
    stop = min(offset + limit, leg_depth(limit))
    page = ranked[offset:stop]
    return [replace(hit, rank=offset + i) for i, (hit, _) in enumerate(page, start=1)]


def _weigh(hits: Sequence[Hit], weight: float) -> dict[Key, _Part]:
    """One leg's hits by chunk, at their best rank, with their share of the fused score."""
    if weight <= 0.0:
        return {}
    first: dict[Key, tuple[int, Hit]] = {}
    for rank, hit in enumerate(hits, start=1):
        first.setdefault((hit.chunk.collection, hit.chunk.id), (rank, hit))
    raw = [hit.score for _, hit in first.values()]
    shares = zip(distribution_scores(raw), distribution_scores(raw, clip=False), strict=True)
    return {
        key: _Part(hit, LegScore(hit.score, rank, weight, weight * share), weight * unclipped)
        for (key, (rank, hit)), (share, unclipped) in zip(first.items(), shares, strict=True)
    }


def _merge(keyword: dict[Key, _Part], vector: dict[Key, _Part]) -> list[tuple[Hit, float]]:
    """The union, keyword hits first, each with the score that decides where clipping ties."""
    merged = []
    for key in [*keyword, *(key for key in vector if key not in keyword)]:
        parts = {"keyword": keyword.get(key), "vector": vector.get(key)}
        present = {leg: part for leg, part in parts.items() if part is not None}
        score = _float32(sum(part.score.contribution for part in present.values()))
        # The keyword hit comes first, so that its highlights stay.
        hit = replace(
            next(iter(present.values())).hit,
            score=score,
            legs={leg: part.score for leg, part in present.items()},
            retriever="hybrid",
        )
        merged.append((hit, _float32(sum(part.unclipped for part in present.values()))))
    return merged


def _order(ranked: tuple[Hit, float]) -> tuple[float, float, str, str]:
    hit, unclipped = ranked
    return (-hit.score, -unclipped, hit.chunk.id, hit.chunk.collection)


def _float32(value: float) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded
