"""The memory store: its scores by hand, its states, its copies."""

import math
import sys
import threading

import numpy as np
import pytest

from pincite.errors import CollectionMismatch, InvalidArgument
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, Geometry, ModelIdentity
from pincite.model.filters import DeclaredFilter
from pincite.stores.memory import MemoryStore


def document(name, *texts, vectors=None, **more):
    chunks = [ChunkResult(content=text, chunk_index=i) for i, text in enumerate(texts)]
    rows = vectors or [[1.0, float(i)] for i in range(len(texts))]
    return EmbeddedDocument(
        name, name, chunks, np.array(rows, dtype=np.float32), "test--hash", **more
    )


@pytest.fixture
def store():
    return MemoryStore()


def read(store, *collections):
    return store.reader("ann", collections or ("papers",))


def test_scores_are_those_of_the_formula(store):
    store.commit("ann", "papers", [document("a", "quartz quartz mica"), document("b", "quartz")])
    store.commit("ann", "papers", [document("c", "granite gold")])
    # N 3, n 2, average length 2.
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    twice = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    once = idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2))

    hits = read(store).bm25("papers", query="quartz quartz", limit=5)

    # The query says it twice, so it counts twice.
    assert {hit.chunk.id: hit.score for hit in hits} == pytest.approx(
        {"a-0": 2 * twice, "b-0": 2 * once}, rel=1e-6
    )


def test_words_of_one_stem_are_one_term_across_languages(store):
    store.commit("ann", "papers", [document("en", "dogs running", language="en")])
    store.commit("ann", "papers", [document("de", "die Hunde laufen", language="de")])

    assert [h.chunk.document for h in read(store).bm25("papers", query="dog", limit=5)] == ["en"]
    assert [h.chunk.document for h in read(store).bm25("papers", query="Hund", limit=5)] == ["de"]


def test_vectors_are_kept_as_unit_rows_of_float16(store):
    store.commit("ann", "papers", [document("a", "x", vectors=[[3.0, 4.0]])])

    row = store.vectors("ann", "papers", "a")

    assert row.tolist() == [[float(np.float16(0.6)), float(np.float16(0.8))]]


def test_a_model_without_unit_length_is_compared_by_dot_product(store):
    model = ModelIdentity("dot", 2, normalized=False)
    store.commit("ann", "papers", [document("long", "x", vectors=[[3.0, 4.0]], model=model)])
    store.commit("ann", "papers", [document("short", "x", vectors=[[1.0, 0.0]], model=model)])

    hits = read(store).near_vector("papers", vector=[2.0, 0.0], limit=5)

    assert [(h.chunk.document, h.score) for h in hits] == [("long", 6.0), ("short", 2.0)]


def test_a_refused_write_changes_nothing(store):
    store.commit("ann", "papers", [document("a", "quartz")])
    bad = document("b", "x", vectors=[[1.0, 2.0, 3.0]])

    with pytest.raises(CollectionMismatch):
        store.commit("ann", "papers", [document("c", "mica"), bad])

    assert [info.document for info in store.documents("ann", "papers")] == ["a"]


def test_geometry_is_copied_in_and_out(store):
    dimensions = {"1": (1.0, 2.0)}
    given = Geometry("text", page_dimensions=dimensions)
    store.commit("ann", "papers", [document("a", "quartz", geometry=given)])
    dimensions["2"] = (3.0, 4.0)
    store.geometry("ann", "papers", "a").page_dimensions["3"] = (5.0, 6.0)

    assert store.geometry("ann", "papers", "a").page_dimensions == {"1": (1.0, 2.0)}
    assert store.geometry("ann", "papers", "unknown") is None


def test_stats_count_what_the_keyword_side_holds(store):
    store.commit("ann", "papers", [document("a", "quartz quartz mica", "gold")])

    stats = store.stats("ann", "papers")

    assert (stats["documents"], stats["chunks"], stats["vocabulary"]) == (1, 2, 3)
    assert (stats["total_tokens"], stats["average_length"]) == (4, 2.0)
    assert store.stats("ann", "nothing")["average_length"] == 0.0


def test_all_chunks_come_by_subject_collection_and_document(store):
    for subject, collection, name in (("bob", "a", "x"), ("ann", "b", "y"), ("ann", "a", "z")):
        store.commit(subject, collection, [document(name, "one", "two")])

    assert [c.id for c in store.all_chunks()] == ["z-0", "z-1", "y-0", "y-1", "x-0", "x-1"]
    assert [c.id for c in read(store, "b", "a").all_chunks()] == ["y-0", "y-1", "z-0", "z-1"]


def test_offset_turns_the_page(store):
    store.commit("ann", "papers", [document(f"d{n}", "quartz", "mica") for n in range(6)])
    port, vector = read(store), [1.0, 0.5]

    def page(limit, offset):
        return port.hybrid("papers", query="quartz", vector=vector, limit=limit, offset=offset)

    whole = page(12, 0)
    assert [hit for offset in (0, 5, 10) for hit in page(5, offset)] == whole
    assert page(5, 100) == []


@pytest.mark.parametrize("method", ["vectors", "rename", "set_metadata"])
def test_a_document_that_is_not_there_is_named(store, method):
    more = {"rename": ("new",), "set_metadata": ({},)}.get(method, ())

    with pytest.raises(InvalidArgument, match="'gone'"):
        getattr(store, method)("ann", "papers", "gone", *more)


def test_delete_takes_a_list(store):
    with pytest.raises(InvalidArgument, match="list"):
        store.delete("ann", "papers", "abc")


def test_a_filter_on_an_old_id_finds_the_renamed_document(store):
    store.commit("ann", "papers", [document("old", "quartz"), document("other", "quartz")])
    store.rename("ann", "papers", "old", "new")
    port = read(store)

    for where, wanted in (
        (DeclaredFilter("document", "eq", "old"), ["new"]),
        (DeclaredFilter("document", "ne", "old"), ["other"]),
        (DeclaredFilter("document", "in", ["old", "other"]), ["new", "other"]),
    ):
        hits = port.bm25("papers", query="quartz", limit=5, where=where)
        assert [hit.chunk.document for hit in hits] == wanted


def test_threads_write_and_read_at_the_same_time(store):
    stop, torn = threading.Event(), []

    def search():
        port = read(store)
        while not stop.is_set():
            hits = port.bm25("papers", query="quartz", limit=100)
            versions = {hit.chunk.content for hit in hits}
            if hits and (len(versions) != 1 or len(hits) != 3):
                torn.append(versions)
            store.list("ann"), list(store.all_chunks())

    readers = [threading.Thread(target=search) for _ in range(3)]
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in readers:
            thread.start()
        for version in range(60):
            store.commit("ann", "papers", [document("a", *[f"quartz v{version}"] * 3)])
            store.commit("ann", f"c{version}", [document("a", "mica")])
    finally:
        stop.set()
        for thread in readers:
            thread.join()
        sys.setswitchinterval(old)

    assert torn == []
    assert len(store.list("ann")) == 61
