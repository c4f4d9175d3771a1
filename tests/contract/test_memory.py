"""The memory store keeps the contract."""

import pytest

from pincite.stores.memory import MemoryStore
from pincite.stores.threaded import Threaded
from pincite.testing import HashEmbedder, SinkContract, VectorStoreContract


class TestMemory(VectorStoreContract):
    @pytest.fixture
    def store_factory(self):
        return lambda: Threaded(MemoryStore())


class WithEmbedder(VectorStoreContract):
    embeds_queries = True


@pytest.mark.parametrize(
    "name",
    [
        "test_with_an_embedder_hybrid_needs_no_vector",
        "test_checks_keep_their_order",
        "test_alpha_is_a_number_from_zero_to_one",
        "test_an_empty_collection_answers_empty",
    ],
)
def test_a_store_with_an_embedder(name):
    getattr(WithEmbedder(), name)(lambda: Threaded(MemoryStore(), HashEmbedder(32)))


class TestMemorySink(SinkContract):
    @pytest.fixture
    def store_factory(self):
        return lambda: Threaded(MemoryStore())
