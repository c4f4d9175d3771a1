"""Chroma: folders and files, names, distances, the keyword index beside it, crashes."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import chromadb
import httpx
import pytest

from pincite.errors import (
    InvalidArgument,
    InvalidQueryError,
    StoreCorrupt,
    StoreNotFound,
    StoreUnavailable,
    Unconfigured,
)
from pincite.model.filters import NOTHING, DeclaredFilter
from pincite.stores.chroma.backend import ChromaBackend, collection_name
from pincite.stores.chroma.errors import translated
from pincite.stores.chroma.opening import open_chroma
from pincite.stores.named import CHROMA_HNSW_SPACE
from pincite.stores.points.backend import Space
from pincite.stores.points.keys import tenant_of
from pincite.stores.points.store import PointStore
from pincite.testing.samples import embed, whole

S, C = "ann", "papers"


@pytest.fixture
def store(tmp_path):
    made = open_chroma(str(tmp_path / "db"), create=True)
    made.setup()
    yield made
    made.close()


def test_a_file_is_no_folder(store, tmp_path):
    for name in ("db/chroma.sqlite3", "notes.txt"):
        (tmp_path / name).touch()
        with pytest.raises(FileNotFoundError, match="is a file"):
            open_chroma(str(tmp_path / name), create=True)


def test_what_is_absent_is_made_only_when_asked(tmp_path):
    with pytest.raises(StoreNotFound, match="no Chroma database"):
        open_chroma(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    open_chroma(str(tmp_path / "none"), create=True).close()
    open_chroma(str(tmp_path / "none")).close()


@pytest.mark.parametrize(
    "place", ["", "  ", "http://", "http://host?other=1", "http://host?keyword="]
)
def test_a_place_that_means_nothing_is_refused(place):
    with pytest.raises(InvalidArgument, match="write chroma:"):
        open_chroma(place, create=True)


@pytest.mark.parametrize("name", ["a", "x" * 2000, "日本", "../..", "a/b:c", "'; --", "  .  ", "-"])
def test_any_name_makes_a_name_for_chroma(store, name):
    space = Space(tenant_of(name, name), name, name, 32, True)
    made = collection_name(space)
    assert 3 <= len(made) <= 512
    store.commit(name, name, [whole("m", "quartz")])
    hits = store.reader(name, [name]).hybrid(name, query="quartz", vector=embed("quartz"), limit=3)
    assert [hit.chunk.content for hit in hits] == ["quartz"]
    assert [found.name for found in store.list(name)] == [name]


def test_new_collections_are_cosine_and_old_ones_keep_their_distance(tmp_path):
    client = chromadb.PersistentClient(str(tmp_path / "db"))
    space = Space(tenant_of(S, "old"), S, "old", 32, True)
    client.create_collection(
        collection_name(space), embedding_function=None, configuration={"hnsw": {"space": "l2"}}
    )
    client.close()
    store = open_chroma(str(tmp_path / "db"))
    for name in ("old", "new"):
        store.commit(S, name, [whole(f"d{n}", text) for n, text in enumerate(["quartz", "mica"])])
        near = store.reader(S, [name]).near_vector(name, vector=embed("quartz"), limit=2)
        assert [hit.chunk.content for hit in near] == ["quartz", "mica"]
        assert near[0].score == pytest.approx(1.0, abs=1e-3)
    collections = store.backend._client.list_collections()
    spaces = {
        collection.metadata["collection"]: collection.configuration_json["hnsw"]["space"]
        for collection in collections
        if "collection" in (collection.metadata or {})
    }
    assert spaces == {"'new'": CHROMA_HNSW_SPACE}
    assert CHROMA_HNSW_SPACE == "cosine"
    store.close()


def test_the_index_of_vectors_agrees_with_the_exact_scan(store, monkeypatch):
    store.commit(S, C, [whole(f"d{n}", f"quartz {n}", f"mica {n}") for n in range(60)])
    port = store.reader(S, [C])
    where = DeclaredFilter("document", "ne", "d7")
    exact = [port.near_vector(C, vector=embed(f"mica {n}"), limit=5, where=where) for n in range(9)]
    monkeypatch.setattr("pincite.stores.points.search._EXACT_ROWS", 0)
    indexed = [
        port.near_vector(C, vector=embed(f"mica {n}"), limit=5, where=where) for n in range(9)
    ]
    assert indexed == exact


def test_without_a_keyword_folder_keyword_searches_are_unconfigured(store):
    store.commit(S, C, [whole("m", "quartz")])
    bare = PointStore(ChromaBackend(store.backend._client, "Chroma"))
    port = bare.reader(S, [C])
    assert len(port.near_vector(C, vector=embed("quartz"), limit=3)) == 1
    assert len(port.fetch(C, limit=3)) == 1
    for where in (None, NOTHING):
        with pytest.raises(Unconfigured, match=r"\?keyword=PATH"):
            port.bm25(C, query="quartz", limit=3, where=where)
        for alpha in (None, 0.0, 1.0):
            with pytest.raises(Unconfigured, match=r"\?keyword=PATH"):
                port.hybrid(C, query="q", vector=embed("q"), limit=3, alpha=alpha, where=where)
    with pytest.raises(InvalidQueryError):
        port.bm25(C, query="quartz", limit=0)


def test_a_second_process_sees_what_the_first_wrote(store, tmp_path):
    store.commit(S, C, [whole("m", "quartz")])
    other = open_chroma(str(tmp_path / "db"))
    port = other.reader(S, [C])
    assert len(port.bm25(C, query="quartz", limit=9)) == 1
    store.commit(S, C, [whole("n", "quartz again")])
    hits = port.hybrid(C, query="quartz", vector=embed("quartz"), limit=9)
    assert {hit.chunk.id for hit in hits} == {"m-0", "n-0"}
    store.delete(S, C, ["m"])
    assert [hit.chunk.id for hit in port.bm25(C, query="quartz", limit=9)] == ["n-0"]
    other.close()


def test_a_lost_keyword_index_is_found_and_built_again(store, tmp_path):
    store.commit(S, C, [whole("m", "quartz", "mica")])
    for path in sorted((tmp_path / "db" / "pincite-keyword").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    store.close()
    again = open_chroma(str(tmp_path / "db"))
    with pytest.raises(StoreCorrupt, match="doctor"):
        again.reader(S, [C]).bm25(C, query="quartz", limit=3)
    (finding,) = again.doctor()
    assert "lacks 2 chunks" in finding.problem
    again.doctor(repair=True)
    assert again.doctor() == []
    assert len(again.reader(S, [C]).bm25(C, query="quartz", limit=3)) == 1
    again.close()


@pytest.mark.parametrize("call", [0, 1, 2, 3, 4, 5])
def test_doctor_finds_and_mends_what_a_killed_writer_left(tmp_path, call):
    script = Path(__file__).with_name("crashing.py")
    run = subprocess.run([sys.executable, script, tmp_path / "db", str(call)], check=False)
    assert run.returncode == -signal.SIGKILL
    store = open_chroma(str(tmp_path / "db"))
    found = store.doctor()
    assert bool(found) is (call > 0), "nothing was announced before the first call"
    if found:
        assert "'m', 'n'" in found[0].problem
        assert all(finding.repaired for finding in store.doctor(repair=True))
    assert store.doctor() == []
    port = store.reader(S, [C])
    whole_ones = {chunk.document: chunk.content for chunk in port.fetch(C, limit=9)}
    assert whole_ones["kept"] == "granite"
    store.commit(S, C, [whole("m", "quartz new"), whole("n", "mica", "salt")])
    assert [hit.chunk.content for hit in port.bm25(C, query="quartz", limit=9)] == ["quartz new"]
    assert port.bm25(C, query="gone", limit=9) == []
    assert len(port.near_vector(C, vector=embed("x"), limit=9)) == 4
    assert store.doctor() == []
    store.close()


@pytest.mark.parametrize("answered", [0, 1, 2])
def test_doctor_mends_what_a_server_killed_in_the_middle_of_a_write_left(
    new_chroma_server, tmp_path, monkeypatch, answered
):
    place = "{}?keyword=" + str(tmp_path / "keyword")
    large = whole("m", *(f"quartz {number}" for number in range(3_000)))
    with new_chroma_server(tmp_path / "db") as (url, server):
        store = open_chroma(place.format(url))
        store.commit(S, C, [whole("kept", "granite"), whole("m", "quartz old", "gone")])
        put, left = ChromaBackend.put, [answered]

        def deadly(self, space, points):
            if left[0] == 0:  # while the server takes this batch in
                threading.Timer(0.05, server.kill).start()
            left[0] -= 1
            put(self, space, points)

        monkeypatch.setattr(ChromaBackend, "put", deadly)
        with pytest.raises(StoreUnavailable):
            store.commit(S, C, [large])
        monkeypatch.undo()
        assert server.wait(20) == -signal.SIGKILL
    with new_chroma_server(tmp_path / "db") as (url, _):
        store = open_chroma(place.format(url))
        (finding, *_) = store.doctor()
        assert "'m'" in finding.problem
        assert all(finding.repaired for finding in store.doctor(repair=True))
        assert store.doctor() == []
        port = store.reader(S, [C])
        assert [chunk.content for chunk in port.fetch(C, limit=9)] == ["granite"]
        assert port.bm25(C, query="quartz", limit=9) == []
        store.commit(S, C, [large])
        assert store.doctor() == []
        assert len(port.near_vector(C, vector=embed("quartz 7"), limit=5_000)) == 3_001
        assert port.bm25(C, query="gone", limit=9) == []
        store.close()


def test_no_server_is_unavailable(tmp_path):
    with pytest.raises(StoreUnavailable, match="check that it runs"):
        open_chroma("http://127.0.0.1:9?keyword=" + str(tmp_path))


def _every_error():
    found, todo = [], [chromadb.errors.ChromaError]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        found.append(kind)
    return sorted(found, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", _every_error(), ids=lambda kind: kind.__name__)
def test_every_error_of_the_client_is_one_of_ours(kind):
    ours = (InvalidArgument, StoreUnavailable, StoreNotFound, StoreCorrupt)
    with pytest.raises(ours, match=r"^Here .*\.$"), translated("Here"):
        raise kind("told")


def test_errors_below_the_client_are_ours_too():
    for error in (
        httpx.ConnectError("x"),
        ConnectionResetError("x"),
        ValueError("Could not connect"),
    ):
        with pytest.raises(StoreUnavailable), translated("Here"):
            raise error
    with pytest.raises(Unconfigured), translated("Here"):
        raise Unconfigured("as it is")
