"""Chunks and their texts by key, read from the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pincite.errors import StoreCorrupt
from pincite.model.fields import chunk_values
from pincite.model.hits import Chunk
from pincite.stores.codec import chunk_of, value_of
from pincite.stores.ordering import reading_order

__all__ = [
    "chunk_ids",
    "chunks_by_key",
    "columns_values",
    "document_chunks",
    "indexed_terms",
    "indexed_texts",
]

_BATCH: Final = 500
_CHUNKS: Final = (
    "SELECT c.id, d.id, d.metadata, d.document, d.title, d.source, d.language, c.chunk_index,"
    " c.start_char, c.end_char, c.content, c.embed_text, c.context_header, c.extra"
    " FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id IN ({})"
)
_IDS: Final = (
    "SELECT c.id, d.document, c.chunk_index"
    " FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id IN ({})"
)
_TEXTS: Final = (
    "SELECT c.id, c.embed_text, c.content, d.language"
    " FROM chunks c JOIN documents d ON d.id = c.document WHERE c.id IN ({})"
)


def chunks_by_key(
    connection: sqlite3.Connection, keys: Sequence[int], *, subject: str, collection: str
) -> list[Chunk]:
    """The chunks of the given keys, in that order; ``StoreCorrupt`` when one is missing."""
    found = dict(_chunks(connection, keys, subject=subject, collection=collection))
    try:
        return [found[key] for key in keys]
    except KeyError as error:
        raise StoreCorrupt(
            f"Chunk {error} has no row. Run doctor with repair, or restore a backup."
        ) from None


def document_chunks(
    connection: sqlite3.Connection, key: int, *, subject: str, collection: str
) -> Iterator[Chunk]:
    """Every chunk of the collection of that key, in reading order."""
    for first, count in connection.execute(
        "SELECT first_chunk, chunks FROM documents WHERE collection = ? ORDER BY document", (key,)
    ):
        keys = range(first, first + count)
        found = chunks_by_key(connection, keys, subject=subject, collection=collection)
        yield from sorted(found, key=reading_order)


def columns_values(
    connection: sqlite3.Connection, keys: Sequence[int], *, subject: str, collection: str
) -> list[Mapping[str, Any]]:
    """What filters read of the chunks of the given keys, in that order; dead rows have nothing."""
    found: dict[int, Mapping[str, Any]] = {
        key: chunk_values(chunk)
        for key, chunk in _chunks(connection, keys, subject=subject, collection=collection)
    }
    return [found.get(key, {}) for key in keys]


def indexed_terms(connection: sqlite3.Connection, keys: Sequence[int]) -> list[tuple[str, str]]:
    """What the keyword side makes terms of: texts and languages; dead rows have no text."""
    found = {
        key: (embedded or content, language)
        for key, embedded, content, language in _rows(connection, _TEXTS, keys)
    }
    return [found.get(key, ("", "")) for key in keys]


def indexed_texts(connection: sqlite3.Connection, keys: Sequence[int]) -> list[str | None]:
    """The texts that both legs index, None for a chunk that is gone."""
    found = {
        key: embedded or content for key, embedded, content, _ in _rows(connection, _TEXTS, keys)
    }
    return [found.get(key) for key in keys]


def chunk_ids(connection: sqlite3.Connection, keys: Sequence[int]) -> list[tuple[str, int]]:
    """Document id and chunk index of each key; ("", 0) for a chunk that is gone."""
    found = {key: (document, index) for key, document, index in _rows(connection, _IDS, keys)}
    return [found.get(key, ("", 0)) for key in keys]


def _rows(connection: sqlite3.Connection, query: str, keys: Sequence[int]) -> Iterator[Any]:
    for start in range(0, len(keys), _BATCH):
        batch = keys[start : start + _BATCH]
        yield from connection.execute(query.format(",".join("?" * len(batch))), batch)


def _chunks(
    connection: sqlite3.Connection, keys: Sequence[int], *, subject: str, collection: str
) -> Iterator[tuple[int, Chunk]]:
    metadata: dict[int, Mapping[str, Any]] = {}
    for row in _rows(connection, _CHUNKS, keys):
        document = row[1]
        if document not in metadata:
            metadata[document] = value_of(row[2])
        about = metadata[document]
        yield row[0], chunk_of(row[3:], subject=subject, collection=collection, metadata=about)
