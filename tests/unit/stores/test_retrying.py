"""Retrying with a clock that only moves when it is slept on."""

import inspect
from dataclasses import dataclass, field

import anyio
import pytest

from pincite.errors import InvalidArgument, InvalidQueryError, StoreUnavailable, Unconfigured
from pincite.model.fields import full_spec
from pincite.stores.ports import VectorStore
from pincite.stores.retrying import Retrying


@dataclass
class Clock:
    """Time that passes by sleeping, and by ``call_seconds`` in each call of the store."""

    chance: float = 1.0
    time: float = 100.0
    slept: list[float] = field(default_factory=list)

    def now(self):
        return self.time

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.time += seconds

    def fraction(self):
        return self.chance


class Scripted:
    """A store whose calls raise the given errors, one after the other, and then answer."""

    def __init__(self, *errors, clock=None, call_seconds=0.0):
        self.errors = list(errors)
        self.calls = []
        self.clock, self.call_seconds = clock, call_seconds

    async def _answer(self, name, target, arguments):
        self.calls.append((name, target, arguments))
        if self.clock is not None:
            self.clock.time += self.call_seconds
        if self.errors:
            raise self.errors.pop(0)
        return [name]

    async def hybrid(self, target, *, query, vector=None, limit, where=None, alpha=None):
        return await self._answer("hybrid", target, (query, vector, limit, where, alpha))

    async def near_vector(self, target, *, vector, limit, where=None):
        return await self._answer("near_vector", target, (vector, limit, where))

    async def bm25(self, target, *, query, limit, where=None):
        return await self._answer("bm25", target, (query, limit, where))

    async def fetch(self, target, *, where=None, limit, order_by=None, descending=False):
        return await self._answer("fetch", target, (where, limit, order_by, descending))

    async def fields(self, target):
        await self._answer("fields", target, ())
        return full_spec({})


def down(count):
    return [StoreUnavailable(f"down {number}") for number in range(count)]


def search(store):
    async def work():
        return await store.bm25("papers", query="quartz", limit=3)

    return anyio.run(work)


def test_the_signature_is_the_one_of_the_reference():
    parameters = inspect.signature(Retrying).parameters

    defaults = {name: p.default for name, p in parameters.items() if name != "store"}
    assert defaults == {
        "attempts": 3,
        "backoff": 0.1,
        "jitter": True,
        "deadline": 10.0,
        "timing": None,
    }
    assert all(parameters[name].kind is inspect.Parameter.KEYWORD_ONLY for name in defaults)


def test_it_is_a_vector_store():
    assert isinstance(Retrying(Scripted()), VectorStore)


def test_an_unavailable_store_is_called_again():
    clock, store = Clock(), Scripted(*down(2))

    assert search(Retrying(store, timing=clock)) == ["bm25"]
    assert len(store.calls) == 3


def test_the_last_error_passes_when_attempts_run_out():
    errors = down(5)
    store = Scripted(*errors)

    with pytest.raises(StoreUnavailable) as caught:
        search(Retrying(store, attempts=4, timing=Clock()))
    assert caught.value is errors[3]
    assert len(store.calls) == 4


def test_waits_double():
    clock = Clock()

    search(Retrying(Scripted(*down(3)), attempts=4, backoff=0.5, jitter=False, timing=clock))

    assert clock.slept == [0.5, 1.0, 2.0]


def test_jitter_takes_a_random_part_of_each_wait():
    clock = Clock(chance=0.25)

    search(Retrying(Scripted(*down(3)), attempts=4, backoff=0.5, timing=clock))

    assert clock.slept == [0.125, 0.25, 0.5]


def test_a_wait_that_would_pass_the_deadline_is_not_begun():
    clock, store = Clock(), Scripted(*down(9))
    retrying = Retrying(store, attempts=9, backoff=1.0, jitter=False, deadline=5.0, timing=clock)

    with pytest.raises(StoreUnavailable, match="down 2"):
        search(retrying)
    assert clock.slept == [1.0, 2.0]
    assert len(store.calls) == 3


