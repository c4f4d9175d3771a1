"""DenseIndex: add, replace, remove, search, save, open, on both paths and in threads."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

from pincite.dense import codes
from pincite.dense.index import Allowed, DenseIndex
from pincite.dense.indexed import KIND
from pincite.dense.search import normalize_rows
from pincite.errors import (
    EmbeddingError,
    InvalidArgument,
    InvalidQueryError,
    StoreCorrupt,
    StoreLocked,
    StoreNotFound,
)


@pytest.fixture(params=["native if built", "pure"], autouse=True)
def _path(request, monkeypatch):
    """Every test runs on both paths."""
    monkeypatch.setenv("PINCITE_PURE", "1" if request.param == "pure" else "")


def _clustered(count: int, dimension: int = 32, seed: int = 0) -> np.ndarray:
    """Unit vectors around a few centres."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(40, dimension))
    chosen = centres[generator.integers(0, 40, count)]
    return normalize_rows(chosen + 0.5 * generator.normal(size=(count, dimension)))


def _names(count: int, first: int = 0) -> list[str]:
    return [f"d{number:05}" for number in range(first, first + count)]


def _definition(vectors: dict[str, np.ndarray], query: np.ndarray, k: int) -> list[str]:
    unit = query.astype(np.float64) / np.linalg.norm(query.astype(np.float64))
    unit = unit.astype(np.float32).astype(np.float64)
    scored = {
        name: np.float32(np.clip(float(values.astype(np.float16).astype(np.float64) @ unit), -1, 1))
        for name, values in vectors.items()
    }
    return sorted(scored, key=lambda name: (-scored[name], name))[:k]


def test_the_nearest_come_first_with_their_cosines():
    index = DenseIndex()

    assert index.add(["a", "b", "c"], [[3.0, 0.0], [0.6, 0.8], [-1.0, 0.0]]) == 3
    ids, scores = index.search([2.0, 0.0], 2)
    assert ids == ["a", "b"]
    assert scores.typecode == "f"
    assert list(scores) == pytest.approx([1.0, 0.6], abs=1e-3)


def test_an_id_is_replaced_and_of_one_given_twice_the_last_counts():
    index = DenseIndex()
    index.add(["a", "b", "a"], [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])

    assert len(index) == 2
    assert index.search([0.0, -1.0], 1)[0] == ["a"]

    index.add(["a"], [[1.0, 0.0]])
    assert len(index) == 2
    assert index.search([1.0, 0.0], 1)[0] == ["a"]
    assert sorted(index.ids()) == ["a", "b"]


def test_what_is_removed_is_not_found():
    vectors = _clustered(300)
    index = DenseIndex()
    index.add(_names(300), vectors)
    nearest = index.search(vectors[0], 5)[0]

    assert index.remove([nearest[0], "unknown", nearest[0]]) == 1
    assert nearest[0] not in index
    assert index.search(vectors[0], 4)[0] == nearest[1:]


def test_products_without_normalisation():
    index = DenseIndex(metric="dot")
    index.add(["short", "long"], [[1.0, 0.0], [10.0, 10.0]])

    ids, scores = index.search([1.0, 0.0], 2)
    assert ids == ["long", "short"]
    assert list(scores) == [10.0, 1.0]


def test_a_filter_restricts_and_serves_many_indexes():
    vectors = _clustered(500)
    first, second = DenseIndex(), DenseIndex()
    first.add(_names(250), vectors[:250])
    second.add(_names(250, 250), vectors[250:])
    allowed = Allowed([*_names(20), *_names(20, 250), "unknown"])

    for index, names in ((first, _names(20)), (second, _names(20, 250))):
        found = index.search(vectors[3], 500, allowed)[0]
        assert sorted(found) == names
        assert index.search(vectors[3], 500, set(names))[0] == found
    assert first.search(vectors[3], 5, [])[0] == []


def test_saved_and_opened_it_answers_the_same(tmp_path):
    vectors = _clustered(2500)
    index = DenseIndex()
    index.add(_names(2000), vectors[:2000])
    index.add(_names(500, 2000), vectors[2000:])
    index.remove(_names(50, 100))
    before = [index.search(query, 10) for query in vectors[::500]]

    index.save(tmp_path / "index")
    opened = DenseIndex.open(tmp_path / "index")
    assert [opened.search(query, 10) for query in vectors[::500]] == before
    assert [index.search(query, 10) for query in vectors[::500]] == before
    assert (len(opened), opened.dimension, opened.metric) == (2450, 32, "cosine")

    opened.add(["new"], vectors[:1])
    opened.save()
    assert DenseIndex.open(tmp_path / "index").search(vectors[0], 2)[0] == ["d00000", "new"]


def test_a_save_writes_only_what_is_new(tmp_path):
    index = DenseIndex()
    index.add(_names(200), _clustered(200))
    index.save(tmp_path / "index")
    old = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "index").glob("*.seg")}

    index.add(["new"], _clustered(1, seed=3))
    index.remove(["d00001"])
    index.save()
    new = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "index").glob("*.seg")}
    assert old.items() < new.items()
    assert len(new) == 2


