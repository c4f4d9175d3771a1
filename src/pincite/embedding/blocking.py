"""An embedder for callers without an event loop, whichever way its client works."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pincite.embedding import identity

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import numpy as np
    from anyio.from_thread import BlockingPortal
    from numpy.typing import NDArray

    from pincite.embedding.embedder import Embedder
    from pincite.model.documents import ModelIdentity

__all__ = ["BlockingEmbedder", "blocking_embedder"]

T = TypeVar("T")


def blocking_embedder(embedding_model: str) -> BlockingEmbedder:
    """The embedder of a model name; ``InvalidArgument`` listing the forms for any other text."""
    from pincite.embedding.client import InferenceClient
    from pincite.embedding.embedder import Embedder
    from pincite.embedding.names import parse_model

    parse_model(embedding_model)
    return BlockingEmbedder(Embedder(InferenceClient(), embedding_model.strip()))


class BlockingEmbedder:
    """Embeds in the caller's thread, or through one event loop that starts at the first use.

    Safe to share between threads. ``close`` ends the loop and the connections that
    ``InferenceClient`` made in it.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._lock = threading.Lock()
        self._identity: ModelIdentity | None = None
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    @property
    def endpoint(self) -> str:
        """The endpoint's name."""
        return self.embedder.endpoint

    @property
    def identity(self) -> ModelIdentity:
        """What the model is: computed once, by embedding three fixed sentences."""
        if self._identity is None:
            if self.embedder.supports_sync:
                self._identity = identity.identify_sync(self.embedder)
            else:
                self._identity = self._call(partial(identity.identify, self.embedder))
        return self._identity

    def texts(self, texts: list[str]) -> NDArray[np.float32]:
        """One row for each text."""
        if self.embedder.supports_sync:
            return self.embedder.encode_texts(texts)
        return self._call(partial(self.embedder.embed_texts, texts))

    def query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape (dimension,)."""
        if self.embedder.supports_sync:
            return self.embedder.encode_query(text)
        return self._call(partial(self.embedder.embed_query, text))

    def close(self) -> None:
        """End the event loop, if one was started; a later call starts another."""
        with self._lock:
            portal, self._portal = self._portal, None
            if portal is not None:
                portal.call(self._disconnect)
            self._stack.close()

    async def _disconnect(self) -> None:
        """Close the connections of this loop; a client of another kind belongs to its maker."""
        from pincite.embedding.client import InferenceClient

        if isinstance(self.embedder.client, InferenceClient):
            await self.embedder.client.aclose()

    def _call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        from anyio.from_thread import start_blocking_portal

        with self._lock:
            if self._portal is None:
                self._portal = self._stack.enter_context(start_blocking_portal())
            portal = self._portal
        result: T = portal.call(work)
        return result
