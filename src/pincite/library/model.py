"""The embedding model of a library, called from sync code whichever way its client works."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pincite.embedding.blocking import BlockingEmbedder
from pincite.errors import InvalidArgument

if TYPE_CHECKING:
    from pincite.embedding.embedder import Embedder
    from pincite.indexing.indexer import Chunker

__all__ = ["LibraryModel", "make_embedder"]

_MAX_TOKENS = 450


def make_embedder(embedder: Embedder | str | None, stored: str | None) -> Embedder:
    """An embedder from what ``open`` was given: itself, a model name, or the collection's own."""
    from pincite.embedding.client import DEFAULT_ENDPOINT, InferenceClient
    from pincite.embedding.embedder import Embedder
    from pincite.embedding.names import parse_model

    if isinstance(embedder, Embedder):
        return embedder
    if embedder is None:
        return Embedder(InferenceClient(), stored or DEFAULT_ENDPOINT)
    if isinstance(embedder, str):
        parse_model(embedder)
        return Embedder(InferenceClient(), embedder.strip())
    raise InvalidArgument(
        f"embedder is a {type(embedder).__name__}; pass a model name such as "
        f"{DEFAULT_ENDPOINT!r}, or pincite.Embedder(client, endpoint)."
    )


class LibraryModel(BlockingEmbedder):
    """Embeds texts and queries in the caller's thread, or through one event loop of its own."""

    def chunker(self) -> Chunker:
        """The default chunker, which counts the model's tokens and keeps within its limit."""
        from pincite.chunking.adaptive import AdaptiveChunker

        limit = min(_MAX_TOKENS, self.embedder.max_tokens or _MAX_TOKENS)
        return AdaptiveChunker(limit, tokenizer=self.embedder.tokenizer)
