"""Checksums of a document's rows: SQLite checks its own structure, not the values in it."""

from __future__ import annotations

import sqlite3
import zlib
from typing import Final

__all__ = ["is_sealed", "seal"]

_ABOUT: Final = (
    "SELECT document, title, source, content_hash, fingerprint, language, metadata, chunks, seal"
    " FROM documents WHERE id = ?"
)
_CHUNKS: Final = (
    "SELECT c.chunk_index, c.start_char, c.end_char, c.content, c.embed_text, c.context_header,"
    " c.extra FROM documents d JOIN chunks c ON c.id >= d.first_chunk"
    " AND c.id < d.first_chunk + d.chunks WHERE d.id = ? ORDER BY c.id"
)


def seal(connection: sqlite3.Connection, document: int) -> None:
    """Store the checksum of a document's rows as they are now."""
    connection.execute(
        "UPDATE documents SET seal = ? WHERE id = ?", (_checksum(connection, document), document)
    )


def is_sealed(connection: sqlite3.Connection, document: int) -> bool:
    """Whether a document's rows are those that were sealed."""
    stored = connection.execute(_ABOUT, (document,)).fetchone()[-1]
    return bool(stored == _checksum(connection, document))


def _checksum(connection: sqlite3.Connection, document: int) -> int:
    about = connection.execute(_ABOUT, (document,)).fetchone()[:-1]
    crc = zlib.crc32(repr(about).encode())
    for row in connection.execute(_CHUNKS, (document,)):
        crc = zlib.crc32(repr(row).encode(), crc)
    return crc
