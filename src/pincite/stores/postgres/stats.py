"""Counts of a collection."""

from __future__ import annotations

from typing import Any, Final, LiteralString

import numpy as np
from psycopg import AsyncConnection, sql

from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.postings import Block
from pincite.stores.postgres.record import Record, read_view
from pincite.stores.postgres.segments import read_gone, read_shape

__all__ = ["read_stats"]

_COUNTS: Final[LiteralString] = """
SELECT (SELECT count(*) FROM {documents} WHERE collection = %(c)s),
    (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relkind = 'r' AND relnamespace = to_regnamespace(%(schema)s))"""

_WORDS: Final[LiteralString] = "SELECT words, ''::bytea FROM {postings} WHERE segment = %s"
_BLOCKS: Final[LiteralString] = "SELECT words, data FROM {postings} WHERE segment = %s"


async def read_stats(
    connection: AsyncConnection[Any], layout: Layout, subject: str, collection: str
) -> dict[str, Any]:
    """What ``PgSink.stats`` says."""
    record, totals = await read_view(connection, layout, subject, collection)
    schema = sql.Identifier(layout.schema).as_string()
    cursor = await connection.execute(layout.fixed(_COUNTS), {"c": record.key, "schema": schema})
    ((documents, size),) = await cursor.fetchall()
    return {
        "documents": documents,
        "chunks": totals.chunks,
        "vocabulary": await _vocabulary(connection, layout, record),
        "total_tokens": totals.tokens,
        "average_length": totals.tokens / totals.chunks if totals.chunks else 0.0,
        "dimension": record.dimension,
        "endpoint": record.endpoint or None,
        "languages": [code for code in totals.languages if code],
        "vector_index": totals.indexed,
        "store_bytes": size,
    }


async def _vocabulary(connection: AsyncConnection[Any], layout: Layout, record: Record) -> int:
    """How many distinct terms the live chunks have; postings are read only where some are gone."""
    shape = await read_shape(connection, layout, record.key)
    gone = await read_gone(connection, layout, shape)
    words: set[bytes] = set()
    for segment in shape.segments:
        query = layout.fixed(_BLOCKS if len(gone) else _WORDS)
        cursor = await connection.execute(query, [segment], binary=True)
        for held, data in await cursor.fetchall():
            words.update(_live_words(Block(held, data), gone) if data else held[1:-1].split(b"\0"))
    return len(words)


def _live_words(block: Block, gone: Any) -> list[bytes]:
    made = block.whole()
    live = ~np.isin(made.postings.keys, gone)
    starts = np.concatenate([[0], np.cumsum(made.counts)[:-1]])
    kept = np.add.reduceat(live, starts, dtype=np.int64)
    return [word for word, count in zip(made.words, kept.tolist(), strict=True) if count]
