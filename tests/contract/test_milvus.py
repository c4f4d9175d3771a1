"""Milvus keeps the contract: Milvus Lite, or the server that PINCITE_TEST_MILVUS names."""

import os

import pytest

from pincite.stores.milvus.opening import open_milvus
from pincite.stores.threaded import Threaded
from pincite.testing import SinkContract, VectorStoreContract
from pincite.testing.stateful import state_machine_test

SERVER = os.environ.get("PINCITE_TEST_MILVUS")


class _Shared(Threaded):
    """A store of its own in a database that all tests share: starting one takes a second."""

    def __init__(self, place):
        store = open_milvus(place, create=True)
        client = store.backend._client
        for name in client.list_collections():
            if name.startswith("pincite_"):
                client.drop_collection(name)
        super().__init__(store)

    async def aclose(self):
        self.sync_store.backend._client.close()


@pytest.fixture(scope="session")
def new_store(quick_folders):
    place = SERVER or str(quick_folders() / "shared.db")
    yield lambda: _Shared(place)
    open_milvus(place, create=True).close()


class TestMilvus(VectorStoreContract):
    @pytest.fixture
    def store_factory(self, new_store):
        return new_store


class TestMilvusSink(SinkContract):
    @pytest.fixture
    def store_factory(self, new_store):
        return new_store


def test_histories(new_store):
    case = state_machine_test(new_store, examples=2, steps=10)
    case("runTest").runTest()
