"""Keyword search over segments: exact BM25 with the statistics of the live rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.kernels import best_rows
from pincite.bm25.segment import KeywordSegment, Postings
from pincite.errors import InvalidArgument, InvalidQueryError, StoreCorrupt
from pincite.segments.kernels import native, warn_when_slow
from pincite.segments.ranking import Ranked, Ranking, RowId, in_id_order, ranked

__all__ = [
    "Group",
    "Kept",
    "Mask",
    "Matches",
    "Searcher",
    "Statistics",
    "in_order",
    "matches",
    "search_segments",
]

Group = tuple[str, ...]
"""Terms that count as one: df of the union of their rows, tf summed."""

Mask = NDArray[np.bool_]

Kept = Mask | NDArray[np.uint32]
"""What a filter keeps of a segment: a mask, or its rows, ascending, where they are few."""

DEFAULT = Bm25Parameters()


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


class Searcher:
    """Segments with their live rows, ready for many searches. Safe to share between threads.

    ``live`` holds a mask per segment, or None for all rows; ``statistics`` saves counting them.
    """

    def __init__(
        self,
        segments: Sequence[KeywordSegment],
        live: Sequence[Mask | None],
        statistics: Statistics | None = None,
    ) -> None:
        """Raises ``InvalidArgument`` for masks that do not fit."""
        _check_masks("live", segments, live)
        self.segments, self.live = segments, live
        self.statistics = statistics or Statistics.of(segments, live)
        self._native: tuple[ModuleType, Any] | None = None

    def search(
        self,
        groups: Sequence[Group],
        k: int,
        *,
        allow: Sequence[Kept | None] | None = None,
        parameters: Bm25Parameters = DEFAULT,
        row_id: RowId,
    ) -> list[Ranked]:
        """The ``k`` best (segment, row, score), best first, ties in the order of ``row_id``.

        Rows, df and average length count live rows only; ``allow`` (``Kept`` per segment, None for
        all rows) then restricts candidates and changes no score. Rows without a term are never
        returned. Raises ``InvalidQueryError`` for k below 1 and ``InvalidArgument`` for masks that
        do not fit.
        """
        ranking = self.ranking(groups, k, allow=allow, parameters=parameters)
        if ranking is not None:
            return in_id_order(ranking, k, row_id)
        self._check_allowed(allow)
        warn_when_slow(self.statistics.rows)
        return ranked(self._scored(groups, k, parameters, allow), k, row_id)

    def ranking(
        self,
        groups: Sequence[Group],
        k: int,
        *,
        allow: Sequence[Kept | None] | None = None,
        parameters: Bm25Parameters = DEFAULT,
    ) -> Ranking | None:
        """What ``search`` would put in order; None where the extension can not tell."""
        if k < 1:
            raise InvalidQueryError(f"k is {k}; ask for at least 1 result.")
        module = native()
        if module is None:
            return None
        k = min(k, max(self.statistics.rows, 1))  # more than its integers hold may be asked for
        try:
            if self._native is None or self._native[0] is not module:
                natives = [segment.native for segment in self.segments]
                if None in natives:
                    return None
                rows, average = self.statistics.rows, self.statistics.average
                self._native = module, module.KeywordSearcher(natives, self.live, rows, average)
            found: Ranking | None = self._native[1].search(
                groups, k, parameters.k1, parameters.b, *parameters.scale_and_delta, allow
            )
        except module.Damaged as error:
            raise StoreCorrupt(str(error)) from error
        except ValueError:
            self._check_allowed(allow)
            raise
        return found

    def _check_allowed(self, allow: Sequence[Kept | None] | None) -> None:
        if allow is not None:
            _check_masks("allow", self.segments, list(map(_mask_only, allow)))

    def _scored(
        self,
        groups: Sequence[Group],
        k: int,
        parameters: Bm25Parameters,
        allow: Sequence[Kept | None] | None,
    ) -> Iterator[tuple[int, NDArray[np.integer], NDArray[np.float32]]]:
        found = matches(self.segments, self.live, groups, self.statistics)
        for number, segment in enumerate(self.segments):
            kept = None if allow is None else allow[number]
            rows, scores = best_rows(
                [(group.weight, group.postings[number]) for group in found],
                segment.lengths,
                kept if kept is None else _as_mask(kept, segment.rows),
                k,
                parameters=parameters,
                average=self.statistics.average,
            )
            yield number, rows, scores


def search_segments(
    segments: Sequence[KeywordSegment],
    live: Sequence[Mask | None],
    allow: Sequence[Mask | None],
    groups: Sequence[Group],
    k: int,
    *,
    k1: float = DEFAULT.k1,
    b: float = DEFAULT.b,
    method: str = DEFAULT.method,
    row_id: RowId,
    statistics: Statistics | None = None,
) -> list[Ranked]:
    """One search, as ``Searcher.search`` does it."""
    return Searcher(segments, live, statistics).search(
        groups, k, allow=allow, parameters=Bm25Parameters(k1, b, method), row_id=row_id
    )


def _mask_only(kept: Kept | None) -> Mask | None:
    return None if kept is None or kept.dtype != np.bool_ else kept.view(np.bool_)


def _as_mask(kept: Kept, rows: int) -> Mask:
    if kept.dtype == np.bool_:
        return kept.view(np.bool_)
    mask: Mask = np.zeros(rows, dtype=np.bool_)
    mask[kept] = True
    return mask


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
