"""The embedding model of a library, called from sync code whichever way its client works."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING

from pincite.errors import InvalidArgument

if TYPE_CHECKING:
    import numpy as np
    from anyio.from_thread import BlockingPortal
    from numpy.typing import NDArray

    from pincite.embedding.embedder import Embedder
    from pincite.indexing.indexer import Chunker
    from pincite.model.documents import ModelIdentity

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


class LibraryModel:
    """Embeds texts and queries in the caller's thread, or through one event loop of its own."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    @property
    def endpoint(self) -> str:
        return self.embedder.endpoint

    @cached_property
    def identity(self) -> ModelIdentity:
        """What the model is: computed once, by embedding three fixed sentences."""
        from pincite.embedding import identity

        if self.embedder.supports_sync:
            return identity.identify_sync(self.embedder)
        return self._loop().call(identity.identify, self.embedder)

    def texts(self, texts: list[str]) -> NDArray[np.float32]:
        """One row for each text."""
        if self.embedder.supports_sync:
            return self.embedder.encode_texts(texts)
        return self._loop().call(self.embedder.embed_texts, texts)

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query."""
        if self.embedder.supports_sync:
            return self.embedder.encode_query(text)
        return self._loop().call(self.embedder.embed_query, text)

    def chunker(self) -> Chunker:
        """The default chunker, which counts the model's tokens and keeps within its limit."""
        from pincite.chunking.adaptive import AdaptiveChunker

        limit = min(_MAX_TOKENS, self.embedder.max_tokens or _MAX_TOKENS)
        return AdaptiveChunker(limit, tokenizer=self.embedder.tokenizer)

    def close(self) -> None:
        """Stop the event loop, if one was started."""
        self._stack.close()
        self._portal = None

    def _loop(self) -> BlockingPortal:
        if self._portal is None:
            from anyio.from_thread import start_blocking_portal

            self._portal = self._stack.enter_context(start_blocking_portal())
        return self._portal
