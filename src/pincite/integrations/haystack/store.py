"""A collection of any store as a Haystack document store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Self, TypeVar, get_args

import anyio.to_thread
from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret

from pincite.errors import InvalidArgument
from pincite.integrations.collection import Mode, OneCollection
from pincite.integrations.haystack.documents import UNEMBEDDED, to_document, to_passage
from pincite.integrations.haystack.filters import filter_of, translated
from pincite.model.documents import ModelIdentity
from pincite.model.filters import AllOf, DeclaredFilter, Filter, Not
from pincite.model.hits import Chunk, Hit
from pincite.stores import hybrid
from pincite.stores.checks import check_alpha
from pincite.stores.transfer import Weighted

__all__ = ["PinciteDocumentStore", "Similarity"]

Similarity = Literal["cosine", "dot_product"]

T = TypeVar("T")


class PinciteDocumentStore:
    """One collection of a store, opened at the first use.

    ``uri`` is any of Pincite's, or a ``Secret`` that holds one. ``model`` names what embeds the
    documents: embeddings of another name than the collection's are refused. They are kept with
    float16 precision, and returned unless ``return_embedding`` is False.

    Documents come in the order of their ids. A field that no document has is refused in a filter,
    as is a value of another type than the field's.
    """

    def __init__(
        self,
        uri: str | Secret = "local:.pincite",
        *,
        collection: str = "default",
        embedding_dimension: int = 768,
        similarity: Similarity = "cosine",
        model: str = "haystack",
        return_embedding: bool = True,
        create: bool = True,
    ) -> None:
        """Raises ``InvalidArgument`` for an unknown similarity or a dimension below 1."""
        if similarity not in get_args(Similarity):
            raise InvalidArgument(
                f"similarity is {similarity!r}; choose {' or '.join(get_args(Similarity))}."
            )
        if embedding_dimension < 1:
            raise InvalidArgument(f"embedding_dimension is {embedding_dimension}; pass 1 or more.")
        self.uri = uri
        self.collection = collection
        self.embedding_dimension = embedding_dimension
        self.similarity = similarity
        self.model = model
        self.return_embedding = return_embedding
        self.create = create
        self._lock = threading.Lock()
        self._opened: OneCollection | None = None

    def to_dict(self) -> dict[str, Any]:
        """What ``from_dict`` makes an equal store of; a ``Secret`` stays one."""
        return default_to_dict(
            self,
            uri=self.uri.to_dict() if isinstance(self.uri, Secret) else self.uri,
            collection=self.collection,
            embedding_dimension=self.embedding_dimension,
            similarity=self.similarity,
            model=self.model,
            return_embedding=self.return_embedding,
            create=self.create,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """A store from what ``to_dict`` returned."""
        options = dict(data["init_parameters"])
        if isinstance(options.get("uri"), dict):
            options["uri"] = Secret.from_dict(options["uri"])
        return default_from_dict(cls, {**data, "init_parameters": options})

    @property
    def opened(self) -> OneCollection:
        """The open collection."""
        with self._lock:
            if self._opened is None:
                uri = self.uri.resolve_value() if isinstance(self.uri, Secret) else self.uri
                self._opened = OneCollection.open(
                    str(uri or ""), self.collection, create=self.create
                )
            return self._opened

    def close(self) -> None:
        """Close the store; a later call opens it again."""
        with self._lock:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.store.close()

    # -- documents

    def count_documents(self) -> int:
        """How many documents there are."""
        return self.opened.count()

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Every document that the filters keep, ordered by id."""
        return [self._document(chunk) for chunk in self._kept(filters)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents; how many were written. All of them, or none, are in the store then.

        Without a policy, and with ``FAIL``, raises ``DuplicateDocumentError`` for an id that is
        there or is given twice, before anything is written.
        """
        if not isinstance(documents, list) or any(not isinstance(d, Document) for d in documents):
            raise InvalidArgument("write_documents takes a list of Haystack's documents.")
        given = _unique(documents, policy)
        if policy is not DuplicatePolicy.OVERWRITE:
            there = {chunk.document for chunk in self.opened.by_id(list(given))}
            if there and policy is not DuplicatePolicy.SKIP:
                raise _duplicate(min(there))
            given = {name: document for name, document in given.items() if name not in there}
        model = None
        if self.similarity == "dot_product":
            model = ModelIdentity(self.model, self.embedding_dimension, normalized=False)
        made = partial(
            to_passage, dimension=self.embedding_dimension, endpoint=self.model, model=model
        )
        self.opened.write([made(document) for document in given.values()])
        return len(given)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Remove documents; unknown ids are passed over."""
        self.opened.remove(document_ids)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """How many documents the filters keep."""
        return len(self._kept(filters))

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Remove every document that the filters keep; how many went."""
        return self.opened.remove([chunk.document for chunk in self._kept(filters)])

    def delete_all_documents(self) -> None:
        """Remove every document."""
        self.opened.clear()

    # -- searches

    def search(
        self,
        mode: Mode,
        *,
        query: str = "",
        query_embedding: Sequence[float] | None = None,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        alpha: float | None = None,
    ) -> list[Document]:
        """The best documents with their scores, best first; ``alpha`` weighs hybrid's vector side.

        A document that was written without an embedding is found by its words only.
        """
        with translated():
            hits = self._hits(mode, query, query_embedding, filter_of(filters), top_k, alpha)
        return [self._document(hit.chunk, hit.score) for hit in hits]

    def _hits(
        self,
        mode: Mode,
        query: str,
        vector: Sequence[float] | None,
        where: Filter | None,
        limit: int,
        alpha: float | None,
    ) -> list[Hit]:
        opened = self.opened

        def keyword(depth: int) -> list[Hit]:
            return opened.search("keyword", query=query, limit=depth, where=where)

        def near(depth: int) -> list[Hit]:
            kept = _also_embedded(where) if some_lack_embeddings else where
            return opened.search("vector", vector=vector, limit=depth, where=kept)

        some_lack_embeddings = UNEMBEDDED in opened.reader().fields(opened.name).fields
        if mode == "keyword":
            return keyword(limit)
        if mode == "vector":
            return near(limit)
        if not some_lack_embeddings:
            return opened.search(
                mode, query=query, vector=vector, limit=limit, where=where, alpha=alpha
            )
        check_alpha(alpha)
        if alpha is None and isinstance(opened.store, Weighted):
            alpha = opened.store.alpha(opened.subject, opened.name)
        legs = hybrid.plan(query=query, limit=limit, alpha=alpha)
        return hybrid.run(legs, keyword, near, limit=limit)

    def _kept(self, filters: dict[str, Any] | None) -> list[Chunk]:
        with translated():
            return self.opened.chunks(filter_of(filters))

    def _document(self, chunk: Chunk, score: float | None = None) -> Document:
        vector = self.opened.vector(chunk) if self.return_embedding else None
        return to_document(chunk, vector=vector, score=score)

    # -- the same without blocking the event loop

    async def count_documents_async(self) -> int:
        """``count_documents`` in a thread."""
        return await _hop(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """``filter_documents`` in a thread."""
        return await _hop(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """``write_documents`` in a thread."""
        return await _hop(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """``delete_documents`` in a thread."""
        await _hop(self.delete_documents, document_ids)

    async def search_async(self, mode: Mode, **options: Any) -> list[Document]:
        """``search`` in a thread."""
        return await _hop(partial(self.search, mode, **options))


def _unique(documents: list[Document], policy: DuplicatePolicy) -> dict[str, Document]:
    """Documents by id; of two with one id the first stays under ``SKIP``, else the last."""
    given: dict[str, Document] = {}
    for document in documents:
        if document.id in given and policy is DuplicatePolicy.SKIP:
            continue
        if document.id in given and policy is not DuplicatePolicy.OVERWRITE:
            raise _duplicate(document.id)
        given[document.id] = document
    return given


def _duplicate(name: str) -> DuplicateDocumentError:
    return DuplicateDocumentError(
        f"Document {name!r} is there already; write with policy OVERWRITE or SKIP."
    )


def _also_embedded(where: Filter | None) -> Filter:
    embedded = Not(DeclaredFilter(UNEMBEDDED, "eq", True))
    return embedded if where is None else AllOf((where, embedded))


async def _hop(work: Callable[..., T], *arguments: Any) -> T:
    return await anyio.to_thread.run_sync(work, *arguments)
