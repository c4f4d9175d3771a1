"""PostgreSQL under the library, the command line and the page's own example."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from psycopg_pool import AsyncConnectionPool

import pincite
from pincite.cli import main
from pincite.errors import (
    InvalidArgument,
    MissingExtra,
    StoreNotFound,
    StoreUnavailable,
)
from pincite.model.where import F
from pincite.stores.blocking import Blocking
from pincite.stores.memory import MemoryStore
from pincite.stores.postgres.opening import PgStore, open_postgres
from pincite.stores.uri import open_store, open_sync_store, parse_uri, uri_subject
from pincite.testing import HashEmbedder
from pincite.testing.samples import COLLECTION, SUBJECT, call, put, reader, whole


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# Masks\n\nThe block mask is built row by row. ERR-4021.\n")
    (folder / "b.md").write_text("# Radio\n\nThe antenna is tuned by hand.\n")
    return folder


# -- the library


def test_a_library_adds_searches_and_removes(postgres_store_uri: str, papers: Path) -> None:
    with pincite.open(postgres_store_uri, collection="papers") as lib:
        report = lib.add(papers, metadata={"year": 2024})
        assert sorted(report.added) == ["papers/a.md", "papers/b.md"] or sorted(report.added) == [
            "a.md",
            "b.md",
        ]
        first = lib.search("how is the mask built", k=5, where=F("year") >= 2020, explain=True)
        assert first[0].chunk.document.endswith("a.md")
        assert set(first[0].legs) == {"keyword", "vector"}
        assert first.explanations[first[0].chunk.id].score == pytest.approx(
            first[0].legs["keyword"].raw
        )
        assert lib.search("ERR-4021", mode="keyword")[0].chunk.document.endswith("a.md")
        assert len(lib.search("antenna", mode="vector", k=1)) == 1
        assert lib.search("mask", k=1, offset=1).hits[0].rank == 2
        assert lib.add(papers, metadata={"year": 2024}).added == ()
        assert lib.markdown(first[0].chunk.document).startswith("# Masks")
        assert [chunk.chunk_index for chunk in lib.chunks(first[0].chunk.document)] == [0]
        assert lib.stats()["documents"] == 2
        assert lib.remove(first[0].chunk.document) == 1
        assert lib.search("ERR-4021", mode="keyword").hits == []


def run_command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == 0


def test_the_command_line_indexes_and_searches(
    postgres_store_uri: str, papers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ("--store", postgres_store_uri, "--collection", "papers", "--subject", "ann")
    run_command("index", str(papers / "a.md"), *place)
    run_command("index", str(papers), *place)
    capsys.readouterr()
    run_command("search", "block mask", *place, "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["hits"][0]["document"].endswith("a.md")
    run_command("list", *place, "--json")
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_a_command_on_a_store_that_is_not_there_says_so(
    postgres_store_uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["search", "mask", "--store", postgres_store_uri])

    assert stopped.value.code == 2
    assert "no Pincite store" in capsys.readouterr().err


# -- the page's example, with our imports


def test_the_example_of_the_page_runs(postgres_uri: str, postgres_schema: str) -> None:
    from pincite import Embedder, Indexer, InferenceClient, PgSink

    async def example(data: bytes) -> tuple[str, int]:
        client = InferenceClient(config_roots=[])
        async with AsyncConnectionPool(postgres_uri, open=False) as pool:
            sink = PgSink(pool, postgres_schema)
            await sink.setup()
            indexer = Indexer(Embedder(client, "local--static"), sink)
            made = await indexer.index(
                data, filename="report.md", collection="reports", subject="key-holder"
            )
            assert await sink.list("key-holder") == [pincite.Collection("reports", 1, made[1])]
            store: Any = sink.reader("key-holder", ["reports"])
            hits = await store.bm25("reports", query="quartz", limit=3)
            assert hits[0].chunk.title == "report.md"
        await client.aclose()
        return made

    document, chunks = anyio.run(example, b"# Report\n\nQuartz veins hold gold.\n")
    assert len(document) == 64
    assert chunks == 1


def test_the_example_of_our_page_runs(postgres_uri: str, postgres_schema: str) -> None:
    page = Path(__file__).parents[4] / "docs" / "postgres.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block.replace('"pincite")', f'"{postgres_schema}")'), page.name, "exec"), names)

    assert anyio.run(names["index"], postgres_uri, b"# Report\n\nQuartz veins.\n") == 1


# -- blocking


def test_a_blocking_store_is_the_store(postgres_store_uri: str) -> None:
    """All methods, beside the memory store."""
    store, memory = open_sync_store(postgres_store_uri, create=True), MemoryStore()
    assert isinstance(store, Blocking)
    for each in (store, memory):
        each.setup()
        each.commit(SUBJECT, COLLECTION, [whole("a", "quartz one"), whole("b", "mica")])
        each.rename(SUBJECT, COLLECTION, "a", "c")
        each.set_metadata(SUBJECT, COLLECTION, "c", {"year": 1})
    assert store.list(SUBJECT) == memory.list(SUBJECT)
    assert store.documents(SUBJECT, COLLECTION) == memory.documents(SUBJECT, COLLECTION)
    assert store.model(SUBJECT, COLLECTION) == memory.model(SUBJECT, COLLECTION)
    assert (
        store.vectors(SUBJECT, COLLECTION, "a") == memory.vectors(SUBJECT, COLLECTION, "a")
    ).all()
    assert store.geometry(SUBJECT, COLLECTION, "a") is None
    ours, theirs = (each.reader(SUBJECT, [COLLECTION]) for each in (store, memory))
    vector = memory.vectors(SUBJECT, COLLECTION, "b")[0].tolist()
    assert ours.bm25(COLLECTION, query="quartz", limit=2) == theirs.bm25(
        COLLECTION, query="quartz", limit=2
    )
    assert [h.chunk.id for h in ours.near_vector(COLLECTION, vector=vector, limit=2)] == [
        "b-0",
        "c-0",
    ]
    hybrid = {"query": "quartz", "vector": vector, "limit": 1, "offset": 1}
    assert [h.rank for h in ours.hybrid(COLLECTION, **hybrid)] == [2]
    assert ours.fields(COLLECTION) == theirs.fields(COLLECTION)
    assert list(ours.all_chunks()) == list(theirs.all_chunks())
    assert ours.fetch(COLLECTION, limit=1) == theirs.fetch(COLLECTION, limit=1)
    assert store.delete(SUBJECT, COLLECTION, ["c"]) == 1
    store.close()
    store.close()


def test_a_closed_blocking_store_can_be_used_again(postgres_store_uri: str) -> None:
    store = open_sync_store(postgres_store_uri, create=True)
    for _ in range(2):
        assert store.list(SUBJECT) == []
        store.close()


def test_errors_come_through_a_blocking_store_as_they_are() -> None:
    store = open_sync_store("postgresql://127.0.0.1:1/db")
    with pytest.raises(StoreUnavailable):
        store.list(SUBJECT)
    store.close()


# -- URIs


@pytest.mark.parametrize(
    "scheme", ["postgresql:", "POSTGRESQL:", "postgres:", "pgvector:postgresql:"]
)
def test_every_scheme_opens_the_store(postgres_store_uri: str, scheme: str) -> None:
    uri = scheme + postgres_store_uri.partition(":")[2]

    async def go() -> None:
        store = open_store(uri, create=True, embedder=HashEmbedder(32))
        assert isinstance(store, PgStore)
        await put(store, "a", "quartz")
        port = reader(store)
        assert len(await port.hybrid(COLLECTION, query="quartz", limit=3)) == 1
        assert len(await call(port, "bm25")) == 1
        await store.aclose()

    anyio.run(go)


@pytest.mark.parametrize(
    ("uri", "subject", "place"),
    [
        ("postgresql://h/db?subject=ann", "ann", "//h/db"),
        ("postgresql://h/db?sslmode=require&subject=a%20b", "a b", "//h/db?sslmode=require"),
        ("postgresql://h/db?subject=ann&schema=x", "ann", "//h/db?schema=x"),
        ("postgresql://h/db?schema=x?subject=ann", "ann", "//h/db?schema=x"),
        ("postgresql://h/db?schema=x", "local", "//h/db?schema=x"),
    ],
)
def test_a_subject_may_stand_anywhere_among_the_parameters(
    uri: str, subject: str, place: str
) -> None:
    assert uri_subject(uri) == subject
    assert parse_uri(uri).place == place


@pytest.mark.parametrize(
    "uri", ["postgresql:", "postgresql:host", "pgvector:local:x", "postgresql://h/db?nonsense=1"]
)
def test_a_malformed_uri_says_how_to_write_one(uri: str) -> None:
    with pytest.raises(InvalidArgument, match="postgresql://"):
        open_store(uri)


def test_parameters_of_the_server_are_kept() -> None:
    store = open_postgres("postgresql://ann@h/db?schema=x&connect_timeout=3&sslmode=require")
    info = store._sessions.pool.conninfo

    assert store._sessions.layout.schema == "x"
    assert "sslmode=require" in info
    assert "schema" not in info


def test_without_the_extra_its_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pincite.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for opener in (open_store, open_sync_store):
        with pytest.raises(MissingExtra, match=r"pincite\[postgres\]"):
            opener("postgresql://host/db")


def test_create_false_finds_no_store(postgres_store_uri: str) -> None:
    store = open_sync_store(postgres_store_uri)
    with pytest.raises(StoreNotFound):
        store.list(SUBJECT)
    store.close()
