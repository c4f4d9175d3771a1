"""Writing: whole documents, one transaction for each commit.

Documents are locked in the order of their digests, and a collection's record only while its model
or fields change, so that writers of different documents do not wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, LiteralString

import anyio.to_thread
import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection

from pincite.bm25.builder import keyword_arrays
from pincite.errors import EmbeddingError
from pincite.model.fields import extend_spec
from pincite.stores.checks import check_model
from pincite.stores.codec import model_text, spec_text
from pincite.stores.intake import stored_chunks
from pincite.stores.postgres.filters import fields_json
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.packing import name_key, owner_key, pack
from pincite.stores.postgres.postings import inverted
from pincite.stores.postgres.record import Record, index_name, read_record
from pincite.stores.postgres.rows import CHUNK_COLUMNS, chunk_from_row, halfvec_bytes, row_texts
from pincite.stores.postgres.segments import write_segment
from pincite.stores.prepare import Prepared, prepare, stored_vectors
from pincite.text.analysis import default_analyzer

if TYPE_CHECKING:
    from pincite.model.documents import EmbeddedDocument

__all__ = ["IndexedText", "Write", "analysed", "make_ready", "remove_rows", "update_record"]

_LONGEST_VECTOR: Final = 16_000
_MOST_PARTS: Final = 64
"""Rows of ``totals`` from which they are summed up into one."""

_REFRESHED: Final = 200
"""Documents that are read and written at once when their chunks' fields are made anew."""

_CHUNKS_OF: Final[LiteralString] = """
SELECT c.key, {columns} FROM {chunks} c JOIN {documents} d ON d.key = c.document
WHERE d.key = ANY(%s) ORDER BY c.key"""

# What psycopg sends as it is: JSON as text, and bytes in the binary form of jsonb and halfvec.
_TYPES: Final = (
    *("int8", "int4", "int4", "int8", "int8", "text", "bytea", "text", "text"),
    "bytea",
)

_JSONB: Final = b"\x01"
"""The version of jsonb's binary form, which is JSON behind it."""

_WRITES: Final = "writes"
_MERGES: Final = "merges"

Arrays = Mapping[str, NDArray[Any]]

IndexedText = tuple[str, str]
"""A text and the language it is analysed in."""


def make_ready(documents: Sequence[EmbeddedDocument]) -> list[Prepared]:
    """Check and encode documents, in the order that they are locked in.

    The last of two with one id stands. Raises as ``stores.prepare.prepare`` does, and
    ``EmbeddingError`` for vectors longer than pgvector holds.
    """
    latest = {document.document: prepare(document) for document in documents}
    for name, prepared in latest.items():
        if (length := np.asarray(prepared.given.vectors).shape[1]) > _LONGEST_VECTOR:
            raise EmbeddingError(
                f"Document {name!r} has vectors of {length} dimensions and PostgreSQL holds"
                f" {_LONGEST_VECTOR}; use a model with fewer, or another store."
            )
    return sorted(latest.values(), key=lambda each: name_key(each.given.document))


