"""``BM25Index``: languages, refusals, threads, and a folder that is whole or says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from array import array
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from pincite.bm25.index import Allowed, BM25Index
from pincite.bm25.indexed import KIND
from pincite.errors import (
    InvalidArgument,
    InvalidQueryError,
    StoreCorrupt,
    StoreLocked,
    StoreNotFound,
)
from pincite.retrieval.words import WordAnalysis


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    index = BM25Index(language="en", k1=0.9, method="lucene")
    index.add([f"n{n}" for n in range(40)], [f"shared word{n} sockets" for n in range(40)])
    index.remove(["n3"])
    index.save(tmp_path / "index")
    return tmp_path / "index"


def test_search_returns_ids_and_an_array_of_float32():
    index = BM25Index()
    index.add(["a", "b"], ["one two", "two two three"])

    ids, scores = index.search("two", 5)

    assert ids == ["b", "a"]
    assert isinstance(scores, array)
    assert scores.typecode == "f"


def test_ties_are_in_the_order_of_the_ids():
    index = BM25Index()
    index.add(["z", "m", "a"], ["same", "same", "same"])
    index.add(["k"], ["same"])

    assert index.search("same", 3)[0] == ["a", "k", "m"]


def test_an_id_given_twice_counts_once_and_the_last_stands():
    index = BM25Index()

    assert index.add(["a", "b", "a"], ["old", "other", "new"]) == 2
    assert index.search("old", 5)[0] == []
    assert index.search("new", 5)[0] == ["a"]


def test_a_word_is_found_in_every_language_of_the_index():
    index = BM25Index()
    index.add(["en"], ["running dogs"], language="en")
    index.add(["de"], ["die Häuser am See"], language="german")

    assert index.search("Haus", 5)[0] == ["de"]
    assert index.search("runs", 5)[0] == ["en"]
    assert index.stats()["languages"] == ["de", "en"]


def test_each_text_can_have_its_own_language_or_have_it_detected():
    index = BM25Index(language="auto")
    english = "The dogs were running through the house and into the garden of the neighbours."
    german = "Der Hund ist nicht in dem Haus, denn er war gestern auf der Straße."
    index.add(["a", "b"], [english, german])
    index.add(["c", "d"], ["chats", "gatos"], language=["fr", "es"])

    assert index.stats()["languages"] == ["de", "en", "es", "fr"]


def test_texts_without_words_count_in_the_statistics():
    index = BM25Index()
    index.add(["a", "b"], ["word", "... !?"])

    assert index.stats()["documents"] == 2
    assert index.stats()["average_length"] == 0.5


def test_parameters_change_without_indexing_again():
    index = BM25Index()
    index.add(["short", "long"], ["cat", "cat cat dog dog dog dog"])
    before = index.search("cat", 2)[1]

    index.k1, index.b, index.method = 0.0, 0.0, "bm25+"

    assert index.search("cat", 2)[1] != before
    assert len(set(index.search("cat", 2)[1])) == 1


@pytest.mark.parametrize("change", [{"k1": -1.0}, {"b": 1.5}, {"method": "tf-idf"}])
def test_bad_parameters_are_refused_at_once_and_later(change):
    index = BM25Index()
    with pytest.raises(InvalidArgument):
        BM25Index(**change)
    with pytest.raises(InvalidArgument):
        setattr(index, *change.popitem())
    assert (index.k1, index.b, index.method) == (1.2, 0.75, "okapi")


@pytest.mark.parametrize(
    "arguments",
    [
        (["a"], ["x", "y"]),
        ("a", ["x"]),
        (["a"], "x"),
        ([1], ["x"]),
        (["a"], [None]),
        (["a"], [b"x"]),
    ],
)
def test_texts_that_do_not_fit_are_refused(arguments):
    index = BM25Index()
    with pytest.raises(InvalidArgument):
        index.add(*arguments)
    assert len(index) == 0


def test_other_refusals_say_what_to_do():
    index = BM25Index()
    index.add(["a"], ["x"])
    with pytest.raises(InvalidQueryError, match="at least 1"):
        index.search("x", 0)
    with pytest.raises(InvalidArgument, match="set of ids"):
        index.search("x", 1, "a")
    with pytest.raises(InvalidArgument, match="list of ids"):
        index.remove("a")
    with pytest.raises(InvalidArgument, match="explain one"):
        index.explain("x", "b")
    with pytest.raises(InvalidArgument, match="one for each"):
        index.add(["b"], ["y"], language=["en", "de"])
    with pytest.raises(InvalidArgument, match="pass save"):
        index.save()


def test_allowed_ids_serve_a_growing_index():
    index = BM25Index()
    allow = Allowed(["a", "c", "nowhere"])
    index.add(["a", "b"], ["x", "x"])
    assert index.search("x", 5, allow)[0] == ["a"]

    index.add(["c"], ["x"])

    assert index.search("x", 5, allow)[0] == ["a", "c"]
    assert index.search("x", 5, set())[0] == []


def test_odd_ids_are_kept():
    names = ["", "日本", "a\nb", "\ud800", "x" * 5_000]
    index = BM25Index()
    index.add(names, ["same"] * len(names))

    assert sorted(index.search("same", 9)[0]) == sorted(names)
    assert index.remove(names) == len(names)


def test_saving_writes_only_what_is_new(saved: Path):
    index = BM25Index.open(saved)
    first = {p.name for p in saved.glob("*.seg")}

    index.add(["new"], ["sockets again"])
    index.save()

    assert first < {p.name for p in saved.glob("*.seg")}
    assert len(BM25Index.open(saved)) == 40


def test_what_is_opened_is_what_was_saved(saved: Path):
    index = BM25Index.open(saved)

    assert (index.k1, index.b, index.method, index.language) == (0.9, 0.75, "lucene", "en")
    assert len(index) == 39
    assert index.search("word3", 5)[0] == []
    assert index.search("socket word4", 1)[0] == ["n4"]


def test_two_writers_of_one_folder_do_not_lose_each_other(saved: Path):
    first, second = BM25Index.open(saved), BM25Index.open(saved)
    first.add(["x"], ["first"])
    first.save()
    second.add(["y"], ["second"])

    with pytest.raises(StoreLocked, match="open it again"):
        second.save()

    assert BM25Index.open(saved).search("first", 1)[0] == ["x"]


def test_an_open_index_outlives_another_save(saved: Path):
    reader, writer = BM25Index.open(saved), BM25Index.open(saved)
    writer.merge()
    writer.save()

    assert len(reader.search("shared", 50)[0]) == 39


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("mine")
    index = BM25Index()

    with pytest.raises(InvalidArgument, match="new folder"):
        index.save(tmp_path)
    with pytest.raises(InvalidArgument, match="is a file"):
        index.save(tmp_path / "notes.txt")
    with pytest.raises(StoreNotFound):
        BM25Index.open(tmp_path)


def test_another_analysis_is_refused(saved: Path):
    with pytest.raises(InvalidArgument, match="same analysis"):
        BM25Index.open(saved, analysis=WordAnalysis())


def test_every_damaged_byte_is_found(saved: Path):
    """Every 97th byte of every file, turned around: an error of ours, or the same answers."""
    wanted = BM25Index.open(saved).search("shared word7", 50)
    for path in sorted(saved.iterdir()):
        data = path.read_bytes()
        for place in range(0, len(data), 97):
            path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
            with suppress(StoreCorrupt):
                found = BM25Index.open(saved)
                assert found.search("shared word7", 50) == wanted
                assert found.remove(["n7"]) == 1
        path.write_bytes(data)


@pytest.mark.parametrize("size", [0, 10, 200])
def test_a_cut_file_is_found(saved: Path, size: int):
    for path in sorted(saved.iterdir()):
        data = path.read_bytes()
        path.write_bytes(data[:size])
        with pytest.raises(StoreCorrupt):
            BM25Index.open(saved)
        path.write_bytes(data)


def test_a_missing_segment_is_damage(saved: Path):
    next(saved.glob("*.seg")).unlink()

    with pytest.raises(StoreCorrupt, match="missing"):
        BM25Index.open(saved)


def test_what_a_crashed_save_left_is_swept(saved: Path):
    (saved / f"{'ab' * 8}.seg.tmp").write_bytes(b"half")
    (saved / f"{'cd' * 8}.seg").write_bytes(b"not named by a manifest")

    index = BM25Index.open(saved)
    index.add(["x"], ["y"])
    index.save()

    assert {p.suffix for p in saved.iterdir()} == {".seg", ".bm25"}
    assert not (saved / f"{'cd' * 8}.seg").exists()


def test_a_crash_before_the_swap_keeps_the_old_index(saved: Path, monkeypatch):
    index = BM25Index.open(saved)
    index.add(["x"], ["fresh"])

    def crash(self, target):
        if Path(target).name == KIND.manifest:
            raise OSError("power cut")
        return os.replace(self, target)

    monkeypatch.setattr(Path, "replace", crash)
    with pytest.raises(OSError, match="power cut"):
        index.save()
    monkeypatch.undo()

    assert BM25Index.open(saved).search("fresh", 1)[0] == []
    index.save()
    assert BM25Index.open(saved).search("fresh", 1)[0] == ["x"]


def test_eight_threads_search_while_one_indexes():
    """Every answer is that of a committed state: the batches there are, whole."""
    index = BM25Index()
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            ids, scores = index.search("common", 1_000)
            batches = {name.split("-")[0] for name in ids}
            if len(ids) != 10 * len(batches) or len(ids) != len(scores):
                wrong.append(ids)

    readers = [threading.Thread(target=read) for _ in range(8)]
    for thread in readers:
        thread.start()
    try:
        for batch in range(30):
            names = [f"{batch}-{n}" for n in range(10)]
            index.add(names, [f"common text {name}" for name in names])
            if batch % 3 == 2:
                index.remove([f"{batch - 1}-{n}" for n in range(10)])
    finally:
        stop.set()
        for thread in readers:
            thread.join()

    assert wrong == []
    assert len(index) == 200


_HASHED = """
from pincite.bm25.index import BM25Index
index = BM25Index(language="en")
texts = [f"alpha beta{n % 7} gamma_{n % 3} running" for n in range(60)]
index.add([f"n{n}" for n in range(60)], texts)
index.remove({f"n{n}" for n in range(5)})
ids, scores = index.search("running gamma_1 beta3 alpha", 20, {f"n{n}" for n in range(50)})
print(ids, scores.tobytes().hex(), sorted(index.stats().items()))
"""


def _answers(processes: int) -> set[str]:
    return {
        subprocess.run(
            [sys.executable, "-c", _HASHED],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(processes)
    }


def test_answers_do_not_depend_on_the_hash_seed():
    """In 5 processes, or as many as PINCITE_HASH_SEEDS says."""
    assert len(_answers(int(os.environ.get("PINCITE_HASH_SEEDS", "5")))) == 1


@pytest.mark.parametrize(("query", "k"), [(None, 1), (b"socket", 1), ("socket", 2.5), ("x", "3")])
def test_what_is_no_query_or_number_is_refused(query, k):
    index = BM25Index()
    index.add(["a"], ["socket"])

    with pytest.raises(InvalidQueryError, match="Pass a string and how many results"):
        index.search(query, k)
    assert index.search("socket", 10**30)[0] == ["a"]
    assert index.search("socket", np.int64(1))[0] == ["a"]


@pytest.mark.parametrize("k", [2**64, 10**400])
def test_k_may_be_any_number(k):
    index = BM25Index()
    index.add(["a", "b"], ["salt of the sea", "salt"])
    assert index.search("salt", k)[0] == ["b", "a"]
