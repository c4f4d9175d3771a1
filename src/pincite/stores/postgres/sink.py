"""``PgSink``: documents in PostgreSQL, written and managed."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, LiteralString, NamedTuple

import anyio.to_thread
from psycopg import sql

from pincite.errors import InvalidArgument
from pincite.model.documents import Collection, DocumentInfo, Geometry
from pincite.model.fields import extend_spec, full_spec
from pincite.model.filters import Filter, Nothing
from pincite.stores import checks
from pincite.stores.codec import geometry_of, key_text, metadata_text, value_of
from pincite.stores.intake import gather, refuse_misfits
from pincite.stores.postgres.filters import FilterSql
from pincite.stores.postgres.indexing import Burst, ensure_index
from pincite.stores.postgres.layout import PgTable
from pincite.stores.postgres.legs import Tuning
from pincite.stores.postgres.packing import name_key, pack, unpack
from pincite.stores.postgres.reader import PgVectorStore, alias_filter
from pincite.stores.postgres.reanalysing import reanalyse
from pincite.stores.postgres.record import Record, read_aliases, read_record, read_view
from pincite.stores.postgres.rows import halfvec_rows
from pincite.stores.postgres.segments import merge_segments, read_shape
from pincite.stores.postgres.sessions import Sessions
from pincite.stores.postgres.stats import read_stats
from pincite.stores.postgres.stored import stored_documents
from pincite.stores.postgres.writer import Write, make_ready, remove_rows, update_record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from psycopg import AsyncConnection
    from psycopg_pool import AsyncConnectionPool

    from pincite.model.chunks import EmbeddedChunk
    from pincite.model.documents import EmbeddedDocument, ModelIdentity
    from pincite.model.fields import Field
    from pincite.stores.prepare import Prepared
    from pincite.stores.threaded import QueryEmbedder

__all__ = ["PgSink"]

_INFO: Final[LiteralString] = (
    "SELECT d.document, d.title, d.source, d.content_hash, d.chunks, d.metadata, d.language,"
    " d.fingerprint FROM {documents} d WHERE d.collection = %(c)s"
)

_NAMED: Final[LiteralString] = """
SELECT key, document FROM {documents} WHERE collection = %(c)s AND (name = %(name)s
OR key = (SELECT document FROM {aliases} WHERE collection = %(c)s AND name = %(name)s))"""

_NAMED_FOR_UPDATE: Final[LiteralString] = _NAMED + " FOR UPDATE"


class PgSink:
    """Collections of any number of subjects in one schema of a PostgreSQL database.

    ``pool`` is the caller's: it is never opened or closed here. Call ``setup`` once before the
    first use. It implements ``ManagedSink``; every error of the server comes as one of ours.

    Raises ``InvalidArgument`` for a blank schema, or one that no identifier can hold.
    """

    def __init__(
        self,
        pool: AsyncConnectionPool[Any],
        schema: str = "pincite",
        *,
        embedder: QueryEmbedder | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        _check_schema(schema)
        self._sessions = self._make_sessions(pool, schema)
        self._embedder = embedder
        self._tuning = tuning or Tuning()
        self._burst = Burst(self._tuning.burst_seconds)

    def _make_sessions(self, pool: AsyncConnectionPool[Any], schema: str) -> Sessions:
        return Sessions(pool, schema)

    @property
    def table(self) -> PgTable:
        """The table of the chunks."""
        return PgTable(self._sessions.layout.table("chunks"))

    @property
    def collections_table(self) -> sql.Identifier:
        """The qualified name of the table of the collections."""
        return self._sessions.layout.table("collections")

    async def setup(self) -> None:
        """Create the pgvector extension, the schema and the tables where they are missing.

        Safe to call again and at the same time from any number of processes. Raises
        ``Unconfigured`` when the role may not create what is missing.
        """
        await self._sessions.setup()

    # -- writing

    async def upsert(
        self,
        *,
        subject: str,
        collection: str,
        document: str,
        title: str,
        chunks: list[EmbeddedChunk],
        endpoint: str,
        source: str = "",
        content_hash: str = "",
        fingerprint: str = "",
        language: str = "",
        model: ModelIdentity | None = None,
        metadata: Mapping[str, Any] | None = None,
        geometry: Geometry | None = None,
    ) -> None:
        """Write the chunks of one document in place of those it had, in one transaction.

        Raises ``ValueError``: ``InvalidArgument`` without chunks and for a metadata value that
        does not fit its field (``commit`` keeps it, not filterable), ``CollectionMismatch`` when
        the collection has another endpoint or vector length.
        """
        made = gather(
            document=document,
            title=title,
            chunks=chunks,
            endpoint=endpoint,
            source=source,
            content_hash=content_hash,
            fingerprint=fingerprint,
            language=language,
            model=model,
            metadata=metadata,
            geometry=geometry,
        )
        checks.check_owner(subject, collection)
        if made.metadata or made.chunk_metadata:
            record = await self._read(subject, collection)
            refuse_misfits(made, record.spec)
        await self.commit(subject, collection, [made])

    async def commit(
        self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]
    ) -> None:
        """Write whole documents in one transaction; what is stored already writes nothing."""
        checks.check_owner(subject, collection)
        ready = await anyio.to_thread.run_sync(make_ready, documents)
        if ready:
            await self._commit(subject, collection, ready, anew=False)

    async def rewrite(
        self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]
    ) -> None:
        """Write a collection anew in one transaction, whatever model its vectors were of.

        Raises ``InvalidArgument`` without documents.
        """
        checks.check_owner(subject, collection)
        ready = await anyio.to_thread.run_sync(make_ready, documents)
        if not ready:
            raise InvalidArgument("rewrite needs documents; delete those that are to go instead.")
        await self._commit(subject, collection, ready, anew=True)

    async def _commit(
        self, subject: str, collection: str, ready: Sequence[Prepared], *, anew: bool
    ) -> None:
        async with self._writing(subject, collection, alone=anew) as write:
            if anew:
                await write.forget([name_key(each.given.document) for each in ready])
            changed = await write.commit(ready)
            due = await self._due(write) if changed else _NOTHING_DUE
        follows = self._burst.follows(write.record)
        await self._tidy(write, due)
        if due.indexing and not self._burst.puts_off(write.record, follows=follows):
            await ensure_index(self._sessions, write.record)

    async def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents; unknown ids are passed over; how many chunks went."""
        if isinstance(documents, str):
            raise InvalidArgument("delete takes a sequence of document ids; put the id in a list.")
        async with self._writing(subject, collection) as write:
            if write.record.key is None:
                return 0
            rows = await write.run(
                """SELECT key FROM {documents} WHERE collection = %(c)s AND (name = ANY(%(names)s)
                OR key IN (SELECT document FROM {aliases}
                    WHERE collection = %(c)s AND name = ANY(%(names)s)))
                ORDER BY name FOR UPDATE""",
                {"c": write.record.key, "names": [name_key(name) for name in documents]},
            )
            keys = [key for (key,) in rows]
            if not keys:
                return 0
            chunks, tokens = await remove_rows(write, keys)
            await write.run("DELETE FROM {documents} WHERE key = ANY(%s)", [keys])
            await write.count(-chunks, -tokens)
            due = await self._due(write)
        await self._tidy(write, due)
        return chunks

    async def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; vectors stay, the old id becomes an alias.

        Raises ``InvalidArgument`` when the document is not there or ``new`` is taken or blank.
        """
        if not isinstance(new, str) or not new:
            raise InvalidArgument("A document needs an id; pass the new one.")
        key_text(new, "document id")
        async with self._writing(subject, collection) as write:
            key, old = await _named(write, document, lock=True)
            if old == new:
                return
            owner = [write.record.key, name_key(new)]
            if await write.run(
                "SELECT 1 FROM {documents} WHERE collection = %s AND name = %s", owner
            ):
                raise InvalidArgument(f"Document {new!r} is there already; delete it first.")
            await write.run("DELETE FROM {aliases} WHERE collection = %s AND name = %s", owner)
            await write.run(
                "INSERT INTO {aliases} VALUES (%s, %s, %s, %s)",
                [write.record.key, name_key(old), pack(old), key],
            )
            await write.run(
                "UPDATE {documents} SET document = %s, name = %s WHERE key = %s",
                [pack(new), name_key(new), key],
            )
            await write.refresh([key])

    async def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over.

        Raises ``InvalidArgument`` for a document that is not there.
        """
        async with self._writing(subject, collection) as write:
            for alias, document in aliases.items():
                key_text(alias, "document id")
                key, _ = await _named(write, document)
                await write.run(
                    "INSERT INTO {aliases} SELECT %(c)s, %(name)s, %(alias)s, %(key)s"
                    " WHERE NOT EXISTS (SELECT FROM {documents}"
                    " WHERE collection = %(c)s AND name = %(name)s)"
                    " ON CONFLICT (collection, name) DO UPDATE SET document = excluded.document",
                    {
                        "c": write.record.key,
                        "name": name_key(alias),
                        "alias": pack(alias),
                        "key": key,
                    },
                )

    async def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata; that of its chunks still goes over it."""
        text = metadata_text(metadata, f"document {document!r}")
        async with self._writing(subject, collection) as write:
            key, _ = await _named(write, document, lock=True)
            write.record = await update_record(
                write, lambda record: replace(record, spec=extend_spec(record.spec, metadata))
            )
            # The digest was that of the old metadata.
            await write.run(
                "UPDATE {documents} SET metadata = %s, digest = '' WHERE key = %s", [text, key]
            )
            await write.refresh([key])

    async def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields; one that differs from a stored type is refused."""
        checks.check_owner(subject, collection)
        declared = full_spec(fields).fields

        def change(record: Record) -> Record:
            for name, wanted in declared.items():
                if (known := record.spec.fields.get(name, wanted)) != wanted:
                    raise InvalidArgument(
                        f"Field {name!r} is {known.type} already, not {wanted.type};"
                        " use another name, or write the collection anew."
                    )
            return replace(record, spec=full_spec({**record.spec.fields, **declared}))

        async with self._writing(subject, collection) as write:
            before = write.record
            write.record = await update_record(write, change)
            if write.record.spec != before.spec:
                rows = await write.run(
                    "SELECT key FROM {documents} WHERE collection = %s ORDER BY name FOR UPDATE",
                    [write.record.key],
                )
                await write.refresh([key for (key,) in rows])

    async def reanalyse(self, subject: str, collection: str) -> int:
        """Make the keyword side anew from the stored texts, after an update of the analyser; how
        many chunks. Searches see the old one until it is done, writers wait. Vectors stay."""
        async with self._writing(subject, collection, alone=True) as write:
            return await reanalyse(write) if write.record.key is not None else 0

    async def index_vectors(self, subject: str, collection: str) -> bool:
        """Make the index on the collection's vectors now, however few they are; whether there is
        one. Commits make it by themselves (``Tuning``)."""
        return await ensure_index(self._sessions, await self._read(subject, collection))

    async def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None:
        """The weight of the vector side in ``hybrid`` where a query gives none; None is the
        default of all stores."""
        checks.check_alpha(alpha)
        checks.check_owner(subject, collection)
        async with self._writing(subject, collection) as write:
            await update_record(write, lambda record: replace(record, alpha=alpha))

    # -- reading

    async def list(self, subject: str) -> builtins.list[Collection]:
        """The collections of a subject that hold chunks, in name order."""
        async with self._sessions.reading() as connection:
            cursor = await connection.execute(
                self._sessions.layout.sql(
                    "SELECT c.collection, count(*), sum(d.chunks)::bigint FROM {collections} c"
                    " JOIN {documents} d ON d.collection = c.key WHERE c.subject = %s"
                    " GROUP BY c.collection ORDER BY c.collection"
                ),
                [pack(subject)],
            )
            return [Collection(unpack(name), *counts) for name, *counts in await cursor.fetchall()]

    async def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> builtins.list[DocumentInfo]:
        """The documents (those with a chunk that matches ``where``), ordered by id."""
        async with self._sessions.reading() as connection:
            layout = self._sessions.layout
            record = await read_record(connection, layout, subject, collection)
            folded = checks.check_where(where, record.spec)
            if isinstance(folded, Nothing) or record.key is None:
                return []
            kept = FilterSql(await alias_filter(connection, layout, record, folded), record.spec)
            query = layout.sql(_INFO)
            if kept.restricts:
                query += layout.sql(
                    " AND d.key IN (SELECT c.document FROM {chunks} c"
                    " WHERE c.collection = %(c)s AND {condition})",
                    condition=kept.condition,
                )
            cursor = await connection.execute(
                query + layout.sql(" ORDER BY d.document"), {**kept.parameters, "c": record.key}
            )
            return [_info(*row) for row in await cursor.fetchall()]

    async def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]:
        """The document's vectors as stored, in chunk order, shape (chunks, dimension).

        Raises ``InvalidArgument`` when the document is not there.
        """
        async with self._sessions.reading() as connection:
            found = await self._write(connection, subject, collection)
            key, _ = await _named(found, document)
            async with connection.cursor(binary=True) as cursor:
                await cursor.execute(
                    self._sessions.layout.sql(
                        "SELECT embedding FROM {chunks} WHERE document = %s ORDER BY key"
                    ),
                    [key],
                )
                rows = halfvec_rows([value for (value,) in await cursor.fetchall()])
        return rows.astype("float32")

    async def geometry(self, subject: str, collection: str, document: str) -> Geometry | None:
        """What the parser found of the document's pages and words; None when nothing was given,
        and for a document that is not there."""
        async with self._sessions.reading() as connection:
            found = await self._write(connection, subject, collection)
            row = await _find(found, document)
            data = row and await found.run(
                "SELECT data FROM {geometry} WHERE document = %s", [row[0]]
            )
        return geometry_of(data[0][0], f"geometry of {document!r}") if data else None

    async def aliases(self, subject: str, collection: str) -> dict[str, str]:
        """Old document ids and what they are called now."""
        async with self._sessions.reading() as connection:
            layout = self._sessions.layout
            record = await read_record(connection, layout, subject, collection)
            found = await read_aliases(connection, layout, record)
        return {unpack(old): unpack(new) for old, new in found.items()}

    async def stored_documents(
        self, subject: str, collection: str
    ) -> AsyncGenerator[EmbeddedDocument]:
        """Every document of one committed state, ordered by id, with its vectors as stored
        (float16). Readers and writers go on meanwhile."""
        async with self._sessions.reading() as connection:
            found = stored_documents(connection, self._sessions.layout, subject, collection)
            async for document in found:
                yield document

    async def alpha(self, subject: str, collection: str) -> float | None:
        """The weight that ``set_alpha`` gave."""
        return (await self._read(subject, collection)).alpha

    async def model(self, subject: str, collection: str) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity of the collection's vectors, None before the first write."""
        return (await self._read(subject, collection)).stored_model

    async def stats(self, subject: str, collection: str) -> dict[str, Any]:
        """Counts of a collection, its model, and the bytes of all tables of the schema."""
        async with self._sessions.reading() as connection:
            layout = self._sessions.layout
            return await read_stats(connection, layout, subject, collection)

    def reader(self, subject: str, collections: Sequence[str]) -> PgVectorStore:
        """A search port over some collections of a subject; it sees later writes; no I/O."""
        if isinstance(collections, str):
            raise InvalidArgument("reader takes a sequence of collections; put the name in a list.")
        for collection in collections:
            checks.check_owner(subject, collection)
        return PgVectorStore(
            self._sessions, subject, collections, embedder=self._embedder, tuning=self._tuning
        )

    async def aclose(self) -> None:
        """Make the indexes that were put off; the pool is the caller's and stays open."""
        for record in self._burst.left():
            await ensure_index(self._sessions, record)

    # -- how

    async def _read(self, subject: str, collection: str) -> Record:
        async with self._sessions.reading() as connection:
            return await read_record(connection, self._sessions.layout, subject, collection)

    async def _write(
        self, connection: AsyncConnection[Any], subject: str, collection: str
    ) -> Write:
        layout = self._sessions.layout
        record = await read_record(connection, layout, subject, collection)
        return Write(connection, layout, record)

    @asynccontextmanager
    async def _writing(
        self, subject: str, collection: str, *, alone: bool = False
    ) -> AsyncIterator[Write]:
        """A transaction that writes to a collection, beside others or ``alone``."""
        async with self._sessions.writing() as connection:
            write = Write(connection, self._sessions.layout, Record(subject, collection))
            await (write.exclude() if alone else write.share())
            yield await self._write(connection, subject, collection)

    async def _due(self, write: Write) -> _Due:
        """What is left to do once the transaction is committed."""
        record = write.record
        shape = await read_shape(write.connection, write.layout, record.key)
        _, totals = await read_view(write.connection, write.layout, record.subject, record.name)
        return _Due(
            merging=shape.is_due,
            indexing=totals.chunks >= self._tuning.index_rows and not totals.indexed,
        )

    async def _tidy(self, write: Write, due: _Due) -> None:
        if due.merging:
            await merge_segments(self._sessions, write.record, write.merge_lock)


