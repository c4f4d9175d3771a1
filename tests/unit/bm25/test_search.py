"""Keyword search over segments: who is found, in which order, with whose statistics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pincite.bm25.explain import explain_row
from pincite.bm25.search import Statistics, search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays
from pincite.errors import InvalidArgument, InvalidQueryError


@pytest.fixture(params=["native if built", "pure"], autouse=True)
def _path(request, monkeypatch):
    """Every test runs on both paths."""
    monkeypatch.setenv("PINCITE_PURE", "1" if request.param == "pure" else "")


def _segment(*texts: str) -> KeywordSegment:
    documents = []
    for text in texts:
        words = text.split()
        documents.append(({word: words.count(word) for word in words}, len(words)))
    return KeywordSegment.from_arrays(build_arrays(documents))


def _row_id(segment: int, row: int) -> str:
    return f"{segment}-{row}"


def _search(segments, groups, k=10, *, live=None, allow=None, **options):
    nothing = [None] * len(segments)
    options = {"row_id": _row_id} | options
    return search_segments(segments, live or nothing, allow or nothing, groups, k, **options)


def test_a_term_in_exactly_half_of_four_texts_finds_those_two():
    segment = _segment("quartz vein", "granite", "rose quartz", "basalt")

    hits = _search([segment], [("quartz",)], k=4)

    assert [(part, row) for part, row, _ in hits] == [(0, 0), (0, 2)]
    assert all(score > 0 for _, _, score in hits)


def test_a_term_in_one_of_two_texts_finds_that_one():
    hits = _search([_segment("quartz", "granite")], [("quartz",)], k=4)

    assert [(part, row) for part, row, _ in hits] == [(0, 0)]
    assert hits[0][2] == pytest.approx(math.log(2.0))


def test_golden_scores():
    segment = _segment("quartz", "granite quartz quartz dust", "granite dust dust")

    hits = _search([segment], [("quartz",), ("dust",)])

    # idf ln 1.6 for both terms, mean length 8 / 3.
    assert hits == [
        (0, 1, 0.9567714333534241),
        (0, 0, 0.6314552426338196),
        (0, 2, 0.6243066787719727),
    ]
    short, long, last = 0.6375, 1.65, 1.3125  # k1 (1 - b + b |d| / avgdl)
    assert [score / math.log(1.6) for _, _, score in hits] == pytest.approx(
        [2.2 * (2 / (2 + long) + 1 / (1 + long)), 2.2 / (1 + short), 2.2 * 2 / (2 + last)]
    )


def test_a_term_in_every_row_still_scores_above_zero():
    hits = _search([_segment("a b", "a c", "a d")], [("a",)])

    assert [row for _, row, _ in hits] == [0, 1, 2]
    assert all(score > 0 for _, _, score in hits)


def test_nothing_to_search_finds_nothing():
    assert _search([], [("a",)]) == []
    assert _search([_segment()], [("a",)]) == []
    assert _search([_segment("", "")], [("a",)]) == []
    assert _search([_segment("a")], []) == []
    assert _search([_segment("a")], [()]) == []
    assert _search([_segment("a")], [("b",)]) == []
    assert _search([_segment("a")], [("a",)], live=[np.array([False])]) == []
    assert _search([_segment("a")], [("a",)], allow=[np.array([False])]) == []


def test_rows_of_length_zero_do_not_divide_by_zero():
    segment = KeywordSegment.from_arrays(build_arrays([({"a": 1}, 0), ({"b": 1}, 0)]))

    for b in (0.0, 0.75, 1.0):
        assert [row for _, row, score in _search([segment], [("a",)], b=b) if score > 0] == [0]


def test_ties_come_in_the_order_of_ids():
    segments = [_segment("a x", "a y"), _segment("a z")]
    names = {(0, 0): "m", (0, 1): "c", (1, 0): "d"}

    hits = _search(segments, [("a",)], row_id=lambda part, row: names[part, row])
    first = _search(segments, [("a",)], k=2, row_id=lambda part, row: names[part, row])

    assert [names[part, row] for part, row, _ in hits] == ["c", "d", "m"]
    assert first == hits[:2]


def test_the_cut_at_k_does_not_depend_on_k():
    segment = _segment(*("a " * (1 + i % 7) + "b " * (i % 11) for i in range(500)))

    everything = _search([segment], [("a",), ("b",)], k=10_000)

    assert len(everything) == 500
    for k in (1, 2, 7, 100, 499, 500):
        assert _search([segment], [("a",), ("b",)], k=k) == everything[:k]


def test_tombstones_leave_the_statistics():
    rows = ("a b", "a", "b b c", "a c c c")
    live = np.array([True, False, True, True])

    with_tombstone = _search([_segment(*rows)], [("a",), ("b",)], live=[live])
    without = _search([_segment(rows[0], rows[2], rows[3])], [("a",), ("b",)])

    assert [score for _, _, score in with_tombstone] == [score for _, _, score in without]
    assert [row for _, row, _ in with_tombstone] == [[0, 2, 3][row] for _, row, _ in without]


def test_allow_restricts_and_changes_no_score():
    segment = _segment("a b", "a", "b b c", "a c c c")
    allow = np.array([False, True, False, True])

    restricted = _search([segment], [("a",)], allow=[allow])

    every = _search([segment], [("a",)])
    assert restricted == [hit for hit in every if allow[hit[1]]]


def test_segments_share_their_statistics():
    rows = ("a b", "a", "b b c", "a c c c", "d")
    one = _search([_segment(*rows)], [("a",), ("c",)])
    split = _search([_segment(*rows[:2]), _segment(), _segment(*rows[2:])], [("a",), ("c",)])

    assert [score for _, _, score in split] == [score for _, _, score in one]
    assert [row + (0, 0, 2)[part] for part, row, _ in split] == [row for _, row, _ in one]


def test_a_group_counts_as_one_term():
    synonyms = _search([_segment("run runs", "walk", "runs")], [("run", "runs")])
    one_word = _search([_segment("run run", "walk", "run")], [("run",)])

    assert synonyms == one_word


def test_a_term_counts_as_often_as_the_query_says_it():
    segment = _segment("a b", "b c")
    once = {row: score for _, row, score in _search([segment], [("b",)])}

    twice = _search([segment], [("b",), ("b", "b")])

    assert {row: score for _, row, score in twice} == pytest.approx(
        {row: 2 * score for row, score in once.items()}
    )


def test_given_statistics_are_used_instead_of_counting():
    segment = _segment("a b", "b c")
    nothing = [None]

    counted = Statistics.of([segment], nothing)

    assert counted == Statistics(rows=2, length=4)
    assert Statistics.of([segment], [np.array([True, False])]) == Statistics(rows=1, length=2)
    assert _search([segment], [("a",)], statistics=counted) == _search([segment], [("a",)])
    assert _search([segment], [("a",)], statistics=Statistics(20, 40))[0][2] > 2


@pytest.mark.parametrize("k1", [0.0, 1e-300, 1e30, 1.7e308])
@pytest.mark.parametrize("method", ["okapi", "lucene", "bm25+"])
def test_any_allowed_k1_keeps_matches_and_finite_scores(k1, method):
    for b in (0.0, 1.0):
        hits = _search([_segment("a b", "a a a", "c")], [("a",)], k1=k1, b=b, method=method)

        assert sorted(row for _, row, _ in hits) == [0, 1]
        assert all(0 < score < math.inf for _, _, score in hits)


def test_arguments_out_of_range_are_refused():
    segment = _segment("a")
    for k in (0, -1):
        with pytest.raises(InvalidQueryError, match="at least 1"):
            _search([segment], [("a",)], k=k)
    with pytest.raises(InvalidArgument, match="k1"):
        _search([segment], [("a",)], k1=-1)
    for masks in ([], [None, None], [np.ones(2, bool)]):
        with pytest.raises(InvalidArgument, match="live needs one mask"):
            search_segments([segment], masks, [None], [("a",)], 1, row_id=_row_id)
        with pytest.raises(InvalidArgument, match="allow needs one mask"):
            search_segments([segment], [None], masks, [("a",)], 1, row_id=_row_id)


def test_an_explanation_names_every_group_and_sums_to_the_score():
    segments = [_segment("a b b", "c"), _segment("a c d d", "gone")]
    live = [None, np.array([True, False])]
    groups = [("nowhere",), ("d", "a"), ("b",), ("c",)]
    score = {(s, r): score for s, r, score in _search(segments, groups, live=live)}

    explained = explain_row(segments, live, groups, 1, 0)

    assert (explained.rows, explained.average_length) == (3, pytest.approx(8 / 3))
    assert [(t.terms, t.tf, t.df, t.length) for t in explained.terms] == [
        (("a", "d"), 3, 2, 4),
        (("b",), 0, 1, 4),
        (("c",), 1, 2, 4),
        (("nowhere",), 0, 0, 4),
    ]
    assert [t.contribution > 0 for t in explained.terms] == [True, False, True, False]
    assert explained.terms[0].idf == pytest.approx(math.log(1 + 1.5 / 2.5))
    assert explained.score == score[1, 0]
    assert np.float32(sum(t.contribution for t in explained.terms)) == explained.score


def test_a_row_without_a_term_is_explained_as_zero():
    assert explain_row([_segment("a", "b")], [None], [("a",)], 0, 1).score == 0.0


@pytest.mark.parametrize("place", [(0, 2), (0, -1), (1, 0), (-1, 0), (0, 1)])
def test_only_a_live_row_is_explained(place):
    with pytest.raises(InvalidArgument, match="no live row"):
        explain_row([_segment("a", "b")], [np.array([True, False])], [("a",)], *place)
