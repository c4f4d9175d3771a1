"""A collection's postings made anew, after an update of the analyser."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final, LiteralString

import anyio.to_thread

from pincite.stores.postgres.record import Record
from pincite.stores.postgres.writer import Terms, Write
from pincite.text.analysis import default_analyzer

__all__ = ["is_stale", "reanalyse", "warn_when_stale"]

_log = logging.getLogger(__name__)

_DOCUMENTS_AT_ONCE: Final = 200
_told: set[tuple[str, str]] = set()

_TEXTS: Final[LiteralString] = """
SELECT c.key, c.metadata, d.language
FROM {chunks} c JOIN {documents} d ON d.key = c.document WHERE d.key = ANY(%s) ORDER BY c.key"""

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
    """Make the postings anew from the stored texts; how many chunks. Their documents are locked
    until the transaction ends."""
    rows = await write.run(
        "SELECT key FROM {documents} WHERE collection = %s ORDER BY name FOR UPDATE",
        [write.record.key],
    )
    documents = [key for (key,) in rows]
    chunks = 0
    for first in range(0, len(documents), _DOCUMENTS_AT_ONCE):
        chunks += await _reanalyse(write, documents[first : first + _DOCUMENTS_AT_ONCE])
    await write.run(
        "UPDATE {collections} SET analyzer = %s WHERE key = %s",
        [default_analyzer().fingerprint, write.record.key],
    )
    return chunks


async def _reanalyse(write: Write, documents: list[int]) -> int:
    texts = await write.run(_TEXTS, [documents])
    keys = [key for key, _, _ in texts]
    counted = await anyio.to_thread.run_sync(_terms, [row[1:] for row in texts])
    lengths = [length for _, length in counted]
    await write.run("DELETE FROM {postings} WHERE chunk = ANY(%s)", [keys])
    ((before,),) = await write.run(
        "SELECT coalesce(sum(length), 0)::bigint FROM {chunks} WHERE key = ANY(%s)", [keys]
    )
    await write.copy_postings(keys, counted)
    await write.run(_LENGTHS, [keys, lengths])
    if sum(lengths) != before:
        await write.count(0, sum(lengths) - before)
    return len(keys)


def _terms(texts: Sequence[tuple[Any, ...]]) -> Terms:
    analyzer = default_analyzer()
    return [
        analyzer.document_terms(held.get("embed_text") or held["text"], language)
        for held, language in texts
    ]
