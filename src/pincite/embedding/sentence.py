"""Models of the sentence-transformers package, from its local cache only."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, Any

from pincite.embedding.vectors import check_vectors
from pincite.errors import EmbeddingError, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from pincite.embedding.endpoints import Endpoint

__all__ = ["SentenceModel"]


class SentenceModel:
    """A sentence-transformers model in this process, loaded at the first use.

    Nothing is downloaded: the model must be a folder or lie in the local cache. Raises
    ``MissingExtra`` without the package and ``EmbeddingError`` without the model.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._lock = Lock()
        self._loaded: Any = None

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that the model reads."""
        return self.endpoint.max_tokens or self._load().max_seq_length or None

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's fast tokenizer, None when it has a slow one."""
        return getattr(self._load().tokenizer, "backend_tokenizer", None)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, shape (n, dimension)."""
        vectors = self._load().encode(
            list(texts),
            batch_size=self.endpoint.batch_size,
            normalize_embeddings=self.endpoint.normalize,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return check_vectors(vectors, len(texts))

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = _open(self.endpoint)
        return self._loaded


def _open(endpoint: Endpoint) -> Any:
    try:
        package = import_module("sentence_transformers")
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{endpoint.name} needs sentence-transformers; run: pip install 'pincite[st]'"
        ) from error
    try:
        return package.SentenceTransformer(endpoint.model, local_files_only=True)
    except (OSError, ValueError) as error:
        raise EmbeddingError(
            f"The model {endpoint.model} of {endpoint.name} is not on this machine ({error}); "
            "download it into the Hugging Face cache first, or give its folder."
        ) from error
