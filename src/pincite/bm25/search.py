"""Keyword search over segments: exact BM25 with the statistics of the live rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.kernels import best_rows
from pincite.bm25.segment import KeywordSegment, Postings
from pincite.errors import InvalidArgument, InvalidQueryError
from pincite.segments.kernels import warn_when_slow
from pincite.segments.ranking import Ranked, RowId, ranked

__all__ = ["Group", "Mask", "Matches", "Statistics", "in_order", "matches", "search_segments"]

Group = tuple[str, ...]
"""Terms that count as one: df of the union of their rows, tf summed."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Statistics:
    """Live rows and the sum of their lengths."""

    rows: int
    length: int

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
    """A group's live postings, one per segment, with its df and idf over all of them."""

    group: Group
    df: int
    idf: float
    postings: tuple[Postings, ...]


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
    warn_when_slow(statistics.rows)
    found = matches(segments, live, groups, statistics)
    best = (
        (
            number,
            *best_rows(
                [(group.idf, group.postings[number]) for group in found],
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


def matches(
    segments: Sequence[KeywordSegment],
    live: Sequence[Mask | None],
    groups: Sequence[Group],
    statistics: Statistics,
) -> list[Matches]:
    """The groups that match a live row, in dictionary order."""
    found = []
    for group in in_order(groups):
        postings = tuple(
            _live_postings(segment, group, mask)
            for segment, mask in zip(segments, live, strict=True)
        )
        df = sum(len(rows) for rows, _ in postings)
        if df:
            found.append(Matches(group, df, idf(statistics.rows, df), postings))
    return found


def in_order(groups: Sequence[Group]) -> list[Group]:
    """Distinct groups of distinct terms, in dictionary order, because a query's terms are a set."""
    return sorted({tuple(sorted(set(group))) for group in groups if group})


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
