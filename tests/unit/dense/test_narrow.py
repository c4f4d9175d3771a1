"""A filter that comes again is searched in codes of its own, with the same answers."""

from __future__ import annotations

import numpy as np
import pytest

from pincite.dense import codes
from pincite.dense.codes import vector_arrays
from pincite.dense.vectors import Vectors
from pincite.segments.file import SegmentFile, write_segment
from pincite.segments.kernels import native

ROWS, DIMENSION = 5003, 40
EVERYTHING = (4.0, 4.0, 1, ROWS, 1.0)
SOME = (0.25, 0.2, 30, 60, 0.05)

pytestmark = pytest.mark.skipif(native() is None, reason="the pure path reads no codes")


@pytest.fixture(scope="module")
def rows(clustered) -> np.ndarray:
    return clustered(8, (ROWS, DIMENSION), centres=30, every=50)


@pytest.fixture(scope="module", params=["by lists", "by rows"])
def part(request, rows, listed, by_rows) -> Vectors:
    arrays = listed(rows)
    if request.param == "by rows":
        arrays = by_rows(rows, arrays)
    return Vectors(SegmentFile.open(write_segment("v", 1, arrays), name="v"), ROWS)


def _plan(part: Vectors, mask: np.ndarray, effort: tuple[float, ...] | None):
    exact, held, _, _ = part.step(10, mask)
    return native().DensePlan([(exact, held, mask, effort)])


def _found(plan, query: np.ndarray, k: int) -> list[tuple[int, int, float]]:
    largest, damage, _, ranking = plan.search(query, k, True)
    assert largest > 0.0
    assert not damage
    return ranking.listed()


def _queries(rows: np.ndarray) -> np.ndarray:
    generator = np.random.default_rng(9)
    near = rows[generator.integers(0, ROWS, 5)].astype(np.float64)
    return near + generator.normal(scale=0.1, size=near.shape)


@pytest.mark.parametrize("effort", [EVERYTHING, SOME])
@pytest.mark.parametrize("share", [0.5, 0.12, 0.03, 0.004])
def test_the_same_filter_finds_the_same_the_third_time(part, rows, effort, share):
    mask = np.random.default_rng(10).random(ROWS) < share
    for query in _queries(rows):
        plan = _plan(part, mask, effort)
        first, *later = (_found(plan, query, 10) for _ in range(4))

        assert len(first) >= 10
        assert all(mask[row] for _, row, _ in first)
        assert later == [first] * 3


def test_all_lists_at_full_depth_are_the_exact_answer(part, rows):
    mask = np.random.default_rng(11).random(ROWS) < 0.1
    plan, exact = _plan(part, mask, EVERYTHING), _plan(part, mask, None)
    for query in _queries(rows):
        assert _found(plan, query, 25) == _found(exact, query, 25)


def test_damaged_codes_are_named_however_often_a_filter_comes(rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codes, "LIST_ROWS", 2000)
        arrays = vector_arrays(rows)
    data = bytearray(write_segment("v", 1, arrays))
    at = data.find(np.ascontiguousarray(arrays["codes"]).tobytes()[:64])
    data[at] ^= 1
    part = Vectors(SegmentFile.open(bytes(data), name="v"), ROWS)
    mask = np.random.default_rng(12).random(ROWS) < 0.1
    plan = _plan(part, mask, EVERYTHING)
    query = _queries(rows)[0]

    assert [plan.search(query, 10, True)[1] for _ in range(4)] == ["codes"] * 4
