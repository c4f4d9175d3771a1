"""Whatever is done to them, the stores say what the memory store says."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore
from pincite.stores.threaded import Threaded
from pincite.testing.stateful import StoreMachine, state_machine_test


class _LocalInNewFolder(Threaded):
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        super().__init__(LocalStore(Path(self._folder.name) / "store"))

    async def aclose(self):
        await super().aclose()
        self._folder.cleanup()


TestLocalMachine = state_machine_test(_LocalInNewFolder, examples=6, steps=15)


class _ForgetsDeletes(MemoryStore):
    def delete(self, subject, collection, documents):
        return 0


class _LeavesGhosts(MemoryStore):
    """Each document leaves a second one behind."""

    def commit(self, subject, collection, documents):
        for document in documents:
            ghost = [
                type(document)(
                    f"ghost-of-{document.document}",
                    "",
                    document.chunks,
                    document.vectors,
                    document.endpoint,
                )
            ]
            super().commit(subject, collection, [document, *ghost])


@pytest.mark.parametrize("wrong", [_ForgetsDeletes, _LeavesGhosts])
def test_the_machine_finds_a_wrong_store(wrong):
    class Machine(StoreMachine):
        @staticmethod
        def factory():
            return Threaded(wrong())

    quick = settings(
        max_examples=40,
        stateful_step_count=20,
        deadline=None,
        phases=[Phase.generate],
        derandomize=True,
        database=None,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=quick)
