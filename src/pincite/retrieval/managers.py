"""Retrievers that know domains: each searches the stores that a domain has of its kind."""

from __future__ import annotations

import inspect
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from logging import Logger
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import anyio
from anyio.from_thread import run as run_in_loop
from anyio.from_thread import start_blocking_portal

from pincite.errors import InvalidArgument, InvalidQueryError, StoreNotFound, Unconfigured
from pincite.model.hits import Chunk
from pincite.model.views import with_view_keys
from pincite.retrieval.domains import RetrieverConfig, StoreInfo
from pincite.stores.named import NamedStore

if TYPE_CHECKING:
    from pincite.embedding.blocking import BlockingEmbedder
    from pincite.stores.ports import SyncReader, SyncStore

__all__ = ["BM25RetrieverManager", "BaseRetriever", "RankedList", "StoreOutcome", "VSRetriever"]

RankedList = list[tuple[Chunk, float]]
"""Chunks with their scores, best first."""

T = TypeVar("T")
_Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class StoreOutcome:
    """What one store of a domain answered: a ranked list, or the error it raised."""

    label: str
    store: str
    results: RankedList = field(default_factory=list)
    error: Exception | None = None


class BaseRetriever(ABC):
    """Machinery of domain-aware retrievers: lazy loading, and a retrieval depth for each store.

    ``default_k``, ``k_max`` and ``k_inc`` hold for stores that do not set their own. Safe to
    share between threads. Each method has an async twin of the same name with an ``a`` before it.
    """

    source_label: str = "retriever"
    """Human-readable name of this kind of retriever, used to label scores."""

    def __init__(
        self,
        config: RetrieverConfig,
        logger: Logger,
        default_k: int = 5,
        k_max: int = 10,
        k_inc: int = 1,
    ) -> None:
        """Raises ``InvalidArgument`` for a depth below 1, or a default above the most."""
        if not (1 <= default_k <= k_max) or k_inc < 0:
            raise InvalidArgument(
                f"default_k is {default_k}, k_max {k_max}, k_inc {k_inc}; they must be at least "
                "1, default_k and 0."
            )
        self.config = config
        self.logger = logger
        self.default_k = default_k
        self.k_max = k_max
        self.k_inc = k_inc
        self._depths: dict[_Place, int] = {}
        self._state = threading.Lock()
        self._loading: dict[str, threading.Lock] = {}
        self._ready = False
        self._setting_up = threading.Lock()

    # -- hooks

    @abstractmethod
    def _stores_of(self, domain_name: str) -> Sequence[StoreInfo]:
        """The stores of this kind that are configured for a domain."""

    @abstractmethod
    def _instantiate_store(self, store: StoreInfo) -> Any:
        """Open a store, in a thread; None skips it until the next load."""

    @abstractmethod
    def _retrieve_from_store(self, store: StoreInfo, query: Any, k: int) -> RankedList:
        """Search a loaded store, in a thread; ``query`` is what ``_prepare`` made of the text."""

    def _prepare(self, query: str) -> Any:
        """What every store is searched with, made once for a query, in a thread."""
        return query

    def setup(self) -> None:  # noqa: B027 - most retrievers share nothing
        """Initialise shared resources; called once before the first retrieval."""

    async def asetup(self) -> None:
        """``setup``, in a thread."""
        await anyio.to_thread.run_sync(self.setup)

    def close(self) -> None:  # noqa: B027 - most retrievers hold nothing open
        """Release what was opened; the next retrieval opens it again."""

    async def aclose(self) -> None:
        """``close``, in a thread."""
        await anyio.to_thread.run_sync(self.close)

    # -- loading

    @property
    def domains(self) -> list[str]:
        """All configured domains."""
        return list(self.config.domains)

    def load(self, domain_name: str) -> None:
        """Open the stores of a domain that are not open yet.

        Threads that load one domain at the same time open each store once. Raises
        ``InvalidQueryError`` for an unknown domain, naming the known ones, and the error of a
        store that cannot be opened, after opening the others.
        """
        for error in self._load(domain_name).values():
            raise error

    async def aload(self, domain_name: str) -> None:
        """``load``, in a thread."""
        await anyio.to_thread.run_sync(self.load, domain_name)

    def load_all_stores(self) -> None:
        """Open all stores of all domains."""
        for domain_name in self.domains:
            self.load(domain_name)

    async def aload_all_stores(self) -> None:
        """``load_all_stores``, in a thread."""
        await anyio.to_thread.run_sync(self.load_all_stores)

    # -- depth

    def inc_k(self) -> bool:
        """Raise k of every loaded store by its increment, at most to its own ``k_max``.

        True if at least one rose. A store that is not loaded keeps its default.
        """
        with self._state:
            before = dict(self._depths)
            for place, k in before.items():
                store = self._store(place)
                most = self.k_max if store.k_max is None else store.k_max
                step = self.k_inc if store.k_inc is None else store.k_inc
                self._depths[place] = max(k, min(k + step, most))
            return self._depths != before

    async def ainc_k(self) -> bool:
        """``inc_k``."""
        return self.inc_k()

    def reset_k(self) -> None:
        """Set k of every loaded store back to its default."""
        with self._state:
            self._depths = {place: self._default(self._store(place)) for place in self._depths}

    async def areset_k(self) -> None:
        """``reset_k``."""
        self.reset_k()

    # -- retrieval

    def retrieve(self, domain_name: str, query: str, k: int | None = None) -> RankedList:
        """The results of all stores of a domain as one list, by score, ties by id.

        ``k`` is the depth of this call alone, in every store; None is each store's own. Errors as
        in ``load``; ``InvalidQueryError`` for k below 1; the error of a store that fails.
        """
        return _blocking(partial(self.aretrieve, domain_name, query, k))

    async def aretrieve(self, domain_name: str, query: str, k: int | None = None) -> RankedList:
        """``retrieve`` without blocking the event loop."""
        lists = await self.aretrieve_lists(domain_name, query, k)
        joined = [pair for _, results in lists for pair in results]
        return sorted(joined, key=lambda pair: (-pair[1], pair[0].id))

    def retrieve_lists(
        self, domain_name: str, query: str, k: int | None = None
    ) -> list[tuple[str, RankedList]]:
        """A ranked list of each store, labelled with ``source_label``: what ``rrf_merge`` takes."""
        return _blocking(partial(self.aretrieve_lists, domain_name, query, k))

    async def aretrieve_lists(
        self, domain_name: str, query: str, k: int | None = None
    ) -> list[tuple[str, RankedList]]:
        """``retrieve_lists`` without blocking the event loop."""
        outcomes = await self.aretrieve_outcomes(domain_name, query, k)
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        return [(outcome.label, outcome.results) for outcome in outcomes]

    async def aretrieve_outcomes(
        self, domain_name: str, query: str, k: int | None = None
    ) -> list[StoreOutcome]:
        """What each loaded store answered, in the order of the configuration, all at once.

        A store that fails is an outcome with its error, last when it could not even be opened. A
        blank query finds nothing.
        """
        if k is not None and (isinstance(k, bool) or k < 1):
            raise InvalidQueryError(f"k is {k!r}; ask for at least 1 result.", field="k")
        self._checked(domain_name)
        errors = await anyio.to_thread.run_sync(self._get_ready, domain_name)
        places = self._loaded(domain_name, errors)
        names = [store.name for store in self._stores_of(domain_name)]
        failed = [StoreOutcome(self.source_label, names[n], error=e) for n, e in errors.items()]
        if not places or not query.strip():
            return failed
        prepared = await anyio.to_thread.run_sync(self._prepare, query)
        outcomes: list[StoreOutcome | None] = [None] * len(places)

        async def search(at: int, store: StoreInfo, depth: int) -> None:
            work = partial(self._outcome, store, prepared, depth)
            outcomes[at] = await anyio.to_thread.run_sync(work)

        async with anyio.create_task_group() as group:
            for at, (store, depth) in enumerate(places):
                group.start_soon(search, at, store, depth if k is None else k)
        return [outcome for outcome in outcomes if outcome is not None] + failed

    # -- how

    def _outcome(self, store: StoreInfo, prepared: Any, k: int) -> StoreOutcome:
        try:
            found = self._retrieve_from_store(store, prepared, k)
        except Exception as error:  # noqa: BLE001 - one store's failure is reported by its name
            return StoreOutcome(self.source_label, store.name, error=error)
        return StoreOutcome(self.source_label, store.name, found)

    def _get_ready(self, domain_name: str) -> dict[int, Exception]:
        with self._setting_up:
            if not self._ready:
                self.setup()
                self._ready = True
        return self._load(domain_name)

    def _load(self, domain_name: str) -> dict[int, Exception]:
        """Open what is not open; the error of each store that failed."""
        stores = self._checked(domain_name)
        with self._state:
            lock = self._loading.setdefault(domain_name, threading.Lock())
        errors: dict[int, Exception] = {}
        with lock:
            for number, store in enumerate(stores):
                try:
                    self._open(store)
                except Exception as error:  # noqa: BLE001 - as in _outcome
                    errors[number] = error
                    continue
                if store.loaded_object is not None:
                    with self._state:
                        self._depths.setdefault((domain_name, number), self._default(store))
        return errors

    def _open(self, store: StoreInfo) -> None:
        if store.loaded_object is None:
            store.loaded_object = self._instantiate_store(store)

    def _loaded(
        self, domain_name: str, errors: Mapping[int, Exception]
    ) -> list[tuple[StoreInfo, int]]:
        """The stores that can be searched, with their depths."""
        with self._state:
            return [
                (store, self._depths[domain_name, number])
                for number, store in enumerate(self._stores_of(domain_name))
                if (domain_name, number) in self._depths
                and number not in errors
                and store.loaded_object is not None
            ]

    def _checked(self, domain_name: str) -> Sequence[StoreInfo]:
        if domain_name not in self.config.domains:
            known = ", ".join(map(repr, self.domains)) or "none"
            raise InvalidQueryError(
                f"Unknown domain {domain_name!r}; the configured ones are: {known}."
            )
        return self._stores_of(domain_name)

    def _store(self, place: _Place) -> StoreInfo:
        return self._stores_of(place[0])[place[1]]

    def _default(self, store: StoreInfo) -> int:
        if store.default_k is not None:
            return store.default_k
        return self.default_k if store.k_max is None else min(self.default_k, store.k_max)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _OpenVectors:
    """A collection of an open store."""

    store: SyncStore
    subject: str
    reader: SyncReader

    def near_vector(self, target: str, *, vector: Sequence[float], limit: int) -> Any:
        return self.reader.near_vector(target, vector=vector, limit=limit)


