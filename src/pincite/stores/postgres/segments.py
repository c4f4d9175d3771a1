"""Segments of the keyword side: written by each commit, merged by size like those of the local
store, so that a query reads few blocks however many commits there were."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection

from pincite.errors import PinciteError
from pincite.segments.manifest import SegmentRecord
from pincite.segments.merge import DEAD_SHARE, plan_merge
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.postings import Block, Inverted, keys_of, merged

if TYPE_CHECKING:
    from pincite.stores.postgres.record import Record
    from pincite.stores.postgres.sessions import Sessions

__all__ = ["Shape", "merge_segments", "read_gone", "read_segments", "read_shape", "write_segment"]

_log = logging.getLogger(__name__)

_LARGE: Final = 65_536
"""Chunks from which a segment is left alone, unless a tenth of all is gone."""

_MOST_CHUNKS: Final = 2 * _LARGE
"""Chunks up to which segments are merged, in memory."""

_FEW_GONE: Final = 256
_MOST_GONE_ROWS: Final = 64

# One statement, so that it is one state: what is gone is in one of the segments.
_SHAPE: Final[LiteralString] = """
SELECT key, chunks, NULL FROM {segments} WHERE collection = %(c)s
UNION ALL SELECT key, NULL, length(keys) / 8 FROM {gone} WHERE collection = %(c)s"""

_GONE: Final[LiteralString] = "SELECT keys FROM {gone} WHERE key = ANY(%s)"
_LOCK: Final = "SELECT pg_try_advisory_xact_lock(%s)"
_BLOCKS: Final[LiteralString] = "SELECT words, data FROM {postings} WHERE segment = %s"
_INSERT: Final[LiteralString] = (
    "INSERT INTO {segments} (collection, chunks) VALUES (%s, %s) RETURNING key"
)
_COPY: Final[LiteralString] = (
    "COPY {postings} (segment, first, words, data) FROM STDIN (FORMAT BINARY)"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Of a collection: its segments and its rows of ``gone``, by key, each with its chunks."""

    segments: Mapping[int, int]
    gone: Mapping[int, int]

    @property
    def is_dying(self) -> bool:
        """Whether a tenth is gone, so that all segments are to be written anew."""
        gone, held = sum(self.gone.values()), sum(self.segments.values())
        if gone >= held:
            return gone > 0
        return gone >= DEAD_SHARE * held and (gone >= _FEW_GONE or self.is_scattered)

    @property
    def is_scattered(self) -> bool:
        """Whether the rows of ``gone`` are many."""
        return len(self.gone) >= _MOST_GONE_ROWS

    @property
    def is_due(self) -> bool:
        """Whether there is anything to merge or to sum up."""
        return self.is_dying or self.is_scattered or bool(self.due())

    def due(self) -> list[list[int]]:
        """Groups of segments to be merged into one each; none when it can wait."""
        if self.is_dying:
            return _groups(self.segments)
        records = [
            SegmentRecord(key, chunks, 0, 0, 0, {})
            for key, chunks in self.segments.items()
            if chunks < _LARGE
        ]
        planned = {record.number: record.rows for record in plan_merge(records)}
        return [group for group in _groups(planned) if len(group) > 1]


async def read_shape(
    connection: AsyncConnection[Any], layout: Layout, collection: int | None
) -> Shape:
    """The collection's segments as they are now."""
    cursor = await connection.execute(layout.fixed(_SHAPE), {"c": collection})
    rows = await cursor.fetchall()
    return Shape(
        {key: chunks for key, chunks, _ in rows if chunks is not None},
        {key: gone for key, _, gone in rows if gone is not None},
    )


