"""What goes wrong around the store: servers that stop, rights that lack, pools that are full."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import psycopg
import pytest
from psycopg import sql
from psycopg_pool import AsyncConnectionPool

from pincite.errors import StoreNotFound, StoreUnavailable, Unconfigured
from pincite.stores.postgres.opening import PgStore, open_postgres
from pincite.stores.postgres.sink import PgSink
from pincite.stores.postgres.writer import Write
from pincite.testing.samples import COLLECTION, METHODS, SUBJECT, call, contents, put, reader, whole

Use = Callable[[PgSink], Any]


def run(uri: str, *statements: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(uri, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def as_role(uri: str, role: str) -> str:
    """The URI with another role."""
    return psycopg.conninfo.make_conninfo(uri, user=role)


def with_store(uri: str, use: Use, *, create: bool = True) -> None:
    async def go() -> None:
        store = open_postgres(uri, create=create)
        try:
            await use(store)
        finally:
            await store.aclose()

    anyio.run(go)


def with_pool(uri: str, schema: str, use: Use, **options: Any) -> None:
    async def go() -> None:
        async with AsyncConnectionPool(uri, open=False, **options) as pool:
            await use(PgSink(pool, schema))

    anyio.run(go)


# -- the server goes away


def backend_of(connection: psycopg.AsyncConnection[Any]) -> int:
    return connection.info.backend_pid


def test_a_server_that_stops_in_the_middle_of_a_write_leaves_nothing_half_written(
    postgres_uri: str, postgres_store_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backend is ended at each step of a commit, as a server that shuts down ends it."""

    async def use(store: PgSink) -> None:
        await put(store, "a", "quartz old", "quartz older")
        steps = await _count_steps(store, monkeypatch)
        for step in range(steps):
            with monkeypatch.context() as patch:
                _cut_at(step, postgres_uri, patch)
                with pytest.raises(StoreUnavailable, match="Try again"):
                    await store.commit(SUBJECT, COLLECTION, [whole("a", f"quartz {step}")])
            assert await contents(reader(store)) == ["quartz old", "quartz older"], step
        await store.commit(SUBJECT, COLLECTION, [whole("a", "quartz new")])
        for method in METHODS:
            found = await call(reader(store), method)
            assert [getattr(item, "chunk", item).content for item in found] == ["quartz new"]

    with_store(postgres_store_uri, use)


async def _count_steps(store: PgSink, monkeypatch: pytest.MonkeyPatch) -> int:
    counted: list[int] = []
    run_before = Write.run

    async def counting(self: Write, *given: Any, **parts: Any) -> Any:
        counted.append(1)
        return await run_before(self, *given, **parts)

    with monkeypatch.context() as patch:
        patch.setattr(Write, "run", counting)
        await store.commit(SUBJECT, COLLECTION, [whole("b", "granite")])
    await store.delete(SUBJECT, COLLECTION, ["b"])
    assert len(counted) > 6
    return len(counted)


def _cut_at(step: int, uri: str, patch: pytest.MonkeyPatch) -> None:
    run_before, done = Write.run, [0]

    async def cutting(self: Write, *given: Any, **parts: Any) -> Any:
        if done[0] == step:
            run(uri, f"SELECT pg_terminate_backend({backend_of(self.connection)}, 5000)")
        done[0] += 1
        return await run_before(self, *given, **parts)

    patch.setattr(Write, "run", cutting)


def test_a_server_that_is_restarted_is_found_again_by_a_retry(
    new_postgres: Any,
) -> None:
    start, stop = new_postgres
    with start() as server:

        async def use(store: PgSink) -> None:
            await put(store, "a", "quartz")
            port = reader(store)
            # More than one connection is idle when the server stops.
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(call, port, "bm25")
            stop(server)
            with pytest.raises(StoreUnavailable):
                await call(port, "bm25")
            server.ensure_postgres_running()
            with suppress(StoreUnavailable):  # when a connection had been made meanwhile
                await call(port, "bm25")
            assert len(await call(port, "bm25")) == 1
            await put(store, "b", "quartz again")
            assert len(await call(port, "bm25")) == 2

        with_store(server.get_uri(), use)


