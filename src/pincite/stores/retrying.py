"""Call a store again while it gives no answer."""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import anyio

from pincite.errors import InvalidArgument, StoreUnavailable
from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter
from pincite.model.hits import Chunk, Hit
from pincite.stores.ports import Target, VectorStore

__all__ = ["Retrying", "Timing"]

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Timing(Protocol):
    """Where ``Retrying`` gets its time and its chance from; tests pass a clock of their own."""

    def now(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def fraction(self) -> float:
        """A random number in [0, 1)."""
        ...


class _SystemTiming:
    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def fraction(self) -> float:
        return random.random()


class Retrying:
    """A ``VectorStore`` that repeats a call while ``store`` raises ``StoreUnavailable``.

    At most ``attempts`` calls are made. Before the n-th repeat it waits ``backoff * 2**(n-1)``
    seconds, with ``jitter`` a random part of that ("full jitter": Brooker, "Exponential backoff
    and jitter", AWS Architecture Blog, 2015). ``deadline`` bounds everything, in seconds from
    the first call: a wait that would pass it is not begun, and a call still running at that
    time is cancelled and counts as unavailable. Every other error passes at once, as the same
    object, after one call.

    Raises ``InvalidArgument`` for options out of range.
    """

    def __init__(
        self,
        store: VectorStore,
        *,
        attempts: int = 3,
        backoff: float = 0.1,
        jitter: bool = True,
        deadline: float = 10.0,
        timing: Timing | None = None,
    ) -> None:
        if not isinstance(store, VectorStore):
            raise InvalidArgument(
                f"{type(store).__name__} is no VectorStore; give it the five methods of the port."
            )
        if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
            raise InvalidArgument(f"attempts must be a whole number >= 1, not {attempts!r}.")
        if not isinstance(jitter, bool):
            raise InvalidArgument(f"jitter must be True or False, not {jitter!r}.")
        if not _is_number(backoff) or backoff < 0:
            raise InvalidArgument(f"backoff must be finite seconds >= 0, not {backoff!r}.")
        if not _is_number(deadline) or deadline <= 0:
            raise InvalidArgument(f"deadline must be finite seconds > 0, not {deadline!r}.")
        self._store = store
        self._attempts = attempts
        self._backoff = float(backoff)
        self._jitter = jitter
        self._deadline = float(deadline)
        self._timing: Timing = timing or _SystemTiming()

    async def hybrid(
        self,
        target: Target,
        *,
        query: str,
        vector: Sequence[float] | None = None,
        limit: int,
        where: Filter | None = None,
        alpha: float | None = None,
    ) -> Sequence[Hit]:
        """``VectorStore.hybrid``, repeated while unavailable."""
        call = partial(
            self._store.hybrid,
            target,
            query=query,
            vector=vector,
            limit=limit,
            where=where,
            alpha=alpha,
        )
        return await self._repeat(call)

    async def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> Sequence[Hit]:
        """``VectorStore.near_vector``, repeated while unavailable."""
        return await self._repeat(
            partial(self._store.near_vector, target, vector=vector, limit=limit, where=where)
        )

    async def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> Sequence[Hit]:
        """``VectorStore.bm25``, repeated while unavailable."""
        return await self._repeat(
            partial(self._store.bm25, target, query=query, limit=limit, where=where)
        )

    async def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> Sequence[Chunk]:
        """``VectorStore.fetch``, repeated while unavailable."""
        call = partial(
            self._store.fetch,
            target,
            where=where,
            limit=limit,
            order_by=order_by,
            descending=descending,
        )
        return await self._repeat(call)

    async def fields(self, target: Target) -> FieldSpec:
        """``VectorStore.fields``, repeated while unavailable."""
        return await self._repeat(partial(self._store.fields, target))

    async def _repeat(self, call: Callable[[], Awaitable[T]]) -> T:
        started = self._timing.now()
        for attempt in range(1, self._attempts + 1):
            try:
                return await self._bounded(call, started)
            except StoreUnavailable as error:
                left = self._deadline - (self._timing.now() - started)
                wait = self._wait(attempt)
                if attempt == self._attempts or wait >= left:
                    raise
                _log.info("Store unavailable (%s), call %d; again in %.2f s", error, attempt, wait)
            await self._timing.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _bounded(self, call: Callable[[], Awaitable[T]], started: float) -> T:
        left = self._deadline - (self._timing.now() - started)
        with anyio.move_on_after(max(0.0, left)):
            return await call()
        raise StoreUnavailable(
            f"The store gave no answer within {self._deadline:g} s;"
            " try again, or raise deadline= of Retrying."
        )

    def _wait(self, attempt: int) -> float:
        wait = math.ldexp(self._backoff, min(attempt - 1, 1000))
        return wait * self._timing.fraction() if self._jitter else wait


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
