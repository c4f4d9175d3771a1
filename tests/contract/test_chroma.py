"""Chroma keeps the contract: in a folder, and behind the server that is started here.

PINCITE_TEST_CHROMA names a server to use instead.
"""

import shutil

import pytest

from pincite.stores.chroma.opening import open_chroma
from pincite.stores.threaded import Threaded
from pincite.testing import SinkContract, VectorStoreContract
from pincite.testing.stateful import state_machine_test


class _InFolder(Threaded):
    """A store in a folder of its own, which goes with it."""

    def __init__(self, folder):
        self._folder = folder
        super().__init__(open_chroma(str(folder), create=True))

    async def aclose(self):
        await super().aclose()
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture
def in_folder(quick_folders):
    return lambda: _InFolder(quick_folders())


@pytest.fixture
def over_http(chroma_server, quick_folders):
    def make():
        store = open_chroma(f"{chroma_server}?keyword={quick_folders()}", create=True)
        client = store.backend._client
        for collection in client.list_collections():
            if collection.name.startswith("pincite-"):
                client.delete_collection(collection.name)
        return Threaded(store)

    return make


class TestChroma(VectorStoreContract):
    @pytest.fixture
    def store_factory(self, in_folder):
        return in_folder


class TestChromaSink(SinkContract):
    @pytest.fixture
    def store_factory(self, in_folder):
        return in_folder


class TestChromaServer(VectorStoreContract):
    @pytest.fixture
    def store_factory(self, over_http):
        return over_http


class TestChromaServerSink(SinkContract):
    @pytest.fixture
    def store_factory(self, over_http):
        return over_http


def test_histories(in_folder):
    case = state_machine_test(in_folder, examples=3, steps=12)
    case("runTest").runTest()