def test_a_cut_connection_is_replaced(postgres_uri: str, postgres_store_uri: str) -> None:
    async def use(store: PgSink) -> None:
        await put(store, "a", "quartz")
        for _ in range(3):
            run(
                postgres_uri,
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE application_name = 'pincite'",
            )
            with pytest.raises(StoreUnavailable):
                await call(reader(store), "bm25")
            assert len(await call(reader(store), "bm25")) == 1

    with_store(postgres_store_uri, use)


@pytest.mark.parametrize(
    "uri", ["postgresql://ann@127.0.0.1:1/db", "postgresql:///db?host=/nowhere"]
)
def test_a_server_that_is_not_there_is_unavailable_at_once(uri: str) -> None:
    async def use(store: PgSink) -> None:
        with anyio.fail_after(5):
            for work in (store.setup(), put(store, "a", "quartz"), store.list(SUBJECT)):
                with pytest.raises(StoreUnavailable, match="server runs"):
                    await work

    with_store(uri, use)


def test_a_wrong_database_or_role_is_unconfigured(postgres_uri: str) -> None:
    for wrong in ({"dbname": "nowhere"}, {"user": "nobody_of_this_name"}):
        conninfo = psycopg.conninfo.make_conninfo(postgres_uri, **wrong)

        async def use(store: PgSink) -> None:
            with pytest.raises(Unconfigured, match="URI"):
                await store.setup()

        async def go(conninfo: str = conninfo, use: Use = use) -> None:
            store = PgStore(conninfo)
            await use(store)
            await store.aclose()

        anyio.run(go)


# -- time and places run out


def test_a_statement_that_takes_too_long_is_unavailable(
    postgres_uri: str, postgres_store_uri: str
) -> None:
    async def use(store: PgSink) -> None:
        await put(store, "a", "quartz")
        async with await psycopg.AsyncConnection.connect(postgres_uri) as other:
            table = store.table.name
            await other.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(table))
            slow = psycopg.conninfo.make_conninfo(postgres_uri, options="-c statement_timeout=100")
            impatient = PgStore(slow, store._sessions.layout.schema)
            with pytest.raises(StoreUnavailable, match="statement_timeout"):
                await call(reader(impatient), "bm25")
            with pytest.raises(StoreUnavailable, match="statement_timeout"):
                await put(impatient, "a", "changed")
            await impatient.aclose()
        assert await contents(reader(store)) == ["quartz"]

    with_store(postgres_store_uri, use)


def test_a_full_pool_is_unavailable(postgres_uri: str, postgres_schema: str) -> None:
    async def use(sink: PgSink) -> None:
        await sink.setup()
        await put(sink, "a", "quartz")
        async with sink._sessions.pool.connection():
            with pytest.raises(StoreUnavailable, match="max_size"):
                await call(reader(sink), "bm25")
            with pytest.raises(StoreUnavailable, match="max_size"):
                await put(sink, "b", "quartz")
        assert len(await call(reader(sink), "bm25")) == 1

    with_pool(postgres_uri, postgres_schema, use, min_size=1, max_size=1, timeout=0.2)


def test_a_pool_that_is_not_open_is_unconfigured(postgres_uri: str) -> None:
    async def go() -> None:
        pool: AsyncConnectionPool[Any] = AsyncConnectionPool(postgres_uri, open=False)
        with pytest.raises(Unconfigured, match="open it"):
            await PgSink(pool).setup()

    anyio.run(go)


def test_a_pool_that_was_given_stays_open(postgres_uri: str, postgres_schema: str) -> None:
    async def use(sink: PgSink) -> None:
        await sink.setup()
        await sink.aclose()
        assert not sink._sessions.pool.closed
        assert list(await sink.list("ann")) == []

    with_pool(postgres_uri, postgres_schema, use)


# -- rights


