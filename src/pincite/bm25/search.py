"""Keyword search over segments: exact BM25 with the statistics of the live rows."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.kernels import best_rows
from pincite.bm25.segment import KeywordSegment, Postings, encoded
from pincite.errors import InvalidArgument, InvalidQueryError, StoreCorrupt
from pincite.segments.kernels import native, warn_when_slow
from pincite.segments.ranking import Ranked, RowId, ranked

__all__ = ["Group", "Mask", "Matches", "Statistics", "in_order", "matches", "search_segments"]

Group = tuple[str, ...]
"""Terms that count as one: df of the union of their rows, tf summed."""

Mask = NDArray[np.bool_]

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class Statistics:
    """Live rows and the sum of their lengths."""

    rows: int
    length: int
    frequencies: dict[Group, int] = field(default_factory=dict, compare=False, repr=False)
    """The df of groups that took a count, kept for the next query."""

    @classmethod
    def of(cls, segments: Sequence[KeywordSegment], live: Sequence[Mask | None]) -> Statistics:
        """Counted over the rows that ``live`` marks; None marks all."""
        _check_masks("live", segments, live)
        pairs = list(zip(segments, live, strict=True))
        rows = sum(s.rows if mask is None else int(np.count_nonzero(mask)) for s, mask in pairs)
        length = sum(
            s.total_length if mask is None else int((s.lengths * mask).sum(dtype=np.uint64))
            for s, mask in pairs
        )
        return cls(rows, length)

    @property
    def average(self) -> float:
        """The mean length; 1 when every length is 0, so that it can divide."""
        return self.length / self.rows if self.length else 1.0


@dataclass(frozen=True, slots=True)
class Matches:
    """A group's live postings, one per segment, with its df and idf over all of them, and how
    often the query says it."""

    group: Group
    df: int
    idf: float
    postings: tuple[Postings, ...]
    count: int = 1

    @property
    def weight(self) -> float:
        """What a row's term factor is multiplied by."""
        return self.count * self.idf


def search_segments(
    segments: Sequence[KeywordSegment],
    live: Sequence[Mask | None],
    allow: Sequence[Mask | None],
    groups: Sequence[Group],
    k: int,
    *,
    k1: float = 1.2,
    b: float = 0.75,
    method: str = "okapi",
    row_id: RowId,
    statistics: Statistics | None = None,
) -> list[Ranked]:
    """The ``k`` best (segment, row, score), best first, ties in the order of ``row_id``.

    ``live`` and ``allow`` hold a mask per segment, or None for all rows. Rows, df and average
    length count live rows only; ``allow`` then restricts candidates and changes no score. Rows
    without a term are never returned. ``statistics`` saves counting live rows again.

    Raises ``InvalidQueryError`` for k below 1 and ``InvalidArgument`` for parameters out of range
    or masks that do not fit.
    """
    parameters = Bm25Parameters(k1, b, method)
    if k < 1:
        raise InvalidQueryError(f"k is {k}; ask for at least 1 result.")
    _check_masks("allow", segments, allow)
    statistics = statistics or Statistics.of(segments, live)
    module = native()
    if module is not None and sum(map(len, groups)) <= module.MOST_TERMS:
        natives = [segment.native for segment in segments]
        if None not in natives:
            call = _Native(module, natives, live, allow, statistics)
            return in_id_order(call.search(groups, k, parameters), k, row_id)
    warn_when_slow(statistics.rows)
    found = matches(segments, live, groups, statistics)
    best = (
        (
            number,
            *best_rows(
                [(group.weight, group.postings[number]) for group in found],
                segment.lengths,
                allow[number],
                k,
                parameters=parameters,
                average=statistics.average,
            ),
        )
        for number, segment in enumerate(segments)
    )
    return ranked(best, k, row_id)


