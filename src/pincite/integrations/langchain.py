"""LangChain: a vector store, a retriever, and embeddings both ways.

from pincite.integrations.langchain import PinciteVectorStore

store = PinciteVectorStore.open("local:.pincite", embedding=my_embeddings)
store.add_texts(["Quartz veins may hold gold."], metadatas=[{"year": 2020}])
store.as_retriever(search_kwargs={"k": 3, "filter": "year >= 2020"}).invoke("gold")
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from pincite.errors import InvalidArgument, MissingExtra
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.filters import DeclaredFilter
from pincite.model.hits import Chunk
from pincite.retrieval.base import MetadataFilter, as_filter
from pincite.stores.uri import open_sync_store, uri_subject

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
except ImportError as error:
    raise MissingExtra(
        "pincite.integrations.langchain needs the extra [langchain], which is not installed:"
        " pip install 'pincite[langchain]'."
    ) from error

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.embedding.embedder import Embedder
    from pincite.library.core import Library
    from pincite.stores.ports import SyncReader, SyncStore

__all__ = [
    "LangChainClient",
    "PinciteEmbeddings",
    "PinciteRetriever",
    "PinciteVectorStore",
    "to_document",
]

Mode = Literal["hybrid", "keyword", "vector"]


def to_document(chunk: Chunk) -> Document:
    """A chunk as a LangChain document.

    One that LangChain wrote comes back as it was given. Of others the id is the chunk's, and the
    metadata also says where it stands: document, source, title, pages, headings, start_char,
    end_char.
    """
    if not chunk.title and not chunk.source:
        return Document(
            id=chunk.document, page_content=chunk.content, metadata=dict(chunk.metadata)
        )
    place = {
        "document": chunk.document,
        "source": chunk.source,
        "title": chunk.title,
        "pages": list(chunk.pages),
        "headings": chunk.context_header.split(" > ") if chunk.context_header else [],
        "start_char": chunk.start_char,
        "end_char": chunk.end_char,
    }
    metadata = {**place, **chunk.metadata}
    return Document(id=chunk.id, page_content=chunk.content, metadata=metadata)


class PinciteVectorStore(VectorStore):
    """One collection of a store as a LangChain vector store.

    A text becomes a document of one chunk under its id. Searches are hybrid unless ``mode`` says
    otherwise; scores are then those of the fusion, comparable within one result only, and with
    ``mode="vector"`` cosines. ``filter`` takes a ``pincite`` filter, its text or its dict form.
    """

    def __init__(
        self,
        store: SyncStore,
        *,
        collection: str = "default",
        subject: str = "local",
        embedding: Embeddings,
        mode: Mode = "hybrid",
        endpoint: str = "",
    ) -> None:
        """``endpoint`` names the model of ``embedding``; without one its class does."""
        if mode not in ("hybrid", "keyword", "vector"):
            raise InvalidArgument(f"mode is {mode!r}; choose hybrid, keyword or vector.")
        self.store = store
        self.collection = collection
        self.subject = subject
        self.mode = mode
        self._embedding = embedding
        self._endpoint = endpoint or f"langchain--{type(embedding).__name__}"

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        collection: str = "default",
        embedding: Embeddings,
        mode: Mode = "hybrid",
        create: bool = True,
    ) -> Self:
        """Open a collection by the URI of its store."""
        store = open_sync_store(uri, create=create)
        store.setup()
        subject = uri_subject(uri)
        return cls(store, collection=collection, subject=subject, embedding=embedding, mode=mode)

    @property
    def embeddings(self) -> Embeddings:
        """What embeds texts and queries."""
        return self._embedding

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        uri: str = "memory:",
        collection: str = "default",
        **kwargs: Any,
    ) -> Self:
        """A store of some texts, in memory unless ``uri`` names another."""
        _refuse(kwargs)
        made = cls.open(uri, collection=collection, embedding=embedding)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Write texts, each in place of the one under its id; their ids, new where none is given.

        Raises ``InvalidArgument`` for lists of different lengths.
        """
        _refuse(kwargs)
        contents = list(texts)
        if not contents:
            return []
        named = [given or str(uuid.uuid4()) for given in ids or [""] * len(contents)]
        about = metadatas or [{} for _ in contents]
        if not len(contents) == len(named) == len(about):
            raise InvalidArgument("Give one id and one metadata for each text, or none at all.")
        vectors = np.array(self._embedding.embed_documents(contents), dtype=np.float32)
        rows = zip(named, contents, about, vectors, strict=True)
        self.store.commit(self.subject, self.collection, [self._made(*row) for row in rows])
        return named

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Remove texts by id; unknown ids are passed over."""
        _refuse(kwargs)
        if ids is None:
            raise InvalidArgument("delete needs the ids of what is to go.")
        self.store.delete(self.subject, self.collection, ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The texts under these ids, in their order; unknown ones are left out."""
        if not ids:
            return []
        where = DeclaredFilter("document", "in", tuple(ids))
        chunks = self._reader().fetch(self.collection, where=where, limit=2**31)
        found = {document.id: document for document in map(to_document, chunks)}
        return [found[name] for name in dict.fromkeys(ids) if name in found]

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: MetadataFilter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The ``k`` best texts; ``kwargs`` is LangChain's signature, and must be empty."""
        _refuse(kwargs)
        return [found for found, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: MetadataFilter | None = None,
    ) -> list[tuple[Document, float]]:
        """The ``k`` best texts with their scores, higher is better."""
        port, where = self._reader(), as_filter(filter)
        if self.mode == "keyword":
            hits = port.bm25(self.collection, query=query, limit=k, where=where)
            return [(to_document(hit.chunk), hit.score) for hit in hits]
        vector = self._embedding.embed_query(query)
        if self.mode == "vector":
            hits = port.near_vector(self.collection, vector=vector, limit=k, where=where)
        else:
            hits = port.hybrid(self.collection, query=query, vector=vector, limit=k, where=where)
        return [(to_document(hit.chunk), hit.score) for hit in hits]

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: MetadataFilter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The ``k`` texts nearest to a vector."""
        _refuse(kwargs)
        where = as_filter(filter)
        hits = self._reader().near_vector(self.collection, vector=embedding, limit=k, where=where)
        return [to_document(hit.chunk) for hit in hits]

    def _reader(self) -> SyncReader:
        return self.store.reader(self.subject, [self.collection])

    def _made(
        self, name: str, text: str, metadata: dict[str, Any], vector: NDArray[np.float32]
    ) -> EmbeddedDocument:
        chunk = ChunkResult(content=text, chunk_index=0, end_char=len(text))
        return EmbeddedDocument(
            document=name,
            title="",
            chunks=[chunk],
            vectors=vector[None, :],
            endpoint=self._endpoint,
            metadata=metadata,
        )


def _refuse(kwargs: dict[str, Any]) -> None:
    if kwargs:
        names = ", ".join(sorted(kwargs))
        raise InvalidArgument(f"There is no option {names}; leave it out, or correct its name.")


class PinciteRetriever(BaseRetriever):
    """Searches a library: ``PinciteRetriever(library=lib, k=4, mode="hybrid")``.

    ``filter`` restricts every search; a call's own ``filter=`` takes its place, and so does ``k=``.
    """

    library: Any
    k: int = 4
    mode: Mode = "hybrid"
    filter: Any = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's signature
        k: int | None = None,
        filter: MetadataFilter | None = None,
    ) -> list[Document]:
        library: Library = self.library
        where = as_filter(self.filter if filter is None else filter)
        count = self.k if k is None else k
        found = library.search(query, k=count, mode=self.mode, where=where)
        return [to_document(hit.chunk) for hit in found]


class PinciteEmbeddings(Embeddings):
    """A model of ours as LangChain's embeddings."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        return [[float(x) for x in row] for row in self._embedder.encode_texts(texts)]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return [float(x) for x in self._embedder.encode_query(text)]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        return [[float(x) for x in row] for row in await self._embedder.embed_texts(texts)]

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return [float(x) for x in await self._embedder.embed_query(text)]


class LangChainClient:
    """LangChain's embeddings as an ``EmbedClient``: ``Embedder(LangChainClient(e), "name")``."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings

    def supports_sync(self, endpoint: str) -> bool:  # noqa: ARG002 - as below
        """Every endpoint does."""
        return True

    async def embed(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002
        """One vector for each text, shape (texts, dimension); the endpoint is only a name."""
        return np.array(await self._embeddings.aembed_documents(list(texts)), dtype=np.float32)

    def encode(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002
        """``embed`` in the caller's thread."""
        return np.array(self._embeddings.embed_documents(list(texts)), dtype=np.float32)
