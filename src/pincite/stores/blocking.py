"""The sync core of an async store: every call goes through one event loop in a thread of its own.

The mirror of ``threaded``, for stores that live behind a network.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.model.documents import (
        Collection,
        DocumentInfo,
        EmbeddedDocument,
        Geometry,
        ModelIdentity,
    )
    from pincite.model.fields import Field, FieldSpec
    from pincite.model.filters import Filter
    from pincite.model.hits import Chunk, Explanation, Hit
    from pincite.stores.ports import ManagedSink, Target, VectorStore

    class AsyncReader(VectorStore, Protocol):
        """A search port whose ``hybrid`` takes an offset, and that explains and lists chunks."""

        async def hybrid(
            self,
            target: Target,
            *,
            query: str,
            vector: Sequence[float] | None = None,
            limit: int,
            where: Filter | None = None,
            alpha: float | None = None,
            offset: int = 0,
        ) -> Sequence[Hit]: ...

        async def explain(
            self, target: Target, *, query: str, chunks: Sequence[Chunk]
        ) -> Sequence[Explanation]: ...

        async def all_chunks(self) -> Sequence[Chunk]: ...

    class AsyncStore(ManagedSink, Protocol):
        """A managed sink that also tells its model and its counts."""

        async def model(
            self, subject: str, collection: str
        ) -> tuple[str, ModelIdentity | None] | None: ...

        async def stats(self, subject: str, collection: str) -> dict[str, Any]: ...

        async def rewrite(
            self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]
        ) -> None: ...

        def stored_documents(
            self, subject: str, collection: str
        ) -> AsyncGenerator[EmbeddedDocument]: ...

        async def aliases(self, subject: str, collection: str) -> Mapping[str, str]: ...

        async def add_aliases(
            self, subject: str, collection: str, aliases: Mapping[str, str]
        ) -> None: ...

        async def alpha(self, subject: str, collection: str) -> float | None: ...

        async def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None: ...

        def reader(self, subject: str, collections: Sequence[str]) -> AsyncReader: ...


__all__ = ["Blocking", "BlockingReader"]

T = TypeVar("T")


class _Loop:
    """One event loop, started at the first call; safe to share between threads."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the loop and wait for what it returns or raises."""
        with self._starting:
            if self._portal is None:
                self._portal = self._stack.enter_context(start_blocking_portal())
            portal = self._portal
        result: T = portal.call(work)
        return result

    @property
    def is_running(self) -> bool:
        return self._portal is not None

    def stop(self) -> None:
        """End the loop; the next call starts another."""
        with self._starting:
            self._portal = None
            self._stack.close()


