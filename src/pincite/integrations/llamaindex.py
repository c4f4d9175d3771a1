"""LlamaIndex: a vector store, and a retriever over a library.

from llama_index.core import StorageContext, VectorStoreIndex
from pincite.integrations.llamaindex import PinciteVectorStore

context = StorageContext.from_defaults(vector_store=PinciteVectorStore(uri="local:.pincite"))
index = VectorStoreIndex.from_documents(documents, storage_context=context)
index.as_retriever(vector_store_query_mode="hybrid").retrieve("gold")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pincite.errors import InvalidArgument, MissingExtra
from pincite.integrations.collection import (
    Mode,
    OneCollection,
    check_mode,
    in_thread,
    is_passage,
    passage,
    place_of,
    refuse_options,
)
from pincite.model.filters import AllOf, AnyOf, DeclaredFilter, Filter, Not
from pincite.model.hits import Chunk
from pincite.retrieval.base import MetadataFilter, as_filter

try:
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import (
        BaseNode,
        MetadataMode,
        NodeWithScore,
        QueryBundle,
        TextNode,
    )
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        FilterOperator,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
except ImportError as error:
    raise MissingExtra(
        "pincite.integrations.llamaindex needs the extra [llamaindex], which is not installed:"
        " pip install 'pincite[llamaindex]'."
    ) from error

if TYPE_CHECKING:
    from pincite.library.core import Library

__all__ = ["PinciteRetriever", "PinciteVectorStore", "to_node"]

_KEPT: Final = "_llamaindex"
_NODE: Final = ("_node_content", "_node_type")

_MODES: Final[Mapping[VectorStoreQueryMode, Mode]] = MappingProxyType(
    {
        VectorStoreQueryMode.DEFAULT: "vector",
        VectorStoreQueryMode.HYBRID: "hybrid",
        VectorStoreQueryMode.SEMANTIC_HYBRID: "hybrid",
        VectorStoreQueryMode.SPARSE: "keyword",
        VectorStoreQueryMode.TEXT_SEARCH: "keyword",
    }
)

_OPERATORS: Final[Mapping[FilterOperator, str]] = MappingProxyType(
    {
        FilterOperator.EQ: "eq",
        FilterOperator.NE: "ne",
        FilterOperator.GT: "gt",
        FilterOperator.GTE: "gte",
        FilterOperator.LT: "lt",
        FilterOperator.LTE: "lte",
        FilterOperator.IN: "in",
        FilterOperator.NIN: "not_in",
        FilterOperator.ANY: "contains_any",
        FilterOperator.ALL: "contains_all",
    }
)


def to_node(chunk: Chunk) -> BaseNode:
    """A chunk as a node; one that LlamaIndex wrote comes back as it was given.

    Of others the id is the chunk's, and the metadata also says where it stands: document, source,
    title, pages, headings, start_char, end_char.
    """
    kept = chunk.metadata.get(_KEPT)
    if is_passage(chunk) and isinstance(kept, Mapping):
        metadata = {**chunk.metadata, **kept}
        del metadata[_KEPT]
        return metadata_dict_to_node(metadata, text=chunk.content)
    return TextNode(
        id_=chunk.id,
        text=chunk.content,
        metadata={**place_of(chunk), **chunk.metadata},
        start_char_idx=chunk.start_char,
        end_char_idx=chunk.end_char,
    )


class PinciteVectorStore(BasePydanticVectorStore):
    """One collection of a store as a LlamaIndex vector store.

    ``uri`` is that of any store. A node becomes a document of one chunk under its id. ``model``
    names what embeds the nodes: vectors of another name than the collection's are refused. The
    modes of a query are DEFAULT (vectors), TEXT_SEARCH and SPARSE (BM25) and HYBRID, whose
    ``alpha`` weighs the vectors.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    uri: str = "local:.pincite"
    collection: str = "default"
    model: str = "llamaindex"
    create: bool = True

    _opened: OneCollection = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Open the collection."""
        super().model_post_init(context)
        self._opened = OneCollection.open(self.uri, self.collection, create=self.create)

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex writes down."""
        return "PinciteVectorStore"

    @property
    def client(self) -> Any:
        """The store underneath."""
        return self._opened.store

    def close(self) -> None:
        """Release what the store holds."""
        self._opened.store.close()

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Write nodes, each in place of the one under its id; their ids."""
        refuse_options(kwargs)
        self._opened.write([self._passage(node) for node in nodes])
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Remove the nodes of a document by the document's id."""
        refuse_options(delete_kwargs)
        if "ref_doc_id" in self._opened.reader().fields(self.collection).fields:
            self._remove(DeclaredFilter("ref_doc_id", "eq", ref_doc_id))

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """Remove nodes by their ids, by filters, or by both; one of them must be given."""
        refuse_options(delete_kwargs)
        where = _all_of(_among("document", node_ids), _filter_of(filters))
        if where is None:
            raise InvalidArgument("delete_nodes needs node_ids or filters; clear() removes all.")
        self._remove(where)

    def clear(self) -> None:
        """Remove every node."""
        self._opened.clear()

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """The nodes of these ids that the filters keep, in the order of their ids."""
        where = _all_of(_among("document", node_ids), _filter_of(filters))
        return [to_node(chunk) for chunk in self._opened.chunks(where)]

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The best nodes with their scores, best first."""
        refuse_options(kwargs)
        mode = _MODES.get(query.mode)
        if mode is None:
            known = ", ".join(sorted(each.name for each in _MODES))
            raise InvalidArgument(f"There is no mode {query.mode!r} here; use one of {known}.")
        where = _all_of(
            _among("document", query.node_ids or None),
            _among("ref_doc_id", query.doc_ids or None),
            _filter_of(query.filters),
        )
        fused = query.hybrid_top_k if mode == "hybrid" else None
        hits = self._opened.search(
            mode,
            query=query.query_str or "",
            vector=query.query_embedding,
            limit=fused or query.similarity_top_k,
            where=where,
            alpha=query.alpha if mode == "hybrid" else None,
        )
        nodes = [to_node(hit.chunk) for hit in hits]
        return VectorStoreQueryResult(
            nodes=nodes,
            similarities=[hit.score for hit in hits],
            ids=[node.node_id for node in nodes],
        )

    # -- the same without blocking the event loop

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """``add`` in a thread."""
        return await in_thread(self.add)(nodes, **kwargs)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """``delete`` in a thread."""
        await in_thread(self.delete)(ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """``delete_nodes`` in a thread."""
        await in_thread(self.delete_nodes)(node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """``clear`` in a thread."""
        await in_thread(self.clear)()

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """``get_nodes`` in a thread."""
        return await in_thread(self.get_nodes)(node_ids, filters)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """``query`` in a thread."""
        return await in_thread(self.query)(query, **kwargs)

    def _passage(self, node: BaseNode) -> Any:
        if node.embedding is None:
            raise InvalidArgument(
                f"Node {node.node_id!r} has no embedding; add it through a VectorStoreIndex, or"
                " embed it first."
            )
        metadata = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
        metadata[_KEPT] = {name: metadata.pop(name) for name in _NODE}
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        return passage(node.node_id, text, metadata, node.embedding, endpoint=self.model)

    def _remove(self, where: Filter) -> None:
        self._opened.remove([chunk.document for chunk in self._opened.chunks(where)])


class PinciteRetriever(BaseRetriever):
    """Searches a library: ``PinciteRetriever(library, k=4, mode="hybrid")``.

    ``where`` restricts every search: a filter of Pincite, its text or its dict form.
    """

    def __init__(
        self,
        library: Library,
        *,
        k: int = 4,
        mode: Mode = "hybrid",
        where: MetadataFilter | None = None,
    ) -> None:
        check_mode(mode)
        self.library = library
        self.k = k
        self.mode: Mode = mode
        self.where = as_filter(where)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self.library.search(
            query_bundle.query_str, k=self.k, mode=self.mode, where=self.where
        )
        return [NodeWithScore(node=to_node(hit.chunk), score=hit.score) for hit in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await in_thread(self._retrieve)(query_bundle)


def _filter_of(filters: MetadataFilters | None) -> Filter | None:
    if filters is None or not filters.filters:
        return None
    terms = tuple(_term(each) for each in filters.filters)
    if filters.condition == FilterCondition.OR:
        return AnyOf(terms)
    return Not(AnyOf(terms)) if filters.condition == FilterCondition.NOT else AllOf(terms)


def _term(given: Any) -> Filter:
    if isinstance(given, MetadataFilters):
        inner = _filter_of(given)
        return AllOf(()) if inner is None else inner
    if given.operator == FilterOperator.IS_EMPTY:
        return DeclaredFilter(given.key, "exists", False)
    if given.operator == FilterOperator.CONTAINS:
        return DeclaredFilter(given.key, "contains_any", (given.value,))
    operator = _OPERATORS.get(given.operator)
    if operator is None:
        raise InvalidArgument(
            f"The operator {given.operator!r} on {given.key!r} is not served; search words with"
            " the mode TEXT_SEARCH or HYBRID."
        )
    many = isinstance(given.value, list)
    return DeclaredFilter(given.key, operator, tuple(given.value) if many else given.value)


def _among(field: str, values: Sequence[str] | None) -> Filter | None:
    return None if values is None else DeclaredFilter(field, "in", tuple(values))


def _all_of(*terms: Filter | None) -> Filter | None:
    kept = tuple(term for term in terms if term is not None)
    return AllOf(kept) if kept else None