def test_slow_calls_use_up_the_deadline():
    clock = Clock()
    store = Scripted(*down(9), clock=clock, call_seconds=3.0)
    retrying = Retrying(store, attempts=9, backoff=0.1, jitter=False, deadline=5.0, timing=clock)

    with pytest.raises(StoreUnavailable, match="down 1"):
        search(retrying)
    assert len(store.calls) == 2


def test_a_call_that_hangs_ends_at_the_deadline():
    class Hangs(Scripted):
        async def bm25(self, target, *, query, limit, where=None):
            await super().bm25(target, query=query, limit=limit, where=where)
            await anyio.sleep(60)

    store = Hangs()

    with pytest.raises(StoreUnavailable, match=r"0\.05 s"):
        search(Retrying(store, deadline=0.05))
    assert len(store.calls) == 1


@pytest.mark.parametrize(
    "error",
    [InvalidQueryError("no"), Unconfigured("no"), ValueError("no"), ConnectionError("no")],
)
def test_other_errors_pass_at_once_as_the_same_object(error):
    clock, store = Clock(), Scripted(error)

    with pytest.raises(type(error)) as caught:
        search(Retrying(store, timing=clock))
    assert caught.value is error
    assert len(store.calls) == 1
    assert clock.slept == []


def test_subtypes_are_handled_as_their_parents():
    class Forbidden(InvalidQueryError):
        pass

    class Slow(StoreUnavailable):
        pass

    refusing, slow = Scripted(Forbidden("no")), Scripted(Slow("slow"))

    with pytest.raises(Forbidden):
        search(Retrying(refusing, timing=Clock()))
    assert len(refusing.calls) == 1
    assert search(Retrying(slow, timing=Clock())) == ["bm25"]


def test_every_method_passes_its_arguments_and_is_repeated():
    async def work():
        for name, arguments, passed in (
            (
                "hybrid",
                {"query": "q", "vector": [1.0], "limit": 2, "where": None, "alpha": 0.4},
                ("q", [1.0], 2, None, 0.4),
            ),
            ("near_vector", {"vector": [1.0], "limit": 2, "where": None}, ([1.0], 2, None)),
            ("bm25", {"query": "q", "limit": 2, "where": None}, ("q", 2, None)),
            (
                "fetch",
                {"where": None, "limit": 2, "order_by": "year", "descending": True},
                (None, 2, "year", True),
            ),
            ("fields", {}, ()),
        ):
            store = Scripted(*down(1))
            await getattr(Retrying(store, timing=Clock()), name)("papers", **arguments)
            assert store.calls == [(name, "papers", passed)] * 2

    anyio.run(work)


def test_one_attempt_means_one_call():
    store = Scripted(*down(1))

    with pytest.raises(StoreUnavailable):
        search(Retrying(store, attempts=1, timing=Clock()))
    assert len(store.calls) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"attempts": True},
        {"attempts": 2.0},
        {"backoff": -0.1},
        {"backoff": float("nan")},
        {"backoff": float("inf")},
        {"backoff": "1"},
        {"jitter": 0.5},
        {"deadline": 0},
        {"deadline": -1.0},
        {"deadline": float("inf")},
        {"deadline": None},
    ],
)
def test_options_out_of_range_are_refused_by_name(options):
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        Retrying(Scripted(), **options)


def test_what_is_no_store_is_refused():
    with pytest.raises(InvalidArgument, match="VectorStore"):
        Retrying(object())


def test_many_attempts_do_not_overflow_the_wait():
    clock, store = Clock(), Scripted(*down(2000))
    retrying = Retrying(store, attempts=2000, backoff=0.0, jitter=False, deadline=1.0, timing=clock)

    with pytest.raises(StoreUnavailable):
        search(retrying)
    assert len(store.calls) == 2000
