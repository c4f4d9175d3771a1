"""The local store keeps the contract."""

from itertools import count

import pytest

from pincite.stores.local.store import LocalStore
from pincite.stores.threaded import Threaded
from pincite.testing import SinkContract, VectorStoreContract


@pytest.fixture
def folders(tmp_path):
    return (tmp_path / f"store{number}" for number in count())


class TestLocal(VectorStoreContract):
    @pytest.fixture
    def store_factory(self, folders):
        return lambda: Threaded(LocalStore(next(folders)))


class TestLocalSink(SinkContract):
    @pytest.fixture
    def store_factory(self, folders):
        return lambda: Threaded(LocalStore(next(folders)))
