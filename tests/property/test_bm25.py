"""Keyword search equals its definition, whatever the segments, tombstones, filters and synonyms.

The definition below shares no code with the engine: Python floats over the documents themselves.
The list of properties is the one that Lucene publishes for every similarity.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.bm25.explain import explain_row
from pincite.bm25.search import search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays, merge_arrays

TERMS = ["a", "b", "c", "ab", "é", "日本"]
METHODS = ["okapi", "lucene", "bm25+"]

_documents = st.tuples(
    st.dictionaries(st.sampled_from(TERMS), st.integers(1, 9), max_size=4), st.integers(0, 30)
)
_groups = st.lists(
    st.lists(st.sampled_from([*TERMS, "absent"]), min_size=1, max_size=3).map(tuple), max_size=4
)


def _masks(rows: int):
    flags = st.lists(st.booleans(), min_size=rows, max_size=rows)
    return st.none() | flags.map(lambda values: np.array(values, dtype=bool))


@st.composite
def _collections(draw):
    """Documents by segment, with live and allow masks."""
    parts = draw(st.lists(st.lists(_documents, max_size=9), min_size=1, max_size=4))
    live = [draw(_masks(len(part))) for part in parts]
    allow = [draw(_masks(len(part))) for part in parts]
    return parts, live, allow


def _segments(parts):
    return [KeywordSegment.from_arrays(build_arrays(part)) for part in parts]


def _row_id(segment: int, row: int) -> str:
    # Another order than that of the rows.
    return f"{(segment * 7 + row * 5) % 11}-{segment}-{row}"


def _kept(masks, segment: int, row: int) -> bool:
    return masks[segment] is None or bool(masks[segment][row])


def _tf(document, group) -> int:
    return sum(document[0].get(term, 0) for term in set(group))


def _definition(parts, live, allow, groups, k1, b, method):
    """Every match as {(segment, row): score}."""
    rows = {
        (s, r): document
        for s, part in enumerate(parts)
        for r, document in enumerate(part)
        if _kept(live, s, r)
    }
    average = sum(length for _, length in rows.values()) / len(rows) if rows else 0
    scores: dict[tuple[int, int], float] = {}
    for group in map(frozenset, groups):
        df = sum(_tf(document, group) > 0 for document in rows.values())
        idf = math.log(1 + (len(rows) - df + 0.5) / (df + 0.5))
        for place, document in rows.items():
            tf = _tf(document, group)
            if tf and _kept(allow, *place):
                ratio = document[1] / average if average else 0
                saturated = tf / (tf + k1 * (1 - b + b * ratio))
                factor = saturated if method == "lucene" else saturated * (k1 + 1)
                factor += 1.0 if method == "bm25+" else 0.0
                scores[place] = scores.get(place, 0.0) + idf * factor
    return scores


@settings(max_examples=120, deadline=None)
@given(
    drawn=_collections(),
    groups=_groups,
    k=st.integers(1, 15),
    k1=st.floats(0, 5),
    b=st.floats(0, 1),
    method=st.sampled_from(METHODS),
)
def test_search_equals_the_definition(drawn, groups, k, k1, b, method):
    parts, live, allow = drawn
    wanted = _definition(parts, live, allow, groups, k1, b, method)

    hits = search_segments(
        _segments(parts), live, allow, groups, k, k1=k1, b=b, method=method, row_id=_row_id
    )

    assert len(hits) == min(k, len(wanted))
    assert len({hit[:2] for hit in hits}) == len(hits)
    for segment, row, score in hits:
        assert score == pytest.approx(wanted[segment, row], rel=1e-6)
    best = sorted(wanted.values(), reverse=True)[: len(hits)]
    assert [hit[2] for hit in hits] == pytest.approx(best, rel=1e-6)
    keys = [(-score, _row_id(segment, row)) for segment, row, score in hits]
    assert keys == sorted(keys)


@settings(max_examples=60, deadline=None)
@given(drawn=_collections(), groups=_groups)
def test_a_merge_changes_no_result(drawn, groups):
    parts, live, _ = drawn
    segments = _segments(parts)
    keep = [
        np.ones(len(part), bool) if mask is None else mask
        for part, mask in zip(parts, live, strict=True)
    ]
    names = [_row_id(s, r) for s, mask in enumerate(keep) for r in np.flatnonzero(mask)]
    merged = KeywordSegment.from_arrays(merge_arrays(segments, keep))
    nothing = [None] * len(parts)

    before = search_segments(segments, live, nothing, groups, 100, row_id=_row_id)
    after = search_segments([merged], [None], [None], groups, 100, row_id=lambda _, row: names[row])

    assert [(_row_id(s, r), score) for s, r, score in before] == [
        (names[row], score) for _, row, score in after
    ]


@settings(max_examples=60, deadline=None)
@given(drawn=_collections(), groups=_groups, method=st.sampled_from(METHODS))
def test_every_score_is_finite_positive_and_explained(drawn, groups, method):
    parts, live, allow = drawn
    segments = _segments(parts)

    hits = search_segments(segments, live, allow, groups, 100, method=method, row_id=_row_id)

    for segment, row, score in hits:
        assert 0 < score < math.inf
        explained = explain_row(segments, live, groups, segment, row, method=method)
        assert explained.score == score
        total = sum(term.contribution for term in explained.terms)
        assert score == pytest.approx(total, rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(drawn=_collections(), groups=_groups)
def test_a_filter_restricts_and_changes_no_score(drawn, groups):
    parts, live, allow = drawn
    segments = _segments(parts)

    restricted = search_segments(segments, live, allow, groups, 100, row_id=_row_id)

    nothing = [None] * len(parts)
    everything = search_segments(segments, live, nothing, groups, 100, row_id=_row_id)
    assert restricted == [hit for hit in everything if _kept(allow, *hit[:2])]


def _score(
    tf: int, length: int, method: str, *, matching: int = 1, others: int = 9, b: float = 0.75
) -> float:
    """The score of one row among ``others`` of fixed lengths, ``matching`` of them with the term.

    The first row is not allowed and levels the sum of lengths, so that the average stays.
    """
    level = ({"other": 1}, 100_000 - length)
    row = ({"term": tf}, length)
    rest = [({"term" if i < matching - 1 else "other": 1}, 50) for i in range(others)]
    segment = KeywordSegment.from_arrays(build_arrays([level, row, *rest]))
    allow = np.arange(others + 2) == 1
    hits = search_segments(
        [segment], [None], [allow], [("term",)], 1, b=b, method=method, row_id=_row_id
    )
    return hits[0][2]


@settings(max_examples=60, deadline=None)
@given(
    tf=st.integers(1, 5000),
    more=st.integers(1, 5000),
    length=st.integers(0, 50_000),
    method=st.sampled_from(METHODS),
)
def test_a_score_does_not_fall_with_the_frequency(tf, more, length, method):
    assert _score(tf + more, length, method) >= _score(tf, length, method)


@settings(max_examples=60, deadline=None)
@given(
    tf=st.integers(1, 500),
    length=st.integers(0, 50_000),
    longer=st.integers(1, 50_000),
    method=st.sampled_from(METHODS),
    b=st.floats(0, 1),
)
def test_a_score_does_not_rise_with_the_length(tf, length, longer, method, b):
    assert _score(tf, length + longer, method, b=b) <= _score(tf, length, method, b=b)


@settings(max_examples=60, deadline=None)
@given(
    tf=st.integers(1, 500),
    length=st.integers(0, 50_000),
    matching=st.integers(1, 8),
    method=st.sampled_from(METHODS),
)
def test_a_score_rises_with_the_rarity_of_the_term(tf, length, matching, method):
    rarer = _score(tf, length, method, matching=matching)

    assert rarer > _score(tf, length, method, matching=matching + 1)
