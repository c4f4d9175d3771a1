"""The compiled search equals scoring every posting, on segments large enough for all its ways.

Windows that are skipped, read, merged, probed or scored whole; terms short and long, sparse and in
nearly every row; rows beyond the first 65,536; both layouts of postings.
"""

from __future__ import annotations

import numpy as np
import pytest

from pincite.bm25.packing import pack_arrays
from pincite.bm25.search import Searcher, Statistics
from pincite.bm25.segment import KeywordSegment, compact_arrays
from pincite.segments import kernels

pytestmark = pytest.mark.skipif(kernels.native() is None, reason="needs the compiled kernels")

ROWS = 90_000
SHARES = [1e-5, 1e-4, 0.0005, 0.002, 0.01, 0.04, 0.15, 0.5, 0.97]
TERMS = [f"t{n}{c}" for n in range(len(SHARES)) for c in "abc"]


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(11)
    rows, tfs = [], []
    for number in range(len(TERMS)):
        share = SHARES[number // 3]
        # One of three lies in a part of the rows only, one in waves.
        weight = [np.ones(ROWS), np.arange(ROWS) < ROWS // 5, 1 + np.sin(np.arange(ROWS) / 3000)]
        found = np.flatnonzero(generator.random(ROWS) < share * weight[number % 3])
        own = found if found.size else np.array([number])
        rows.append(own.astype(np.uint32))
        heavy = generator.random(len(own)) < 0.02
        counts = generator.geometric(0.6, len(own)) + heavy * generator.integers(1, 900, len(own))
        tfs.append(counts.astype(np.uint32))
    lengths = np.bincount(np.concatenate(rows), np.concatenate(tfs), minlength=ROWS)
    offsets = np.cumsum([0, *map(len, rows)])
    words = np.cumsum([0, *map(len, TERMS)])
    return pack_arrays(
        "".join(TERMS).encode(),
        words,
        offsets,
        np.concatenate(rows),
        np.concatenate(tfs),
        lengths.astype(np.uint32),
    )


@pytest.fixture(scope="module", params=["fast", "small"])
def segment(arrays, request) -> KeywordSegment:
    whole = KeywordSegment.from_arrays(arrays)
    if request.param == "fast":
        return whole
    return KeywordSegment.from_arrays(compact_arrays(whole))


def _row_id(_: int, row: int) -> str:
    return f"{row * 7919 % ROWS:06d}"


def _filter(generator: np.random.Generator):
    share = generator.choice([0.0, 0.0002, 0.003, 0.02, 0.1, 0.6])
    mask = generator.random(ROWS) < share
    if generator.random() < 0.3:
        mask[: ROWS // 2] = False
    if share < 0.02 and generator.random() < 0.7:
        return np.flatnonzero(mask).astype(np.uint32)
    return mask


@pytest.mark.parametrize("seed", range(12))
def test_compiled_search_equals_the_pure_one(segment, seed, monkeypatch):
    generator = np.random.default_rng(seed)
    live = None if seed % 3 else generator.random(ROWS) < generator.choice([0.1, 0.9])
    searcher = Searcher([segment], [live], Statistics.of([segment], [live]))
    questions = []
    for _ in range(12):
        drawn = generator.choice(TERMS, generator.integers(1, 9), replace=False)
        groups = [
            tuple(each) for each in np.array_split(drawn, generator.integers(1, 9)) if each.size
        ]
        k = int(generator.choice([1, 3, 10, 10, 10, 100, 3000]))
        allow = _filter(generator) if generator.random() < 0.6 else None
        questions.append((groups, k, None if allow is None else [allow]))

    def answers():
        return [
            searcher.search(groups, k, allow=allow, row_id=_row_id)
            for groups, k, allow in questions
        ]

    compiled = answers()
    monkeypatch.setenv("PINCITE_PURE", "1")
    for answer, wanted in zip(compiled, answers(), strict=True):
        assert answer == wanted
