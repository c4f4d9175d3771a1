"""The test kit for stores: contracts, a state machine and an embedder of hashed words.

    class TestMyStore(VectorStoreContract):
        @pytest.fixture
        def store_factory(self):
            return MyStore  # each call gives a new, empty store

It needs pytest, and nothing of it loads unless it is imported.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "pincite.testing.filter_contract",
    "pincite.testing.leg_contract",
    "pincite.testing.managed_contract",
    "pincite.testing.samples",
    "pincite.testing.sink",
    "pincite.testing.stateful",
    "pincite.testing.vector_store",
)

from pincite.testing.contract import run_contract  # noqa: E402 - after the rewrite is registered
from pincite.testing.embedding import HashEmbedder  # noqa: E402 - as above
from pincite.testing.sink import SinkContract  # noqa: E402 - as above
from pincite.testing.vector_store import VectorStoreContract  # noqa: E402 - as above

__all__ = ["HashEmbedder", "SinkContract", "VectorStoreContract", "run_contract"]
