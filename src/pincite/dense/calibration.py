"""How many lists and exact scores a segment needs, found by asking it for what is known.

Rows of the segment, spread over it, serve as queries. For the nearest 10, 100 and 1,000 other rows
of each, the cheapest pair of lists and exact scores is taken that finds ``TARGET`` of them.
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
_QUERIES: Final = 256
_PRODUCTS: Final = 1.28e8  # rows times queries that are worth their time
_FEWER: Final = 4  # queries for the wider reaches, which have more neighbours each
_ROOM: Final = 500  # estimates looked at beyond six times the reach
_CHOICES: Final = 4  # numbers of lists that are tried for one reach
_RARE: Final = 0.999
_EXACT: Final = 16.0  # the cost of an exact score, in estimates

Rows = NDArray[np.int64]


class _Samples(NamedTuple):
    """Queries with the true nearest rows (S, R) and the rank of the list that each is in."""

    queries: NDArray[np.float32]
    nearest: Rows
    ranks: Rows

    def every(self, step: int) -> _Samples:
        """Some of them."""
        return _Samples(self.queries[::step], self.nearest[::step], self.ranks[::step])


def calibrated(
    vectors: NDArray[np.float16], exact: Any, codes: Any, order: NDArray[np.uint32], starts: Rows
) -> Rule:
    """The rule of a segment; ``exact`` and ``codes`` are the extension's readers of it."""
    rows, lists = len(vectors), len(starts) - 1
    samples = _samples(vectors, exact, codes, order, starts)
    reaches = [r for r in _REACHES if r <= samples.nearest.shape[1]]
    pairs, excess = [], [np.zeros(1)]
    for reach in reaches:
        asked = samples if reach == reaches[0] else samples.every(_FEWER)
        probes, depth, over = _cheapest(vectors, codes, asked, reach, rows / lists)
        pairs.append((probes, depth))
        excess.append(over)
    return Rule(
        rows=rows,
        lists=lists,
        reach=tuple(reaches),
        probes=tuple(np.maximum.accumulate([p for p, _ in pairs]).tolist()),
        depth=tuple(np.maximum.accumulate([d for _, d in pairs]).tolist()),
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
    ranks = np.empty_like(nearest)
    rank_of = np.empty(lists, dtype=np.int64)
    for number, query in enumerate(queries):
        rank_of[codes.lists(query)] = np.arange(lists)
        ranks[number] = rank_of[list_of[nearest[number]]]
    return _Samples(queries, nearest, ranks)


def _cheapest(
    vectors: NDArray[np.float16], codes: Any, samples: _Samples, reach: int, list_rows: float
) -> tuple[int, int, NDArray[np.float64]]:
    """Lists and exact scores for one reach; and by how much products exceed their estimates."""
    best: tuple[float, int, int, NDArray[np.float64]] | None = None
    for probes in _enough_lists(samples.ranks[:, :reach]):
        places, over = _places(vectors, codes, samples, reach, probes)
        wanted = int(np.ceil(TARGET * places.size)) - 1
        depth = int(np.partition(places, wanted, axis=None).reshape(-1)[wanted]) + 1
        cost = probes * list_rows + depth * _EXACT
        if best is None or cost < best[0]:
            best = cost, probes, depth, over
    assert best is not None
    return best[1:]


def _enough_lists(ranks: Rows) -> list[int]:
    """A few numbers of lists that hold enough of the nearest rows, the least one first."""
    room = (1 + TARGET) / 2
    least = int(np.quantile(ranks, TARGET, method="higher")) + 1
    ample = int(np.quantile(ranks, room, method="higher")) + 1
    tried: list[int] = np.unique(np.linspace(least, ample, _CHOICES).astype(int)).tolist()
    return tried


def _places(
    vectors: NDArray[np.float16], codes: Any, samples: _Samples, reach: int, probes: int
) -> tuple[Rows, NDArray[np.float64]]:
    """Where the nearest rows (S, reach) come among the estimates; far behind when they do not."""
    rows = len(vectors)
    depth = min(rows, 6 * reach + _ROOM)
    place_of = np.full(rows, depth, dtype=np.int64)
    places = np.empty((len(samples.queries), reach), dtype=np.int64)
    over = []
    for number, query in enumerate(samples.queries):
        found, estimates, _ = codes.estimated(query, probes, depth)
        place_of[found] = np.arange(len(found))
        near = samples.nearest[number, :reach]
        places[number] = place_of[near]
        place_of[found] = depth
        held = places[number] < depth
        products = vectors[near[held]].astype(np.float32) @ query
        over.append(products - estimates[places[number, held]])
    return places, np.concatenate(over)
