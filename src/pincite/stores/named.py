"""One collection of a store, by URI and name: ``instantiate_vector_store``."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from logging import Logger
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from pincite.errors import InvalidArgument
from pincite.stores.checks import check_owner
from pincite.stores.chroma import CHROMA_HNSW_SPACE
from pincite.stores.uri import open_store, parse_uri, uri_subject

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.stores.ports import ManagedSink, VectorStore
    from pincite.stores.threaded import QueryEmbedder

__all__ = ["CHROMA_HNSW_SPACE", "NamedStore", "instantiate_vector_store"]

_MADE_ON_FIRST_WRITE: Final = frozenset({"qdrant", "postgresql", "postgres", "pgvector"})


@dataclass(frozen=True, slots=True)
class NamedStore:
    """A store, and the subject and collection of it that were asked for."""

    store: ManagedSink
    subject: str
    collection: str

    def reader(self) -> VectorStore:
        """A search port over the collection; its name is the target."""
        return self.store.reader(self.subject, [self.collection])

    async def aclose(self) -> None:
        """Release what the store holds."""
        await self.store.aclose()


def instantiate_vector_store(
    path: str, name: str, embeddings: object, logger: Logger, create: bool = False
) -> NamedStore:
    """Open the collection ``name`` of the store at ``path``, ``scheme:location``.

    The scheme ends at the first colon and may be written in any case; ``?subject=`` names another
    subject than "local". ``embeddings`` embeds queries: an object with ``embed_query``, sync or
    async, or None. With ``create`` a store that is not there is made; Qdrant and PostgreSQL make
    theirs on the first write in any case. A folder of Chroma holds any number of collections: a new
    name makes a new one there, with the distance ``CHROMA_HNSW_SPACE``; one that exists keeps its
    own.

    Raises ``ValueError`` for a missing or unknown scheme or a blank name, and
    ``FileNotFoundError`` for a path that is a file, or is absent without ``create``.
    """
    scheme = parse_uri(path).scheme
    subject = uri_subject(path)
    check_owner(subject, name)
    store = open_store(
        path, create=create or scheme in _MADE_ON_FIRST_WRITE, embedder=_embedder(embeddings)
    )
    logger.info("Opened collection %r of the %s store", name, scheme)
    return NamedStore(store, subject, name)


def _embedder(embeddings: object) -> QueryEmbedder | None:
    if embeddings is None:
        return None
    embed: Any = getattr(embeddings, "embed_query", None)
    if embed is None:
        raise InvalidArgument(
            f"embeddings is a {type(embeddings).__name__} without embed_query; pass an Embedder,"
            " LangChain's Embeddings, or None."
        )
    if inspect.iscoroutinefunction(embed):
        given: Any = embeddings
        made: QueryEmbedder = given
        return made
    return _SyncEmbedder(embed)


class _SyncEmbedder:
    """Embeds a query by a function that is not a coroutine's."""

    def __init__(self, embed: Any) -> None:
        self._embed = embed

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape (dimension,)."""
        import numpy as np

        found = await anyio.to_thread.run_sync(self._embed, text)
        return np.asarray(found, dtype=np.float32)
