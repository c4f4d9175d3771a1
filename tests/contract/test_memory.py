"""The memory store keeps the contract, with and without an embedder."""

import pytest

from pincite.stores.memory import MemoryStore
from pincite.stores.threaded import Threaded
from pincite.testing import HashEmbedder, SinkContract, VectorStoreContract


class TestMemory(VectorStoreContract):
    @pytest.fixture
    def store_factory(self):
        return lambda: Threaded(MemoryStore())


class TestMemoryWithEmbedder(VectorStoreContract):
    embeds_queries = True

    @pytest.fixture
    def store_factory(self):
        return lambda: Threaded(MemoryStore(), HashEmbedder(32))


class TestMemorySink(SinkContract):
    @pytest.fixture
    def store_factory(self):
        return lambda: Threaded(MemoryStore())
