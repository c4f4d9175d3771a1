"""A state machine that drives a store and ``MemoryStore`` side by side and compares all they say.

    test_my_store = state_machine_test(MyStore)

The store under test must do what ``ManagedSink`` says, with BM25 and cosine scores: it is for
exact stores. Scores may differ in the last digits, so hits whose scores are within a tolerance
may come in either order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import anyio.from_thread
import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from pincite.errors import InvalidArgument
from pincite.model.filters import DeclaredFilter, Filter, Not
from pincite.model.hits import Chunk, Hit
from pincite.stores.memory import MemoryStore
from pincite.stores.threaded import Threaded
from pincite.testing.samples import METHODS, call, put

__all__ = ["StoreMachine", "state_machine_test"]

_WORDS = ("quartz", "mica", "granite", "gold", "rain", "der", "the", "quarz", "石英", "ERR-4021")
_NAMES = ("a", "b", "c/d")

texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)
names = st.sampled_from(_NAMES)
tenants = st.sampled_from((("ann", "papers"), ("ann", "notes"), ("bob", "papers")))
metadata = st.fixed_dictionaries(
    {},
    optional={
        "lang": st.sampled_from(("de", "en")),
        "year": st.integers(2019, 2021),
        "tags": st.lists(st.sampled_from(("x", "y")), max_size=2),
    },
)
wheres: st.SearchStrategy[Filter | None] = st.one_of(
    st.none(),
    st.builds(DeclaredFilter, st.just("lang"), st.sampled_from(("eq", "ne")), st.just("de")),
    st.builds(DeclaredFilter, st.just("year"), st.sampled_from(("gt", "lte")), st.just(2020)),
    st.builds(DeclaredFilter, st.just("tags"), st.just("contains_any"), st.just(("x",))),
    st.builds(DeclaredFilter, st.just("document"), st.sampled_from(("eq", "ne")), names),
    st.builds(DeclaredFilter, st.just("document"), st.just("under"), st.just("c")),
    st.builds(lambda name: Not(DeclaredFilter("document", "eq", name)), names),
)

SEEDED = {"lang": "de", "year": 2020, "tags": ["x"]}


class StoreMachine(RuleBasedStateMachine):
    """Writes, deletes, renames and searches; ``factory`` makes the store under test."""

    factory: Callable[[], Any]
    tolerance = 1e-4

    def __init__(self) -> None:
        super().__init__()
        self._portal_context = anyio.from_thread.start_blocking_portal()
        self._portal = self._portal_context.__enter__()
        self.model = Threaded(MemoryStore())
        self.store = self._await(_made, type(self).factory)

    def teardown(self) -> None:
        self._await(self.store.aclose)
        self._portal_context.__exit__(None, None, None)

    @initialize()
    def seed(self) -> None:
        """Give every collection its fields, so that every filter can be served."""
        for tenant in (("ann", "papers"), ("ann", "notes"), ("bob", "papers")):
            for store in (self.model, self.store):
                self._put(store, tenant, "seed", ["quartz seed"], SEEDED)

    @rule(
        tenant=tenants, name=names, passages=st.lists(texts, min_size=1, max_size=4), about=metadata
    )
    def upsert(
        self, tenant: tuple[str, str], name: str, passages: list[str], about: dict[str, Any]
    ) -> None:
        """Write a document, new or in place of another."""
        for store in (self.model, self.store):
            self._put(store, tenant, name, passages, about)

    @rule(tenant=tenants, gone=st.lists(names, min_size=1, max_size=2))
    def delete(self, tenant: tuple[str, str], gone: list[str]) -> None:
        """Delete documents, some of which are not there."""
        assert self._both("delete", *tenant, gone)

    @rule(tenant=tenants, old=names, new=names)
    def rename(self, tenant: tuple[str, str], old: str, new: str) -> None:
        """Rename a document, or be refused on both sides."""
        assert self._both("rename", *tenant, old, new)

    @rule(tenant=tenants, name=names, about=metadata)
    def set_metadata(self, tenant: tuple[str, str], name: str, about: dict[str, Any]) -> None:
        """Replace metadata, or be refused on both sides."""
        assert self._both("set_metadata", *tenant, name, about)

    @rule(tenant=tenants, where=wheres)
    def documents(self, tenant: tuple[str, str], where: Filter | None) -> None:
        """List documents and collections."""
        assert self._both("documents", *tenant, where)
        assert self._both("list", tenant[0])

    @rule(
        tenant=tenants,
        text=texts,
        where=wheres,
        method=st.sampled_from(METHODS),
        limit=st.sampled_from((1, 3, 50)),
    )
    def search(
        self, tenant: tuple[str, str], text: str, where: Filter | None, method: str, limit: int
    ) -> None:
        """Search or fetch with a filter."""
        subject, target = tenant
        found = [
            self._await(
                _search, store.reader(subject, [target]), method, target, text, where, limit
            )
            for store in (self.model, self.store)
        ]
        agree(found[0], found[1], self.tolerance)

    @precondition(lambda self: hasattr(self.store, "sync_store"))
    @rule(tenant=tenants)
    def counts(self, tenant: tuple[str, str]) -> None:
        """Compare counts where the store tells them."""
        told = [s.sync_store.stats(*tenant) for s in (self.model, self.store)]
        for name in ("documents", "chunks"):
            assert told[0][name] == told[1][name], name

    def _put(
        self,
        store: Any,
        tenant: tuple[str, str],
        name: str,
        passages: Sequence[str],
        about: dict[str, Any],
    ) -> None:
        async def write() -> None:
            subject, collection = tenant
            await put(
                store, name, *passages, subject=subject, collection=collection, metadata=about
            )

        self._await(write)

    def _both(self, method: str, *arguments: Any) -> bool:
        """Whether a method says the same on both sides, a refusal being one answer."""
        answers: list[Any] = []
        for store in (self.model, self.store):
            try:
                answers.append(self._await(getattr(store, method), *arguments))
            except InvalidArgument:
                answers.append(InvalidArgument)
        return bool(answers[0] == answers[1])

    def _await(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return self._portal.call(work, *arguments)


async def _made(factory: Callable[[], Any]) -> Any:
    made = factory()
    store = await made if inspect.isawaitable(made) else made
    await store.setup()
    return store


async def _search(
    port: Any, method: str, target: str, text: str, where: Filter | None, limit: int
) -> list[Any]:
    return list(await call(port, method, target=target, text=text, where=where, limit=limit))


def agree(ours: list[Any], theirs: list[Any], tolerance: float) -> None:
    """Assert that two answers are one: chunks equal, hits too but for ties within ``tolerance``."""
    assert len(ours) == len(theirs)
    if all(isinstance(item, Chunk) for item in ours):
        key = _plain
        assert sorted(map(key, ours)) == sorted(map(key, theirs))
        return
    for mine, other in zip(ours, theirs, strict=True):
        assert abs(mine.score - other.score) <= tolerance, (mine, other)
    for group in _ties(ours, tolerance)[:-1]:
        ranks = [hit.rank for hit in group]
        others = theirs[ranks[0] - 1 : ranks[-1]]
        assert sorted(_plain(h.chunk) for h in group) == sorted(_plain(h.chunk) for h in others)


def _ties(hits: list[Hit], tolerance: float) -> list[list[Hit]]:
    """Neighbours with nearly equal scores; the last group may go on past the limit."""
    numbers, group = [], 0
    for place, hit in enumerate(hits):
        if place and hits[place - 1].score - hit.score > 2 * tolerance:
            group += 1
        numbers.append(group)
    pairs = groupby(zip(numbers, hits, strict=True), key=lambda pair: pair[0])
    return [[hit for _, hit in group] for _, group in pairs]


def _plain(chunk: Chunk) -> tuple[str, str, str]:
    return (chunk.id, chunk.content, repr(sorted(chunk.metadata.items())))


def state_machine_test(factory: Callable[[], Any], *, examples: int = 10, steps: int = 20) -> type:
    """A test case that pytest collects, for stores that ``factory`` makes, new and empty."""
    machine = type("Machine", (StoreMachine,), {"factory": staticmethod(factory)})
    test: type = machine.TestCase  # type: ignore[attr-defined]  # made by hypothesis
    test.settings = settings(  # type: ignore[attr-defined]  # as hypothesis documents it
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    return test
