"""What PostgreSQL adds to the contract: hostile names, plans, models, setup from many at once."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import psycopg
import pytest
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

from pincite.errors import CollectionMismatch, EmbeddingError, InvalidArgument, StoreCorrupt
from pincite.model.documents import ModelIdentity
from pincite.model.fields import Field, FieldType
from pincite.model.where import F
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore
from pincite.stores.postgres.indexing import Burst
from pincite.stores.postgres.legs import Tuning
from pincite.stores.postgres.opening import PgStore, open_postgres
from pincite.stores.postgres.record import Record
from pincite.stores.postgres.sink import PgSink
from pincite.stores.threaded import Threaded
from pincite.testing.samples import (
    COLLECTION,
    METHODS,
    SUBJECT,
    call,
    contents,
    ids,
    put,
    reader,
    together,
    whole,
)
from pincite.text.analysis import Analyzer

Use = Callable[[PgStore], Any]


@pytest.fixture
def run(postgres_store_uri: str) -> Callable[..., None]:
    """Use a new store."""

    def go(use: Use, **options: Any) -> None:
        async def with_store() -> None:
            store = open_postgres(postgres_store_uri, create=True, **options)
            try:
                await use(store)
            finally:
                await store.aclose()

        anyio.run(with_store)

    return go


async def ask(store: PgStore, statement: str) -> list[tuple[Any, ...]]:
    """Rows of a statement with ``{chunks}`` and the other tables."""
    async with store._sessions.reading() as connection:
        cursor = await connection.execute(store._sessions.layout.sql(statement))
        return await cursor.fetchall()


# -- values and names of schemas


def test_odd_contents_come_back_as_they_were(run: Callable[..., None]) -> None:
    texts = ["quartz a\0b", "quartz \ud7ff\x01", "quartz " + "y" * 300_000, "quartz \\n\t\r\n \\."]

    async def use(store: PgStore) -> None:
        for place, text in enumerate(texts):
            await put(store, f"d{place}", text)
        assert await contents(reader(store)) == sorted(texts)
        ordered = await reader(store).fetch(COLLECTION, limit=9, order_by="text")
        assert [chunk.content for chunk in ordered] == sorted(texts)
        found = await reader(store).bm25(COLLECTION, query="y" * 300_000, limit=3)
        assert ids(found) == ["d2-0"]

    run(use)


@pytest.mark.parametrize("schema", ['odd "name"', "Quarz{}", "tabelle;--"])
def test_a_schema_may_have_any_name(postgres_uri: str, schema: str) -> None:
    async def go() -> None:
        async with AsyncConnectionPool(postgres_uri, open=False) as pool:
            sink = PgSink(pool, schema)
            try:
                await sink.setup()
                await put(sink, "a", "quartz")
                assert len(await call(reader(sink), "hybrid")) == 1
            finally:
                async with pool.connection() as connection:
                    drop = sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema))
                    await connection.execute(drop)

    anyio.run(go)


@pytest.mark.parametrize("schema", ["", "  ", "a\0b", "a%s", "x" * 64, None])
def test_a_schema_that_cannot_be_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidArgument, match="schema"):
        PgStore("postgresql://host/db", schema)


# -- the page's sink


def test_tables_are_those_of_the_page(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        await put(store, "a.pdf", "quartz veins", title="A", own=[{"n": 1}])
        table, columns = store.table, store.table
        query = sql.SQL("SELECT {}, {}, {}::text FROM {}").format(
            sql.Identifier(columns.id),
            sql.Identifier(columns.metadata),
            sql.Identifier(columns.vector),
            table.name,
        )
        async with store._sessions.reading() as connection:
            ((chunk_id, metadata, vector),) = await (await connection.execute(query)).fetchall()
            counted = sql.SQL("SELECT count(*) FROM {}").format(store.collections_table)
            assert await (await connection.execute(counted)).fetchall() == [(1,)]
        assert chunk_id == "a.pdf-0"
        assert (metadata["text"], metadata["title"]) == ("quartz veins", "A")
        assert (metadata["start_char"], metadata["end_char"]) == (0, 12)
        assert (metadata["pages"], metadata["bboxes"]) == ([], [])
        assert len(json.loads(vector)) == 32

    run(use)


def test_writing_the_same_again_writes_nothing(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        await put(store, "a", "quartz", metadata={"year": 2020})
        before = await ask(store, "SELECT xmin::text FROM {chunks}")
        await put(store, "a", "quartz", metadata={"year": 2020})
        assert await ask(store, "SELECT xmin::text FROM {chunks}") == before
        assert await ask(store, "SELECT count(*) FROM {totals}") == [(1,)]
        await put(store, "a", "quartz", metadata={"year": 2021})
        assert await ask(store, "SELECT xmin::text FROM {chunks}") != before

    run(use)


def test_counts_stay_few_rows_and_right(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        for number in range(70):
            await put(store, f"d{number % 7}", f"quartz {number}", "mica")
        ((rows, chunks, tokens),) = await ask(
            store, "SELECT count(*), sum(chunks)::int, sum(tokens)::int FROM {totals}"
        )
        assert rows < 64
        assert (chunks, tokens) == (14, 21)
        stats = await store.stats(SUBJECT, COLLECTION)
        assert (stats["chunks"], stats["total_tokens"], stats["documents"]) == (14, 21, 7)
        assert stats["vocabulary"] == 9

    run(use)


def test_nothing_is_left_of_what_is_deleted(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        await put(store, "a", "quartz one", "quartz two", metadata={"year": 1})
        await store.rename(SUBJECT, COLLECTION, "a", "b")
        await store.delete(SUBJECT, COLLECTION, ["a", "nowhere"])
        for table in ("documents", "aliases", "geometry", "chunks", "postings"):
            assert await ask(store, f"SELECT count(*) FROM {{{table}}}") == [(0,)], table
        assert await ask(store, "SELECT sum(chunks)::int FROM {totals}") == [(0,)]

    run(use)


def test_explanations_are_those_of_memory(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        memory = MemoryStore()
        for each in (store, Threaded(memory)):
            for place in range(6):
                await put(each, f"d{place}", "quartz " * place + "running of mica", "gold")
        query = "quartz quartz runs mica"
        hits = await reader(store).bm25(COLLECTION, query=query, limit=20)
        chunks = [hit.chunk for hit in hits] + [whole_chunk("gone")]
        ours = await reader(store).explain(COLLECTION, query=query, chunks=chunks)
        theirs = memory.reader(SUBJECT, [COLLECTION]).explain(
            COLLECTION, query=query, chunks=chunks
        )
        assert ours == theirs
        assert [each.score for each in ours[:-1]] == pytest.approx([hit.score for hit in hits])

    run(use)


def whole_chunk(name: str) -> Any:
    from pincite.model.hits import Chunk

    return Chunk("", document=name)


def test_scores_are_those_of_the_local_store(run: Callable[..., None], tmp_path: Path) -> None:
    """In three languages, also after updates that move the average length, and deletes."""
    rng = random.Random(4)
    words = ["quartz", "Häuser", "running", "ran", "montañas", "ERR-4021", "石英", "der", "the"]

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(1, 30)))

    async def use(store: PgStore) -> None:
        local = Threaded(LocalStore(tmp_path / "store"))
        both = (store, local)

        async def commit(names: Sequence[str]) -> None:
            made = [
                replace(whole(name, text(), text()), language=rng.choice(["en", "de", "es", ""]))
                for name in names
            ]
            for each in both:
                await each.commit(SUBJECT, COLLECTION, made)

        async def compare() -> None:
            for _ in range(12):
                query, limit = text()[:60], rng.choice([1, 5, 200])
                ours, theirs = [
                    await reader(each).bm25(COLLECTION, query=query, limit=limit) for each in both
                ]
                assert ids(ours) == ids(theirs)
                assert [hit.score for hit in ours] == [hit.score for hit in theirs]
                assert [hit.highlights for hit in ours] == [hit.highlights for hit in theirs]

        names = [f"d{number}" for number in range(40)]
        await commit(names)
        await compare()
        await commit(names[::3])
        for each in both:
            await each.delete(SUBJECT, COLLECTION, names[::5])
        await compare()
        await local.aclose()

    run(use)


def test_terms_of_another_analyser_are_told_and_made_anew(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Other(Analyzer):
        version = 999

        def document_terms(self, text: str, language: str = "") -> tuple[dict[str, int], int]:
            return {"x": 1}, 1

    async def use(store: PgStore) -> None:
        with monkeypatch.context() as patch:
            old = Other()
            for module in ("prepare", "postgres.writer"):
                patch.setattr(f"pincite.stores.{module}.default_analyzer", lambda: old)
            await put(store, "a", "quartz veins", "row", embed_texts=["", "zinc header: row"])
            await put(store, "b", "mica\0 \ud800")
        port = reader(store)
        assert list(await port.bm25(COLLECTION, query="quartz", limit=3)) == []
        assert "reanalyse" in caplog.text
        vectors = await store.vectors(SUBJECT, COLLECTION, "a")
        assert await store.reanalyse(SUBJECT, COLLECTION) == 3
        memory = Threaded(MemoryStore())
        await put(memory, "a", "quartz veins", "row", embed_texts=["", "zinc header: row"])
        await put(memory, "b", "mica\0 \ud800")
        for query in ("quartz", "zinc row", "x"):
            ours = await port.bm25(COLLECTION, query=query, limit=3)
            theirs = await reader(memory).bm25(COLLECTION, query=query, limit=3)
            assert [(h.chunk.id, h.score) for h in ours] == [(h.chunk.id, h.score) for h in theirs]
        assert (await store.vectors(SUBJECT, COLLECTION, "a") == vectors).all()
        assert await store.reanalyse(SUBJECT, "nothing") == 0

    run(use)


def test_pgvector_may_live_in_a_schema_that_is_not_searched(postgres_uri: str) -> None:
    async def go(conninfo: str) -> None:
        store = PgStore(conninfo, create=True, tuning=Tuning(exact_rows=0, index_rows=1))
        await put(store, "a", "quartz")
        assert (await store.stats(SUBJECT, COLLECTION))["vector_index"] is True
        for method in METHODS:
            assert len(await call(reader(store), method)) == 1, method
        await store.aclose()

    name = f"elsewhere_{os.getpid()}"
    conninfo = psycopg.conninfo.make_conninfo(postgres_uri, dbname=name)
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            with psycopg.connect(conninfo, autocommit=True) as other:
                other.execute("CREATE SCHEMA ext")
                other.execute("CREATE EXTENSION vector SCHEMA ext")
            anyio.run(go, conninfo)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


# -- models


def test_a_model_of_3072_dimensions_is_searched_with_and_without_an_index(
    run: Callable[..., None],
) -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(40, 3_072))

    async def use(store: PgStore) -> None:
        for place, vector in enumerate(vectors):
            await put(store, f"d{place}", f"quartz {place}", vectors=[vector.tolist()])
        assert (await store.stats(SUBJECT, COLLECTION))["vector_index"] is True
        for place in (0, 17, 39):
            hits = await reader(store).near_vector(
                COLLECTION, vector=vectors[place].tolist(), limit=3
            )
            assert ids(hits)[0] == f"d{place}-0"
            assert hits[0].score == pytest.approx(1, abs=1e-3)

    run(use, tuning=Tuning(exact_rows=5, index_rows=10, burst_seconds=0))


@pytest.mark.parametrize("last", ["close", "explicit", "later"])
def test_an_index_waits_for_the_end_of_a_burst_of_commits(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    clock = [1_000.0]
    monkeypatch.setattr("pincite.stores.postgres.indexing.monotonic", lambda: clock[0])

    async def use(store: PgStore) -> None:
        async def has_index() -> bool:
            return (await store.stats(SUBJECT, COLLECTION))["vector_index"]

        for place in range(5):
            await put(store, f"d{place}", f"quartz {place}")
            clock[0] += 59
        assert not await has_index()
        assert len(await call(reader(store), "near_vector")) == 5
        if last == "close":
            await store.aclose()
        elif last == "explicit":
            assert await store.index_vectors(SUBJECT, COLLECTION)
        else:
            clock[0] += 2
            await put(store, "later", "quartz")
        assert await has_index()

    run(use, tuning=Tuning(exact_rows=2, index_rows=3))


def test_an_index_waits_for_ten_minutes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("pincite.stores.postgres.indexing.monotonic", lambda: clock[0])
    record = Record("s", "c", key=1)
    burst = Burst(60)
    made = []
    for _ in range(40):
        clock[0] += 30
        made.append(not burst.puts_off(record, follows=burst.follows(record)))

    assert made[0] is True, "nothing came before"
    assert made.index(True, 1) == 22
    assert [each.key for each in burst.left()] == [1]
    assert burst.left() == []


def test_more_dimensions_than_an_index_takes_are_scanned(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        await put(store, "a", "quartz", vectors=[[1.0] * 5_000])
        assert (await store.stats(SUBJECT, COLLECTION))["vector_index"] is False
        port = reader(store)
        assert len(await port.near_vector(COLLECTION, vector=[1.0] * 5_000, limit=3)) == 1
        with pytest.raises(EmbeddingError, match="16000"):
            await put(store, "b", "quartz", vectors=[[1.0] * 16_001], collection="other")

    run(use, tuning=Tuning(exact_rows=0, index_rows=1))


def test_another_model_is_refused_before_any_write(run: Callable[..., None]) -> None:
    """A model of another name, of another length, and at last one that takes the place."""
    m1, m2, m3 = ModelIdentity("m1", 32), ModelIdentity("m2", 16), ModelIdentity("m3", 32)

    async def use(store: PgStore) -> None:
        await store.commit(SUBJECT, COLLECTION, [whole("a", "quartz", model=m1)])
        for model in (m2, m3):
            rows = np.ones((1, model.dimension), dtype=np.float32)
            made = replace(whole("b", "quartz", model=model), vectors=rows)
            with pytest.raises(CollectionMismatch) as caught:
                await store.commit(SUBJECT, COLLECTION, [made])
            for named in ("m1", "32", model.name, str(model.dimension), "reindex --model"):
                assert named in str(caught.value)
        assert ids(await call(reader(store), "near_vector")) == ["a-0"]
        assert await ask(store, "SELECT count(*) FROM {documents}") == [(1,)]

    run(use)


def test_raw_products_are_kept_for_a_model_that_is_not_normalised(
    run: Callable[..., None],
) -> None:
    model = ModelIdentity("raw", 2, normalized=False)

    async def use(store: PgStore) -> None:
        for name, vector in (("long", [30.0, 0.0]), ("short", [1.0, 0.0]), ("off", [-2.0, 4.0])):
            rows = np.array([vector], dtype=np.float32)
            made = replace(whole(name, "quartz", model=model), vectors=rows)
            await store.commit(SUBJECT, COLLECTION, [made])
        hits = await reader(store).near_vector(COLLECTION, vector=[2.0, 0.0], limit=5)
        assert [(hit.chunk.document, hit.score) for hit in hits] == [
            ("long", 60.0),
            ("short", 2.0),
            ("off", -4.0),
        ]

    run(use)


# -- the index on the vectors


def test_a_filter_that_an_index_serves_badly_still_finds_everything(
    run: Callable[..., None],
) -> None:
    """Rows of a tenant lie far from the query, and the filter is an expression."""
    rng = np.random.default_rng(3)

    async def use(store: PgStore) -> None:
        near = np.concatenate([np.ones((3_000, 1)), 0.1 * rng.normal(size=(3_000, 15))], axis=1)
        batch = [_lone(f"n{i:04}", row, "large") for i, row in enumerate(near)]
        far = np.concatenate([-np.ones((15, 1)), 0.1 * rng.normal(size=(15, 15))], axis=1)
        batch += [_lone(f"f{i:02}", row, "small") for i, row in enumerate(far)]
        await store.commit(SUBJECT, COLLECTION, batch)
        assert (await store.stats(SUBJECT, COLLECTION))["vector_index"] is True
        query = [1.0] + [0.0] * 15
        port = reader(store)
        found = await port.near_vector(
            COLLECTION, vector=query, limit=10, where=F("tenant") == "small"
        )
        assert len(found) == 10
        assert {hit.chunk.document[0] for hit in found} == {"f"}
        assert await _plan_uses_index(store)
        words = await port.bm25(COLLECTION, query="quartz", limit=10, where=F("tenant") == "small")
        assert len(words) == 10

    run(use, tuning=Tuning(exact_rows=10, index_rows=1_000))


def _lone(name: str, vector: Any, tenant: str) -> Any:
    made = whole(name, "quartz of words", metadata={"tenant": tenant})
    return replace(made, vectors=np.array([vector], dtype=np.float32), language="en")


async def _plan_uses_index(store: PgStore) -> bool:
    from pincite.stores.postgres import legs
    from pincite.stores.postgres.filters import FilterSql
    from pincite.stores.postgres.record import read_view

    plans: list[str] = []
    layout = store._sessions.layout
    async with store._sessions.reading() as connection:
        await connection.execute(layout.sql("SET LOCAL enable_seqscan = on"))
        record, totals = await read_view(connection, layout, SUBJECT, COLLECTION)
        leg = legs.Leg(connection, layout, record, totals, FilterSql(None, record.spec))
        query = layout.sql(
            "EXPLAIN SELECT key FROM {chunks} c WHERE collection = {key}"
            " ORDER BY {distance} LIMIT 10",
            key=sql.Literal(record.key),
            distance=legs.distance_sql(layout, record.dimension, sql.SQL("%(q)s")),
        )
        plans = [row[0] for row in await leg.run(query, {"q": "[" + ",".join(["1"] * 16) + "]"})]
    return any("hnsw" in plan or "chunks_vectors_" in plan for plan in plans)


def test_an_index_that_cannot_be_made_is_told_and_not_missed(
    postgres_uri: str, postgres_store_uri: str, postgres_schema: str, caplog: Any
) -> None:
    """A writer that does not own the tables."""
    role = f"w_{postgres_schema}"

    async def go() -> None:
        owner = open_postgres(postgres_store_uri, create=True)
        await owner.setup()
        await owner.aclose()
        with psycopg.connect(postgres_uri, autocommit=True) as connection:
            for statement in (
                f'CREATE ROLE "{role}" LOGIN',
                f'GRANT USAGE ON SCHEMA "{postgres_schema}" TO "{role}"',
                f'GRANT ALL ON ALL TABLES IN SCHEMA "{postgres_schema}" TO "{role}"',
                f'GRANT ALL ON ALL SEQUENCES IN SCHEMA "{postgres_schema}" TO "{role}"',
            ):
                connection.execute(statement)
        conninfo = psycopg.conninfo.make_conninfo(postgres_uri, user=role)
        writer = PgStore(conninfo, postgres_schema, tuning=Tuning(exact_rows=0, index_rows=1))
        await put(writer, "a", "quartz")
        assert len(await call(reader(writer), "near_vector")) == 1
        await writer.aclose()
        with psycopg.connect(postgres_uri, autocommit=True) as connection:
            connection.execute(f'DROP OWNED BY "{role}" CASCADE')
            connection.execute(f'DROP ROLE "{role}"')

    anyio.run(go)
    assert "stay without an index" in caplog.text


# -- setup


def test_ten_first_requests_at_once_all_succeed(postgres_store_uri: str) -> None:
    """Each from a store of its own, as from ten processes."""

    async def first(number: int) -> None:
        store = open_postgres(postgres_store_uri, create=True)
        await put(store, f"d{number}", f"quartz {number}")
        assert f"d{number}-0" in ids(await call(reader(store), "bm25", limit=20))
        await store.aclose()

    async def go() -> None:
        await together(first, 10)
        store = open_postgres(postgres_store_uri)
        for method in METHODS:
            found = ids(await call(reader(store), method, limit=30))
            assert sorted(found) == sorted(f"d{number}-0" for number in range(10)), method
        await store.aclose()

    anyio.run(go)


def test_a_schema_of_a_newer_version_is_refused(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        await store.setup()
        async with store._sessions.writing() as connection:
            await connection.execute(store._sessions.layout.sql("UPDATE {meta} SET format = 99"))
        for work in (store.setup(), _again(store).list(SUBJECT)):
            with pytest.raises(StoreCorrupt, match="newer"):
                await work

    run(use)


def _again(store: PgStore) -> PgSink:
    return PgSink(store._sessions.pool, store._sessions.layout.schema)


def test_fields_declared_late_see_what_was_there(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        await put(store, "a", "quartz", metadata={"days": [date(2025, 1, 1), "2025-01-02"]})
        await put(store, "b", "quartz", metadata={"days": []})
        assert "days" not in (await reader(store).fields(COLLECTION)).fields
        await store.declare(SUBJECT, COLLECTION, {"days": Field(FieldType.DATETIME, many=True)})
        where = F("days").contains_any(["2025-01-02"])
        assert ids(await reader(store).fetch(COLLECTION, where=where, limit=5)) == ["a-0"]

    run(use)


def test_writers_of_the_same_documents_do_not_deadlock(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        async def write(number: int) -> None:
            names = ["a", "b", "c", "d"] if number % 2 else ["d", "c", "b", "a"]
            await store.commit(
                SUBJECT, COLLECTION, [whole(name, f"quartz {number}") for name in names]
            )

        await together(write, 8)
        texts = await contents(reader(store))
        assert len(texts) == 4
        assert len(set(texts)) == 1, "each commit is whole"

    run(use)