@pytest.fixture
def role(postgres_uri: str, postgres_schema: str) -> Any:
    """A role that may do nothing yet."""
    name = f"r_{postgres_schema}"
    run(postgres_uri, f'CREATE ROLE "{name}" LOGIN')
    yield name
    run(postgres_uri, f'DROP OWNED BY "{name}" CASCADE', f'DROP ROLE "{name}"')


def test_a_role_that_may_only_read_searches_and_writes_nothing(
    postgres_uri: str, postgres_schema: str, postgres_store_uri: str, role: str
) -> None:
    async def fill(store: PgSink) -> None:
        await put(store, "a", "quartz", metadata={"year": 2020})

    with_store(postgres_store_uri, fill)
    run(
        postgres_uri,
        f'GRANT USAGE ON SCHEMA "{postgres_schema}" TO "{role}"',
        f'GRANT SELECT ON ALL TABLES IN SCHEMA "{postgres_schema}" TO "{role}"',
    )

    async def read(store: PgSink) -> None:
        await store.setup()
        for method in METHODS:
            assert len(await call(reader(store), method)) == 1, method
        assert [info.document for info in await store.documents(SUBJECT, COLLECTION)] == ["a"]
        assert (await store.stats(SUBJECT, COLLECTION))["chunks"] == 1
        assert (await store.vectors(SUBJECT, COLLECTION, "a")).shape == (1, 32)
        for work in (
            put(store, "b", "quartz"),
            store.delete(SUBJECT, COLLECTION, ["a"]),
            store.rename(SUBJECT, COLLECTION, "a", "b"),
            store.set_metadata(SUBJECT, COLLECTION, "a", {}),
        ):
            with pytest.raises(Unconfigured, match="right"):
                await work

    async def go() -> None:
        for create in (True, False):
            store = PgStore(as_role(postgres_uri, role), postgres_schema, create=create)
            await read(store)
            await store.aclose()

    anyio.run(go)


def test_a_missing_right_to_create_says_what_to_do(
    postgres_uri: str, postgres_schema: str, role: str
) -> None:
    async def go() -> None:
        store = PgStore(as_role(postgres_uri, role), postgres_schema, create=True)
        with pytest.raises(Unconfigured, match="right"):
            await store.setup()
        with pytest.raises(Unconfigured, match="right"):
            await put(store, "a", "quartz")
        await store.aclose()

    anyio.run(go)
    found = f"SELECT count(*) FROM pg_namespace WHERE nspname = '{postgres_schema}'"
    assert run(postgres_uri, found) == [(0,)], "nothing half made"


def test_a_missing_extension_says_who_may_create_it(postgres_uri: str, role: str) -> None:
    database = f"d_{role}"
    run(postgres_uri, f'CREATE DATABASE "{database}" OWNER "{role}"')
    try:

        async def go() -> None:
            conninfo = psycopg.conninfo.make_conninfo(postgres_uri, user=role, dbname=database)
            store = PgStore(conninfo, create=True)
            with pytest.raises(Unconfigured, match="CREATE EXTENSION vector"):
                await store.setup()
            await store.aclose()
            superuser = PgStore(psycopg.conninfo.make_conninfo(postgres_uri, dbname=database))
            async with superuser._sessions.pool as pool, pool.connection() as connection:
                await connection.execute("CREATE EXTENSION vector SCHEMA public")
            again = PgStore(conninfo, create=True)
            await put(again, "a", "quartz")
            assert len(await call(reader(again), "bm25")) == 1
            await again.aclose()

        anyio.run(go)
    finally:
        run(postgres_uri, f'DROP DATABASE "{database}" WITH (FORCE)')


def test_a_store_that_is_not_there_is_not_found(postgres_store_uri: str) -> None:
    async def use(store: PgSink) -> None:
        for work in (put(store, "a", "quartz"), store.list(SUBJECT), call(reader(store), "bm25")):
            with pytest.raises(StoreNotFound, match="setup"):
                await work

    with_store(postgres_store_uri, use, create=False)
