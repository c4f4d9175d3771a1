"""The cut at the k-th best and the order of what is left."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.segments.ranking import at_least_kth, ranked


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(0, 9) | st.integers(0, 10**6), max_size=900),
    k=st.integers(1, 40),
)
def test_the_cut_keeps_exactly_what_reaches_the_kth_best(values, k):
    scores = np.array(values, dtype=np.float32)

    kept = at_least_kth(scores, k).tolist()

    bar = sorted(values, reverse=True)[min(k, len(values)) - 1] if values else 0
    assert kept == [place for place, value in enumerate(values) if value >= bar]


def test_ranked_merges_segments_and_orders_ties_by_id():
    found = [
        (0, np.array([4, 9]), np.array([1.0, 3.0], np.float32)),
        (1, np.array([], np.int64), np.array([], np.float32)),
        (2, np.array([7, 1]), np.array([1.0, 2.0], np.float32)),
    ]

    best = ranked(found, 3, lambda segment, row: f"{9 - segment}-{row}")

    assert best == [(0, 9, 3.0), (2, 1, 2.0), (2, 7, 1.0)]


def test_nothing_is_ranked_as_nothing():
    assert ranked([], 3, lambda segment, row: "") == []
