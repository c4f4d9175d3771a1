"""A dense index equals exact search after any adds, deletes, merges, filters and reopenings.

Below the size where codes are written the answers are equal, on both paths; above it the recall is
bounded. The definition below shares no code with the engine.
"""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.dense.codes import CODED_ROWS
from pincite.dense.index import Allowed, DenseIndex
from pincite.segments.kernels import native

DIMENSION = 24

_steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 60), st.integers(1, 40)),
        st.tuples(st.just("remove"), st.integers(0, 60), st.integers(1, 30)),
        st.tuples(st.just("merge"), st.just(0), st.just(0)),
        st.tuples(st.just("reopen"), st.just(0), st.just(0)),
    ),
    min_size=1,
    max_size=8,
)


def _vectors(count: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(20, DIMENSION))
    return centres[generator.integers(0, 20, count)] + generator.normal(size=(count, DIMENSION))


def _stored(vector: np.ndarray, metric: str) -> np.ndarray:
    if metric == "cosine":
        vector = (vector / np.linalg.norm(vector)).astype(np.float32)
    return vector.astype(np.float16).astype(np.float64)


def _exact(held: dict[str, np.ndarray], query: np.ndarray, metric: str) -> dict[str, float]:
    if metric == "cosine":
        query = query / np.linalg.norm(query)
    wide = query.astype(np.float32).astype(np.float64)
    return {name: float(_stored(vector, metric) @ wide) for name, vector in held.items()}


def _run(steps, metric: str, folder) -> tuple[DenseIndex, dict[str, np.ndarray]]:
    index, held = DenseIndex(metric=metric), {}
    for number, (step, first, count) in enumerate(steps):
        names = [f"d{place:03}" for place in range(first, first + count)]
        if step == "add":
            vectors = _vectors(count, number)
            index.add(names, vectors)
            held.update(zip(names, vectors, strict=True))
        elif step == "remove":
            gone = [name for name in names if held.pop(name, None) is not None]
            assert index.remove(names) == len(gone)
        elif step == "merge":
            index.merge()
        else:
            index.save(folder)
            index = DenseIndex.open(folder)
    return index, held


@settings(deadline=None, max_examples=20)
@given(_steps, st.sampled_from(["cosine", "dot"]), st.integers(1, 12), st.integers(0, 99))
def test_below_the_limit_every_answer_is_exact_on_both_paths(
    tmp_path_factory, steps, metric, k, seed
):
    index, held = _run(steps, metric, tmp_path_factory.mktemp("index") / "i")
    query = _vectors(1, 1000 + seed)[0]
    allowed = {name for name in held if int(name[1:]) % 3 == seed % 3}
    if not held:
        assert len(index) == 0
        return

    for allow in (None, allowed):
        scores = _exact(
            {n: v for n, v in held.items() if allow is None or n in allow}, query, metric
        )
        found, values = index.search(query, k, allow)
        best = sorted(scores.values(), reverse=True)[:k]
        assert list(values) == pytest.approx(best, rel=1e-5, abs=1e-5)
        assert [scores[name] for name in found] == pytest.approx(best, rel=1e-5, abs=1e-5)
        with mock.patch.dict(os.environ, {"PINCITE_PURE": "1"}):
            assert index.search(query, k, allow) == (found, values)


@pytest.mark.skipif(native() is None, reason="the pure path scores all, whatever the size")
@settings(deadline=None, max_examples=6)
@given(
    st.integers(CODED_ROWS, 4 * CODED_ROWS),
    st.sampled_from(["cosine", "dot"]),
    st.sampled_from([1, 2, 10, 100]),
    st.integers(0, 99),
)
def test_above_the_limit_recall_is_bounded(rows, metric, every, seed):
    index = DenseIndex(metric=metric)
    names = [f"d{place:05}" for place in range(rows)]
    vectors = _vectors(rows, seed)
    index.add(names, vectors)
    index.remove(names[::50])
    held = dict(zip(names, vectors, strict=True))
    kept = {name: held[name] for place, name in enumerate(names) if place % 50}
    allow = None if every == 1 else {name for name in kept if int(name[1:]) % every == 1}
    wanted = {name: kept[name] for name in kept if allow is None or name in allow}

    found = right = 0
    for query in _vectors(12, 500 + seed):
        scores = _exact(wanted, query, metric)
        bar = sorted(scores.values(), reverse=True)[:10][-1]
        answer = index.search(query, 10, allow)[0]
        assert set(answer) <= wanted.keys()
        found += sum(scores[name] >= bar - 1e-5 for name in answer)
        right += min(10, len(scores))
    assert found >= 0.93 * right


