"""Reciprocal rank fusion, number by number, and the hybrid that it stands behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pincite import InvalidArgument, Library
from pincite.fusion import rrf

from .conftest import environment, fill, found

A, B = ["d1", "d2", "d3"], ["d3", "d1"]


def test_two_lists_of_equal_weight() -> None:
    fused = rrf([A, B], k=60, weights=[1, 1])

    assert [key for key, _ in fused] == ["d1", "d3", "d2"]
    assert [score for _, score in fused] == pytest.approx(
        [0.0325225, 0.0322665, 0.016129], abs=1e-7
    )


def test_a_list_of_weight_zero_does_not_speak() -> None:
    assert [key for key, _ in rrf([A, B], weights=[0, 1])] == ["d3", "d1"]


def test_a_key_twice_in_a_list_counts_once() -> None:
    assert dict(rrf([["d1", "d1", "d2"]], k=60))["d1"] == pytest.approx(1 / 61)


@pytest.mark.parametrize("weights", [[1], [1, -1], [1, float("nan")], [1, float("inf")], [1, True]])
def test_weights_that_cannot_weigh_are_refused(weights: list[float]) -> None:
    with pytest.raises(InvalidArgument):
        rrf([A, B], weights=weights)


def test_equal_scores_keep_their_order_a_hundred_times_and_after_a_restart() -> None:
    code = "from pincite.fusion import rrf; print([k for k, _ in rrf([['x'], ['y']])])"
    orders = {str([key for key, _ in rrf([["x"], ["y"]])]) for _ in range(100)}
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        )
        orders.add(done.stdout.strip())

    assert len(orders) == 1
    assert os.linesep not in orders.pop()


def test_equal_texts_keep_their_order_over_a_hundred_searches(lib: Library) -> None:
    fill(lib, dict.fromkeys("cab", "Quartz veins hold gold."))
    orders = {tuple(found(lib, "quartz")) for _ in range(100)}

    assert orders == {("a", "b", "c")}


@pytest.mark.parametrize(("alpha", "mode"), [(0.0, "keyword"), (1.0, "vector")])
def test_an_alpha_at_its_end_gives_the_order_of_that_leg(
    lib: Library, alpha: float, mode: str
) -> None:
    fill(lib, {"a": "Quartz veins.", "b": "Quartz quartz.", "c": "Chalk.", "d": "Gold vein."})

    assert found(lib, "quartz vein", alpha=alpha) == found(lib, "quartz vein", mode=mode)
