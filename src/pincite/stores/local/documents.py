"""The rows of documents, written and removed inside an edit of their collection."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from pincite.model.fields import extend_spec
from pincite.model.hits import Chunk
from pincite.stores.checks import check_model
from pincite.stores.codec import is_text
from pincite.stores.intake import stored_chunks
from pincite.stores.local.edit import Edit, NewRows, next_numbers
from pincite.stores.local.seals import seal
from pincite.stores.local.texts import chunks_by_key, indexed_terms
from pincite.stores.prepare import Prepared, stored_vectors

__all__ = [
    "document_names",
    "find_document",
    "is_stored",
    "remove_document",
    "rewrite_rows",
    "write_documents",
]

_FOUND: Final = (
    "SELECT id, document, first_chunk, chunks FROM documents WHERE collection = ? AND document = ?"
)


def find_document(
    connection: sqlite3.Connection, collection: int | None, name: str
) -> tuple[int, str, int, int] | None:
    """Key, id, first chunk and number of chunks of a document."""
    if collection is None or not is_text(name):
        return None
    found: tuple[int, str, int, int] | None
    found = connection.execute(_FOUND, (collection, name)).fetchone()
    return found


def document_names(edit: Edit) -> list[str]:
    """The ids of the collection's documents."""
    rows = edit.connection.execute(
        "SELECT document FROM documents WHERE collection = ?", (edit.record.key,)
    )
    return [name for (name,) in rows]


def is_stored(connection: sqlite3.Connection, collection: int, prepared: Prepared) -> bool:
    """Whether the document is stored just so."""
    found = connection.execute(
        "SELECT digest FROM documents WHERE collection = ? AND document = ?",
        (collection, prepared.given.document),
    ).fetchone()
    return found is not None and found[0] == prepared.digest


def write_documents(edit: Edit, prepared: Sequence[Prepared]) -> None:
    """Write documents in place of what they had, as one segment.

    Raises ``CollectionMismatch`` for vectors of another model than the collection's.
    """
    for each in prepared:
        _adopt_model(edit, each)
        _extend_fields(edit, each)
    record = edit.record
    keys: list[int] = []
    chunks: list[Chunk] = []
    for each in prepared:
        first = _write_rows(edit, each)
        keys += range(first, first + len(each.rows))
        chunks += stored_chunks(record.subject, record.name, each.given)
    vectors = [stored_vectors(p.given.vectors, normalized=record.normalized) for p in prepared]
    texts = [text for each in prepared for text in each.texts()]
    edit.append(NewRows(chunks, keys, np.concatenate(vectors), texts))


def _adopt_model(edit: Edit, prepared: Prepared) -> None:
    """Check the document's model against the collection's; the first write fixes it."""
    given, record = prepared.given, edit.record
    dimension = int(np.asarray(given.vectors).shape[1])
    check_model(
        record.name,
        record.stored_model,
        endpoint=given.endpoint,
        model=given.model,
        dimension=dimension,
        stored_dimension=record.stored_dimension,
    )
    model = record.model
    # An identity that comes late must not change what the stored rows mean.
    if given.model is not None and (not record.dimension or given.model.normalized):
        model = model or given.model
    endpoint = record.endpoint or given.endpoint
    edit.set_record(replace(record, endpoint=endpoint, dimension=dimension, model=model))


def _extend_fields(edit: Edit, prepared: Prepared) -> None:
    given = prepared.given
    for metadata in (given.metadata, *given.chunk_metadata):
        edit.set_spec(extend_spec(edit.record.spec, metadata))


def _write_rows(edit: Edit, prepared: Prepared) -> int:
    """Write a document's rows in place of those it had; the key of its first chunk."""
    given, run = prepared.given, edit.connection.execute
    first = next_numbers(edit.connection, "chunk", len(prepared.rows))
    old = find_document(edit.connection, edit.key, given.document)
    if old is not None:
        _remove_chunks(edit, old[2], old[3])
    else:
        run("DELETE FROM aliases WHERE collection = ? AND alias = ?", (edit.key, given.document))
    (key,) = run(
        "INSERT INTO documents (collection, document, title, source, content_hash, fingerprint,"
        " language, metadata, digest, first_chunk, chunks) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
        " ON CONFLICT (collection, document) DO UPDATE SET title = excluded.title,"
        " source = excluded.source, content_hash = excluded.content_hash,"
        " fingerprint = excluded.fingerprint, language = excluded.language,"
        " metadata = excluded.metadata, digest = excluded.digest,"
        " first_chunk = excluded.first_chunk, chunks = excluded.chunks RETURNING id",
        (
            edit.key,
            given.document,
            given.title,
            given.source,
            given.content_hash,
            given.fingerprint,
            given.language,
            prepared.metadata,
            prepared.digest,
            first,
            len(prepared.rows),
        ),
    ).fetchone()
    if prepared.geometry:
        run("INSERT OR REPLACE INTO geometry VALUES (?, ?)", (key, prepared.geometry))
    elif old is not None:
        run("DELETE FROM geometry WHERE document = ?", (key,))
    edit.connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((first + i, key, *row) for i, row in enumerate(prepared.rows)),
    )
    seal(edit.connection, key)
    return first


def remove_document(edit: Edit, name: str) -> int:
    """Remove a document from rows and both legs; how many chunks went, 0 when it is not there."""
    found = find_document(edit.connection, edit.key, name)
    if found is None:
        return 0
    key, _, first, count = found
    _remove_chunks(edit, first, count)
    edit.connection.execute("DELETE FROM documents WHERE id = ?", (key,))
    return count


def _remove_chunks(edit: Edit, first: int, count: int) -> None:
    edit.connection.execute("DELETE FROM chunks WHERE id >= ? AND id < ?", (first, first + count))
    edit.kill(first, count)


def rewrite_rows(edit: Edit, first: int, count: int) -> None:
    """Write a document's rows of the segments anew, from its changed record; vectors stay."""
    keys = range(first, first + count)
    record = edit.record
    chunks = chunks_by_key(edit.connection, keys, subject=record.subject, collection=record.name)
    vectors = edit.vectors(first, count)
    edit.kill(first, count)
    edit.append(NewRows(chunks, keys, vectors, indexed_terms(edit.connection, keys)))
