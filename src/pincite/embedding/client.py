"""The client of embedding endpoints: one door to local and remote models."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from pincite.embedding.endpoints import Endpoint, endpoint_files, read_endpoint
from pincite.embedding.http import HttpModel
from pincite.embedding.names import MODEL_FORMS, parse_model
from pincite.embedding.sentence import SentenceModel
from pincite.embedding.static import StaticModel
from pincite.embedding.wordllama import WordllamaModel
from pincite.errors import InvalidArgument, PinciteError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from pincite.embedding.cache import CachedModel, VectorCache
    from pincite.embedding.vectors import Vectors

__all__ = ["DEFAULT_ENDPOINT", "EmbedClient", "InferenceClient", "SyncEmbedClient"]

DEFAULT_ENDPOINT = "local--static"
"""The endpoint that needs no file, no network and no download."""

_ST = "sentence-transformers"
_KINDS = {"ollama": "ollama", "custom": "openai", "huggingface": _ST}

_BUILT_IN: dict[str, Callable[[], StaticModel]] = {
    DEFAULT_ENDPOINT: StaticModel,
    "local--wordllama": WordllamaModel,
}

_Model: TypeAlias = StaticModel | SentenceModel | HttpModel


class EmbedClient(Protocol):
    """What embeds texts for an ``Embedder``."""

    async def embed(self, endpoint: str, texts: Sequence[str]) -> Vectors:
        """One vector for each text, in their order."""
        ...


@runtime_checkable
class SyncEmbedClient(Protocol):
    """A client that serves some endpoints without an event loop."""

    def supports_sync(self, endpoint: str) -> bool:
        """Whether ``encode`` serves this endpoint."""
        ...

    def encode(self, endpoint: str, texts: Sequence[str]) -> Vectors:
        """One vector for each text, in their order."""
        ...


class InferenceClient:
    """Embeds texts with the endpoints it knows.

    ``local--static`` is built in, and ``local--wordllama`` with the extra ``wordllama``. The
    folders in ``config_roots`` add one endpoint for each file ``<provider>--<name>.toml``; an
    earlier folder wins, and no file replaces a built-in endpoint.
    An endpoint can also be given as a model: ``ollama:<model>[:tag]`` (at 127.0.0.1:11434),
    ``custom:<model>:<url>`` (OpenAI-compatible, without a key) or ``huggingface:<model>:local``
    (sentence-transformers, from its local cache). Batches, retries and checks are done here.
    A file is read at the first use of its endpoint.

    ``cache`` names a file in which vectors are kept, by model and text, so that no endpoint is
    asked twice for the same one; without it the environment variable PINCITE_EMBEDDING_CACHE does.
    The bundled models are faster than a look-up and are not kept.
    """

    def __init__(
        self,
        config_roots: Iterable[str | PathLike[str]] = (),
        *,
        cache: str | PathLike[str] | None = None,
    ) -> None:
        self._files = endpoint_files(Path(root) for root in config_roots)
        self._models: dict[str, _Model] = {}
        self._place = cache or os.environ.get("PINCITE_EMBEDDING_CACHE", "").strip() or None
        self._cache: VectorCache | None = None
        self._cached: dict[str, CachedModel] = {}

    def endpoints(self) -> list[str]:
        """The names of the endpoints that are built in or have a file, sorted."""
        return sorted({*_BUILT_IN, *self._files})

    async def embed(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One float32 row for each text. A local model runs in a thread.

        Raises ``InvalidArgument`` for an unknown endpoint, ``EmbeddingError`` when the endpoint
        does not answer with one finite vector for each text, ``Unconfigured`` without its key.
        """
        import anyio.to_thread

        model, cached = self._model(endpoint), self._kept(endpoint)

        async def ask(some: Sequence[str]) -> NDArray[np.float32]:
            if isinstance(model, HttpModel):
                return await model.embed(some)
            return await anyio.to_thread.run_sync(model.encode, some)

        if cached is None or not texts:
            return await ask(texts)
        steps = cached.vectors(texts)
        step = await anyio.to_thread.run_sync(_advanced, steps, None)
        while isinstance(step, list):
            step = await anyio.to_thread.run_sync(_advanced, steps, await ask(step))
        return step

    def encode(self, endpoint: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """``embed`` without an event loop, for the endpoints that run in this process."""
        model = self._model(endpoint)
        if isinstance(model, HttpModel):
            raise InvalidArgument(
                f"{endpoint} is reached over the network; use `await embed(...)`."
            )
        cached = self._kept(endpoint)
        if cached is None or not texts:
            return model.encode(texts)
        steps = cached.vectors(texts)
        step = _advanced(steps, None)
        while isinstance(step, list):
            step = _advanced(steps, model.encode(step))
        return step

    def supports_sync(self, endpoint: str) -> bool:
        """Whether ``encode`` serves this endpoint."""
        return not isinstance(self._model(endpoint), HttpModel)

    def model_name(self, endpoint: str) -> str:
        """The model behind the endpoint: what two hosts of the same model share."""
        model = self._model(endpoint)
        return model.name if isinstance(model, StaticModel) else model.endpoint.model

    def normalized(self, endpoint: str) -> bool:
        """Whether the endpoint's vectors have length one."""
        model = self._model(endpoint)
        return isinstance(model, StaticModel) or model.endpoint.normalize

    def prefixes(self, endpoint: str) -> tuple[str, str]:
        """What goes before a query and before a passage."""
        model = self._model(endpoint)
        if isinstance(model, StaticModel):
            return "", ""
        return model.endpoint.query_prefix, model.endpoint.passage_prefix

    def max_tokens(self, endpoint: str) -> int | None:
        """The most tokens that the model reads, None when there is no (known) limit."""
        model = self._model(endpoint)
        return (
            (model.endpoint.max_tokens or None)
            if isinstance(model, HttpModel)
            else model.max_tokens
        )

    def tokenizer(self, endpoint: str) -> Tokenizer | Callable[[str], int] | None:
        """What counts the model's tokens: its ``tokenizers.Tokenizer``, or a function from a text
        to its number of tokens; None when only the host knows."""
        model = self._model(endpoint)
        if isinstance(model, StaticModel):
            return model.count_tokens
        return None if isinstance(model, HttpModel) else model.tokenizer

    async def aclose(self) -> None:
        """Close the connections and the cache; the client can be used again afterwards."""
        for model in self._models.values():
            if isinstance(model, HttpModel):
                await model.aclose()
        if self._cache is not None:
            self._cache.close()

    def _kept(self, endpoint: str) -> CachedModel | None:
        """The endpoint's vectors through the cache, None where it has none."""
        model = self._model(endpoint)
        if self._place is None or isinstance(model, StaticModel):
            return None
        from pincite.embedding.cache import CachedModel, VectorCache

        if endpoint not in self._cached:
            self._cache = self._cache or VectorCache(self._place)
            made = CachedModel(
                self._cache,
                self.model_name(endpoint),
                self.prefixes(endpoint),
                batch=model.endpoint.batch_size,
            )
            self._cached.setdefault(endpoint, made)
        return self._cached[endpoint]

    def _model(self, endpoint: str) -> _Model:
        if endpoint not in self._models:
            self._models.setdefault(endpoint, self._build(endpoint))
        return self._models[endpoint]

    def _build(self, endpoint: str) -> _Model:
        parsed = parse_model(endpoint)
        if parsed.kind != "endpoint":
            kind = _KINDS[parsed.kind]
            return _model_of(Endpoint(endpoint, kind, parsed.model, url=parsed.url))
        if build := _BUILT_IN.get(parsed.model):
            return build()
        if path := self._files.get(parsed.model):
            return _model_of(read_endpoint(path))
        raise self._unknown(parsed.model)

    def _unknown(self, endpoint: str) -> PinciteError:
        return InvalidArgument(
            f"The embedding endpoint {endpoint!r} is unknown; use {', '.join(self.endpoints())}, "
            f"add a file {endpoint}.toml to a folder of config_roots, or give "
            f"{' or '.join(MODEL_FORMS[1:])}."
        )


def _advanced(
    steps: Generator[list[str], NDArray[np.float32], NDArray[np.float32]],
    vectors: NDArray[np.float32] | None,
) -> list[str] | NDArray[np.float32]:
    """The texts that are asked for next, or at the end the vectors of all."""
    try:
        return next(steps) if vectors is None else steps.send(vectors)
    except StopIteration as done:
        made: NDArray[np.float32] = done.value
        return made


def _model_of(endpoint: Endpoint) -> _Model:
    return SentenceModel(endpoint) if endpoint.kind == _ST else HttpModel(endpoint)
