"""A PostgreSQL store with a pool of its own, from its URI."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode

import anyio
import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import AsyncConnectionPool

from pincite.errors import InvalidArgument, StoreNotFound
from pincite.stores.postgres.errors import mapped
from pincite.stores.postgres.legs import Tuning
from pincite.stores.postgres.sessions import Sessions
from pincite.stores.postgres.sink import PgSink

if TYPE_CHECKING:
    from pincite.stores.threaded import QueryEmbedder

__all__ = ["PgStore", "open_postgres"]

_SCHEMA: Final = "pincite"
_CONNECT_SECONDS: Final = 10


class PgStore(PgSink):
    """``PgSink`` over a pool that it opens at the first use and closes in ``aclose``.

    With ``create`` the first use also does what ``setup`` does; without, a schema that holds no
    store is ``StoreNotFound``.
    """

    def __init__(
        self,
        conninfo: str,
        schema: str = _SCHEMA,
        *,
        create: bool = False,
        embedder: QueryEmbedder | None = None,
        tuning: Tuning | None = None,
        max_size: int = 8,
    ) -> None:
        def make_pool() -> AsyncConnectionPool[Any]:
            return AsyncConnectionPool(
                conninfo,
                open=False,
                min_size=0,
                max_size=max_size,
                timeout=_CONNECT_SECONDS,
                name=f"pincite-{schema}",
            )

        self._own = partial(_OwnSessions, make_pool=make_pool, conninfo=conninfo, create=create)
        super().__init__(make_pool(), schema, embedder=embedder, tuning=tuning)

    def _make_sessions(self, pool: AsyncConnectionPool[Any], schema: str) -> Sessions:
        return self._own(pool, schema)

    async def aclose(self) -> None:
        """Close the pool; the store can be used again afterwards."""
        await super().aclose()
        await self._sessions.pool.close()


class _OwnSessions(Sessions):
    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        schema: str,
        *,
        make_pool: Callable[[], AsyncConnectionPool[Any]],
        conninfo: str,
        create: bool,
    ) -> None:
        super().__init__(pool, schema)
        self._make_pool = make_pool
        self._conninfo = conninfo
        self._create = create
        self._opening = anyio.Lock()
        self._ready = False

    async def setup(self) -> None:
        await self._open()
        await super().setup()

    async def look(self) -> None:
        await self._open()
        if self._ready:
            return
        try:
            await super().look()
        except StoreNotFound:
            if not self._create:
                raise
            await super().setup()
        self._ready = True

    def _is_open(self) -> bool:
        return not self.pool.closed

    async def _open(self) -> None:
        """Open the pool once. One connection is made by itself first, because a pool tells only
        that none came in time, not why."""
        if self._is_open():
            return
        async with self._opening:
            if self._is_open():
                return
            with mapped():
                connection = await AsyncConnection.connect(
                    self._conninfo, connect_timeout=_CONNECT_SECONDS
                )
                await connection.close()
                # A pool that was closed cannot be opened again.
                self.pool = self._make_pool()
                await self.pool.open()


def open_postgres(
    uri: str,
    *,
    create: bool = False,
    embedder: QueryEmbedder | None = None,
    tuning: Tuning | None = None,
) -> PgStore:
    """A store for ``postgresql://...``; ``schema=NAME`` among the URI's parameters is ours.

    Nothing is connected before the first use. Raises ``InvalidArgument`` for a malformed URI.
    """
    if not uri.lower().startswith(("postgresql://", "postgres://")):
        raise InvalidArgument(
            f"{uri!r} names no PostgreSQL server; write postgresql://user@host:5432/database."
        )
    place, mark, query = uri.partition("?")
    given = parse_qsl(query, keep_blank_values=True)
    schema = dict(given).get("schema", _SCHEMA)
    rest = [(name, value) for name, value in given if name != "schema"]
    plain = f"{place}?{urlencode(rest)}" if mark and rest else place
    try:
        conninfo_to_dict(plain)
    except psycopg.ProgrammingError as error:
        raise InvalidArgument(
            f"The store's URI cannot be read ({' '.join(str(error).split())});"
            " write postgresql://user@host:5432/database."
        ) from error
    return PgStore(
        make_conninfo(plain, application_name="pincite"),
        schema,
        create=create,
        embedder=embedder,
        tuning=tuning,
    )
