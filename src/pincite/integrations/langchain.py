"""LangChain: a vector store, a retriever, and embeddings both ways.

from pincite.integrations.langchain import PinciteVectorStore

store = PinciteVectorStore.open("local:.pincite", embedding=my_embeddings)
store.add_texts(["Quartz veins may hold gold."], metadatas=[{"year": 2020}])
store.as_retriever(search_kwargs={"k": 3, "filter": "year >= 2020"}).invoke("gold")
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pincite.embedding.blocking import BlockingEmbedder
from pincite.embedding.embedder import Embedder
from pincite.embedding.vectors import check_vectors
from pincite.errors import InvalidArgument, MissingExtra
from pincite.integrations.collection import (
    Mode,
    OneCollection,
    check_mode,
    is_passage,
    passage,
    place_of,
    refuse_options,
)
from pincite.model.hits import Chunk
from pincite.retrieval.base import MetadataFilter, as_filter
from pincite.text.normalize import normalize_text

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

    from pincite.library.core import Library
    from pincite.stores.ports import SyncStore

__all__ = [
    "LangChainClient",
    "LangChainEmbedder",
    "PinciteEmbeddings",
    "PinciteRetriever",
    "PinciteVectorStore",
    "to_document",
]


def to_document(chunk: Chunk) -> Document:
    """A chunk as a LangChain document.

    One that LangChain wrote comes back as it was given. Of others the id is the chunk's, and the
    metadata also says where it stands: document, source, title, pages, headings, start_char,
    end_char.
    """
    if is_passage(chunk):
        return Document(
            id=chunk.document, page_content=chunk.content, metadata=dict(chunk.metadata)
        )
    metadata = {**place_of(chunk), **chunk.metadata}
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
        """``endpoint`` names the model of ``embedding``, where its class and its own ``model`` do
        not: vectors of another name than the collection's are refused."""
        check_mode(mode)
        self.store = store
        self.collection = collection
        self.subject = subject
        self.mode = mode
        self._opened = OneCollection(store, collection, subject)
        self._embedding = embedding
        self._endpoint = endpoint or _name_of(embedding)

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
        opened = OneCollection.open(uri, collection, create=create)
        return cls(
            opened.store,
            collection=collection,
            subject=opened.subject,
            embedding=embedding,
            mode=mode,
        )

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
        refuse_options(kwargs)
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
        refuse_options(kwargs)
        contents = list(texts)
        if not contents:
            return []
        named = [given or str(uuid.uuid4()) for given in ids or [""] * len(contents)]
        about = metadatas or [{} for _ in contents]
        if not len(contents) == len(named) == len(about):
            raise InvalidArgument("Give one id and one metadata for each text, or none at all.")
        vectors = np.array(self._embedding.embed_documents(contents), dtype=np.float32)
        rows = zip(named, contents, about, vectors, strict=True)
        self._opened.write([passage(*row, endpoint=self._endpoint) for row in rows])
        return named

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Remove texts by id; unknown ids are passed over."""
        refuse_options(kwargs)
        if ids is None:
            raise InvalidArgument("delete needs the ids of what is to go.")
        self._opened.remove(ids)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The texts under these ids, in their order; unknown ones are left out."""
        return [to_document(chunk) for chunk in self._opened.by_id(list(dict.fromkeys(ids)))]

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: MetadataFilter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The ``k`` best texts; ``kwargs`` is LangChain's signature, and must be empty."""
        refuse_options(kwargs)
        return [found for found, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: MetadataFilter | None = None,
    ) -> list[tuple[Document, float]]:
        """The ``k`` best texts with their scores, higher is better."""
        vector = None if self.mode == "keyword" else self._embedding.embed_query(query)
        hits = self._opened.search(
            self.mode, query=query, vector=vector, limit=k, where=as_filter(filter)
        )
        return [(to_document(hit.chunk), hit.score) for hit in hits]

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: MetadataFilter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The ``k`` texts nearest to a vector."""
        refuse_options(kwargs)
        where = as_filter(filter)
        hits = self._opened.search("vector", vector=embedding, limit=k, where=where)
        return [to_document(hit.chunk) for hit in hits]


def _name_of(embeddings: Embeddings) -> str:
    """The class, and the model where it has one by the names that LangChain's classes use."""
    named = (getattr(embeddings, name, None) for name in ("model", "model_name", "model_id"))
    model = next((name for name in named if isinstance(name, str) and name), None)
    return "--".join(filter(None, ("langchain", type(embeddings).__name__, model)))


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
        self._blocking = BlockingEmbedder(embedder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        return [[float(x) for x in row] for row in self._blocking.texts(texts)]

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return [float(x) for x in self._blocking.query(text)]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        return [[float(x) for x in row] for row in await self._embedder.embed_texts(texts)]

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of a query."""
        return [float(x) for x in await self._embedder.embed_query(text)]


class LangChainClient:
    """LangChain's embeddings as an ``EmbedClient``, for passages; ``LangChainEmbedder`` is the
    whole embedder."""

    def __init__(self, embeddings: Embeddings) -> None:
        self.embeddings = embeddings

    def supports_sync(self, endpoint: str) -> bool:  # noqa: ARG002 - as below
        """Every endpoint does."""
        return True

    async def embed(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002
        """One vector for each text, shape (texts, dimension); the endpoint is only a name."""
        return np.array(await self.embeddings.aembed_documents(list(texts)), dtype=np.float32)

    def encode(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:  # noqa: ARG002
        """``embed`` in the caller's thread."""
        return np.array(self.embeddings.embed_documents(list(texts)), dtype=np.float32)


class LangChainEmbedder(Embedder):
    """LangChain's embeddings as an ``Embedder``: passages by ``embed_documents``, queries by
    ``embed_query``, which some models embed in another way.

    ``name`` is the endpoint's; without one it is made of the class and its model.
    """

    def __init__(self, embeddings: Embeddings, name: str = "") -> None:
        super().__init__(LangChainClient(embeddings), name or _name_of(embeddings))

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The query's vector, shape (dimension,)."""
        found = await self._embeddings.aembed_query(normalize_text(text))
        return check_vectors([found], 1).reshape(-1)

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """``embed_query`` without an event loop."""
        found = self._embeddings.embed_query(normalize_text(text))
        return check_vectors([found], 1).reshape(-1)

    @property
    def _embeddings(self) -> Embeddings:
        client: LangChainClient = self.client  # type: ignore[assignment]  # made in __init__
        return client.embeddings