class Blocking:
    """A ``SyncStore`` over an async store, which it owns: ``close`` closes both.

    The store underneath is ``async_store``. Do not call it from a coroutine: it would block the
    event loop that it runs in.
    """

    def __init__(self, async_store: AsyncStore) -> None:
        self.async_store = async_store
        self._loop = _Loop()

    def setup(self) -> None:
        """Create what the store needs."""
        self._loop.call(self.async_store.setup)

    def commit(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write whole documents; all of them durable on return."""
        self._loop.call(partial(self.async_store.commit, subject, collection, documents))

    def rewrite(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write a collection anew, whatever model its vectors were of."""
        self._loop.call(partial(self.async_store.rewrite, subject, collection, documents))

    def list(self, subject: str) -> builtins.list[Collection]:
        """The collections of a subject that hold chunks, in name order."""
        return builtins.list(self._loop.call(partial(self.async_store.list, subject)))

    def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> builtins.list[DocumentInfo]:
        """The documents (those with a chunk that matches ``where``), ordered by id."""
        work = partial(self.async_store.documents, subject, collection, where)
        return builtins.list(self._loop.call(work))

    def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents from rows and both legs; how many chunks went."""
        return self._loop.call(partial(self.async_store.delete, subject, collection, documents))

    def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; the old one becomes an alias."""
        self._loop.call(partial(self.async_store.rename, subject, collection, document, new))

    def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata."""
        self._loop.call(
            partial(self.async_store.set_metadata, subject, collection, document, metadata)
        )

    def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]:
        """The document's vectors in chunk order, shape (chunks, dimension)."""
        return self._loop.call(partial(self.async_store.vectors, subject, collection, document))

    def geometry(self, subject: str, collection: str, document: str) -> Geometry | None:
        """What the parser found of the document's pages and words."""
        return self._loop.call(partial(self.async_store.geometry, subject, collection, document))

    def model(self, subject: str, collection: str) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity of the collection's vectors, None before the first write."""
        return self._loop.call(partial(self.async_store.model, subject, collection))

    def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields."""
        self._loop.call(partial(self.async_store.declare, subject, collection, fields))

    def stored_documents(self, subject: str, collection: str) -> Iterator[EmbeddedDocument]:
        """Every document of one committed state, ordered by id, with its vectors as stored."""
        documents = self.async_store.stored_documents(subject, collection)

        async def following() -> EmbeddedDocument | None:
            return await anext(documents, None)

        try:
            while (document := self._loop.call(following)) is not None:
                yield document
        finally:
            self._loop.call(documents.aclose)

    def aliases(self, subject: str, collection: str) -> Mapping[str, str]:
        """Old document ids and what they are called now."""
        return self._loop.call(partial(self.async_store.aliases, subject, collection))

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents."""
        self._loop.call(partial(self.async_store.add_aliases, subject, collection, aliases))

    def alpha(self, subject: str, collection: str) -> float | None:
        """The collection's own weight of the vector side, None for the default of all stores."""
        return self._loop.call(partial(self.async_store.alpha, subject, collection))

    def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None:
        """Set that weight."""
        self._loop.call(partial(self.async_store.set_alpha, subject, collection, alpha))

    def stats(self, subject: str, collection: str) -> dict[str, Any]:
        """Counts of a collection."""
        return self._loop.call(partial(self.async_store.stats, subject, collection))

    def reader(self, subject: str, collections: Sequence[str]) -> BlockingReader:
        """A search port over some collections of a subject; no I/O."""
        return BlockingReader(self.async_store.reader(subject, collections), self._loop)

    def close(self) -> None:
        """Close the store and end the event loop."""
        try:
            if self._loop.is_running:
                self._loop.call(self.async_store.aclose)
        finally:
            self._loop.stop()


class BlockingReader:
    """A ``SyncReader`` over an async search port."""

    def __init__(self, async_reader: AsyncReader, loop: _Loop) -> None:
        self.async_reader = async_reader
        self._loop = loop

    def hybrid(
        self,
        target: Target,
        *,
        query: str,
        vector: Sequence[float] | None = None,
        limit: int,
        where: Filter | None = None,
        alpha: float | None = None,
        offset: int = 0,
    ) -> list[Hit]:
        """Both legs, fused."""
        work = partial(
            self.async_reader.hybrid,
            target,
            query=query,
            vector=vector,
            limit=limit,
            where=where,
            alpha=alpha,
            offset=offset,
        )
        return list(self._loop.call(work))

    def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Rank by similarity to ``vector`` alone."""
        work = partial(
            self.async_reader.near_vector, target, vector=vector, limit=limit, where=where
        )
        return list(self._loop.call(work))

    def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Rank by keyword match alone."""
        work = partial(self.async_reader.bm25, target, query=query, limit=limit, where=where)
        return list(self._loop.call(work))

    def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> list[Chunk]:
        """Chunks matching ``where``, unscored."""
        work = partial(
            self.async_reader.fetch,
            target,
            where=where,
            limit=limit,
            order_by=order_by,
            descending=descending,
        )
        return list(self._loop.call(work))

    def fields(self, target: Target) -> FieldSpec:
        """The stored fields of ``target``."""
        return self._loop.call(partial(self.async_reader.fields, target))

    def explain(self, target: Target, *, query: str, chunks: Sequence[Chunk]) -> list[Explanation]:
        """How each chunk's keyword score comes about."""
        work = partial(self.async_reader.explain, target, query=query, chunks=chunks)
        return list(self._loop.call(work))

    def all_chunks(self) -> Iterable[Chunk]:
        """Every chunk of the reader's collections."""
        return self._loop.call(self.async_reader.all_chunks)
