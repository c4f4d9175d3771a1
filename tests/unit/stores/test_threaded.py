"""The async port of an in-process store: where it hops, and what it embeds."""

import threading

import anyio
import pytest

from pincite.errors import InvalidQueryError, Unconfigured
from pincite.model.filters import NOTHING, AllOf, AnyOf, DeclaredFilter
from pincite.stores.memory import MemoryReader, MemoryStore
from pincite.stores.ports import Sink, VectorStore
from pincite.stores.threaded import Threaded
from pincite.testing import HashEmbedder
from pincite.testing.samples import COLLECTION, METHODS, SUBJECT, call, embed, ids, put, reader


class Watched(MemoryStore):
    """Notes in which thread each reader's call runs."""

    def __init__(self):
        super().__init__()
        self.threads = []

    def reader(self, subject, collections):
        made, threads = super().reader(subject, collections), self.threads

        class Reader(MemoryReader):
            def _target(self, target):
                threads.append(threading.current_thread())
                return super()._target(target)

        return Reader(made._state_of, made._collections)


async def filled(embedder=None, sync_store=None):
    store = Threaded(sync_store or MemoryStore(), embedder)
    await put(store, "a", "quartz and mica", metadata={"lang": "de"})
    await put(store, "b", "gold in granite", metadata={"lang": "en"})
    return store


def test_it_is_a_sink_and_its_readers_are_stores():
    store = Threaded(MemoryStore())

    assert isinstance(store, Sink)
    assert isinstance(store.reader(SUBJECT, [COLLECTION]), VectorStore)


def test_searches_run_in_another_thread():
    async def work():
        sync_store = Watched()
        port = reader(await filled(sync_store=sync_store))
        sync_store.threads.clear()
        for method in METHODS:
            await call(port, method)
        return sync_store.threads

    threads = anyio.run(work)

    assert len(threads) == 4
    assert threading.main_thread() not in threads


@pytest.mark.parametrize(
    "where", [NOTHING, AnyOf(()), AllOf((DeclaredFilter("lang", "eq", "de"), NOTHING))]
)
def test_nothing_is_answered_without_a_hop(where):
    async def work():
        sync_store = Watched()
        port = reader(await filled(HashEmbedder(32), sync_store))
        sync_store.threads.clear()
        for method in METHODS:
            assert list(await call(port, method, where=where)) == []
        assert await port.hybrid(COLLECTION, query="x", limit=3, where=where) == []
        return sync_store.threads

    assert set(anyio.run(work)) == {threading.main_thread()}


def test_what_folds_to_nothing_is_still_checked():
    async def work():
        port = reader(await filled(HashEmbedder(32)))
        where = AllOf((NOTHING, DeclaredFilter("nofield", "eq", 1)))
        for method in METHODS:
            with pytest.raises(InvalidQueryError) as caught:
                await call(port, method, where=where)
            assert caught.value.field == "nofield"
        with pytest.raises(InvalidQueryError):
            await port.hybrid(COLLECTION, query="x", limit=3, where=where)
        for bad in ({"not": "a filter"}, "x"):
            with pytest.raises(InvalidQueryError):
                await port.fetch(COLLECTION, limit=3, where=bad)

    anyio.run(work)


def test_the_query_is_embedded_once_and_only_when_it_must_be():
    async def work():
        embedder = HashEmbedder(32)
        port = reader(await filled(embedder))

        async def counted(**arguments):
            before = embedder.calls
            found = await port.hybrid(COLLECTION, limit=5, **arguments)
            return embedder.calls - before, ids(found)

        given = ids(await port.hybrid(COLLECTION, query="gold", vector=embed("gold"), limit=5))
        assert await counted(query="gold") == (1, given)
        assert await counted(query="gold", vector=embed("gold")) == (0, given)
        assert await counted(query="gold", alpha=0.0) == (0, ["b-0"])
        assert await counted(query="") == (0, [])
        assert await counted(query=" \n") == (0, [])
        assert await counted(query="???") == (1, ids(await call(port, "near_vector", text="???")))
        assert await counted(query="gold", where=NOTHING) == (0, [])

    anyio.run(work)


def test_a_refused_call_embeds_nothing():
    async def work():
        embedder = HashEmbedder(32)
        port = reader(await filled(embedder))
        bad = DeclaredFilter("nofield", "eq", 1)
        for arguments in (
            {"query": "x", "limit": 0},
            {"query": "x", "limit": 3, "alpha": 2},
            {"query": None, "limit": 3},
            {"query": "x", "limit": 3, "where": bad},
        ):
            with pytest.raises(InvalidQueryError):
                await port.hybrid(COLLECTION, **arguments)
        with pytest.raises(InvalidQueryError, match="nowhere"):
            await port.hybrid("nowhere", query="x", limit=3)
        assert embedder.calls == 0

    anyio.run(work)


def test_alpha_zero_without_a_vector_is_the_same_as_with_one():
    async def work():
        port = reader(await filled(HashEmbedder(32)))
        with_vector = await port.hybrid(
            COLLECTION, query="gold quartz", vector=embed("x"), limit=5, alpha=0
        )
        assert await port.hybrid(COLLECTION, query="gold quartz", limit=5, alpha=0) == with_vector

    anyio.run(work)


def test_without_an_embedder_a_vector_is_needed():
    async def work():
        port = reader(await filled())
        with pytest.raises(Unconfigured):
            await port.hybrid(COLLECTION, query="gold", limit=5)

    anyio.run(work)


def test_an_error_of_the_embedder_passes_as_the_same_object():
    error = RuntimeError("the model is gone")

    class Broken:
        async def embed_query(self, text):
            raise error

    async def work():
        port = reader(await filled(Broken()))
        with pytest.raises(RuntimeError) as caught:
            await port.hybrid(COLLECTION, query="gold", limit=5)
        assert caught.value is error

    anyio.run(work)


def test_a_vector_of_the_wrong_model_is_refused():
    async def work():
        port = reader(await filled(HashEmbedder(16)))
        with pytest.raises(InvalidQueryError, match=r"16.*32"):
            await port.hybrid(COLLECTION, query="gold", limit=5)

    anyio.run(work)


def test_all_chunks_come_in_reading_order():
    async def work():
        store = await filled()
        await put(store, "a", "other", collection="notes")
        port = reader(store, "notes", COLLECTION)
        assert [(c.collection, c.id) for c in await port.all_chunks()] == [
            ("notes", "a-0"),
            (COLLECTION, "a-0"),
            (COLLECTION, "b-0"),
        ]

    anyio.run(work)
