"""The end of every search: the k best rows of several segments, ties by id."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ranked", "Ranking", "RowId", "at_least_kth", "in_id_order", "ranked"]

Ranked = tuple[int, int, float]
"""Segment, row, score."""

RowId = Callable[[int, int], str]
"""The id of the row (segment, row); equal scores are put in its order."""


class Ranking(Protocol):
    """What the extension found, best first: the k best and what ties with the last of them, ties
    in any order."""

    def __len__(self) -> int: ...

    def listed(self) -> list[Ranked]:
        """The same as a list."""


_BLOCK = 64
_score = itemgetter(2)


def at_least_kth(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Where ``scores`` (n,) reach the k-th largest, ascending: k places, or more with ties.

    ``np.partition`` is quick on distinct values and slow on repeated ones, so a bound cuts first:
    the k-th largest of the maxima of disjoint blocks can not exceed the k-th largest value.
    """
    if len(scores) <= k:
        return np.arange(len(scores))
    blocks = len(scores) // _BLOCK
    if blocks < k:
        return np.flatnonzero(scores >= _kth(scores, k))
    maxima = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    above = np.flatnonzero(scores >= _kth(maxima, k))
    return above[scores[above] >= _kth(scores[above], k)]


def ranked(
    found: Iterable[tuple[int, NDArray[np.integer], NDArray[np.float32]]],
    k: int,
    row_id: RowId,
) -> list[Ranked]:
    """The k best of ``found``, (segment, rows, scores) each, best first, ties by ``row_id``."""
    parts = [part for part in found if len(part[1])]
    if not parts:
        return []
    if len(parts) == 1:
        number, rows, scores = parts[0]
        segments: list[int] = [number] * len(rows)
    else:
        rows = np.concatenate([rows for _, rows, _ in parts])
        scores = np.concatenate([scores for _, _, scores in parts])
        segments = [number for number, rows, _ in parts for _ in range(len(rows))]
    if len(segments) > k:
        kept = at_least_kth(scores, k)
        rows, scores, segments = rows[kept], scores[kept], [segments[i] for i in kept]
    hits = list(zip(segments, rows.tolist(), scores.tolist(), strict=True))
    hits.sort(key=_score, reverse=True)
    if len({hit[2] for hit in hits}) < len(hits):  # ids are looked up only where they decide
        hits = heapq.nsmallest(k, hits, key=lambda hit: (-hit[2], row_id(hit[0], hit[1])))
    return hits[:k]


def in_id_order(ranking: Ranking, k: int, row_id: RowId) -> list[Ranked]:
    """The k best of ``ranking``; ids are asked for only where scores are equal."""
    found = ranking.listed()
    counts = Counter(map(_score, found))
    if len(counts) < len(found):
        ordered = found.copy()
        start = 0
        for many in counts.values():
            if many > 1 and start < k:
                tied = found[start : start + many]
                tied.sort(key=lambda hit: row_id(hit[0], hit[1]))
                ordered[start : start + many] = tied
            start += many
        found = ordered
    return found if len(found) <= k else found[:k]


def _kth(values: NDArray[np.float32], k: int) -> np.float32:
    """The k-th largest of ``values``, which has at least k."""
    kth: np.float32 = np.partition(values, len(values) - k)[len(values) - k]
    return kth
