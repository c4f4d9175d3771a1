"""Qdrant keeps the contract: the local mode, and the server that PINCITE_TEST_QDRANT names."""

import os

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
