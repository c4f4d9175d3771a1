"""Doctor, compact, backup, export and import as methods, in threads and out of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import anyio
import pytest

import pincite
from pincite.errors import InvalidArgument, StoreCorrupt, StoreLocked, Unconfigured
from pincite.model.documents import Progress
from pincite.stores.local import schema
from pincite.stores.local.lock import lock_patience
from pincite.stores.local.store import LocalStore
from pincite.testing import HashEmbedder


def corrupt(store: Path, statement: str) -> None:
    connection = sqlite3.connect(store / "store.sqlite3")
    with connection:
        connection.execute(statement)
    connection.close()


class Hashed:
    """A client of an endpoint of our own; ``broken`` makes it fail as clients do."""

    def __init__(self, *, broken: bool = False, size: int = 16) -> None:
        self._model = HashEmbedder(size)
        self._broken = broken

    async def embed(self, endpoint: str, texts: list[str]) -> list[list[float]]:
        if self._broken:
            raise RuntimeError("out of memory")
        return [list(self._model.vector(text)) for text in texts]


def hashed(*, broken: bool = False, size: int = 16) -> pincite.Embedder:
    return pincite.Embedder(Hashed(broken=broken, size=size), "test--hash")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a collection of a model of our own and one of the default model."""
    with pincite.open(f"local:{tmp_path / 'store'}", collection="own", embedder=hashed()) as lib:
        lib.add(b"# Salt\n\nThe Dead Sea is salty.", filename="salt.md", document="salt.md")
    with pincite.open(f"local:{tmp_path / 'store'}") as lib:
        lib.add(b"# Knots\n\nA bowline holds.", filename="knots.md", document="knots.md")
    return tmp_path / "store"


def vectors(path: Path) -> list[list[list[float]]]:
    store = LocalStore(path, read_only=True)
    found = [("own", "salt.md"), ("default", "knots.md")]
    rows = [store.vectors("local", name, document).tolist() for name, document in found]
    store.close()
    return rows


LOSE = "UPDATE parts SET data = zeroblob(size) WHERE kind = 'vectors'"


def test_each_collection_is_embedded_again_with_its_own_model(store: Path) -> None:
    kept = vectors(store)
    corrupt(store, LOSE)
    heard: list[Progress] = []

    with pincite.open(f"local:{store}", collection="own", embedder=hashed()) as lib:
        assert [finding.repaired for finding in lib.doctor()] == [False, False]
        findings = lib.doctor(repair=True, progress=heard.append)
        assert lib.doctor() == []

    assert [finding.repaired for finding in findings] == [True, True]
    assert all("embedded again" in finding.problem for finding in findings)
    assert [(p.stage, p.done, p.total) for p in heard] == [("check", 1, 2), ("check", 2, 2)]
    assert vectors(store) == kept


@pytest.mark.parametrize(
    ("embedder", "named"),
    [
        (None, "test--hash"),  # nobody serves that endpoint
        (hashed(broken=True), "RuntimeError: out of memory"),
        (hashed(size=8), "test--hash"),  # another model
    ],
)
def test_a_model_that_cannot_be_used_is_named(
    store: Path, embedder: pincite.Embedder | None, named: str
) -> None:
    corrupt(store, LOSE)

    with pincite.open(f"local:{store}", collection="own", embedder=embedder) as lib:
        findings = lib.doctor(repair=True)
        left = lib.doctor()

    # The other collection's model is at hand.
    assert sorted(finding.repaired for finding in findings) == [False, True]
    (problem,) = [finding.problem for finding in findings if not finding.repaired]
    assert named in problem
    assert problem.endswith("index their documents again.")
    assert [finding.place for finding in left] == ["document 'salt.md'"]
    with pincite.open(f"local:{store}", collection="own", embedder=hashed()) as lib:
        assert all(finding.repaired for finding in lib.doctor(repair=True))
        assert lib.doctor() == []


def test_the_async_methods_are_the_same(store: Path, tmp_path: Path) -> None:
    async def look_after() -> None:
        async with await pincite.open_async(f"local:{store}") as lib:
            assert await lib.doctor() == []
            await lib.compact()
            await lib.backup(tmp_path / "kept")
            done = await lib.export(tmp_path / "knots.jsonl")
            assert (done.documents, done.path) == (1, str(tmp_path / "knots.jsonl"))
        async with await pincite.open_async("memory:") as lib:
            report = await lib.import_from(tmp_path / "knots.jsonl")
            assert report.added == ("knots.md",)
            assert [hit.chunk.document for hit in await lib.search("bowline")] == ["knots.md"]

    anyio.run(look_after)
    with pincite.open(f"local:{tmp_path / 'kept'}", create=False) as lib:
        assert [info.document for info in lib.documents()] == ["knots.md"]


def test_a_store_without_a_folder_says_what_it_cannot_do(tmp_path: Path) -> None:
    with pincite.open("memory:") as lib:
        for call in (lib.doctor, lib.compact, lambda: lib.backup(tmp_path / "kept")):
            with pytest.raises(Unconfigured, match="MemoryStore cannot"):
                call()


def test_a_library_that_is_closed_refuses(store: Path, tmp_path: Path) -> None:
    lib = pincite.open(f"local:{store}")
    lib.close()
    for call in (
        lib.doctor,
        lib.compact,
        lambda: lib.backup(tmp_path / "kept"),
        lambda: lib.export(tmp_path / "x.jsonl"),
        lambda: lib.import_from(tmp_path / "x.jsonl"),
    ):
        with pytest.raises(InvalidArgument, match="closed"):
            call()


def test_an_older_format_is_named_and_brought_up_to_date(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add_table(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE notes (note TEXT)")

    newer = schema.FORMAT + 1
    monkeypatch.setattr(schema, "MIGRATIONS", {schema.FORMAT: add_table})
    monkeypatch.setattr(schema, "FORMAT", newer)
    monkeypatch.setattr("pincite.stores.local.database.FORMAT", newer)
    with pincite.open(f"local:{store}", create=False) as lib:
        with pytest.raises(StoreCorrupt, match=r"older than .*`pincite doctor --repair`"):
            lib.search("bowline", mode="keyword")
        (found,) = lib.doctor()
        (mended,) = lib.doctor(repair=True)

        assert (found.repaired, mended.repaired) == (False, True)
        assert "older" in mended.problem
        assert lib.doctor() == []
        assert len(lib.search("bowline", mode="keyword")) == 1


@pytest.mark.parametrize("given", ["soon", "-1", "nan", "1e30"])
def test_a_time_to_wait_is_seconds(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_LOCK_TIMEOUT", given)
    with pytest.raises(InvalidArgument, match="PINCITE_LOCK_TIMEOUT"):
        lock_patience()
    assert lock_patience(0) == 0


def test_the_environment_says_how_long_to_wait(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_LOCK_TIMEOUT", "0.05")
    first, second = LocalStore(store), LocalStore(store)
    with first._home.locked(), pytest.raises(StoreLocked, match=r"waited 0\.05 s"):
        second.delete("local", "own", ["salt.md"])