class VSRetriever(BaseRetriever):
    """Similarity search in the vector stores of a domain; scores are cosines.

    A store that was filled with another model is refused with ``CollectionMismatch``. A store's
    ``loaded_object`` may also be what ``instantiate_vector_store`` returned, or a reader of your
    own, sync or async, with ``near_vector``.
    """

    source_label = "vector store"

    def __init__(
        self,
        config: RetrieverConfig,
        logger: Logger,
        embedding_model: str,
        default_k: int = 5,
        k_max: int = 10,
        k_inc: int = 1,
    ) -> None:
        """``embedding_model`` is an endpoint name, ``ollama:<model>[:tag]``,
        ``custom:<model>:<url>`` or ``huggingface:<model>:local``; else ``InvalidArgument``."""
        from pincite.embedding.names import parse_model

        super().__init__(config, logger, default_k, k_max, k_inc)
        parse_model(embedding_model)
        self.embedding_model = embedding_model
        self._embedder: BlockingEmbedder | None = None
        self._opened: dict[_OpenVectors, StoreInfo] = {}
        self._agreed: WeakSet[_OpenVectors] = WeakSet()  # another retriever may have opened them

    def setup(self) -> None:
        """Initialise the embedding model."""
        from pincite.embedding.blocking import blocking_embedder

        if self._embedder is None:
            self._embedder = blocking_embedder(self.embedding_model)

    def close(self) -> None:
        """Close the stores that this retriever opened, and the model's connections."""
        for found in list(self._opened):
            self._discard(found)
        with self._state:
            self._depths.clear()
        if self._embedder is not None:
            self._embedder.close()

    def _stores_of(self, domain_name: str) -> Sequence[StoreInfo]:
        return self.config.domains[domain_name].vector_stores

    def _instantiate_store(self, store: StoreInfo) -> Any:
        from pincite.stores.uri import open_sync_store, uri_subject

        subject = uri_subject(store.path)
        opened = open_sync_store(store.path)
        found = _OpenVectors(opened, subject, opened.reader(subject, [store.name]))
        with self._state:
            self._opened[found] = store
        return found

    def _open(self, store: StoreInfo) -> None:
        super()._open(store)
        found = store.loaded_object
        if isinstance(found, _OpenVectors) and found not in self._agreed:
            try:
                self._agree(store, found)
            except BaseException:
                self._discard(found)
                raise

    def _agree(self, store: StoreInfo, found: _OpenVectors) -> None:
        """Refuse a collection of another model."""
        from pincite.stores.checks import check_model

        model = found.store.model(found.subject, store.name)
        if model is None:
            self.logger.warning(
                "Collection %r of %s holds nothing; check the store's name.", store.name, store.path
            )
            return
        embedder = self._model()
        check_model(store.name, model, endpoint=embedder.endpoint, model=embedder.identity)
        self._agreed.add(found)

    def _discard(self, found: _OpenVectors) -> None:
        """Close a store if it was opened here."""
        with self._state:
            store = self._opened.pop(found, None)
        if store is None:
            return
        if store.loaded_object is found:
            store.loaded_object = None
        found.store.close()

    def _prepare(self, query: str) -> list[float]:
        return [float(value) for value in self._model().query(query)]

    def _retrieve_from_store(self, store: StoreInfo, query: Any, k: int) -> RankedList:
        reader, target = _reader_of(store)
        found = reader.near_vector(target, vector=query, limit=k)
        if inspect.isawaitable(found):
            found = run_in_loop(_awaited, found)
        return [(with_view_keys(hit.chunk), hit.score) for hit in found]

    def _model(self) -> BlockingEmbedder:
        if self._embedder is None:
            self.setup()
        if self._embedder is None:
            raise Unconfigured("setup() left no embedder; call VSRetriever.setup in yours.")
        return self._embedder


