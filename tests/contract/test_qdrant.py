"""Qdrant keeps the contract: the local mode, its engine in this process, and the server that
PINCITE_TEST_QDRANT names."""

import os
import shutil

import pytest

from pincite.stores.qdrant.opening import open_qdrant
from pincite.stores.threaded import Threaded
from pincite.testing import SinkContract, VectorStoreContract
from pincite.testing.stateful import state_machine_test

SERVER = os.environ.get("PINCITE_TEST_QDRANT")


def _new():
    store = open_qdrant(SERVER or ":memory:", create=True)
    client = store.backend._client
    for found in client.get_collections().collections if SERVER else ():
        if found.name.startswith("pincite_"):
            client.delete_collection(found.name)
    return Threaded(store)


class TestQdrant(VectorStoreContract):
    @pytest.fixture
    def store_factory(self):
        return _new


class TestQdrantSink(SinkContract):
    @pytest.fixture
    def store_factory(self):
        return _new


TestQdrantMachine = state_machine_test(_new, examples=4, steps=15)


class _Engine(Threaded):
    """Qdrant's engine over a folder of its own, which goes with it."""

    def __init__(self, folder):
        self._folder = folder
        super().__init__(open_qdrant(f"edge:{folder}", create=True))

    async def aclose(self):
        await super().aclose()
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture
def new_engine(quick_folders):
    pytest.importorskip("qdrant_edge", reason="comes with the extra [qdrant-edge]")
    return lambda: _Engine(quick_folders())


class TestQdrantEngine(VectorStoreContract):
    @pytest.fixture
    def store_factory(self, new_engine):
        return new_engine


class TestQdrantEngineSink(SinkContract):
    @pytest.fixture
    def store_factory(self, new_engine):
        return new_engine


def test_histories_of_the_engine(new_engine):
    case = state_machine_test(new_engine, examples=3, steps=12)
    case("runTest").runTest()
