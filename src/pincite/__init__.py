"""Pincite: hybrid retrieval over your own documents, cited to file, page and rectangle.

    import pincite

    with pincite.open("local:.pincite", collection="papers") as lib:
        lib.add("papers/")
        for hit in lib.search("how is the block mask built", k=5):
            print(hit.rank, hit.score, hit.chunk.document, hit.chunk.pages)

Names are loaded when they are first used, so that ``import pincite`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.chunking.adaptive import (
        AdaptiveChunker,
    )
    from pincite.chunking.markdown import (
        MarkdownChunker,
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
    from pincite.indexing.indexer import (
        Indexer,
        parse_and_chunk,
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
        Hit,
        LegScore,
        Results,
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
    "BboxRect",
    "CHROMA_HNSW_SPACE",
    "Chunk",
    "ChunkResult",
    "Collection",
    "CollectionMismatch",
    "DeclaredFilter",
    "DocumentInfo",
    "EmbedClient",
    "EmbeddedChunk",
    "EmbeddedDocument",
    "Embedder",
    "EmbeddingError",
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
    "MissingExtra",
    "ModelIdentity",
    "NOTHING",
    "NamedStore",
    "Not",
    "OPERATORS",
    "OfficeProcessor",
    "Operator",
    "ParseError",
    "PdfProcessor",
    "PdfiumBackend",
    "PgSink",
    "PgTable",
    "PgVectorStore",
    "PinciteError",
    "Progress",
    "PyMuPDFBackend",
    "RRF_K",
    "Results",
    "Retrying",
    "STOPWORDS",
    "Sink",
    "SinkContract",
    "Store",
    "StoreCorrupt",
    "StoreLocked",
    "StoreNotFound",
    "StoreUnavailable",
    "TableSpan",
    "Target",
    "TextProcessor",
    "TsvProcessor",
    "Unconfigured",
    "UnsupportedFormat",
    "VectorStore",
    "VectorStoreContract",
    "Word",
    "WordBoxes",
    "filter_from_dict",
    "filter_to_dict",
    "format_where",
    "instantiate_vector_store",
    "matches",
    "normalize_text",
    "open",
    "open_async",
    "open_store",
    "parse_and_chunk",
    "parse_where",
    "simplify",
    "validate",
]

_MODULES = {
    "pincite.chunking.adaptive": ("AdaptiveChunker",),
    "pincite.chunking.markdown": ("MarkdownChunker",),
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
    "pincite.indexing.indexer": (
        "Indexer",
        "parse_and_chunk",
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
        "Hit",
        "LegScore",
        "Results",
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
    "pincite.stores.named": ("CHROMA_HNSW_SPACE", "NamedStore", "instantiate_vector_store"),
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


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'pincite' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    value = getattr(import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
