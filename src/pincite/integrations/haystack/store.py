"""A collection of any store as a Haystack document store."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, Self, get_args

from haystack import default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.utils import Secret

from pincite.errors import InvalidArgument
from pincite.integrations.collection import Mode, OneCollection, in_thread
from pincite.integrations.haystack.documents import UNEMBEDDED, to_document, to_passage
from pincite.integrations.haystack.filters import filter_of, translated
from pincite.integrations.haystack.meta import distinct, field_types, named, span
from pincite.model.documents import ModelIdentity
from pincite.model.filters import AllOf, DeclaredFilter, Filter, Not
from pincite.model.hits import Chunk, Hit
from pincite.stores import hybrid
from pincite.stores.checks import check_alpha
from pincite.stores.transfer import Weighted

__all__ = ["PinciteDocumentStore", "Similarity"]

Similarity = Literal["cosine", "dot_product"]


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

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Put ``meta`` over that of every document that the filters keep; how many there were."""
        with translated():
            return self.opened.update(filter_of(filters), meta)

    def delete_all_documents(self) -> None:
        """Remove every document."""
        self.opened.clear()

    # -- meta

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """How many distinct values each field has among the documents that the filters keep."""
        metas = self._metas(filters)
        return {named(field): len(distinct(metas, field)) for field in metadata_fields}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The fields of all documents with their types: keyword, int, float or boolean."""
        return field_types(self._metas())

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest value of a field, both None where there is none."""
        return span(self._metas(), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """A page of a field's distinct values that hold ``search_term``, and how many do."""
        found = distinct(self._metas(filters), metadata_field, search_term)
        return found[from_ : from_ + size], len(found)

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

    def _metas(self, filters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        return [to_document(chunk).meta for chunk in self._kept(filters)]

    def _document(self, chunk: Chunk, score: float | None = None) -> Document:
        vector = self.opened.vector(chunk) if self.return_embedding else None
        return to_document(chunk, vector=vector, score=score)

    count_documents_async = in_thread(count_documents)
    filter_documents_async = in_thread(filter_documents)
    write_documents_async = in_thread(write_documents)
    delete_documents_async = in_thread(delete_documents)
    delete_all_documents_async = in_thread(delete_all_documents)
    delete_by_filter_async = in_thread(delete_by_filter)
    update_by_filter_async = in_thread(update_by_filter)
    count_documents_by_filter_async = in_thread(count_documents_by_filter)
    count_unique_metadata_by_filter_async = in_thread(count_unique_metadata_by_filter)
    get_metadata_fields_info_async = in_thread(get_metadata_fields_info)
    get_metadata_field_min_max_async = in_thread(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = in_thread(get_metadata_field_unique_values)
    search_async = in_thread(search)


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
