"""Chroma keeps the contract: in a folder, and behind the server that is started here.

PINCITE_TEST_CHROMA names a server to use instead.
"""

import shutil
import tempfile
from itertools import count

import pytest

from pincite.stores.chroma.opening import open_chroma
from pincite.stores.threaded import Threaded
from pincite.testing import SinkContract, VectorStoreContract
from pincite.testing.stateful import state_machine_test

_NUMBERS = count()


@pytest.fixture
def in_folder(tmp_path):
    return lambda: Threaded(open_chroma(str(tmp_path / f"s{next(_NUMBERS)}"), create=True))


@pytest.fixture
def over_http(chroma_server, tmp_path):
    def make():
        place = f"{chroma_server}?keyword={tmp_path / f'k{next(_NUMBERS)}'}"
        store = open_chroma(place, create=True)
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


class _InNewFolder(Threaded):
    def __init__(self):
        self._folder = tempfile.mkdtemp()
        super().__init__(open_chroma(self._folder, create=True))

    async def aclose(self):
        await super().aclose()
        shutil.rmtree(self._folder, ignore_errors=True)


TestChromaMachine = state_machine_test(_InNewFolder, examples=3, steps=12)
