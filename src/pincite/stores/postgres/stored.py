"""Documents as they are stored, for an export."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection

from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.geometry import BboxRect, TableSpan
from pincite.stores.codec import geometry_of, value_of
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.packing import unpack
from pincite.stores.postgres.record import Record, read_record
from pincite.stores.postgres.rows import halfvec_rows

__all__ = ["stored_documents"]

_AT_ONCE: Final = 200

_KEYS: Final[LiteralString] = "SELECT key FROM {documents} WHERE collection = %s ORDER BY document"
_DOCUMENTS: Final[LiteralString] = """
SELECT d.key, d.document, d.title, d.source, d.content_hash, d.fingerprint, d.language,
    d.metadata, g.data
FROM {documents} d LEFT JOIN {geometry} g ON g.document = d.key WHERE d.key = ANY(%s)
ORDER BY d.document"""
_CHUNKS: Final[LiteralString] = """
SELECT document, chunk_index, metadata, own, embedding FROM {chunks}
WHERE document = ANY(%s) ORDER BY key"""


async def stored_documents(
    connection: AsyncConnection[Any], layout: Layout, subject: str, collection: str
) -> AsyncGenerator[EmbeddedDocument]:
    """Every document of the collection, ordered by id, in the transaction that is open."""
    record = await read_record(connection, layout, subject, collection)
    keys = [key for (key,) in await _rows(connection, layout, _KEYS, record.key)]
    for first in range(0, len(keys), _AT_ONCE):
        part = keys[first : first + _AT_ONCE]
        chunks: dict[int, list[Sequence[Any]]] = {key: [] for key in part}
        for key, *row in await _rows(connection, layout, _CHUNKS, part):
            chunks[key].append(row)
        for key, *about in await _rows(connection, layout, _DOCUMENTS, part):
            yield _document(record, about, chunks[key])


def _document(
    record: Record, about: Sequence[Any], rows: Sequence[Sequence[Any]]
) -> EmbeddedDocument:
    *names, metadata, geometry = about
    document, title, source, content_hash, fingerprint, language = map(unpack, names)
    own = [value_of(text) if text else {} for _, _, text, _ in rows]
    return EmbeddedDocument(
        document=document,
        title=title,
        chunks=[_chunk(index, held) for index, held, _, _ in rows],
        vectors=halfvec_rows([embedding for *_, embedding in rows]),
        endpoint=record.endpoint,
        source=source,
        content_hash=content_hash,
        fingerprint=fingerprint,
        language=language,
        model=record.model,
        metadata=value_of(metadata),
        chunk_metadata=own if any(own) else (),
        geometry=None if geometry is None else geometry_of(geometry, f"geometry of {document!r}"),
    )


def _chunk(index: int, held: Mapping[str, Any]) -> ChunkResult:
    return ChunkResult(
        content=held["text"],
        chunk_index=index,
        start_char=held["start_char"],
        end_char=held["end_char"],
        pages=held["pages"],
        bboxes=[BboxRect(*values) for values in held["bboxes"]],
        tables=[TableSpan(*values) for values in held.get("tables", ())],
        context_header=held.get("context_header", ""),
        unit_id=held.get("unit_id", ""),
        unit_chunk_index=held.get("unit_chunk_index", 0),
        unit_refs=held.get("unit_refs", []),
        embed_text=held.get("embed_text", ""),
    )


async def _rows(
    connection: AsyncConnection[Any], layout: Layout, template: LiteralString, keys: Any
) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(layout.fixed(template), [keys], binary=True)
    return await cursor.fetchall()
