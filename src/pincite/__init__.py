"""Pincite: hybrid retrieval over your own documents, cited to file, page and rectangle.

    import pincite

    with pincite.open("local:.pincite", collection="papers") as lib:
        lib.add("papers/")
        for hit in lib.search("how is the block mask built", k=5):
            print(hit.rank, hit.score, hit.chunk.document, hit.chunk.pages)

Names are loaded when they are first used, so that ``import pincite`` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes as long as starting Python

if TYPE_CHECKING:
    from pincite.bm25.index import (
        BM25Index,
    )
    from pincite.chunking.adaptive import (
        AdaptiveChunker,
    )
    from pincite.chunking.markdown import (
        MarkdownChunker,
    )
    from pincite.dense.index import (
        DenseIndex,
    )
    from pincite.embedding.client import (
        EmbedClient,
        InferenceClient,
    )
    from pincite.embedding.embedder import (
        Embedder,
    )
    from pincite.errors import (
        CollectionMismatch,
        EmbeddingError,
        InvalidArgument,
        InvalidQueryError,
        MissingExtra,
        ParseError,
        PinciteError,
        StoreCorrupt,
        StoreLocked,
        StoreNotFound,
        StoreUnavailable,
        Unconfigured,
        UnsupportedFormat,
    )
    from pincite.fusion import (
        RRF_K,
    )
    from pincite.indexing.bibliographic import (
        extract_metadata,
    )
    from pincite.indexing.builder import (
        StoresBuilder,
    )
    from pincite.indexing.crossref import (
        CrossrefLookup,
    )
    from pincite.indexing.indexer import (
        Indexer,
        parse_and_chunk,
    )
    from pincite.indexing.map_lint import (
        lint_metadata_map,
    )
    from pincite.indexing.metadata_map import (
        MetadataMap,
        load_metadata_map,
    )
    from pincite.library.aio import (
        AsyncLibrary,
        open_async,
    )
    from pincite.library.core import (
        Library,
    )
    from pincite.library.opening import open_library as open
    from pincite.model.chunks import (
        ChunkResult,
        EmbeddedChunk,
    )
    from pincite.model.documents import (
        Collection,
        DocumentInfo,
        EmbeddedDocument,
        Failure,
        Geometry,
        IndexReport,
        ModelIdentity,
        Progress,
    )
    from pincite.model.fields import (
        Field,
        FieldSpec,
        FieldType,
    )
    from pincite.model.filters import (
        NOTHING,
        OPERATORS,
        AllOf,
        AnyOf,
        DeclaredFilter,
        Filter,
        Not,
        Operator,
        matches,
        simplify,
        validate,
    )
    from pincite.model.geometry import (
        BboxRect,
        LayoutBlock,
        TableSpan,
        Word,
        WordBoxes,
    )
    from pincite.model.hits import (
        Chunk,
        Explanation,
        Hit,
        LegScore,
        Results,
        TermScore,
    )
    from pincite.model.layout import (
        MarkdownParseResult,
    )
    from pincite.model.where import (
        F,
        filter_from_dict,
        filter_to_dict,
        format_where,
        parse_where,
    )
    from pincite.parsing.backends import (
        LiteParseBackend,
        PdfiumBackend,
        PyMuPDFBackend,
    )
    from pincite.parsing.office import (
        OfficeProcessor,
    )
    from pincite.parsing.pdf.processor import (
        PdfProcessor,
    )
    from pincite.parsing.plain import (
        TextProcessor,
    )
    from pincite.parsing.tabular import (
        TsvProcessor,
    )
    from pincite.retrieval.base import (
        MetadataFilter,
        Retriever,
        ScoredChunk,
    )
    from pincite.retrieval.bm25_retriever import (
        BM25Retriever,
    )
    from pincite.retrieval.domains import (
        BM25StoreInfo,
        PerDomainConfig,
        RetrieverConfig,
        StoreInfo,
        VectorStoreInfo,
    )
    from pincite.retrieval.managers import (
        BaseRetriever,
        BM25RetrieverManager,
        VSRetriever,
    )
    from pincite.retrieval.merge import (
        SOURCE_SCORES_KEY,
        format_source_scores,
        rrf_merge,
    )
    from pincite.retrieval.orchestrator import (
        DomainFailure,
        DomainResults,
        Orchestrator,
    )
    from pincite.retrieval.serialize import (
        serialize_vs_retrieval,
    )
    from pincite.stores.named import (
        CHROMA_HNSW_SPACE,
        NamedStore,
        instantiate_vector_store,
    )
    from pincite.stores.ports import (
        ManagedSink,
        Sink,
        Store,
        Target,
        VectorStore,
    )
    from pincite.stores.postgres.layout import (
        PgTable,
    )
    from pincite.stores.postgres.reader import (
        PgVectorStore,
    )
    from pincite.stores.postgres.sink import (
        PgSink,
    )
    from pincite.stores.retrying import (
        Retrying,
    )
    from pincite.stores.uri import (
        open_store,
    )
    from pincite.testing import (
        HashEmbedder,
        SinkContract,
        VectorStoreContract,
    )
    from pincite.text.analysis import (
        Analyzer,
    )
    from pincite.text.normalize import (
        normalize_text,
    )
    from pincite.text.stopwords import (
        STOPWORDS,
    )

__version__ = "0.1.0"

__all__ = [
    "AdaptiveChunker",
    "AllOf",
    "Analyzer",
    "AnyOf",
    "AsyncLibrary",
    "BM25Index",
    "BM25Retriever",
    "BM25RetrieverManager",
    "BM25StoreInfo",
    "BaseRetriever",
    "BboxRect",
    "CHROMA_HNSW_SPACE",
    "Chunk",
    "ChunkResult",
    "Collection",
    "CollectionMismatch",
    "CrossrefLookup",
    "DeclaredFilter",
    "DenseIndex",
    "DocumentInfo",
    "DomainFailure",
    "DomainResults",
    "EmbedClient",
    "EmbeddedChunk",
    "EmbeddedDocument",
    "Embedder",
    "EmbeddingError",
    "Explanation",
    "F",
    "Failure",
    "Field",
    "FieldSpec",
    "FieldType",
    "Filter",
    "Geometry",
    "HashEmbedder",
    "Hit",
    "IndexReport",
    "Indexer",
    "InferenceClient",
    "InvalidArgument",
    "InvalidQueryError",
    "LayoutBlock",
    "LegScore",
    "Library",
    "LiteParseBackend",
    "ManagedSink",
    "MarkdownChunker",
    "MarkdownParseResult",
    "MetadataFilter",
    "MetadataMap",
    "MissingExtra",
    "ModelIdentity",
    "NOTHING",
    "NamedStore",
    "Not",
    "OPERATORS",
    "OfficeProcessor",
    "Operator",
    "Orchestrator",
    "ParseError",
    "PdfProcessor",
    "PdfiumBackend",
    "PerDomainConfig",
    "PgSink",
    "PgTable",
    "PgVectorStore",
    "PinciteError",
    "Progress",
    "PyMuPDFBackend",
    "RRF_K",
    "Results",
    "Retriever",
    "RetrieverConfig",
    "Retrying",
    "SOURCE_SCORES_KEY",
    "STOPWORDS",
    "ScoredChunk",
    "Sink",
    "SinkContract",
    "Store",
    "StoreCorrupt",
    "StoreInfo",
    "StoreLocked",
    "StoreNotFound",
    "StoreUnavailable",
    "StoresBuilder",
    "TableSpan",
    "Target",
    "TermScore",
    "TextProcessor",
    "TsvProcessor",
    "Unconfigured",
    "UnsupportedFormat",
    "VSRetriever",
    "VectorStore",
    "VectorStoreContract",
    "VectorStoreInfo",
    "Word",
    "WordBoxes",
    "extract_metadata",
    "filter_from_dict",
    "filter_to_dict",
    "format_source_scores",
    "format_where",
    "instantiate_vector_store",
    "lint_metadata_map",
    "load_metadata_map",
    "matches",
    "normalize_text",
    "open",
    "open_async",
    "open_store",
    "parse_and_chunk",
    "parse_where",
    "rrf_merge",
    "serialize_vs_retrieval",
    "simplify",
    "validate",
]

_MODULES = {
    "pincite.bm25.index": ("BM25Index",),
    "pincite.chunking.adaptive": ("AdaptiveChunker",),
    "pincite.chunking.markdown": ("MarkdownChunker",),
    "pincite.dense.index": ("DenseIndex",),
    "pincite.embedding.client": (
        "EmbedClient",
        "InferenceClient",
    ),
    "pincite.embedding.embedder": ("Embedder",),
    "pincite.errors": (
        "CollectionMismatch",
        "EmbeddingError",
        "InvalidArgument",
        "InvalidQueryError",
        "MissingExtra",
        "ParseError",
        "PinciteError",
        "StoreCorrupt",
        "StoreLocked",
        "StoreNotFound",
        "StoreUnavailable",
        "Unconfigured",
        "UnsupportedFormat",
    ),
    "pincite.fusion": ("RRF_K",),
    "pincite.indexing.bibliographic": ("extract_metadata",),
    "pincite.indexing.builder": ("StoresBuilder",),
    "pincite.indexing.crossref": ("CrossrefLookup",),
    "pincite.indexing.indexer": (
        "Indexer",
        "parse_and_chunk",
    ),
    "pincite.indexing.map_lint": ("lint_metadata_map",),
    "pincite.indexing.metadata_map": (
        "MetadataMap",
        "load_metadata_map",
    ),
    "pincite.library.aio": (
        "AsyncLibrary",
        "open_async",
    ),
    "pincite.library.core": ("Library",),
    "pincite.model.chunks": (
        "ChunkResult",
        "EmbeddedChunk",
    ),
    "pincite.model.documents": (
        "Collection",
        "DocumentInfo",
        "EmbeddedDocument",
        "Failure",
        "Geometry",
        "IndexReport",
        "ModelIdentity",
        "Progress",
    ),
    "pincite.model.fields": (
        "Field",
        "FieldSpec",
        "FieldType",
    ),
    "pincite.model.filters": (
        "AllOf",
        "AnyOf",
        "DeclaredFilter",
        "Filter",
        "NOTHING",
        "Not",
        "OPERATORS",
        "Operator",
        "matches",
        "simplify",
        "validate",
    ),
    "pincite.model.geometry": (
        "BboxRect",
        "LayoutBlock",
        "TableSpan",
        "Word",
        "WordBoxes",
    ),
    "pincite.model.hits": (
        "Chunk",
        "Explanation",
        "Hit",
        "LegScore",
        "Results",
        "TermScore",
    ),
    "pincite.model.layout": ("MarkdownParseResult",),
    "pincite.model.where": (
        "F",
        "filter_from_dict",
        "filter_to_dict",
        "format_where",
        "parse_where",
    ),
    "pincite.parsing.backends": (
        "LiteParseBackend",
        "PdfiumBackend",
        "PyMuPDFBackend",
    ),
    "pincite.parsing.office": ("OfficeProcessor",),
    "pincite.parsing.pdf.processor": ("PdfProcessor",),
    "pincite.parsing.plain": ("TextProcessor",),
    "pincite.parsing.tabular": ("TsvProcessor",),
    "pincite.retrieval.base": (
        "MetadataFilter",
        "Retriever",
        "ScoredChunk",
    ),
    "pincite.retrieval.bm25_retriever": ("BM25Retriever",),
    "pincite.retrieval.domains": (
        "BM25StoreInfo",
        "PerDomainConfig",
        "RetrieverConfig",
        "StoreInfo",
        "VectorStoreInfo",
    ),
    "pincite.retrieval.managers": (
        "BM25RetrieverManager",
        "BaseRetriever",
        "VSRetriever",
    ),
    "pincite.retrieval.merge": (
        "SOURCE_SCORES_KEY",
        "format_source_scores",
        "rrf_merge",
    ),
    "pincite.retrieval.orchestrator": (
        "DomainFailure",
        "DomainResults",
        "Orchestrator",
    ),
    "pincite.retrieval.serialize": ("serialize_vs_retrieval",),
    "pincite.stores.named": (
        "CHROMA_HNSW_SPACE",
        "NamedStore",
        "instantiate_vector_store",
    ),
    "pincite.stores.ports": (
        "ManagedSink",
        "Sink",
        "Store",
        "Target",
        "VectorStore",
    ),
    "pincite.stores.postgres.layout": ("PgTable",),
    "pincite.stores.postgres.reader": ("PgVectorStore",),
    "pincite.stores.postgres.sink": ("PgSink",),
    "pincite.stores.retrying": ("Retrying",),
    "pincite.stores.uri": ("open_store",),
    "pincite.testing": (
        "HashEmbedder",
        "SinkContract",
        "VectorStoreContract",
    ),
    "pincite.text.analysis": ("Analyzer",),
    "pincite.text.normalize": ("normalize_text",),
    "pincite.text.stopwords": ("STOPWORDS",),
}
_PLACES = {name: (module, name) for module, names in _MODULES.items() for name in names}
_PLACES["open"] = ("pincite.library.opening", "open_library")

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _PLACES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