LISTED = 4096
SIZES = (LISTED + 500, CODED_ROWS + 500, CODED_ROWS // 2)
"""Of segments: in lists (from ``LISTED`` rows on, here), coded in one list, and scored whole."""


def _many(count: int, seed: int, repeated: float) -> np.ndarray:
    """Vectors some of which are equal, so that there are ties."""
    generator = np.random.default_rng(seed)
    vectors = _vectors(count, seed)
    again = generator.random(count) < repeated
    vectors[again] = vectors[generator.integers(0, count, int(again.sum()))]
    return vectors


def _large(seed: int, metric: str, order: tuple[int, ...], gone: float) -> DenseIndex:
    """An index of segments of every kind; a share of the rows is deleted."""
    generator = np.random.default_rng(seed)
    index = DenseIndex(metric=metric)
    patches = (
        mock.patch("pincite.segments.live.plan_merge", return_value=[]),
        mock.patch("pincite.dense.codes.LIST_ROWS", LISTED),
    )
    with patches[0], patches[1]:
        for number, size in enumerate(order):
            names = [f"{number}-{place:05}" for place in generator.permutation(size)]
            index.add(names, _many(size, seed + number, 0.02))
        index.remove([name for name in index.ids() if generator.random() < gone])
    return index


def _every_score(index: DenseIndex, query: np.ndarray) -> dict[str, float]:
    with mock.patch.dict(os.environ, {"PINCITE_PURE": "1"}):
        return dict(zip(*index.search(query, len(index)), strict=True))


def _recalls(
    index: DenseIndex, queries: np.ndarray, shares: tuple[float, ...], k: int
) -> dict[float, float]:
    """The recall of native searches by share; asserts all that must hold of each answer."""
    names = index.ids()
    order = np.random.default_rng(k).permutation(len(names))
    picked = {share: {names[i] for i in order[: int(share * len(names))]} for share in shares}
    allowed = {share: Allowed(own) if share < 1.0 else None for share, own in picked.items()}
    found, right = dict.fromkeys(shares, 0), dict.fromkeys(shares, 0)
    for query in queries:
        scores = _every_score(index, query)
        ordered = sorted(scores, key=lambda name: (-scores[name], name))
        for share in shares:
            best = [name for name in ordered if name in picked[share]][:k]
            ids, values = index.search(query, k, allowed[share])
            assert len(set(ids)) == len(ids) == len(best)
            assert picked[share].issuperset(ids)
            assert list(values) == [scores[name] for name in ids]  # bit for bit
            assert ids == sorted(ids, key=lambda name: (-scores[name], name))
            if len(picked[share]) <= _GATHERED:
                assert ids == best
            bar = scores[best[-1]] if best else 0.0
            found[share] += sum(scores[name] >= bar for name in ids)
            right[share] += len(best)
    return {share: found[share] / max(right[share], 1) for share in shares}


_GATHERED = 512  # so few kept rows are always scored, whatever the segments


@pytest.mark.skipif(native() is None, reason="the pure path scores all, whatever the size")
@settings(deadline=None, max_examples=3)
@given(
    st.integers(0, 999),
    st.sampled_from(["cosine", "dot"]),
    st.permutations(SIZES),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from([1, 10, 150]),
    st.booleans(),
)
def test_segments_of_every_kind_answer_like_the_exact_scan(seed, metric, order, gone, k, merge):
    index = _large(seed, metric, tuple(order), gone)
    assert index.stats()["segments"] == len(SIZES)
    assert index.stats()["lists"] > 1
    if merge:
        with mock.patch("pincite.dense.codes.LIST_ROWS", LISTED):
            index.merge()
    queries = _vectors(max(3, 120 // k), 700 + seed)  # enough answers for a share of them

    recalls = _recalls(index, queries, (1.0, 0.7, 0.3, 0.03, 0.003), k)

    assert min(recalls.values()) >= 0.95, recalls  # .973 was the least of 46 indexes


@pytest.mark.skipif(native() is None, reason="the pure path scores all, whatever the size")
def test_recall_of_large_segments_with_every_filter():
    index = _large(5, "cosine", SIZES, 0.1)
    queries = _vectors(25, 99)

    recalls = _recalls(index, queries, (1.0, 0.5, 0.1, 0.01), 10)

    assert min(recalls.values()) >= 0.96, recalls