@dataclass(slots=True)
class Write:
    """One transaction that writes to one collection."""

    connection: AsyncConnection[Any]
    layout: Layout
    record: Record

    @property
    def merge_lock(self) -> int:
        """What whoever removes segments of the collection holds."""
        return self._lock(_MERGES)

    async def share(self) -> None:
        """Wait while another writes all of the collection anew, and let none begin."""
        await self.run("SELECT pg_advisory_xact_lock_shared(%s)", [self._lock(_WRITES)])

    async def exclude(self) -> None:
        """Wait for those who write to the collection or merge it, and let none begin."""
        for purpose in (_MERGES, _WRITES):
            await self.run("SELECT pg_advisory_xact_lock(%s)", [self._lock(purpose)])

    def _lock(self, purpose: str) -> int:
        return self.layout.lock(owner_key(self.record.subject, self.record.name), purpose)

    async def run(
        self, template: LiteralString, parameters: Any = None, **parts: Any
    ) -> list[tuple[Any, ...]]:
        """Execute a statement; its rows, none where it returns none."""
        query = self.layout.sql(template, **parts) if parts else self.layout.fixed(template)
        cursor = await self.connection.execute(query, parameters)
        return await cursor.fetchall() if cursor.description else []

    async def commit(self, ready: Sequence[Prepared]) -> int:
        """Write the documents that are not stored just so; how many chunks."""
        self.record = await update_record(self, lambda record: _adopted(record, ready))
        stored = dict(
            await self.run(
                "SELECT name, digest FROM {documents} WHERE collection = %s AND name = ANY(%s)",
                [self.record.key, [name_key(p.given.document) for p in ready]],
            )
        )
        changed = [p for p in ready if stored.get(name_key(p.given.document)) != p.digest]
        if not changed:
            return 0
        texts = [text for prepared in changed for text in prepared.texts()]
        arrays = await anyio.to_thread.run_sync(analysed, texts)
        keys = await self._upsert_documents(changed)
        gone, gone_tokens = await remove_rows(self, keys)
        await self._insert_chunks(changed, keys, arrays)
        await self._add_geometry(changed, keys)
        tokens = int(arrays["lengths"].sum(dtype=np.int64))
        await self.count(len(texts) - gone, tokens - gone_tokens)
        return len(texts)

    async def forget(self, kept: Sequence[bytes]) -> None:
        """Remove the documents but those whose ``name_key`` is kept, which are to be written next,
        and the model with its index. No one else may write to the collection."""
        key = self.record.key
        if key is None:
            return
        rows = await self.run(
            "SELECT key FROM {documents} WHERE collection = %s AND name <> ALL(%s)",
            [key, list(kept)],
        )
        gone = [document for (document,) in rows]
        chunks, tokens = await remove_rows(self, gone)
        await self.run("DELETE FROM {documents} WHERE key = ANY(%s)", [gone])
        await self.count(-chunks, -tokens)
        await self.run("UPDATE {documents} SET digest = '' WHERE collection = %s", [key])
        await self.run(
            "UPDATE {collections} SET endpoint = '', dimension = 0, model = '' WHERE key = %s",
            [key],
        )
        index = self.layout.table(index_name(key))
        await self.run("DROP INDEX IF EXISTS {index}", index=index)
        self.record = replace(self.record, endpoint="", dimension=None, model=None)

    async def count(self, chunks: int, tokens: int) -> None:
        """Add to the collection's counts; sum their rows up when there are many."""
        ((parts,),) = await self.run(
            "INSERT INTO {totals} (collection, chunks, tokens) VALUES (%(c)s, %(n)s, %(t)s)"
            " RETURNING (SELECT count(*) FROM {totals} WHERE collection = %(c)s)",
            {"c": self.record.key, "n": chunks, "t": tokens},
        )
        if parts < _MOST_PARTS:
            return
        await self.run(
            """WITH parts AS (SELECT key FROM {totals} WHERE collection = %(c)s
                FOR UPDATE SKIP LOCKED),
            gone AS (DELETE FROM {totals} WHERE key IN (SELECT key FROM parts)
                RETURNING chunks, tokens)
            INSERT INTO {totals} (collection, chunks, tokens)
            SELECT %(c)s, sum(chunks), sum(tokens) FROM gone HAVING count(*) > 0""",
            {"c": self.record.key},
        )

    async def refresh(self, documents: Sequence[int]) -> None:
        """Make the ids and the filters' view of the documents' chunks anew; vectors stay."""
        for first in range(0, len(documents), _REFRESHED):
            await self._refresh(documents[first : first + _REFRESHED])

    async def _refresh(self, documents: Sequence[int]) -> None:
        rows = await self.run(
            _CHUNKS_OF,
            [list(documents)],
            columns=CHUNK_COLUMNS,
        )
        chunks = [
            chunk_from_row(row, subject=self.record.subject, collection=self.record.name)
            for _, *row in rows
        ]
        await self.run(
            "UPDATE {chunks} c SET id = u.id, fields = u.fields FROM"
            " unnest(%s::bigint[], %s::text[], %s::jsonb[]) u(key, id, fields)"
            " WHERE c.key = u.key",
            [
                [key for key, *_ in rows],
                [pack(chunk.id) for chunk in chunks],
                [fields_json(chunk, self.record.spec) for chunk in chunks],
            ],
        )

    async def _upsert_documents(self, prepared: Sequence[Prepared]) -> list[int]:
        """The rows of the documents, locked until the transaction ends; their keys in order."""
        given = [each.given for each in prepared]
        names = [name_key(each.document) for each in given]
        await self.run(
            "DELETE FROM {aliases} WHERE collection = %s AND name = ANY(%s)",
            [self.record.key, names],
        )
        rows = await self.run(
            "INSERT INTO {documents} (collection, name, document, title, source, content_hash,"
            " fingerprint, language, metadata, digest, chunks)"
            " SELECT %s, * FROM unnest(%s::bytea[], %s::text[], %s::text[], %s::text[],"
            " %s::text[], %s::text[], %s::text[], %s::text[], %s::bytea[], %s::int[])"
            " ON CONFLICT (collection, name) DO UPDATE SET title = excluded.title,"
            " source = excluded.source, content_hash = excluded.content_hash,"
            " fingerprint = excluded.fingerprint, language = excluded.language,"
            " metadata = excluded.metadata, digest = excluded.digest, chunks = excluded.chunks"
            " RETURNING name, key",
            [
                self.record.key,
                names,
                [pack(each.document) for each in given],
                [pack(each.title) for each in given],
                [pack(each.source) for each in given],
                [pack(each.content_hash) for each in given],
                [pack(each.fingerprint) for each in given],
                [pack(each.language) for each in given],
                [each.metadata for each in prepared],
                [each.digest for each in prepared],
                [len(each.rows) for each in prepared],
            ],
        )
        keys = dict(rows)
        return [keys[name] for name in names]

    async def _insert_chunks(
        self, changed: Sequence[Prepared], documents: Sequence[int], arrays: Arrays
    ) -> None:
        """Rows and postings of the documents' chunks."""
        lengths = arrays["lengths"].tolist()
        numbers = await self.run(
            "SELECT nextval(pg_get_serial_sequence(%s, 'key')) FROM generate_series(1, %s)",
            [self.layout.table("chunks").as_string(self.connection), len(lengths)],
        )
        keys = [key for (key,) in numbers]
        chunk_rows = []
        for prepared, document in zip(changed, documents, strict=True):
            chunk_rows += _chunk_rows(self.record, prepared, document)
        columns: LiteralString = (
            "COPY {chunks} (key, length, collection, document, chunk_index, id, fields, metadata,"
            " own, embedding) FROM STDIN (FORMAT BINARY)"
        )
        async with (
            self.connection.cursor() as cursor,
            cursor.copy(self.layout.fixed(columns)) as copy,
        ):
            copy.set_types(_TYPES)
            for key, length, row in zip(keys, lengths, chunk_rows, strict=True):
                await copy.write_row((key, length, *row))
        await self.add_segment(keys, arrays)

    async def add_segment(self, keys: Sequence[int], arrays: Arrays) -> None:
        """Write the postings of chunks, which are the rows of ``arrays``."""
        assert self.record.key is not None
        made = inverted(arrays, np.array(keys, dtype=np.int64))
        await write_segment(self.connection, self.layout, self.record.key, made.blocks(), len(keys))

    async def _add_geometry(self, prepared: Sequence[Prepared], keys: Sequence[int]) -> None:
        await self.run("DELETE FROM {geometry} WHERE document = ANY(%s)", [list(keys)])
        for each, key in zip(prepared, keys, strict=True):
            if each.geometry:
                await self.run("INSERT INTO {geometry} VALUES (%s, %s)", [key, each.geometry])