async def write_segment(
    connection: AsyncConnection[Any],
    layout: Layout,
    collection: int,
    blocks: Iterable[tuple[bytes, bytes, bytes]],
    chunks: int,
) -> None:
    """One more segment of so many chunks; none when there is no block."""
    held = list(blocks)
    if not held:
        return
    cursor = await connection.execute(layout.fixed(_INSERT), [collection, chunks])
    ((key,),) = await cursor.fetchall()
    async with connection.cursor() as writer, writer.copy(layout.fixed(_COPY)) as copy:
        copy.set_types(("int8", "bytea", "bytea", "bytea"))
        for first, words, data in held:
            await copy.write_row((key, first, words, data))


async def read_segments(
    connection: AsyncConnection[Any], layout: Layout, keys: Iterable[int]
) -> list[Inverted]:
    """All that the segments hold, block by block."""
    found = []
    for key in keys:
        cursor = await connection.execute(layout.fixed(_BLOCKS), [key], binary=True)
        found += [Block(words, data).whole() for words, data in await cursor.fetchall()]
    return found


async def merge_segments(sessions: Sessions, record: Record, lock: int) -> None:
    """Merge what is due, one transaction for each step; readers and writers go on meanwhile.

    Left to the next commit when another process is at it, or when it fails: searches are right
    with any number of segments.
    """
    try:
        while await _merge_once(sessions, record, lock):
            pass
    except PinciteError as error:
        _log.warning("Segments of %r stay unmerged for now: %s", record.name, error)


async def _merge_once(sessions: Sessions, record: Record, lock: int) -> bool:
    assert record.key is not None
    layout = sessions.layout
    async with sessions.writing() as connection:
        # Whoever deletes segments, or rows of those that are gone, holds this lock.
        cursor = await connection.execute(_LOCK, [lock])
        if await cursor.fetchone() == (False,):
            return False
        shape = await read_shape(connection, layout, record.key)
        if not shape.is_due:
            return False
        groups = shape.due()
        gone = await read_gone(connection, layout, shape)
        for group in groups:
            parts = await read_segments(connection, layout, group)
            made, blocks = await anyio.to_thread.run_sync(_merged, parts, gone)
            await write_segment(connection, layout, record.key, blocks, made)
            await _run(connection, layout, "DELETE FROM {postings} WHERE segment = ANY(%s)", group)
            await _run(connection, layout, "DELETE FROM {segments} WHERE key = ANY(%s)", group)
        if shape.is_dying or shape.is_scattered:
            rows = list(shape.gone)
            await _run(connection, layout, "DELETE FROM {gone} WHERE key = ANY(%s)", rows)
        if shape.is_scattered and not shape.is_dying:
            insert: LiteralString = "INSERT INTO {gone} (collection, keys) VALUES (%s, %s)"
            packed = gone.astype(">i8").tobytes()
            await connection.execute(layout.fixed(insert), [record.key, packed])
    return True


async def read_gone(
    connection: AsyncConnection[Any], layout: Layout, shape: Shape
) -> NDArray[np.int64]:
    """The keys of the chunks that are gone."""
    query = layout.fixed(_GONE)
    cursor = await connection.execute(query, [list(shape.gone)], binary=True)
    return keys_of([keys for (keys,) in await cursor.fetchall()])


def _merged(
    parts: Sequence[Inverted], gone: NDArray[np.int64]
) -> tuple[int, list[tuple[bytes, bytes, bytes]]]:
    """How many chunks have a posting in the merged segment, and its blocks."""
    made = merged(parts, gone)
    return len(np.unique(made.postings.keys)), list(made.blocks())


def _groups(segments: Mapping[int, int]) -> list[list[int]]:
    """Groups of at most ``_MOST_CHUNKS``, small segments together."""
    groups: list[list[int]] = []
    filled = _MOST_CHUNKS
    for key, chunks in sorted(segments.items(), key=lambda each: each[1]):
        if filled + chunks > _MOST_CHUNKS:
            groups.append([])
            filled = 0
        groups[-1].append(key)
        filled += chunks
    return groups


async def _run(
    connection: AsyncConnection[Any], layout: Layout, template: LiteralString, keys: Sequence[int]
) -> None:
    await connection.execute(layout.fixed(template), [list(keys)])