class BM25RetrieverManager(BaseRetriever):
    """Keyword search in the BM25 stores of a domain.

    A store whose folder is missing is skipped with a warning and tried again at the next load, so
    that one misconfigured store does not fail the retrieval.
    """

    source_label = "BM25"

    def _stores_of(self, domain_name: str) -> Sequence[StoreInfo]:
        return self.config.domains[domain_name].bm25_stores

    def _instantiate_store(self, store: StoreInfo) -> Any:
        from pincite.bm25.chunk_store import ChunkStore
        from pincite.retrieval.bm25_retriever import BM25Retriever

        try:
            return ChunkStore.open(store.path)
        except StoreNotFound:
            self.logger.warning(
                "BM25 store %r is not at %s and is skipped; build it with write_bm25_store.",
                store.name,
                store.path,
            )
            return None
        except InvalidArgument:  # another analysis: that of a retriever that was saved
            return BM25Retriever.open(store.path)

    def _retrieve_from_store(self, store: StoreInfo, query: Any, k: int) -> RankedList:
        found: Any = store.loaded_object
        if hasattr(found, "search"):
            pairs = found.search(query, k)
        else:
            pairs = [(hit.chunk, hit.score) for hit in found.retrieve(query, k)]
        return [(with_view_keys(chunk), score) for chunk, score in pairs]


def _reader_of(store: StoreInfo) -> tuple[Any, str]:
    """What searches a loaded store, and the name that the collection has there."""
    found: Any = store.loaded_object
    if isinstance(found, NamedStore):
        return found.reader(), found.collection
    return found, store.name


def _blocking(work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine to its end in an event loop of its own, also below a running one."""
    with start_blocking_portal() as portal:
        result: T = portal.call(work)
        return result


async def _awaited(found: Awaitable[T]) -> T:
    return await found
