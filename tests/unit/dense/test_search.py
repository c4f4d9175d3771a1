"""Vector search over parts: exact, restricted, deterministic, and clear about bad queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pincite.dense.search import normalize_rows, prepare_query, search_vectors
from pincite.errors import EmbeddingError, InvalidArgument, InvalidQueryError, StoreCorrupt


@pytest.fixture(params=["native if built", "pure"], autouse=True)
def _path(request, monkeypatch):
    """Every test runs on both paths."""
    monkeypatch.setenv("PINCITE_PURE", "1" if request.param == "pure" else "")


def _rows(count: int, dimension: int, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).normal(size=(count, dimension))
    return normalize_rows(matrix).astype(np.float16)


def _row_id(part: int, row: int) -> str:
    return f"{part}-{row:05}"


def _search(parts, query, k=10, *, live=None, allow=None, **options):
    nothing = [None] * len(parts)
    options = {"row_id": _row_id} | options
    return search_vectors(parts, live or nothing, allow or nothing, query, k, **options)


def _brute(parts, query, k, keep=None):
    """The definition, in exact arithmetic."""
    scored = []
    for number, part in enumerate(parts):
        for row, values in enumerate(part.tolist()):
            if keep is None or keep[number][row]:
                products = (a * b for a, b in zip(values, query.tolist(), strict=True))
                score = min(1.0, max(-1.0, math.fsum(products)))
                scored.append((number, row, float(np.float32(score))))
    return sorted(scored, key=lambda hit: (-hit[2], _row_id(hit[0], hit[1])))[:k]


def test_golden_scores():
    part = np.array([[1, 0], [0, 1], [-1, 0], [0, 0]], dtype=np.float16)

    hits = _search([part], [3.0, 4.0])

    assert hits == [
        (0, 1, 0.800000011920929),
        (0, 0, 0.6000000238418579),
        (0, 3, 0.0),
        (0, 2, -0.6000000238418579),
    ]


@pytest.mark.parametrize("dimension", [1, 2, 31, 33, 64, 384])
def test_the_best_of_several_parts_are_those_of_the_definition(dimension):
    parts = [_rows(120, dimension, 1), _rows(0, dimension), _rows(45, dimension, 2)]
    query = normalize_rows(np.random.default_rng(3).normal(size=(1, dimension)))[0]

    for k in (1, 10, 200):
        found = _search(parts, query, k)
        wanted = _brute(parts, prepare_query(query), k)
        assert [score for _, _, score in found] == pytest.approx(
            [s for _, _, s in wanted], abs=6e-8
        )
        assert {hit[:2] for hit in found} == {hit[:2] for hit in wanted} or dimension < 3


def test_masks_restrict_and_change_no_score():
    parts = [_rows(9000, 16, 1), _rows(50, 16, 2)]
    generator = np.random.default_rng(5)
    live = [generator.random(9000) < 0.9, None]
    query = _rows(1, 16, 9)[0].astype(np.float32)

    everything = _search(parts, query, 9050)
    for share in (0.0, 0.001, 0.1, 0.9):
        allow = [generator.random(len(part)) < share for part in parts]
        wanted = [
            (part, row, score)
            for part, row, score in everything
            if allow[part][row] and (live[part] is None or live[part][row])
        ]
        assert _search(parts, query, 25, live=live, allow=allow) == wanted[:25]


def test_equal_rows_come_in_the_order_of_ids():
    part = np.repeat(_rows(1, 8), 300, axis=0)

    hits = _search([part], part[0], 5, row_id=lambda _, row: f"{999 - row}")

    assert [row for _, row, _ in hits] == [299, 298, 297, 296, 295]


def test_cosines_stay_within_one_and_tie_there():
    # Rounded to float16 both rows are a little longer than 1, the second one more than the first.
    part = np.array([[0.70751953125, 0.70703125], [0.70751953125, 0.70751953125]], np.float16)

    hits = _search([part], [1.0, 1.0], 1)

    assert hits == [(0, 0, 1.0)]


def test_a_score_does_not_depend_on_its_company():
    parts = [_rows(300, 100, 1)]
    query = _rows(1, 100, 2)[0]
    everything = _search(parts, query, 300)

    for part, row, score in everything[:20]:
        assert _search([parts[part][row : row + 1]], query, 1) == [(0, 0, score)]


def test_raw_dot_products():
    part = np.array([[3, 4], [30, 40], [0, 0]], dtype=np.float16)

    assert _search([part], [2.0, 1.0], normalized=False) == [
        (0, 1, 100.0),
        (0, 0, 10.0),
        (0, 2, 0.0),
    ]


@pytest.mark.parametrize("scale", [1e-38, 1e-20, 1e20, 2e33])
def test_raw_dot_products_of_extreme_queries_keep_their_order(scale):
    part = np.array([[3, 4], [60000, 60000], [-1, 0]], dtype=np.float16)

    hits = _search([part], [scale, scale], normalized=False)

    assert [row for _, row, _ in hits] == [1, 0, 2]
    assert all(math.isfinite(score) for _, _, score in hits)


def test_a_raw_dot_product_beyond_float32_does_not_hide_the_best_row():
    part = np.array([[3, 4], [60000, 60000], [-1, 0]], dtype=np.float16)

    assert [hit[:2] for hit in _search([part], [1e35, 1e35], 1, normalized=False)] == [(0, 1)]


@pytest.mark.parametrize("seed", [2, 26, 27, 32])  # each path needs its slack in one of these
def test_rows_closer_than_the_error_of_float32_are_told_apart(seed):
    generator = np.random.default_rng(seed)
    bits = np.repeat(_rows(1, 384, seed), 600, axis=0).view(np.uint16)
    query = prepare_query(generator.normal(size=384))
    faint = np.argsort(np.abs(query))[:10]
    bits[:, faint] ^= generator.integers(0, 2, size=(600, 10)).astype(np.uint16)
    part = bits.view(np.float16)

    wanted = _brute([part], query, 100)

    for k in (1, 2, 5, 20, 50, 100):
        assert _search([part], query, k) == wanted[:k]


def test_more_than_there_are_and_none():
    assert len(_search([_rows(3, 4)], [1, 0, 0, 0], 50)) == 3
    assert _search([], [1, 0, 0, 0]) == []
    assert _search([_rows(0, 4)], [1, 0, 0, 0]) == []
    assert _search([_rows(3, 4)], [1, 0, 0, 0], live=[np.zeros(3, bool)]) == []


@pytest.mark.parametrize("kind", [list, np.float16, np.float32, np.float64, ">f4", "strided"])
def test_numbers_of_any_kind_are_asked_alike(kind):
    part, query = _rows(50, 16), _rows(1, 16, 3)[0]  # float16, so that every kind holds it
    wanted = _search([part], query.astype(np.float64))
    if kind is list:
        asked = query.tolist()
    elif kind == "strided":
        asked = np.repeat(query.astype(np.float32), 2)[::2]
    else:
        asked = query.astype(kind)

    assert _search([part], asked) == wanted


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ([1.0, 2.0], "2 dimensions and the stored ones 4"),
        ([], "empty or nested"),
        ([[1.0, 0, 0, 0]], "empty or nested"),
        ([1.0, math.nan, 0, 0], "not finite"),
        ([1.0, math.inf, 0, 0], "not finite"),
        ([0.0, 0, 0, 0], "all zero"),
    ],
)
@pytest.mark.parametrize("normalized", [True, False])
def test_bad_queries_are_refused(query, message, normalized):
    with pytest.raises(InvalidQueryError, match=message):
        _search([_rows(3, 4)], query, normalized=normalized)


def test_a_query_beyond_float32_is_refused_for_dot_and_normalised_for_cosine():
    with pytest.raises(InvalidQueryError, match="not finite"):
        prepare_query([1e39, 0.0], normalized=False)
    assert prepare_query([1e300, 1e300]).tolist() == pytest.approx([0.5**0.5] * 2)
    assert prepare_query([1e-300, 0]).tolist() == [1.0, 0.0]


def test_bad_arguments_are_refused():
    part = _rows(3, 4)
    with pytest.raises(InvalidQueryError, match="at least 1"):
        _search([part], [1, 0, 0, 0], 0)
    for masks in ([], [np.ones(2, bool)]):
        with pytest.raises(InvalidArgument, match="live needs one mask"):
            search_vectors([part], masks, [None], [1, 0, 0, 0], 1, row_id=_row_id)
        with pytest.raises(InvalidArgument, match="allow needs one mask"):
            search_vectors([part], [None], masks, [1, 0, 0, 0], 1, row_id=_row_id)
    with pytest.raises(InvalidArgument, match="float16"):
        _search([part.astype(np.float32)], [1, 0, 0, 0])


@pytest.mark.parametrize("column", [0, 39])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_stored_row_that_is_not_finite_is_reported(value, column):
    part = _rows(5000, 40)
    part[4500, column] = value

    with pytest.raises(StoreCorrupt, match="doctor --repair"):
        _search([part], part[0])
    assert _search([part], part[0], 1, live=[np.arange(5000) < 4000])[0][1] == 0


def test_normalised_rows_have_unit_length_and_zero_rows_stay_zero():
    matrix = np.array([[3.0, 4.0], [0.0, 0.0], [1e-300, 1e-300], [1e300, 0.0]])

    unit = normalize_rows(matrix)

    assert unit.dtype == np.float32
    assert unit.tolist() == [
        pytest.approx([0.6, 0.8]),
        [0.0, 0.0],
        pytest.approx([0.5**0.5] * 2),
        [1.0, 0.0],
    ]
    assert normalize_rows(np.zeros((0, 3))).shape == (0, 3)


def test_rows_that_are_not_finite_are_not_normalised():
    with pytest.raises(EmbeddingError, match="not finite"):
        normalize_rows(np.array([[1.0, math.nan]]))
