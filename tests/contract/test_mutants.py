"""A contract is worth what it refuses: each wrong store fails it, by the tests that are named."""

import importlib.util
import sys
from pathlib import Path

import pytest

from pincite.stores.memory import MemoryStore
from pincite.stores.threaded import Threaded
from pincite.testing import SinkContract, VectorStoreContract, run_contract
from pincite.testing.contract import contract_tests, run_test

# importlib mode gives test folders no package, so the neighbour is loaded by its path.
_spec = importlib.util.spec_from_file_location(
    "contract_mutants", Path(__file__).with_name("mutants.py")
)
mutants = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = mutants
_spec.loader.exec_module(mutants)


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_store_fails(mutant):
    for name in mutant.caught_by:
        failure = run_test(mutant.contract, name, mutant.build)

        assert failure is not None, f"{name} does not notice {mutant.name}"
        assert isinstance(failure, AssertionError), failure


@pytest.mark.parametrize("contract", [VectorStoreContract, SinkContract])
def test_the_right_store_passes_outside_pytest(contract):
    assert run_contract(contract, lambda: Threaded(MemoryStore())) == {}


def test_every_named_test_exists():
    for mutant in mutants.MUTANTS:
        assert mutant.caught_by
        assert set(mutant.caught_by) <= set(contract_tests(mutant.contract))
