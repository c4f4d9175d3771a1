"""A store behind ``Retrying`` is the same store."""

from pincite.stores.memory import MemoryStore
from pincite.stores.retrying import Retrying
from pincite.stores.threaded import Threaded
from pincite.testing import VectorStoreContract, run_contract


class Behind(Threaded):
    def reader(self, subject, collections):
        return Retrying(super().reader(subject, collections))


def test_retrying_keeps_the_contract_of_its_store():
    assert run_contract(VectorStoreContract, lambda: Behind(MemoryStore())) == {}
