"""Haystack's components that search a document store: by words, by an embedding, by both."""

from __future__ import annotations

from typing import Any, Self

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import Document
from haystack.document_stores.types import FilterPolicy
from haystack.document_stores.types.filter_policy import apply_filter_policy

from pincite.errors import InvalidArgument
from pincite.integrations.collection import Mode, in_thread
from pincite.integrations.haystack.store import PinciteDocumentStore

__all__ = ["PinciteEmbeddingRetriever", "PinciteHybridRetriever", "PinciteKeywordRetriever"]


class _Retriever:
    """What the three share: a store, its filters and how a call's own filters go with them.

    ``component`` makes each class anew, so that ``super()`` without arguments does not work there.
    """

    def __init__(
        self,
        document_store: PinciteDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy | str = FilterPolicy.REPLACE,
    ) -> None:
        """Raises ``InvalidArgument`` for another store and for ``top_k`` below 1."""
        if not isinstance(document_store, PinciteDocumentStore):
            raise InvalidArgument(
                f"document_store is a {type(document_store).__name__}; pass a PinciteDocumentStore."
            )
        if top_k < 1:
            raise InvalidArgument(f"top_k is {top_k}; pass 1 or more.")
        self.document_store = document_store
        self.filters = filters or {}
        self.top_k = top_k
        self.filter_policy = (
            FilterPolicy.from_str(filter_policy)
            if isinstance(filter_policy, str)
            else filter_policy
        )

    def to_dict(self) -> dict[str, Any]:
        """What ``from_dict`` makes an equal retriever of."""
        options = {
            "document_store": self.document_store.to_dict(),
            "filters": self.filters,
            "top_k": self.top_k,
            "filter_policy": self.filter_policy.value,
        }
        return default_to_dict(self, **options, **self._own_options())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """A retriever from what ``to_dict`` returned."""
        options = dict(data["init_parameters"])
        options["document_store"] = PinciteDocumentStore.from_dict(options["document_store"])
        return default_from_dict(cls, {**data, "init_parameters": options})

    def _own_options(self) -> dict[str, Any]:
        return {}

    def _found(
        self, mode: Mode, filters: dict[str, Any] | None, top_k: int | None, **asked: Any
    ) -> dict[str, list[Document]]:
        """What a search gives; the filter policy decides how the filters go together."""
        found = self.document_store.search(
            mode,
            filters=apply_filter_policy(self.filter_policy, self.filters, filters),
            top_k=self.top_k if top_k is None else top_k,
            **asked,
            **self._own_options(),
        )
        return {"documents": found}


@component
class PinciteKeywordRetriever(_Retriever):
    """Finds documents by their words, with BM25; the score is that of BM25."""

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The best documents; a document without a word of the query is not among them."""
        return self._found("keyword", filters, top_k, query=query)

    run_async = in_thread(run)


@component
class PinciteEmbeddingRetriever(_Retriever):
    """Finds documents by their embeddings; the score is the cosine, or the dot product."""

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """The nearest documents of those that have an embedding."""
        return self._found("vector", filters, top_k, query_embedding=query_embedding)

    run_async = in_thread(run)


@component
class PinciteHybridRetriever(_Retriever):
    """Finds documents by words and by embeddings, fused; scores compare within one result only.

    ``alpha`` weighs the embeddings' side: 1.0 is embeddings alone, 0.0 words alone, None the
    collection's own weight.
    """

    def __init__(
        self,
        document_store: PinciteDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        alpha: float | None = None,
        filter_policy: FilterPolicy | str = FilterPolicy.REPLACE,
    ) -> None:
        _Retriever.__init__(
            self, document_store, filters=filters, top_k=top_k, filter_policy=filter_policy
        )
        self.alpha = alpha

    def _own_options(self) -> dict[str, Any]:
        return {"alpha": self.alpha}

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
    ) -> dict[str, list[Document]]:
        """The best documents of both sides."""
        return self._found("hybrid", filters, top_k, query=query, query_embedding=query_embedding)

    run_async = in_thread(run)
