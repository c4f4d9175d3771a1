"""Transactions on connections of the pool, with their errors mapped."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import psycopg
from psycopg import AsyncConnection, IsolationLevel
from psycopg_pool import AsyncConnectionPool

from pincite.errors import StoreNotFound
from pincite.stores.postgres.errors import is_connection_lost, mapped
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.schema import FORMAT, find_layout, prepare_schema, stored_format

__all__ = ["Sessions"]

_CHECK_SECONDS: Final = 2.0


class Sessions:
    """Hands out connections; the first use looks whether the schema holds a store."""

    def __init__(self, pool: AsyncConnectionPool[Any], schema: str) -> None:
        self.pool = pool
        self.layout = Layout(schema)
        self._known = False

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A read-only transaction that sees one state of the store throughout."""
        await self.look()
        async with self._transaction(IsolationLevel.REPEATABLE_READ, read_only=True) as connection:
            yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A transaction that commits at the end, or leaves nothing."""
        await self.look()
        async with self._transaction(IsolationLevel.READ_COMMITTED, read_only=False) as connection:
            yield connection

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection without a transaction, for statements that refuse one."""
        async with self._connection() as connection:
            before = connection.autocommit
            await connection.set_autocommit(True)
            try:
                yield connection
            finally:
                if not connection.closed:
                    await connection.set_autocommit(before)

    async def setup(self) -> None:
        """Create or migrate the tables; nothing is written where they are up to date, so that a
        role without rights to create may call it."""
        async with self._transaction(IsolationLevel.READ_COMMITTED, read_only=False) as connection:
            if await stored_format(connection, self.layout) != FORMAT:
                await prepare_schema(connection, self.layout)
        await self.look()

    async def look(self) -> None:
        """Learn where things are; ``StoreNotFound`` when the schema holds no store."""
        if self._known:
            return
        async with self._transaction(IsolationLevel.READ_COMMITTED, read_only=True) as connection:
            found = await stored_format(connection, self.layout)
            if found != FORMAT:
                missing = "holds no Pincite store" if found is None else f"has format {found}"
                raise StoreNotFound(
                    f"Schema {self.layout.schema!r} {missing}; call `await store.setup()` once,"
                    " or run a command that writes, such as `pincite index`."
                )
            self.layout = await find_layout(connection, self.layout)
        self._known = True

    @asynccontextmanager
    async def _transaction(
        self, level: IsolationLevel, *, read_only: bool
    ) -> AsyncIterator[AsyncConnection[Any]]:
        async with self._connection() as connection:
            before = connection.isolation_level, connection.read_only
            await connection.set_isolation_level(level)
            await connection.set_read_only(read_only)
            try:
                async with connection.transaction():
                    yield connection
            finally:
                if not connection.closed:
                    await connection.set_isolation_level(before[0])
                    await connection.set_read_only(before[1])

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[AsyncConnection[Any]]:
        with mapped():
            try:
                async with self.pool.connection() as connection:
                    yield connection
            except psycopg.Error as error:
                if is_connection_lost(error):
                    await self._drop_broken()
                raise

    async def _drop_broken(self) -> None:
        """Replace the idle connections that broke with this one, so that a retry succeeds."""
        with anyio.move_on_after(_CHECK_SECONDS, shield=True), suppress(psycopg.Error):
            await self.pool.check()
