"""From chunks and queries to checked vectors, with one endpoint of a client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pincite.embedding.client import EmbedClient, SyncEmbedClient
from pincite.embedding.vectors import check_vectors
from pincite.errors import InvalidArgument
from pincite.text.normalize import normalize_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.model.chunks import ChunkResult, EmbeddedChunk

__all__ = ["Embedder", "check_vectors"]


@dataclass(frozen=True, slots=True)
class Embedder:
    """Embeds chunks and queries with one endpoint of a client.

    ``client`` needs only ``EmbedClient.embed``. Where it also has ``prefixes``, ``model_name``,
    ``normalized``, ``max_tokens`` or ``tokenizer`` (as ``InferenceClient`` has), they are used.
    Texts are normalised, and the endpoint's passage or query prefix goes before them.
    The client's errors pass through unchanged.
    """

    client: EmbedClient
    endpoint: str

    async def embed(self, chunks: Sequence[ChunkResult]) -> list[EmbeddedChunk]:
        """One embedded chunk for each chunk, in order, by one call of the client.

        The text is ``chunk.indexed_text``. No chunks, no call. Raises ``EmbeddingError`` (a
        ``ValueError``) when the client does not return one vector for each chunk, or vectors that
        are empty, differ in length or hold a value that is not finite.
        """
        from pincite.model.chunks import EmbeddedChunk

        if not chunks:
            return []
        vectors = await self.embed_texts([chunk.indexed_text for chunk in chunks])
        rows = vectors.tolist()
        return [EmbeddedChunk(chunk, tuple(row)) for chunk, row in zip(chunks, rows, strict=True)]

    async def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each passage, shape (n, dimension); (0, 0) and no call without texts."""
        if not texts:
            return check_vectors([], 0)
        prepared = self._passages(texts)
        return check_vectors(await self.client.embed(self.endpoint, prepared), len(texts))

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The query's vector, shape (dimension,)."""
        vectors = check_vectors(await self.client.embed(self.endpoint, self._query(text)), 1)
        return vectors.reshape(-1)

    @property
    def supports_sync(self) -> bool:
        """Whether ``encode_texts`` and ``encode_query`` work, so that no event loop is needed."""
        client = self.client
        return isinstance(client, SyncEmbedClient) and client.supports_sync(self.endpoint)

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """``embed_texts`` without an event loop."""
        if not texts:
            return check_vectors([], 0)
        client = self._sync_client()
        return check_vectors(client.encode(self.endpoint, self._passages(texts)), len(texts))

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """``embed_query`` without an event loop."""
        client = self._sync_client()
        return check_vectors(client.encode(self.endpoint, self._query(text)), 1).reshape(-1)

    @property
    def prefixes(self) -> tuple[str, str]:
        """What goes before a query and before a passage."""
        query, passage = self._ask("prefixes", ("", ""))
        return query, passage

    @property
    def model_name(self) -> str:
        """The model's name; the endpoint's where the client knows no other."""
        return str(self._ask("model_name", self.endpoint))

    @property
    def normalized(self) -> bool:
        """Whether the client says that vectors have length one."""
        return bool(self._ask("normalized", False))

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that the model reads, None when there is no (known) limit."""
        limit: int | None = self._ask("max_tokens", None)
        return limit

    @property
    def tokenizer(self) -> Any:
        """What counts the model's tokens, for a chunker: a ``tokenizers.Tokenizer`` or a function
        from a text to a number; None when the client has none."""
        return self._ask("tokenizer", None)

    def _ask(self, method: str, default: Any) -> Any:
        ask = getattr(self.client, method, None)
        return default if ask is None else ask(self.endpoint)

    def _passages(self, texts: Sequence[str]) -> list[str]:
        prefix = self.prefixes[1]
        return [prefix + normalize_text(text) for text in texts]

    def _query(self, text: str) -> list[str]:
        return [self.prefixes[0] + normalize_text(text)]

    def _sync_client(self) -> SyncEmbedClient:
        if isinstance(self.client, SyncEmbedClient) and self.supports_sync:
            return self.client
        raise InvalidArgument(
            f"{self.endpoint} has no synchronous side; use the async methods of Embedder."
        )
