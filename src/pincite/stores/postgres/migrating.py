"""From format 1, which had a row for each term of each chunk, to blocks of postings."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final, LiteralString

import numpy as np
from psycopg import AsyncConnection, sql

from pincite.bm25.segment import build_arrays
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.postings import inverted
from pincite.stores.postgres.segments import write_segment

__all__ = ["KEYWORD_TABLES", "pack_postings"]

_log = logging.getLogger(__name__)

_CHUNKS_AT_ONCE: Final = 8_000

KEYWORD_TABLES: Final[tuple[LiteralString, ...]] = (
    """CREATE TABLE {segments} (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection integer NOT NULL,
        chunks integer NOT NULL)""",
    "CREATE INDEX ON {segments} (collection)",
    """CREATE TABLE {postings} (
        segment bigint NOT NULL,
        first bytea NOT NULL,
        words bytea NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (segment, first)) WITH (toast_tuple_target = 8160)""",
    # A block is read whole, and unpacking it would take longer than reading it.
    "ALTER TABLE {postings} ALTER words SET STORAGE EXTERNAL, ALTER data SET STORAGE EXTERNAL",
    """CREATE TABLE {gone} (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection integer NOT NULL,
        keys bytea NOT NULL)""",
    "CREATE INDEX ON {gone} (collection)",
)

_COUNTED: Final[LiteralString] = "SELECT count(*) FROM {chunks}"
_COLLECTIONS: Final[LiteralString] = "SELECT key FROM {collections} ORDER BY key"
_CHUNKS: Final[LiteralString] = "SELECT key FROM {chunks} WHERE collection = %s ORDER BY key"
_ROWS: Final[LiteralString] = """
SELECT c.key, c.length, p.term, p.tf FROM {chunks} c LEFT JOIN {old} p ON p.chunk = c.key
WHERE c.key = ANY(%s)"""


async def pack_postings(connection: AsyncConnection[Any], layout: Layout) -> None:
    """Pack the rows of ``postings`` as they are, in the transaction that is open; what is
    searched stays the same. The log tells how far it is."""
    await connection.execute(layout.sql("ALTER TABLE {postings} RENAME TO postings_1"))
    for statement in KEYWORD_TABLES:
        await connection.execute(layout.sql(statement))
    old = sql.Identifier(layout.schema, "postings_1")
    ((total,),) = await _rows(connection, layout.sql(_COUNTED))
    done = 0
    for (collection,) in await _rows(connection, layout.sql(_COLLECTIONS)):
        keys = [key for (key,) in await _rows(connection, layout.sql(_CHUNKS), [collection])]
        for first in range(0, len(keys), _CHUNKS_AT_ONCE):
            part = keys[first : first + _CHUNKS_AT_ONCE]
            rows = await _rows(connection, layout.sql(_ROWS, old=old), [part])
            await write_segment(connection, layout, collection, _blocks(part, rows), len(part))
            done += len(part)
            _log.warning(
                "Schema %r is brought to format 2: %d of %d chunks.", layout.schema, done, total
            )
    await connection.execute(layout.sql("DROP TABLE {old}", old=old))


def _blocks(
    keys: Sequence[int], rows: Sequence[tuple[Any, ...]]
) -> list[tuple[bytes, bytes, bytes]]:
    terms: dict[int, dict[str, int]] = {key: {} for key in keys}
    lengths: dict[int, int] = {}
    for key, length, term, tf in rows:
        lengths[key] = length
        if term is not None:
            terms[key][term] = tf
    arrays = build_arrays((terms[key], lengths[key]) for key in keys)
    return list(inverted(arrays, np.array(keys, dtype=np.int64)).blocks())


async def _rows(
    connection: AsyncConnection[Any], query: sql.Composed, parameters: Sequence[Any] | None = None
) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(query, parameters)
    return await cursor.fetchall()
