"""Fusion of ranked lists, number by number."""

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import InvalidArgument
from pincite.fusion import (
    RRF_K,
    distribution_based,
    distribution_scores,
    min_max,
    min_max_scores,
    rrf,
    weighted,
)

FUSERS = [weighted, min_max, distribution_based]

ranked = st.lists(st.integers(0, 8), max_size=8)
scored = st.lists(st.tuples(st.integers(0, 8), st.floats(-1e6, 1e6)), max_size=8)


def test_rrf_gives_the_published_sums():
    fused = rrf([["d1", "d2", "d3"], ["d3", "d1"]], k=60, weights=[1, 1])

    assert [key for key, _ in fused] == ["d1", "d3", "d2"]
    assert [score for _, score in fused] == pytest.approx(
        [0.0325225, 0.0322665, 0.0161290], abs=5e-8
    )
    assert RRF_K == 60


def test_a_list_of_weight_zero_adds_no_keys():
    fused = rrf([["d1", "d2", "d3"], ["d3", "d1"]], weights=[0, 1])

    assert fused == [("d3", 1 / 61), ("d1", 1 / 62)]


def test_a_repeated_key_counts_once_at_its_best_rank():
    assert rrf([["d1", "d1", "d2"]]) == [("d1", 1 / 61), ("d2", 1 / 63)]


def test_equal_scores_are_ordered_by_key_a_hundred_times():
    for _ in range(100):
        assert [key for key, _ in rrf([["x"], ["y"]])] == ["x", "y"]
        assert [key for key, _ in rrf([["y"], ["x"]])] == ["x", "y"]


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_equal_scores_keep_their_order_after_a_restart(seed):
    code = (
        "from pincite.fusion import rrf;"
        "print([k for k, _ in rrf([['y', 'b'], ['x', 'a']])],"
        "[k for k, _ in rrf([[('s', 1)], ['s'], [7]])])"
    )
    environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout

    assert out == "['x', 'y', 'a', 'b'] [7, 's', ('s', 1)]\n"


@pytest.mark.parametrize("fuse", [rrf, *FUSERS])
@pytest.mark.parametrize(
    "weights", [[1], [1, 1, 1], [1, -0.1], [1, math.nan], [math.inf, 1], [True, 1], ["1", 1]]
)
def test_weights_that_cannot_weigh_are_refused(fuse, weights):
    with pytest.raises(InvalidArgument, match="weight"):
        fuse([[], []], weights=weights)


@pytest.mark.parametrize("k", [-1, math.nan, math.inf, True, "60"])
def test_a_constant_that_cannot_divide_is_refused(k):
    with pytest.raises(InvalidArgument, match="60"):
        rrf([["a"]], k=k)


@pytest.mark.parametrize("fuse", FUSERS)
@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_are_refused(fuse, score):
    with pytest.raises(InvalidArgument, match="'a'"):
        fuse([[("a", score)]])


def test_weighted_sums_scores_as_they_are():
    fused = weighted([[("a", 2.0), ("b", 1.0)], [("b", 3.0)]], weights=[1.0, 0.5])

    assert fused == [("b", 2.5), ("a", 2.0)]


def test_min_max_stretches_each_list_to_zero_and_one():
    assert min_max_scores([10.0, 4.0, 2.0]) == [1.0, 0.25, 0.0]
    assert min_max_scores([3.0, 3.0]) == [0.5, 0.5]
    assert min_max_scores([7.0]) == [0.5]
    assert min_max_scores([]) == []
    assert min_max([[("a", 10.0), ("b", 2.0)], [("b", 9.0), ("c", 1.0)]]) == [
        ("a", 1.0),
        ("b", 1.0),
        ("c", 0.0),
    ]


def test_distribution_scores_are_three_deviations_either_side_of_the_mean():
    # mean 2, sample deviation 1: the range is [-1, 5].
    assert distribution_scores([3.0, 2.0, 1.0]) == pytest.approx([4 / 6, 3 / 6, 2 / 6])


def test_distribution_scores_are_a_half_without_variance():
    assert distribution_scores([4.2]) == [0.5]
    assert distribution_scores([4.2, 4.2, 4.2]) == [0.5] * 3
    assert distribution_scores([]) == []


def test_distribution_scores_are_clipped_where_one_stands_far_out():
    scores = [100.0, *([1.0] * 50), 0.0]

    assert distribution_scores(scores)[0] == 1.0
    assert distribution_scores(scores, clip=False)[0] > 1.0


def test_distribution_based_weighs_each_list():
    lists = [[("a", 3.0), ("b", 2.0), ("c", 1.0)], [("c", 9.0)]]

    fused = dict(distribution_based(lists, weights=[0.7, 0.3]))

    assert fused == pytest.approx({"a": 0.7 * 4 / 6, "b": 0.35, "c": 0.7 * 2 / 6 + 0.15})


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=6))
def test_normalised_scores_stay_in_zero_to_one_and_in_order(scores):
    scores.sort(reverse=True)
    for normalize in (min_max_scores, distribution_scores):
        normal = normalize(scores)

        assert all(0.0 <= score <= 1.0 for score in normal)
        assert normal == sorted(normal, reverse=True)


@given(st.lists(ranked, max_size=4))
def test_rrf_keeps_every_key_once_and_changes_no_list(lists):
    before = [list(one) for one in lists]

    fused = rrf(lists)

    assert lists == before
    assert sorted(key for key, _ in fused) == sorted({key for one in lists for key in one})
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@given(st.lists(scored, max_size=4), st.sampled_from(FUSERS))
def test_fusion_keeps_every_key_once_and_changes_no_list(lists, fuse):
    before = [list(one) for one in lists]

    fused = fuse(lists)

    assert lists == before
    assert sorted(key for key, _ in fused) == sorted({key for one in lists for key, _ in one})


@given(st.lists(ranked, min_size=2, max_size=4))
def test_the_order_of_the_lists_does_not_matter(lists):
    assert rrf(lists) == rrf(lists[::-1])
