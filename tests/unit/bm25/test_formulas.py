"""The formulas and the checks of their parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pincite.bm25.formulas import (
    Bm25Parameters,
    bm25_plus_factor,
    idf,
    length_norm,
    lucene_factor,
    okapi_factor,
)
from pincite.errors import InvalidArgument


def test_idf_of_a_term_in_exactly_half_of_the_rows_is_ln_2():
    assert idf(4, 2) == pytest.approx(math.log(2.0))


def test_idf_stays_above_zero_when_every_row_matches():
    assert idf(1, 1) == pytest.approx(math.log(4 / 3))
    assert idf(10**9, 10**9) > 0


def test_length_norm_is_k1_for_a_row_of_average_length():
    assert length_norm(7.0, 7.0, 1.2, 0.75) == pytest.approx(1.2)
    assert length_norm(70.0, 7.0, 1.2, 0.0) == pytest.approx(1.2)
    assert length_norm(0.0, 7.0, 1.2, 1.0) == 0.0


def test_the_three_factors_of_one_posting():
    assert lucene_factor(2.0, 1.2, 1.2) == pytest.approx(0.625)
    assert okapi_factor(2.0, 1.2, 1.2) == pytest.approx(1.375)
    assert bm25_plus_factor(2.0, 1.2, 1.2) == pytest.approx(2.375)


@pytest.mark.parametrize("method", ["okapi", "lucene", "bm25+"])
def test_scale_and_delta_restate_the_factor(method):
    parameters = Bm25Parameters(1.7, 0.4, method)
    tfs = np.arange(1, 60, dtype=np.uint32)
    lengths = np.arange(3, 180, 3, dtype=np.uint32)

    scale, delta = parameters.scale_and_delta
    norms = length_norm(lengths.astype(np.float64), 40.0, 1.7, 0.4)
    restated = scale * (tfs / (tfs + norms)) + delta

    assert (restated == parameters.factors(tfs, lengths, 40.0)).all()


@pytest.mark.parametrize("k1", [-0.1, math.inf, -math.inf, math.nan])
def test_k1_must_be_finite_and_not_negative(k1):
    with pytest.raises(InvalidArgument, match=r"k1 is .*; pass"):
        Bm25Parameters(k1=k1)


@pytest.mark.parametrize("b", [-0.01, 1.01, math.inf, math.nan])
def test_b_must_be_a_share(b):
    with pytest.raises(InvalidArgument, match=r"b is .*; pass"):
        Bm25Parameters(b=b)


def test_an_unknown_method_is_refused_naming_the_known_ones():
    with pytest.raises(InvalidArgument, match=r"'bm11'; pass one of okapi, lucene, bm25\+"):
        Bm25Parameters(method="bm11")


def test_the_edges_of_the_parameters_are_allowed():
    assert Bm25Parameters(k1=0, b=0).factors(
        np.array([1, 9], np.uint32), np.array([5, 0], np.uint32), 3.0
    ).tolist() == [1.0, 1.0]
    assert np.isfinite(
        Bm25Parameters(k1=1.7e308, b=1).factors(
            np.array([1, 9], np.uint32), np.array([5, 0], np.uint32), 3.0
        )
    ).all()
