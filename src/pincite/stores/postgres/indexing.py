"""The index on the vectors of a large collection.

It covers that collection alone, so that a search of one tenant never wades through the others'
vectors, and small collections, however many there are, have none to plan for or to keep up.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, sql

from pincite.errors import PinciteError
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.legs import INDEXABLE, distance_sql
from pincite.stores.postgres.record import Record, index_name
from pincite.stores.postgres.sessions import Sessions

__all__ = ["Burst", "ensure_index"]

_log = logging.getLogger(__name__)

_MOST_SECONDS: Final = 600

_STATE: Final[LiteralString] = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_CREATE: Final[LiteralString] = (
    "CREATE INDEX CONCURRENTLY {index} ON {chunks}"
    " USING hnsw (({column}) {v}.halfvec_ip_ops) WHERE collection = {key}"
)


class Burst:
    """Puts the index off while much is loaded, since making it at the end costs a third of keeping
    it up with every row. It waits for a commit that comes ``seconds`` after the one before, for
    the end of the store, and no longer than ten minutes."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._commits: dict[int, float] = {}
        self._waiting: dict[int, tuple[float, Record]] = {}

    def follows(self, record: Record) -> bool:
        """Note a commit; whether it came soon after the one before."""
        assert record.key is not None
        now = monotonic()
        before = self._commits.get(record.key)
        self._commits[record.key] = now
        return before is not None and now - before < self._seconds

    def puts_off(self, record: Record, *, follows: bool) -> bool:
        """Whether the index that the collection lacks is left for later."""
        assert record.key is not None
        now = monotonic()
        since, _ = self._waiting.pop(record.key, (now, record))
        if not follows or now - since > _MOST_SECONDS:
            return False
        self._waiting[record.key] = since, record
        return True

    def left(self) -> list[Record]:
        """The collections whose index was put off; they are forgotten."""
        records = [record for _, record in self._waiting.values()]
        self._waiting.clear()
        return records


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
