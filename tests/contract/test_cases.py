"""What people run into, on each store over a database of vectors: names, models, folders, moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import pincite
from pincite.embedding.embedder import Embedder
from pincite.errors import CollectionMismatch, InvalidArgument, InvalidQueryError
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, Geometry, ModelIdentity
from pincite.model.where import F
from pincite.stores.local.store import LocalStore
from pincite.stores.transfer import export_collection, import_collection
from pincite.stores.uri import open_store, open_sync_store
from pincite.testing import HashEmbedder
from pincite.testing.samples import METHODS, call, embed, put, whole

STORES = {
    "chroma": ("chromadb", "chroma:{}/chroma"),
    "qdrant": ("qdrant_client", "qdrant:{}/qdrant"),
    "qdrant-edge": ("qdrant_edge", "qdrant:edge:{}/edge"),
    "milvus": ("pymilvus", "milvus:{}/milvus.db"),
}

SERVED = [
    pytest.param(
        uri,
        id=name,
        marks=pytest.mark.skipif(find_spec(client) is None, reason=f"needs the extra [{name}]"),
    )
    for name, (client, uri) in STORES.items()
]
SERVED.append(pytest.param("postgres", id="postgres"))


@pytest.fixture(params=SERVED)
def uri(request: pytest.FixtureRequest, quick_folders: Callable[[], Path]) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("postgres_store_uri")
    return request.param.format(quick_folders())


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# Masks\n\nThe block mask is built row by row. ERR-4021.\n")
    (folder / "b.md").write_text("# Radio\n\nThe antenna is tuned by hand.\n")
    return folder


# -- names


def test_hostile_names_are_only_names(uri: str) -> None:
    nasty = ["'; DROP TABLE x; --", '"quoted"', "a\0b", "%s{}\\", "é\ud7ff\U0001f728", "x" * 9_000]
    nasty += ["../../etc", "$ne", "tenant == 1 or 1 == 1", " é"]

    async def use() -> None:
        store = open_store(uri, create=True)
        await store.setup()
        for name in nasty:
            await put(
                store, name, "quartz", subject=name, collection=name, metadata={name: name},
                title=name,
            )  # fmt: skip
        for name in nasty:
            port = store.reader(name, [name])
            for where in (None, F(name) == name, F("document") == name, F("title") == name):
                for method in METHODS:
                    found = await call(port, method, target=name, where=where)
                    chunk = getattr(found[0], "chunk", found[0])
                    assert [(chunk.document, chunk.title, chunk.subject)] == [(name,) * 3]
                    assert (chunk.id, dict(chunk.metadata)) == (f"{name}-0", {name: name})
                    assert len(found) == 1
            assert [each.name for each in await store.list(name)] == [name]
            assert [info.document for info in await store.documents(name, name)] == [name]
            await store.rename(name, name, name, "plain")
            assert len(await store.vectors(name, name, name)) == 1
            assert await store.delete(name, name, [name]) == 1
            assert await store.documents(name, name) == []
        await store.aclose()

    anyio.run(use)


# -- D7: one leg empty or broken


class _Broken(HashEmbedder):
    broken = False

    def encode(self, endpoint: str, texts: Sequence[str]) -> Any:
        if self.broken:
            raise ConnectionError("no answer")
        return super().encode(endpoint, texts)


def test_a_leg_without_an_answer_is_never_a_silent_half(uri: str, papers: Path) -> None:
    client = _Broken(64)
    with pincite.open(uri, embedder=Embedder(client, "test--hash")) as library:
        library.add(papers)
        words = "nothing of this is written"
        both, near = (library.search(words, mode=mode) for mode in ("hybrid", "vector"))
        assert [hit.chunk.id for hit in both] == [hit.chunk.id for hit in near]
        client.broken = True
        with pytest.raises(ConnectionError):
            library.search("antenna")
        found = library.search("antenna", partial=True)
        assert ["b.md" in hit.chunk.document for hit in found] == [True]
        assert any("vector side failed" in warning for warning in found.warnings)


# -- D8, D9: missing keys and typed values; the contract has every operator on every method


def test_absent_keys_and_typed_values_mean_the_same_as_everywhere(uri: str) -> None:
    store = open_sync_store(uri, create=True)
    store.setup()
    rows: dict[str, dict[str, Any]] = {
        "de": {"lang": "de", "k": "007", "n": 7, "d": "2025-01-01"},
        "en": {"lang": "en", "y": "2024_123", "b": True, "d": "2025-01-01T00:00:00"},
        "no": {"l": ["a", "b"], "d": "2025-01-01T01:00:00+01:00"},
    }
    store.declare("ann", "papers", {"d": pincite.Field(pincite.FieldType.DATETIME)})
    store.commit("ann", "papers", [whole(n, "quartz", metadata=m) for n, m in rows.items()])
    port = store.reader("ann", ["papers"])
    for where, kept in (
        (F("lang") != "de", "en no"),
        (~(F("lang") == "de"), "en no"),
        (F("lang").not_in(["de"]), "en no"),
        (F("lang").in_([]), ""),
        (F("lang").not_in([]), "de en no"),
        (F("k") == "007", "de"),
        (F("n") == 7, "de"),
        (F("n").in_([7, 8]), "de"),
        (F("y") == "2024_123", "en"),
        (F("b") == True, "en"),  # noqa: E712 - builds a filter
        (F("l").contains_any(["a"]), "no"),
        (F("d") >= "2025-01-01", "de en no"),
        (F("d") < "2025-01-01", ""),
    ):
        for found in (
            [hit.chunk for hit in port.bm25("papers", query="quartz", limit=9, where=where)],
            [h.chunk for h in port.near_vector("papers", vector=embed("x"), limit=9, where=where)],
            port.fetch("papers", limit=9, where=where),
        ):
            assert " ".join(sorted(chunk.document for chunk in found)) == kept, where
    for where in (F("n") == "7", F("n") == True, F("l") == "a", F("nn") == 7):  # noqa: E712
        with pytest.raises(InvalidQueryError, match=f"'{where.field}'"):
            port.bm25("papers", query="quartz", limit=9, where=where)
    store.close()


def test_a_value_that_does_not_fit_is_refused_and_kept_by_a_folder(uri: str, papers: Path) -> None:
    with pincite.open(uri, embedder=Embedder(HashEmbedder(64), "test--hash")) as library:
        library.add(b"one", filename="a.txt", document="fits", metadata={"n": 7})
        with pytest.raises(InvalidArgument, match=r"odd.*'n' is integer"):
            library.add(b"two", filename="b.txt", document="odd", metadata={"n": "n.d."})
        report = library.add(papers, metadata={"n": "n.d."})
        assert len(report.added) == 2
        assert any("'n'" in warning for warning in report.warnings)
        assert [i.document for i in library.documents(F("n").exists())] == ["fits"]


# -- D11: another model


def test_another_model_is_refused_until_the_collection_is_written_anew(
    uri: str, papers: Path
) -> None:
    one = Embedder(HashEmbedder(64), "test--m1")
    with pincite.open(uri, embedder=one) as library:
        library.add(papers / "a.md")
    for other, told in (
        (Embedder(HashEmbedder(32), "test--m2"), r"64.*32"),
        (Embedder(HashEmbedder(64, seed=1), "test--m3"), "hash"),
    ):
        with pincite.open(uri, embedder=other) as library:
            for work in (lambda lib: lib.add(papers / "b.md"), lambda lib: lib.search("mask")):
                with pytest.raises(CollectionMismatch, match=rf"{told}.*reindex"):
                    work(library)
            assert len(library.search("mask", mode="keyword")) == 1
    with pincite.open(uri, embedder=one) as library:
        assert len(library.documents()) == 1
        assert len(library.search("mask")) == 1


def test_a_collection_written_anew_holds_one_model(uri: str) -> None:
    store: Any = open_sync_store(uri, create=True)
    store.commit("ann", "papers", [whole("a", "quartz"), whole("b", "mica")])
    model = ModelIdentity("other", 4)
    rows = np.eye(4, dtype=np.float32)[:1]
    anew = [replace(whole("a", "salt"), vectors=rows, endpoint="o", model=model)]
    store.rewrite("ann", "papers", anew)
    port = store.reader("ann", ["papers"])
    assert store.model("ann", "papers") == ("o", model)
    assert [h.chunk.content for h in port.near_vector("papers", vector=[1, 0, 0, 0], limit=9)] == [
        "salt"
    ]
    assert port.bm25("papers", query="quartz mica", limit=9) == []
    with pytest.raises(CollectionMismatch):
        store.commit("ann", "papers", [whole("c", "x")])
    if hasattr(store, "doctor"):
        assert store.doctor() == []
    store.close()


# -- D16: who is who


def test_a_file_alone_and_with_its_folder_is_one_document(uri: str, papers: Path) -> None:
    with pincite.open(uri, embedder=Embedder(HashEmbedder(64), "test--hash")) as library:
        library.add(papers / "a.md")
        library.add(papers)
        assert len(library.documents()) == 2
        (papers / "a.md").write_text("# Masks\n\nZeolite now.\n")
        assert len(library.add(papers).updated) == 1
        assert len(library.documents()) == 2
        assert len(library.search("zeolite", mode="keyword")) == 1
        assert library.search("ERR-4021", mode="keyword").hits == []
        other = papers.parent / "notes"
        other.mkdir()
        (other / "a.md").write_text("# Notes\n\nAll about notes.\n")
        library.add(other)
        assert len(library.documents()) == 3


def test_two_subjects_do_not_move_each_others_scores(uri: str) -> None:
    store = open_sync_store(uri, create=True)
    for subject in ("ann", "bob"):
        store.commit(subject, "papers", [whole("m", f"quartz of {subject}"), whole("n", "mica")])
    asked = {"query": "quartz", "vector": embed("quartz"), "limit": 9}
    port = store.reader("ann", ["papers"])
    before = [(h.chunk.id, h.score, h.chunk.content) for h in port.hybrid("papers", **asked)]
    words = [(h.chunk.id, h.score) for h in port.bm25("papers", query="quartz", limit=9)]
    store.commit("bob", "papers", [whole(f"d{n}", "quartz " * n) for n in range(1, 30)])
    store.delete("bob", "papers", ["m"])
    assert [
        (h.chunk.id, h.score, h.chunk.content) for h in port.hybrid("papers", **asked)
    ] == before
    assert [(h.chunk.id, h.score) for h in port.bm25("papers", query="quartz", limit=9)] == words
    assert "quartz of ann" in before[0]
    store.close()


# -- from store to store


def _documents() -> list[EmbeddedDocument]:
    """What a transfer must not lose: text, numbers of chunks, metadata, geometry, language."""
    vectors = np.random.default_rng(3).normal(size=(3, 32)).astype(np.float32)
    chunks = [
        ChunkResult(
            content=f"quartz {number}", chunk_index=number, start_char=9 * number,
            end_char=9 * number + 8, pages=[number + 1], context_header="A > B",
            embed_text=f"quartz {number} of the north",
        )
        for number in range(3)
    ]  # fmt: skip
    rich = EmbeddedDocument(
        "rich.pdf", "Rich", chunks, vectors, "test--hash", source="/f/rich.pdf",
        content_hash="ab" * 32, fingerprint="f", language="de",
        metadata={"year": 2020, "tags": ["x", "ü"], "deep": {"a": [1, None]}},
        chunk_metadata=[{"own": 1.5}, {}, {}],
        geometry=Geometry("quartz 0\nquartz 1", [(0, 17, 1)], {"1": (595.0, 842.5)}, b"PWB1"),
    )  # fmt: skip
    return [rich, whole("plain", "mica", "gold"), whole("old", "river")]


def test_what_goes_from_store_to_store_stays_byte_for_byte(uri: str, tmp_path: Path) -> None:
    """Local to the store and back: since the files are equal, so are those between any two."""
    source = LocalStore(tmp_path / "source")
    source.commit("ann", "papers", _documents())
    source.rename("ann", "papers", "old", "new")
    source.set_alpha("ann", "papers", 0.4)
    given = tmp_path / "given.jsonl"
    told = export_collection(source, "ann", "papers", given)
    store = open_sync_store(uri, create=True)
    taken = import_collection(store, "ann", "papers", given)
    back = tmp_path / "back.jsonl"
    again = export_collection(store, "ann", "papers", back)
    assert (told.documents, told.chunks, taken.chunks) == (3, 6, 6)
    assert (again.documents, again.chunks) == (3, 6)
    assert back.read_bytes() == given.read_bytes()
    local = LocalStore(tmp_path / "local")
    import_collection(local, "ann", "papers", back)
    assert [c.id for c in local.all_chunks()] == [c.id for c in source.all_chunks()]
    assert local.aliases("ann", "papers") == {"old": "new"}
    ranked = [
        each.reader("ann", ["papers"]).bm25("papers", query="quartz gold", limit=9)
        for each in (source, store, local)
    ]
    for hits in ranked:
        assert [hit.chunk.id for hit in hits] == [hit.chunk.id for hit in ranked[0]]
        assert [h.score for h in hits] == pytest.approx([h.score for h in ranked[0]], abs=1e-4)
    assert len(ranked[0]) == 4
    for each in (source, store, local):
        each.close()
