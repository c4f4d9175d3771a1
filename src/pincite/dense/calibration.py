"""How many lists and exact scores a segment needs, found by asking it for what is known.

Rows of the segment, spread over it, serve as queries. For the nearest 10, 100 and 1,000 other rows
of each (an eighth of a small segment in place of 1,000), the cheapest pair of a gap between lists
and a number of exact scores is taken that finds ``TARGET`` of them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pincite.dense.effort import Rule

__all__ = ["TARGET", "calibrated"]

TARGET: Final = 0.987
"""The recall to reach on a segment's own rows."""

_REACHES: Final = (10, 100, 1000)
_SHARE: Final = 8  # a reach is measured in segments of at least so many times its rows
_QUERIES: Final = 512
_PRODUCTS: Final = 2.56e8  # rows times queries that are worth their time
_FEWER: Final = 4  # queries for the wider reaches, which have more neighbours each
_ROOM: Final = 500  # estimates looked at beyond six times the reach
_CHOICES: Final = 4  # gaps that are tried for one reach
_RARE: Final = 0.999
_EXACT: Final = 16.0  # the cost of an exact score, in estimates

Rows = NDArray[np.int64]
Reals = NDArray[np.float64]


class _Samples(NamedTuple):
    """Queries with the true nearest rows (S, R), the gap of the list that each is in, and for each
    query all gaps, ascending (S, L), with the rows within them."""

    queries: NDArray[np.float32]
    nearest: Rows
    gaps: Reals
    every: Reals
    within: Rows

    def some(self, step: int) -> _Samples:
        """Some of them."""
        return _Samples(
            self.queries[::step],
            self.nearest[::step],
            self.gaps[::step],
            self.every[::step],
            self.within[::step],
        )

    def scanned(self, gap: float) -> float:
        """How many rows the lists within a gap have, on average."""
        pairs = zip(self.every, self.within, strict=True)
        return float(np.mean([rows[np.searchsorted(g, gap, "right") - 1] for g, rows in pairs]))


class _Bounds(NamedTuple):
    """A gap, the rows within it, the exact scores beside it."""

    gap: float
    scanned: float
    depth: int


def calibrated(
    vectors: NDArray[np.float16], exact: Any, codes: Any, order: NDArray[np.uint32], starts: Rows
) -> Rule:
    """The rule of a segment; ``exact`` and ``codes`` are the extension's readers of it."""
    rows, lists = len(vectors), len(starts) - 1
    samples = _samples(vectors, exact, codes, order, starts)
    most = samples.nearest.shape[1]
    reaches = sorted({min(reach, most) for reach in _REACHES})
    found, excess = [], [np.zeros(1)]
    for reach in reaches:
        asked = samples if reach == reaches[0] else samples.some(_FEWER)
        bounds, over = _cheapest(vectors, codes, asked, reach)
        found.append(bounds)
        excess.append(over)
    gap, scanned, depth = (np.maximum.accumulate(column) for column in zip(*found, strict=True))
    return Rule(
        rows=rows,
        lists=lists,
        reach=tuple(reaches),
        gap=tuple(gap.tolist()),
        scanned=tuple(scanned.tolist()),
        depth=tuple(depth.tolist()),
        margin=float(np.quantile(np.concatenate(excess), _RARE)),
    )


def _samples(
    vectors: NDArray[np.float16], exact: Any, codes: Any, order: NDArray[np.uint32], starts: Rows
) -> _Samples:
    rows, lists = len(vectors), len(starts) - 1
    count = max(_QUERIES // _FEWER, min(_QUERIES, int(_PRODUCTS / rows)))
    own = np.unique(np.linspace(0, rows - 1, count).astype(np.int64))
    queries = vectors[own].astype(np.float32)
    lengths = np.sqrt(np.square(queries).sum(axis=1))
    own, queries = own[lengths > 0], queries[lengths > 0] / lengths[lengths > 0, None]
    reach = max(10, min(_REACHES[-1], rows // _SHARE))
    nearest = exact.best(np.ascontiguousarray(queries), reach + 1)
    # Without itself; a row whose equals crowd it out loses its last neighbour instead.
    itself = nearest == own[:, None]
    itself[~itself.any(axis=1), -1] = True
    nearest = nearest[~itself].reshape(len(own), reach)
    list_of = np.empty(rows, dtype=np.int64)
    list_of[order] = np.repeat(np.arange(lists), np.diff(starts))
    every = np.stack([codes.gaps(query) for query in queries]).astype(np.float64)
    gaps = np.take_along_axis(every, list_of[nearest], axis=1)
    near = np.argsort(every, axis=1)
    within = np.cumsum(np.diff(starts)[near], axis=1)
    return _Samples(queries, nearest, gaps, np.take_along_axis(every, near, axis=1), within)


def _cheapest(
    vectors: NDArray[np.float16], codes: Any, samples: _Samples, reach: int
) -> tuple[_Bounds, Reals]:
    """The bounds for one reach; and by how much products exceed their estimates."""
    best: tuple[float, _Bounds, Reals] | None = None
    for gap in _enough(samples.gaps[:, :reach]):
        places, over = _places(vectors, codes, samples, reach, gap)
        wanted = int(np.ceil(TARGET * places.size)) - 1
        depth = int(np.partition(places, wanted, axis=None).reshape(-1)[wanted]) + 1
        bounds = _Bounds(gap, samples.scanned(gap), depth)
        cost = bounds.scanned + depth * _EXACT
        if best is None or cost < best[0]:
            best = cost, bounds, over
    assert best is not None
    return best[1:]


def _enough(gaps: Reals) -> list[float]:
    """A few gaps that hold enough of the nearest rows, the least one first."""
    shares = np.linspace(TARGET, (1 + TARGET) / 2, _CHOICES)
    # A little more: the search computes in float32.
    tried: list[float] = (np.quantile(gaps, shares, method="higher") + 1e-6).tolist()
    return sorted(set(tried))


def _places(
    vectors: NDArray[np.float16], codes: Any, samples: _Samples, reach: int, gap: float
) -> tuple[Rows, Reals]:
    """Where the nearest rows (S, reach) come among the estimates; far behind when they do not."""
    rows = len(vectors)
    depth = min(rows, 6 * reach + _ROOM)
    place_of = np.full(rows, depth, dtype=np.int64)
    places = np.empty((len(samples.queries), reach), dtype=np.int64)
    over = []
    for number, query in enumerate(samples.queries):
        found, estimates = codes.estimated(query, gap, depth)
        place_of[found] = np.arange(len(found))
        near = samples.nearest[number, :reach]
        places[number] = place_of[near]
        place_of[found] = depth
        held = places[number] < depth
        products = vectors[near[held]].astype(np.float32) @ query
        over.append(products - estimates[places[number, held]])
    return places, np.concatenate(over)