async def remove_rows(write: Write, documents: Sequence[int]) -> tuple[int, int]:
    """Remove chunks of documents; how many chunks, and terms in them, went."""
    ((chunks, tokens),) = await write.run(
        """WITH removed AS (
            DELETE FROM {chunks} WHERE document = ANY(%(d)s) RETURNING key, length),
        noted AS (INSERT INTO {gone} (collection, keys)
            SELECT %(c)s, string_agg(int8send(key), '') FROM removed HAVING count(*) > 0)
        SELECT count(*), coalesce(sum(length), 0)::bigint FROM removed""",
        {"c": write.record.key, "d": list(documents)},
    )
    return chunks, tokens


async def update_record(write: Write, change: Callable[[Record], Record]) -> Record:
    """The collection's record after ``change``, which may refuse; made and locked only when it
    changes something."""
    record = write.record
    wanted = change(record)
    if wanted == record and record.key is not None:
        return record
    await write.run(
        "INSERT INTO {collections} (owner, subject, collection, endpoint, dimension, model,"
        " analyzer, fields) VALUES (%s, %s, %s, '', 0, '', %s, '{{}}')"
        " ON CONFLICT (owner) DO NOTHING",
        [
            owner_key(record.subject, record.name),
            pack(record.subject),
            pack(record.name),
            default_analyzer().fingerprint,
        ],
    )
    locked = await read_record(
        write.connection, write.layout, record.subject, record.name, lock=True
    )
    wanted = change(locked)
    await write.run(
        "UPDATE {collections} SET endpoint = %s, dimension = %s, model = %s, alpha = %s,"
        " fields = %s WHERE key = %s",
        [
            wanted.endpoint,
            wanted.dimension or 0,
            model_text(wanted.model),
            wanted.alpha,
            spec_text(wanted.spec),
            wanted.key,
        ],
    )
    return wanted


def _adopted(record: Record, prepared: Sequence[Prepared]) -> Record:
    """The record with the documents' model and fields; the first write fixes the model."""
    for each in prepared:
        given = each.given
        dimension = int(np.asarray(given.vectors).shape[1])
        check_model(
            record.name,
            record.stored_model,
            endpoint=given.endpoint,
            model=given.model,
            dimension=dimension,
            stored_dimension=record.dimension,
        )
        spec = record.spec
        for metadata in (given.metadata, *given.chunk_metadata):
            spec = extend_spec(spec, metadata)
        record = replace(
            record,
            endpoint=record.endpoint or given.endpoint,
            dimension=dimension,
            model=record.model or given.model,
            spec=spec,
        )
    return record


def analysed(texts: Sequence[IndexedText]) -> Arrays:
    """The keyword arrays of a segment with a row for each text."""
    return keyword_arrays(default_analyzer(), [text for text, _ in texts], [c for _, c in texts])


def _chunk_rows(record: Record, prepared: Prepared, document: int) -> list[tuple[Any, ...]]:
    given = prepared.given
    vectors = stored_vectors(given.vectors, normalized=record.normalized)
    return [
        (
            record.key,
            document,
            row[0],
            pack(chunk.id),
            _JSONB + fields_json(chunk, record.spec).encode(),
            *row_texts(row, given.title, f"document {given.document!r}"),
            embedding,
        )
        for chunk, row, embedding in zip(
            stored_chunks(record.subject, record.name, given),
            prepared.rows,
            halfvec_bytes(vectors),
            strict=True,
        )
    ]
