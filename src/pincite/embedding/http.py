"""Embedding over HTTP: OpenAI-compatible hosts and Ollama."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from pincite.embedding.vectors import check_vectors, unit_rows
from pincite.errors import EmbeddingError, Unconfigured

if TYPE_CHECKING:
    import httpx
    import numpy as np
    from anyio.lowlevel import RunVar
    from numpy.typing import NDArray

    from pincite.embedding.endpoints import Endpoint

__all__ = ["HttpModel"]

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 20.0
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class HttpModel:
    """An endpoint behind HTTP: batches, retries, checks and scales.

    A connection failure, a time-out or one of the states 408, 409, 425, 429 and 5xx is tried
    again, up to ``endpoint.attempts`` times, after pauses that double from half a second with
    jitter, or after what ``Retry-After`` asks (20 s at most). What then still fails, and any other
    state or unreadable answer, is an ``EmbeddingError``. The API key never enters a message.
    """

    def __init__(
        self, endpoint: Endpoint, *, sleep: Callable[[float], Awaitable[None]] | None = None
    ) -> None:
        self.endpoint = endpoint
        self._sleep = sleep
        self._clients: RunVar[list[httpx.AsyncClient]] | None = None

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row for each text, shape (n, dimension); (0, 0) without texts."""
        import numpy as np

        size = self.endpoint.batch_size
        parts = [
            await self._embed_batch(list(texts[first : first + size]))
            for first in range(0, len(texts), size)
        ]
        if len({part.shape[1] for part in parts}) > 1:
            raise EmbeddingError(f"{self._label} changed the vectors' length; check its model.")
        return np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float32)

    async def aclose(self) -> None:
        """Close the connections of the running event loop; a later call opens new ones."""
        if self._clients is None:
            return
        for client in self._clients.get([]):
            await client.aclose()
        self._clients.set([])

    @property
    def _label(self) -> str:
        return f"The embedding endpoint {self.endpoint.name} ({self.endpoint.url})"

    async def _embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        # Lone surrogates, which a text decoded by force may hold, are nothing that can be sent.
        sent = [text.encode("utf-8", "ignore").decode() for text in texts]
        answer = await self._post({"model": self.endpoint.model, "input": sent})
        try:
            rows = _rows(self.endpoint.kind, answer)
        except (KeyError, TypeError, ValueError) as error:
            raise EmbeddingError(
                f"{self._label} answered without embeddings; check that kind = "
                f"{self.endpoint.kind!r} is right for it."
            ) from error
        vectors = check_vectors(rows, len(texts))
        if self.endpoint.dimension not in (0, vectors.shape[1]):
            raise EmbeddingError(
                f"{self._label} returned {vectors.shape[1]} dimensions instead of "
                f"{self.endpoint.dimension}; correct its model or dimension."
            )
        return unit_rows(vectors) if self.endpoint.normalize else vectors

    async def _post(self, payload: dict[str, Any]) -> Any:
        import httpx

        problem, asked = "", 0.0
        for attempt in range(self.endpoint.attempts):
            if attempt:
                await self._pause(attempt, asked)
            asked = 0.0
            try:
                response = await self._open().post(self._path, json=payload, headers=self._headers)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}".rstrip(": ")
                continue
            if response.status_code not in _RETRIED:
                return self._body(response)
            problem = f"HTTP {response.status_code}"
            asked = _retry_after(response.headers.get("retry-after", ""))
        raise EmbeddingError(
            f"{self._label} gave no answer in {self.endpoint.attempts} attempts ({problem}); "
            "check that it runs and is reachable, then run the same call again."
        )

    def _body(self, response: httpx.Response) -> Any:
        if response.is_success:
            try:
                return response.json()
            except ValueError as error:
                raise EmbeddingError(f"{self._label} answered no JSON; check its url.") from error
        raise EmbeddingError(
            f"{self._label} refused the call with HTTP {response.status_code}: "
            f"{response.text[:300].strip()!r}; check its url, model and API key."
        )

    async def _pause(self, attempt: int, asked: float) -> None:
        import anyio

        pause = _FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
        await (self._sleep or anyio.sleep)(min(max(pause, asked), _LONGEST_PAUSE))

    def _open(self) -> httpx.AsyncClient:
        # One client for each event loop: connections cannot move between loops.
        import httpx
        from anyio.lowlevel import RunVar

        if self._clients is None:
            self._clients = RunVar(f"pincite-{self.endpoint.name}")
        clients = self._clients.get([])
        if not clients:
            clients = [httpx.AsyncClient(timeout=self.endpoint.timeout)]
            self._clients.set(clients)
        return clients[0]

    @property
    def _path(self) -> str:
        path = "/api/embed" if self.endpoint.kind == "ollama" else "/embeddings"
        return self.endpoint.url.rstrip("/") + path

    @property
    def _headers(self) -> dict[str, str]:
        variable = self.endpoint.api_key_env
        if not variable:
            return {}
        key = os.environ.get(variable, "").strip()
        if not key:
            raise Unconfigured(
                f"The embedding endpoint {self.endpoint.name} needs an API key; set the "
                f"environment variable {variable}."
            )
        return {"Authorization": f"Bearer {key}"}


def _rows(kind: str, answer: Any) -> list[list[float]]:
    if kind == "ollama":
        return list(answer["embeddings"])
    items = sorted(answer["data"], key=lambda item: int(item["index"]))
    return [item["embedding"] for item in items]


def _retry_after(header: str) -> float:
    try:
        return max(0.0, float(header))
    except ValueError:
        return 0.0