class _Due(NamedTuple):
    merging: bool = False
    indexing: bool = False


_NOTHING_DUE: Final = _Due()


async def _find(write: Write, document: str, *, lock: bool = False) -> tuple[int, str] | None:
    """Key and id of a document, by its id or an old one."""
    rows = await write.run(
        _NAMED_FOR_UPDATE if lock else _NAMED,
        {"c": write.record.key, "name": name_key(document)},
    )
    return (rows[0][0], unpack(rows[0][1])) if rows else None


async def _named(write: Write, document: str, *, lock: bool = False) -> tuple[int, str]:
    found = await _find(write, document, lock=lock)
    if found is None:
        raise InvalidArgument(
            f"There is no document {document!r} in this collection; documents() lists them."
        )
    return found


def _info(
    document: str,
    title: str,
    source: str,
    content_hash: str,
    chunks: int,
    metadata: str,
    language: str,
    fingerprint: str,
) -> DocumentInfo:
    return DocumentInfo(
        unpack(document),
        unpack(title),
        unpack(source),
        unpack(content_hash),
        chunks,
        value_of(metadata),
        language,
        unpack(fingerprint),
    )


def _check_schema(schema: str) -> None:
    usable = isinstance(schema, str) and schema.strip() and not {"\0", "%"} & set(schema)
    if not usable or len(schema.encode("utf-8", "replace")) > 63:
        raise InvalidArgument(
            f"schema is {schema!r}; pass the name of a schema, of at most 63 bytes and"
            " without NUL and %."
        )
