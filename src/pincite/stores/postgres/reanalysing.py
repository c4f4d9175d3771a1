"""A collection's postings made anew, after an update of the analyser."""

from __future__ import annotations

import logging
from typing import Final, LiteralString

import anyio.to_thread

from pincite.stores.postgres.record import Record
from pincite.stores.postgres.writer import Write, analysed
from pincite.text.analysis import default_analyzer

__all__ = ["is_stale", "reanalyse", "warn_when_stale"]

_log = logging.getLogger(__name__)

_CHUNKS_AT_ONCE: Final = 4_000
_told: set[tuple[str, str]] = set()

_TEXTS: Final[LiteralString] = """
SELECT c.metadata, d.language
FROM {chunks} c JOIN {documents} d ON d.key = c.document WHERE c.key = ANY(%s) ORDER BY c.key"""

_EMPTY: Final[tuple[LiteralString, ...]] = (
    """DELETE FROM {postings} WHERE segment IN (
        SELECT key FROM {segments} WHERE collection = %s)""",
    "DELETE FROM {segments} WHERE collection = %s",
    "DELETE FROM {gone} WHERE collection = %s",
)

_LENGTHS: Final[LiteralString] = """
UPDATE {chunks} c SET length = u.length FROM unnest(%s::bigint[], %s::int[]) u(key, length)
WHERE c.key = u.key AND c.length <> u.length"""


def is_stale(record: Record) -> bool:
    """Whether the collection's terms are those of another version of the analyser."""
    return record.key is not None and record.analyzer != default_analyzer().fingerprint


def warn_when_stale(record: Record) -> None:
    """Say in the log, once for a collection, that its terms are of another version."""
    owner = (record.subject, record.name)
    if is_stale(record) and owner not in _told:
        _told.add(owner)
        _log.warning(
            "The words of collection %r were analysed by another version, so that keyword search"
            " may miss some; call `await sink.reanalyse(subject, collection)`.",
            record.name,
        )


async def reanalyse(write: Write) -> int:
    """Make the postings anew from the stored texts; how many chunks. No one else may write to
    the collection until the transaction ends."""
    rows = await write.run(
        "SELECT key FROM {chunks} WHERE collection = %s ORDER BY key", [write.record.key]
    )
    keys = [key for (key,) in rows]
    for statement in _EMPTY:
        await write.run(statement, [write.record.key])
    for first in range(0, len(keys), _CHUNKS_AT_ONCE):
        await _reanalyse(write, keys[first : first + _CHUNKS_AT_ONCE])
    await write.run(
        "UPDATE {collections} SET analyzer = %s WHERE key = %s",
        [default_analyzer().fingerprint, write.record.key],
    )
    return len(keys)


async def _reanalyse(write: Write, keys: list[int]) -> None:
    texts = [
        (held.get("embed_text") or held["text"], language)
        for held, language in await write.run(_TEXTS, [keys])
    ]
    arrays = await anyio.to_thread.run_sync(analysed, texts)
    lengths = arrays["lengths"].tolist()
    ((before,),) = await write.run(
        "SELECT coalesce(sum(length), 0)::bigint FROM {chunks} WHERE key = ANY(%s)", [keys]
    )
    await write.add_segment(keys, arrays)
    await write.run(_LENGTHS, [keys, lengths])
    if sum(lengths) != before:
        await write.count(0, sum(lengths) - before)
