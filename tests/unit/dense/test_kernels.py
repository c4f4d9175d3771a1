"""The kernels that estimate products: all give the bits of the portable one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.segments.kernels import native

pytestmark = pytest.mark.skipif(native() is None, reason="the kernels are in the extension")


@settings(deadline=None, max_examples=60)
@given(
    padded=st.sampled_from([32, 96, 256, 384, 1024, 1056, 2080]),
    blocks=st.integers(1, 5),
    shape=st.sampled_from(["normal", "ones", "minus", "turns", "one"]),
    seed=st.integers(0, 999),
)
def test_every_kernel_gives_the_same_bits(padded, blocks, shape, seed):
    module, generator = native(), np.random.default_rng(seed)
    codes = generator.integers(0, 256, blocks * 4 * padded).astype(np.uint8)
    factors = generator.normal(size=blocks * 32).astype(np.float16).view(np.uint16)
    query = {
        "normal": generator.normal(size=padded),
        "ones": np.ones(padded),
        "minus": -np.ones(padded),
        "turns": np.where(np.arange(padded) % 2, 1.0, -1.0),
        "one": np.eye(padded)[seed % padded],
    }[shape].astype(np.float32)

    found = [
        module.dense_estimates(codes, factors, query, 0.5, kernel)
        for kernel in range(len(module.dense_kernels()))
    ]

    assert all(np.array_equal(each, found[-1]) for each in found)


def test_an_estimate_is_near_the_product_that_it_stands_for():
    module, generator = native(), np.random.default_rng(3)
    padded = 384
    codes = generator.integers(0, 256, 4 * padded).astype(np.uint8)
    factors = np.ones(32, np.float16).view(np.uint16)
    query = generator.normal(size=padded).astype(np.float32)

    found = module.dense_estimates(codes, factors, query, 0.5, 0)

    # Byte 4 * lane + j of a group holds, at bits 2t and 2t + 1, dimension 4t + j.
    groups = codes.reshape(padded // 16, 16, 4)
    levels = np.stack([groups >> (2 * t) & 3 for t in range(4)], axis=2)
    values = 2.0 * levels.transpose(1, 0, 2, 3).reshape(16, padded) - 3.0
    step = np.abs(query).max() / 21
    assert found == pytest.approx(0.5 + values @ query, abs=4 * step * np.sqrt(5 * padded / 12))