def test_a_stale_index_does_not_overwrite_a_later_one(tmp_path):
    first = DenseIndex()
    first.add(["a"], [[1.0, 0.0]])
    first.save(tmp_path / "index")
    second = DenseIndex.open(tmp_path / "index")
    second.add(["b"], [[0.0, 1.0]])
    second.save()

    first.add(["c"], [[0.0, 1.0]])
    with pytest.raises(StoreLocked, match="open it again"):
        first.save()
    assert sorted(DenseIndex.open(tmp_path / "index").ids()) == ["a", "b"]


def test_merging_changes_no_answer(tmp_path):
    vectors = _clustered(900)
    index = DenseIndex()
    for start in range(0, 900, 300):
        index.add(_names(300, start), vectors[start : start + 300])
    index.remove(_names(20, 290))
    before = [index.search(query, 10) for query in vectors[::100]]

    index.merge()
    assert (index.stats()["segments"], index.stats()["deleted"]) == (1, 0)
    assert [index.search(query, 10) for query in vectors[::100]] == before


def test_an_emptied_index_is_empty(tmp_path):
    index = DenseIndex()
    index.add(["a"], [[1.0, 0.0]])
    index.remove(["a"])
    index.save(tmp_path / "index")

    assert index.search([1.0, 0.0], 3) == DenseIndex.open(tmp_path / "index").search([1.0, 0.0], 3)
    assert len(index) == index.stats()["segments"] == 0


