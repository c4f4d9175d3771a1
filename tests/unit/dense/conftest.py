"""Clustered vectors, in both layouts of a segment with lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from pincite.dense import codes
from pincite.dense.codes import vector_arrays
from pincite.dense.search import normalize_rows


@pytest.fixture(scope="package")
def clustered() -> Callable[..., np.ndarray]:
    """Rows around some centres; one in ``every`` equals the row before it."""

    def made(seed: int, shape: tuple[int, int], *, centres: int, every: int) -> np.ndarray:
        generator = np.random.default_rng(seed)
        middles = generator.normal(size=(centres, shape[1]))
        rows = middles[generator.integers(0, centres, shape[0])] + generator.normal(size=shape)
        rows[7::every] = rows[6::every]
        return normalize_rows(rows).astype(np.float16)

    return made


@pytest.fixture(scope="package")
def listed() -> Callable[[np.ndarray], dict[str, Any]]:
    """The arrays of rows in lists, which so few would not be."""

    def made(rows: np.ndarray) -> dict[str, Any]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(codes, "LIST_ROWS", 2000)
            return dict(vector_arrays(rows))

    return made


@pytest.fixture(scope="package")
def by_rows() -> Callable[[np.ndarray, Mapping[str, Any]], dict[str, Any]]:
    """The arrays as they were written before the vectors of a list were put next to each other."""

    def made(rows: np.ndarray, arrays: Mapping[str, Any]) -> dict[str, Any]:
        kept = {name: each for name, each in arrays.items() if name != "vector_order"}
        return kept | {"vectors": rows, "code_order": arrays["vector_order"]}

    return made