@dataclass(frozen=True, slots=True)
class _Native:
    module: ModuleType
    segments: Sequence[Any]
    live: Sequence[Mask | None]
    allow: Sequence[Mask | None]
    statistics: Statistics

    def search(self, groups: Sequence[Group], k: int, parameters: Bm25Parameters) -> list[Ranked]:
        """What reaches the k-th best score, best first."""
        ordered = in_order(groups)
        words = [[encoded(term) for term in group] for group, _ in ordered]
        scale, delta = parameters.scale_and_delta
        try:
            found: list[Ranked] = self.module.keyword_search(
                self.segments,
                self.live,
                self.allow,
                words,
                [count for _, count in ordered],
                [
                    self._frequency(group, own)
                    for (group, _), own in zip(ordered, words, strict=True)
                ],
                self.statistics.rows,
                k,
                parameters.k1,
                parameters.b,
                self.statistics.average,
                scale,
                delta,
            )
        except self.module.Damaged as error:
            raise StoreCorrupt(str(error)) from error
        return found

    def _frequency(self, group: Group, words: list[bytes]) -> int:
        """The df of a group; -1 when the search itself reads it off."""
        if len(group) == 1 and all(mask is None for mask in self.live):
            return -1
        known = self.statistics.frequencies
        if group not in known:
            if len(known) >= _REMEMBERED:
                known.clear()
            known[group] = self.module.document_frequency(self.segments, self.live, words)
        return known[group]


def in_id_order(found: list[Ranked], k: int, row_id: RowId) -> list[Ranked]:
    """The k best of ``found``, best first; ids are asked for only where scores are equal."""
    if len(found) <= k and all(x[2] > y[2] for x, y in pairwise(found)):
        return found
    return heapq.nsmallest(k, found, key=lambda hit: (-hit[2], row_id(hit[0], hit[1])))


def matches(
    segments: Sequence[KeywordSegment],
    live: Sequence[Mask | None],
    groups: Sequence[Group],
    statistics: Statistics,
) -> list[Matches]:
    """The groups that match a live row, in dictionary order."""
    found = []
    for group, count in in_order(groups):
        postings = tuple(
            _live_postings(segment, group, mask)
            for segment, mask in zip(segments, live, strict=True)
        )
        df = sum(len(rows) for rows, _ in postings)
        if df:
            found.append(Matches(group, df, idf(statistics.rows, df), postings, count))
    return found


def in_order(groups: Sequence[Group]) -> list[tuple[Group, int]]:
    """Distinct groups of distinct terms, in dictionary order, each with how often it was given.

    A word that a query says twice counts twice, as in Lucene: on judged sets with long queries it
    is worth .06 nDCG@10 (docs/quality.md).
    """
    counted = Counter(tuple(sorted(set(group))) for group in groups if group)
    return sorted(counted.items())


def _live_postings(segment: KeywordSegment, group: Group, live: Mask | None) -> Postings:
    found = [segment.postings(term) for term in group]
    rows, tfs = _union([postings for postings in found if len(postings[0])] or found[:1])
    if live is None:
        return rows, tfs
    kept = live[rows]
    return rows[kept], tfs[kept]


def _union(found: Sequence[Postings]) -> Postings:
    """The rows of any of ``found``, with the frequencies of a row summed."""
    if len(found) == 1:
        return found[0]
    rows, place = np.unique(np.concatenate([rows for rows, _ in found]), return_inverse=True)
    tfs = np.bincount(place, weights=np.concatenate([tfs for _, tfs in found]))
    return rows, tfs.astype(np.uint32)


def _check_masks(
    name: str, segments: Sequence[KeywordSegment], masks: Sequence[Mask | None]
) -> None:
    rows = [segment.rows for segment in segments]
    if len(masks) != len(rows) or any(
        mask is not None and mask.shape != (count,) for mask, count in zip(masks, rows, strict=True)
    ):
        raise InvalidArgument(
            f"{name} needs one mask (or None) per segment, as long as the segment has rows."
        )