@pytest.mark.parametrize(
    ("ids", "vectors", "message"),
    [
        ("a", [[1.0]], "is the string"),
        (["a"], [[1.0], [2.0]], "one for each"),
        (["a", "b"], [[1.0], [2.0, 3.0]], "differ in length"),
        ([1], [[1.0]], "pass strings"),
        (["a"], [[[1.0]]], "shape"),
        (["a"], [["x"]], "numbers"),
        (["a"], [[]], "empty"),
        (["a"], [[1.0, 2.0, 3.0]], "3 dimensions and the index has 2"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(ids, vectors, message):
    index = DenseIndex()
    index.add(["x"], [[1.0, 0.0]])

    with pytest.raises(InvalidArgument, match=message):
        index.add(ids, vectors)
    assert index.ids() == ["x"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e6])
def test_numbers_that_cannot_be_kept_are_refused(value):
    index = DenseIndex(metric="dot")

    with pytest.raises(EmbeddingError, match="scale the vectors"):
        index.add(["a"], [[value, 1.0]])
    assert len(index) == 0


def test_queries_that_cannot_be_answered_are_refused():
    index = DenseIndex()
    index.add(["a"], [[1.0, 0.0]])

    with pytest.raises(InvalidQueryError, match="at least 1"):
        index.search([1.0, 0.0], 0)
    with pytest.raises(InvalidQueryError, match="dimensions"):
        index.search([1.0], 1)
    with pytest.raises(InvalidQueryError, match="all zero"):
        index.search([0.0, 0.0], 1)
    with pytest.raises(InvalidArgument, match="set of ids"):
        index.search([1.0, 0.0], 1, "a")
    with pytest.raises(InvalidArgument, match="choose one of"):
        DenseIndex(metric="euclid")


def test_folders_that_hold_no_index(tmp_path):
    with pytest.raises(StoreNotFound, match="save one there first"):
        DenseIndex.open(tmp_path / "nothing")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidArgument, match="other files"):
        DenseIndex().save(tmp_path)
    with pytest.raises(InvalidArgument, match="is a file"):
        DenseIndex().save(tmp_path / "notes.txt")
    with pytest.raises(InvalidArgument, match="no folder yet"):
        DenseIndex().save()


def test_every_damaged_byte_is_noticed_or_harmless(tmp_path):
    """Bytes are flipped all over a saved index: each answer is right, or the damage is named."""
    vectors = _clustered(1100, 16)
    index = DenseIndex()
    index.add(_names(1100), vectors)
    index.remove(_names(3))
    index.save(tmp_path / "index")
    right = [index.search(query, 5) for query in vectors[:4]]
    generator = np.random.default_rng(11)

    noticed = 0
    for path in sorted((tmp_path / "index").iterdir()):
        data = path.read_bytes()
        for at in generator.integers(0, len(data), 40).tolist():
            broken = bytearray(data)
            broken[at] ^= 1 << int(generator.integers(0, 8))
            path.write_bytes(broken)
            try:
                opened = DenseIndex.open(tmp_path / "index")
                assert [opened.search(query, 5) for query in vectors[:4]] == right
            except StoreCorrupt:
                noticed += 1
        for size in (0, 1, len(data) // 2, len(data) - 1):
            path.write_bytes(data[:size])
            with pytest.raises(StoreCorrupt):
                DenseIndex.open(tmp_path / "index")
        path.write_bytes(data)
    assert noticed > 40


def test_a_missing_segment_is_named(tmp_path):
    index = DenseIndex()
    index.add(["a"], [[1.0, 0.0]])
    index.save(tmp_path / "index")
    next((tmp_path / "index").glob("*.seg")).unlink()

    with pytest.raises(StoreCorrupt, match="missing"):
        DenseIndex.open(tmp_path / "index")
    assert (tmp_path / "index" / KIND.manifest).exists()


def test_eight_threads_search_while_one_changes_the_index():
    vectors = _clustered(1500)
    index = DenseIndex()
    index.add(_names(1200), vectors[:1200])
    kept = {name: vectors[place] for place, name in enumerate(_names(1000))}
    stop, wrong = threading.Event(), []

    def search() -> None:
        generator = np.random.default_rng(threading.get_ident() % 1000)
        while not stop.is_set():
            place = int(generator.integers(0, 1000))
            ids, scores = index.search(vectors[place], 3, allowed)
            if ids[0] != f"d{place:05}" or list(scores) != sorted(scores, reverse=True):
                wrong.append(ids)

    allowed = Allowed(kept)
    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for number in range(15):
        index.add(_names(20, 2000 + 20 * number), vectors[1200:1220])
        index.remove(_names(10, 1000 + 10 * number))
    stop.set()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert len(index) == 1200 + 300 - 150


def test_lists_and_codes_find_nearly_all(tmp_path):
    """Enough rows for inverted lists; the pure path opens the same files and scores all."""
    vectors = _clustered(17_000)
    index = DenseIndex()
    index.add(_names(17_000), vectors)
    index.save(tmp_path / "index")
    opened = DenseIndex.open(tmp_path / "index")
    queries = _clustered(40, seed=99)
    wide = vectors.astype(np.float16).astype(np.float32)
    allowed = Allowed(_names(17_000)[::10])

    found = whole = kept = 0
    for query in queries:
        scores = wide @ query
        best = {f"d{row:05}" for row in np.argsort(-scores)[:10]}
        found += len(best & set(opened.search(query, 10)[0]))
        rows = np.arange(0, 17_000, 10)
        best = {f"d{row:05}" for row in rows[np.argsort(-scores[rows])[:10]]}
        kept += len(best & set(opened.search(query, 10, allowed)[0]))
        whole += 10
    assert found >= 0.95 * whole
    assert kept >= 0.95 * whole
    assert (opened.stats()["lists"] > 1) == (opened.stats()["kernels"] == "native")


def test_ids_of_any_text_survive(tmp_path):
    names = ["", "ä", "\ud800", "日本", "a" * 3000, "x\n\0y"]
    index = DenseIndex()
    index.add(names, np.eye(6))
    index.save(tmp_path / "index")

    opened = DenseIndex.open(tmp_path / "index")
    assert opened.ids() == names
    assert [opened.search(row, 1)[0][0] for row in np.eye(6)] == names


def test_the_definition_holds_over_many_small_segments():
    vectors = _clustered(400, 24)
    index = DenseIndex()
    for start in range(0, 400, 40):
        index.add(_names(40, start), vectors[start : start + 40])
    held = dict(zip(_names(400), vectors, strict=True))

    for query in _clustered(20, 24, seed=5):
        assert index.search(query, 7)[0] == _definition(held, query, 7)


@pytest.mark.parametrize("share", [1.0, 0.8, 0.3])
def test_as_many_are_found_as_are_asked_for_where_most_vectors_are_equal(monkeypatch, share):
    """The nearest lists are all but empty, and no gap says so: the rest is one far list."""
    monkeypatch.setattr(codes, "LIST_ROWS", 2000)
    generator = np.random.default_rng(3)
    rows = np.ones((6010, 24)) + np.r_[np.zeros((6000, 24)), -2 * np.ones((10, 24))]
    rows[6000:] += generator.normal(scale=0.3, size=(10, 24))
    index = DenseIndex()
    index.add(_names(6010), rows)
    kept = [name for name in _names(6010) if generator.random() < share]
    for _ in range(3):
        assert len(index.search(rows[6003], 30, Allowed(kept))[0]) == 30
        assert len(index.search(rows[6003], 30)[0]) == 30


@pytest.mark.parametrize("k", [2**63, 2**64, 10**400])
def test_k_may_be_any_number(k):
    index = DenseIndex()
    index.add(_names(30), _clustered(30))
    assert len(index.search(np.ones(32), k)[0]) == 30
    assert len(index.search(np.ones(32), k, Allowed(_names(7)))[0]) == 7


def test_a_query_of_numbers_beyond_any_float_is_refused():
    index = DenseIndex()
    index.add(["a"], [[1.0, 0.0]])
    with pytest.raises(InvalidQueryError, match="no vector"):
        index.search([10**400, 0], 1)


def test_what_may_be_found_does_not_hold_segments_that_are_gone():
    index = DenseIndex()
    allowed = Allowed(_names(10))
    seen = []
    for turn in range(20):
        index.add(_names(10), _clustered(10, seed=turn))
        assert len(index.search(np.ones(32), 10, allowed)[0]) == 10
        seen += [weakref.ref(segment) for segment in index._state.segments]
    gc.collect()
    assert sum(ref() is not None for ref in seen) <= 2
