"""An embedder that needs no model: vectors from hashed words."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pincite.errors import InvalidArgument

__all__ = ["HashEmbedder"]

_WORD = re.compile(r"\w+")
_HASHES = 4


class HashEmbedder:
    """A client for ``Embedder``, sync and async, whose vectors are a pure function of the text.

    Each word, and at a third of its weight each of its letter triples, adds to a few places of
    the vector, so that texts with words in common are similar. Vectors have length 1, are never
    all zero, and are the same in every process. ``calls`` and ``texts`` count what was asked of
    it. Embedders of another ``seed`` disagree, as two models do.
    """

    def __init__(self, dimension: int = 64, *, seed: int = 0) -> None:
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 2:
            raise InvalidArgument(f"dimension must be a whole number >= 2, not {dimension!r}.")
        self.dimension = dimension
        self.seed = seed
        self.calls = 0
        self.texts = 0

    async def embed(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, shape (n, dimension)."""
        return self.encode(endpoint, texts)

    def encode(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """``embed`` without an event loop; every ``endpoint`` gives the same vectors."""
        del endpoint
        self.calls += 1
        self.texts += len(texts)
        rows = [self.vector(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape (dimension,): stores take this object as an embedder."""
        rows: NDArray[np.float32] = await self.embed("", [text])
        row: NDArray[np.float32] = rows[0]
        return row

    def supports_sync(self, endpoint: str) -> bool:
        """Always."""
        del endpoint
        return True

    def model_name(self, endpoint: str) -> str:
        """A name that tells two settings apart."""
        del endpoint
        return f"hash-{self.seed}"

    def normalized(self, endpoint: str) -> bool:
        """Always."""
        del endpoint
        return True

    def vector(self, text: str) -> list[float]:
        """The vector of one text, not counted."""
        sums = [0.0] * self.dimension
        sums[0] = 0.01  # a text without words has a direction too
        for word in _WORD.findall(text.casefold()):
            self._add(sums, word, 1.0)
            padded = f"<{word}>"
            for start in range(len(padded) - 2):
                self._add(sums, padded[start : start + 3], 1 / 3)
        length = math.sqrt(math.fsum(x * x for x in sums))
        return [x / length for x in sums]

    def _add(self, sums: list[float], piece: str, weight: float) -> None:
        key = f"{self.seed}:{piece}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(key, digest_size=4 * _HASHES).digest()
        for place in range(_HASHES):
            number = int.from_bytes(digest[4 * place : 4 * place + 4], "little")
            sign = 1.0 if number & 1 else -1.0
            sums[1 + (number >> 1) % (self.dimension - 1)] += sign * weight
