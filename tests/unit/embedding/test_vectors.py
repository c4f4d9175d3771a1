"""Checks on returned vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pincite.embedding.vectors import check_vectors, unit_rows
from pincite.errors import EmbeddingError


@pytest.mark.parametrize(
    ("vectors", "count", "message"),
    [
        ([[1.0]], 2, "1 vectors for 2 texts"),
        ([], 1, "0 vectors for 1 texts"),
        ([[1.0], [2.0]], 1, "2 vectors for 1 texts"),
        ([[], []], 2, "empty"),
        ([1.0, 2.0], 2, "not a list of vectors"),
        ([[[1.0]]], 1, "not a list of vectors"),
        ([[1.0], [1.0, 2.0]], 2, r"differ in length \(1 to 2\)"),
        ([[1.0], []], 2, r"differ in length \(0 to 1\)"),
        ([[float("nan")]], 1, "finite"),
        ([[float("-inf")]], 1, "finite"),
        ([[1e300]], 1, "finite"),
        ([[None]], 1, "finite"),
        ([["one"]], 1, "not a list of vectors"),
        ([{"a": 1}], 1, "not a list of vectors"),
    ],
)
def test_bad_vectors_are_refused(vectors: Any, count: int, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message) as caught:
        check_vectors(vectors, count)

    assert isinstance(caught.value, ValueError)
    assert str(caught.value).endswith("check the endpoint and its model.")


def test_good_vectors_become_float32() -> None:
    checked = check_vectors([(1, 2), (3, 4)], 2)

    assert (checked.dtype, checked.tolist()) == (np.float32, [[1.0, 2.0], [3.0, 4.0]])
    assert check_vectors([], 0).shape == (0, 0)
    assert check_vectors(np.zeros((0, 5)), 0).shape == (0, 5)


def test_unit_rows_keep_zero_rows() -> None:
    scaled = unit_rows(np.array([[3, 4], [0, 0]], dtype=np.float32))

    assert np.allclose(scaled, [[0.6, 0.8], [0, 0]])
