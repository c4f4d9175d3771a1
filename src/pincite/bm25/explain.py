"""Why a row has the score it has."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import numpy as np

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.kernels import rounded
from pincite.bm25.search import Group, Mask, Matches, Statistics, in_order, matches
from pincite.bm25.segment import KeywordSegment
from pincite.errors import InvalidArgument
from pincite.model.hits import Explanation, TermScore

__all__ = ["Explanation", "TermScore", "explain_row"]


def explain_row(
    segments: Sequence[KeywordSegment],
    live: Sequence[Mask | None],
    groups: Sequence[Group],
    segment: int,
    row: int,
    *,
    k1: float = 1.2,
    b: float = 0.75,
    method: str = "okapi",
    statistics: Statistics | None = None,
) -> Explanation:
    """How ``groups`` score ``row`` of ``segments[segment]``, under the rules of a search.

    Raises ``InvalidArgument`` when there is no such live row.
    """
    parameters = Bm25Parameters(k1, b, method)
    statistics = statistics or Statistics.of(segments, live)
    _check_row(segments, live, segment, row)
    found = {match.group: match for match in matches(segments, live, groups, statistics)}
    length = int(segments[segment].lengths[row])
    terms = tuple(
        _term_score(group, count, found.get(group), segment, row, length, parameters, statistics)
        for group, count in in_order(groups)
    )
    # From left to right, as the search adds; the built-in sum compensates on newer Pythons.
    total = functools.reduce(operator.add, (term.contribution for term in terms), 0.0)
    score = float(rounded(np.array([total]))[0]) if total else 0.0
    return Explanation(score, terms, statistics.rows, statistics.average)


def _term_score(
    group: Group,
    count: int,
    match: Matches | None,
    segment: int,
    row: int,
    length: int,
    parameters: Bm25Parameters,
    statistics: Statistics,
) -> TermScore:
    if match is None:
        return TermScore(group, 0, 0, idf(statistics.rows, 0), length, 0.0, count)
    tf = _frequency(match, segment, row)
    contribution = 0.0
    if tf:
        tfs, lengths = np.array([tf], dtype=np.uint32), np.array([length], dtype=np.uint32)
        contribution = float(
            (match.weight * parameters.factors(tfs, lengths, statistics.average))[0]
        )
    return TermScore(group, tf, match.df, match.idf, length, contribution, count)


def _frequency(match: Matches, segment: int, row: int) -> int:
    rows, tfs = match.postings[segment]
    place = int(np.searchsorted(rows, row))
    return int(tfs[place]) if place < len(rows) and rows[place] == row else 0


def _check_row(
    segments: Sequence[KeywordSegment], live: Sequence[Mask | None], segment: int, row: int
) -> None:
    if 0 <= segment < len(segments) and 0 <= row < segments[segment].rows:
        mask = live[segment]
        if mask is None or mask[row]:
            return
    raise InvalidArgument(f"There is no live row ({segment}, {row}); explain a row that was found.")
