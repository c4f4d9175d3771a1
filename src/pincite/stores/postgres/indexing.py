"""The index on the vectors of a large collection.

It covers that collection alone, so that a search of one tenant never wades through the others'
vectors, and small collections, however many there are, have none to plan for or to keep up.
"""

from __future__ import annotations

import logging
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, sql

from pincite.errors import PinciteError
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.legs import INDEXABLE, distance_sql
from pincite.stores.postgres.record import Record, index_name
from pincite.stores.postgres.sessions import Sessions

__all__ = ["ensure_index"]

_log = logging.getLogger(__name__)

_STATE: Final[LiteralString] = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_CREATE: Final[LiteralString] = (
    "CREATE INDEX CONCURRENTLY {index} ON {chunks}"
    " USING hnsw (({column}) {v}.halfvec_ip_ops) WHERE collection = {key}"
)


async def ensure_index(sessions: Sessions, record: Record) -> bool:
    """Index the collection's vectors where they are not; whether there is an index now.

    Readers and writers go on meanwhile. Searches are exact without it, so one that cannot be
    made (no right to, no time for it) is only told in the log.
    """
    if record.key is None or not record.dimension or record.dimension > INDEXABLE:
        return False
    try:
        async with sessions.alone() as connection:
            return await _ensured(connection, sessions.layout, record)
    except PinciteError as error:
        _log.warning("Vectors of %r stay without an index: %s", record.name, error)
        return False


async def _ensured(connection: AsyncConnection[Any], layout: Layout, record: Record) -> bool:
    assert record.key is not None
    name = layout.table(index_name(record.key))
    lock = [f"{layout.schema}.{index_name(record.key)}"]
    cursor = await connection.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", lock)
    if (await cursor.fetchone()) == (False,):
        return False
    try:
        cursor = await connection.execute(_STATE, [name.as_string(connection)])
        if (row := await cursor.fetchone()) == (True,):
            return True
        if row is not None:  # left behind by one that was interrupted
            await connection.execute(layout.sql("DROP INDEX CONCURRENTLY {index}", index=name))
        await connection.execute(
            layout.sql(
                _CREATE,
                index=sql.Identifier(index_name(record.key)),
                column=distance_sql(layout, record.dimension),
                key=sql.Literal(record.key),
            )
        )
        return True
    finally:
        if not connection.closed:
            await connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", lock)
