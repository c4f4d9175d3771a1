"""Haystack: a document store over any store of Pincite, and its three retrievers.

from haystack import Document
from pincite.integrations.haystack import PinciteDocumentStore, PinciteKeywordRetriever

store = PinciteDocumentStore("local:.pincite", embedding_dimension=384)
store.write_documents([Document(content="Quartz veins may hold gold.", meta={"year": 2020})])
PinciteKeywordRetriever(store, top_k=3).run("gold")["documents"]
"""

from __future__ import annotations

from pincite.errors import MissingExtra

try:
    import haystack  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "pincite.integrations.haystack needs the extra [haystack], which is not installed:"
        " pip install 'pincite[haystack]'."
    ) from error

from pincite.integrations.haystack.retrievers import (
    PinciteEmbeddingRetriever,
    PinciteHybridRetriever,
    PinciteKeywordRetriever,
)
from pincite.integrations.haystack.store import PinciteDocumentStore

__all__ = [
    "PinciteDocumentStore",
    "PinciteEmbeddingRetriever",
    "PinciteHybridRetriever",
    "PinciteKeywordRetriever",
]
