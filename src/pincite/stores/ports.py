"""What a store must offer: the async ports, and the sync core of the stores that run in process.

The order of checks is the same everywhere: unknown target, ``validate(where)``, arguments,
``Unconfigured``, and last NOTHING, answered empty without calling the backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pincite.model.fields import Field, FieldSpec
from pincite.model.filters import Filter
from pincite.model.hits import Chunk, Explanation, Hit

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

__all__ = ["ManagedSink", "Sink", "Store", "SyncReader", "SyncStore", "Target", "VectorStore"]

Target = str
"""A collection's name inside one ``reader(subject, collections)``."""


@runtime_checkable
class VectorStore(Protocol):
    """Search-side access to one or more targets of chunks.

    Every search returns at most ``limit`` hits, best first; ``where`` restricts candidates before
    scoring. Every method raises ``InvalidQueryError`` for an unknown target, a filter it will not
    serve or an argument out of range, ``StoreUnavailable`` when the backend gave no answer, and
    ``Unconfigured`` when the store as built cannot serve the call.
    """

    async def hybrid(
        self,
        target: Target,
        *,
        query: str,
        vector: Sequence[float] | None = None,
        limit: int,
        where: Filter | None = None,
        alpha: float | None = None,
    ) -> Sequence[Hit]:
        """Combine a vector match with a keyword match on ``query``.

        ``alpha`` weighs the vector side: 1.0 is pure vector, 0.0 pure keyword, None the
        collection's default. ``vector=None`` leaves embedding to the store, which raises
        ``Unconfigured`` when it has no embedder.
        """
        ...

    async def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> Sequence[Hit]:
        """Rank by similarity to ``vector`` alone."""
        ...

    async def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> Sequence[Hit]:
        """Rank by keyword match alone; chunks matching no term are not returned."""
        ...

    async def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> Sequence[Chunk]:
        """Chunks matching ``where``, unscored; an ``order_by`` not in ``fields`` is refused."""
        ...

    async def fields(self, target: Target) -> FieldSpec:
        """The stored fields of ``target`` and which of them a filter may name."""
        ...


@runtime_checkable
class Sink(Protocol):
    """A store that keeps the embedded chunks of each document, by subject and collection."""

    async def upsert(
        self,
        *,
        subject: str,
        collection: str,
        document: str,
        title: str,
        chunks: list[EmbeddedChunk],
        endpoint: str,
    ) -> None:
        """Write the chunks of one document in place of those it had; never an empty list."""
        ...


class ManagedSink(Protocol):
    """A sink that also lists, deletes, renames, and hands out readers."""

    async def setup(self) -> None:
        """Create what the store needs; safe to call again and at the same time."""
        ...

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
        """``Sink.upsert`` with what else is known of the document."""
        ...

    async def commit(
        self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]
    ) -> None:
        """Write whole documents, each in place of what it had; all of them durable on return."""
        ...

    async def list(self, subject: str) -> Sequence[Collection]:
        """The collections of a subject that hold chunks, in name order."""
        ...

    async def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> Sequence[DocumentInfo]:
        """The documents (those with a chunk that matches ``where``), ordered by id."""
        ...

    async def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents from rows and both legs; how many chunks went."""
        ...

    async def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; vectors stay, the old id becomes an alias."""
        ...

    async def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata; no vector changes."""
        ...

    async def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]:
        """The document's vectors in chunk order, shape (chunks, dimension)."""
        ...

    async def geometry(self, subject: str, collection: str, document: str) -> Geometry | None:
        """What the parser found of the document's pages and words."""
        ...

    async def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields; a type that differs from a stored one is refused."""
        ...

    def reader(self, subject: str, collections: Sequence[str]) -> VectorStore:
        """A search port over some collections of a subject; no I/O."""
        ...

    async def aclose(self) -> None:
        """Release what the store holds."""
        ...


Store = ManagedSink
"""What ``open_store`` returns."""


class SyncReader(Protocol):
    """The sync core of ``VectorStore``: the same calls, the same errors, in the caller's thread.

    ``hybrid`` also takes ``offset``: the depth of its legs follows from ``limit`` alone.
    ``explain`` says how each chunk's keyword score comes about, in the order of ``chunks``.
    """

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
    ) -> list[Hit]: ...

    def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> list[Hit]: ...

    def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> list[Hit]: ...

    def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> list[Chunk]: ...

    def fields(self, target: Target) -> FieldSpec: ...

    def explain(
        self, target: Target, *, query: str, chunks: Sequence[Chunk]
    ) -> list[Explanation]: ...

    def all_chunks(self) -> Iterable[Chunk]: ...


class SyncStore(Protocol):
    """The sync core of ``ManagedSink``; ``stores.threaded.Threaded`` makes the async port of it."""

    def setup(self) -> None: ...

    def commit(
        self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]
    ) -> None: ...

    def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> list[DocumentInfo]: ...

    def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int: ...

    def rename(self, subject: str, collection: str, document: str, new: str) -> None: ...

    def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None: ...

    def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]: ...

    def geometry(self, subject: str, collection: str, document: str) -> Geometry | None: ...

    def model(self, subject: str, collection: str) -> tuple[str, ModelIdentity | None] | None: ...

    def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None: ...

    def stats(self, subject: str, collection: str) -> dict[str, Any]: ...

    def reader(self, subject: str, collections: Sequence[str]) -> SyncReader: ...

    def close(self) -> None: ...

    def list(self, subject: str) -> list[Collection]: ...
