"""The async port of a store that runs in this process: each call hops to a worker thread."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio.to_thread

from pincite.errors import InvalidQueryError
from pincite.model.filters import Filter, Nothing, simplify
from pincite.stores import checks, hybrid
from pincite.stores.intake import gather, refuse_misfits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.model.chunks import EmbeddedChunk
    from pincite.model.documents import (
        Collection,
        DocumentInfo,
        EmbeddedDocument,
        Geometry,
        ModelIdentity,
    )
    from pincite.model.fields import Field, FieldSpec
    from pincite.model.hits import Chunk, Hit
    from pincite.stores.ports import SyncReader, SyncStore, Target

__all__ = ["QueryEmbedder", "Threaded", "ThreadedReader"]

T = TypeVar("T")


class QueryEmbedder(Protocol):
    """What a store needs to embed a query itself; ``embedding.Embedder`` is one."""

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape (dimension,)."""
        ...


class Threaded:
    """A ``ManagedSink`` over a ``SyncStore``.

    ``embedder`` lets readers embed the query of ``hybrid`` when no vector is given; its errors
    pass through. The store underneath is ``sync_store``.
    """

    def __init__(self, sync_store: SyncStore, embedder: QueryEmbedder | None = None) -> None:
        self.sync_store = sync_store
        self._embedder = embedder

    async def setup(self) -> None:
        """Create what the store needs."""
        await _hop(self.sync_store.setup)

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
        """Write the chunks of one document in place of those it had.

        A metadata value that does not fit its field is refused with ``InvalidArgument``;
        ``commit`` keeps it, not filterable.
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
        await _hop(self._commit_fitting, subject, collection, made)

    async def commit(
        self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]
    ) -> None:
        """Write whole documents; all of them durable on return."""
        await _hop(self.sync_store.commit, subject, collection, documents)

    async def list(self, subject: str) -> Sequence[Collection]:
        """The collections of a subject that hold chunks, in name order."""
        return await _hop(self.sync_store.list, subject)

    async def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> Sequence[DocumentInfo]:
        """The documents (those with a chunk that matches ``where``), ordered by id."""
        return await _hop(self.sync_store.documents, subject, collection, where)

    async def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents from rows and both legs; how many chunks went."""
        return await _hop(self.sync_store.delete, subject, collection, documents)

    async def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; the old one becomes an alias."""
        await _hop(self.sync_store.rename, subject, collection, document, new)

    async def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata."""
        await _hop(self.sync_store.set_metadata, subject, collection, document, metadata)

    async def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]:
        """The document's vectors in chunk order, shape (chunks, dimension)."""
        return await _hop(self.sync_store.vectors, subject, collection, document)

    async def geometry(self, subject: str, collection: str, document: str) -> Geometry | None:
        """What the parser found of the document's pages and words."""
        return await _hop(self.sync_store.geometry, subject, collection, document)

    async def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields."""
        await _hop(self.sync_store.declare, subject, collection, fields)

    def reader(self, subject: str, collections: Sequence[str]) -> ThreadedReader:
        """A search port over some collections of a subject; no I/O."""
        names = collections if isinstance(collections, str) else tuple(collections)
        return ThreadedReader(self.sync_store.reader(subject, names), self._embedder)

    async def aclose(self) -> None:
        """Release what the store holds."""
        await _hop(self.sync_store.close)

    def _commit_fitting(self, subject: str, collection: str, document: EmbeddedDocument) -> None:
        checks.check_owner(subject, collection)
        refuse_misfits(document, self.sync_store.reader(subject, [collection]).fields(collection))
        self.sync_store.commit(subject, collection, [document])


class ThreadedReader:
    """A ``VectorStore`` over a ``SyncReader``.

    A filter that keeps nothing is answered in the caller's thread: the reader only looks at its
    field types for it.
    """

    def __init__(self, reader: SyncReader, embedder: QueryEmbedder | None = None) -> None:
        self.sync_reader = reader
        self._embedder = embedder

    async def hybrid(
        self,
        target: Target,
        *,
        query: str,
        vector: Sequence[float] | None = None,
        limit: int,
        where: Filter | None = None,
        alpha: float | None = None,
    ) -> list[Hit]:
        """Both legs, fused; embeds the query when there is no vector and an embedder."""
        if vector is None and self._embedder is not None:
            return await self._embedded(self._embedder, target, query, limit, where, alpha)
        call = partial(
            self.sync_reader.hybrid,
            target,
            query=query,
            vector=vector,
            limit=limit,
            where=where,
            alpha=alpha,
        )
        return await _answer(where, call)

    async def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Rank by similarity to ``vector`` alone."""
        call = partial(
            self.sync_reader.near_vector, target, vector=vector, limit=limit, where=where
        )
        return await _answer(where, call)

    async def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Rank by keyword match alone."""
        call = partial(self.sync_reader.bm25, target, query=query, limit=limit, where=where)
        return await _answer(where, call)

    async def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> list[Chunk]:
        """Chunks matching ``where``, unscored."""
        call = partial(
            self.sync_reader.fetch,
            target,
            where=where,
            limit=limit,
            order_by=order_by,
            descending=descending,
        )
        return await _answer(where, call)

    async def fields(self, target: Target) -> FieldSpec:
        """The stored fields of ``target``."""
        return await _hop(self.sync_reader.fields, target)

    async def all_chunks(self) -> list[Chunk]:
        """Every chunk of the reader's collections."""
        return await _hop(lambda: builtins.list(self.sync_reader.all_chunks()))

    async def _embedded(
        self,
        embedder: QueryEmbedder,
        target: Target,
        query: str,
        limit: int,
        where: Filter | None,
        alpha: float | None,
    ) -> list[Hit]:
        """Hybrid without a vector: checked first, so that a refused call embeds nothing."""
        check = partial(self._check_embedded, target, query, limit, where, alpha)
        if isinstance(await _answer(where, check), Nothing) or not query.strip():
            return []
        legs = hybrid.plan(query=query, limit=limit, alpha=alpha)
        if not legs.vector:
            found = await self.bm25(target, query=query, limit=legs.depth, where=where)
            return hybrid.fuse_hits(found, (), alpha=legs.alpha, limit=limit)
        vector = [float(value) for value in await embedder.embed_query(query)]
        return await self.hybrid(
            target, query=query, vector=vector, limit=limit, where=where, alpha=alpha
        )

    def _check_embedded(
        self, target: Target, query: str, limit: int, where: Filter | None, alpha: float | None
    ) -> Filter | None:
        return checks.check_hybrid(
            self.sync_reader.fields(target),
            query=query,
            vector=None,
            dimension=None,
            limit=limit,
            where=where,
            alpha=alpha,
            can_embed=True,
        )


async def _answer(where: Filter | None, call: Callable[[], T]) -> T:
    """Run a reader's call in a thread, or here when its filter keeps nothing."""
    return call() if _keeps_nothing(where) else await _hop(call)


def _keeps_nothing(where: Filter | None) -> bool:
    try:
        return isinstance(simplify(where), Nothing)
    except InvalidQueryError:
        return False  # the reader's own checks refuse it, in their order


async def _hop(call: Callable[..., T], *args: Any) -> T:
    return await anyio.to_thread.run_sync(partial(call, *args))
