"""The test kit itself: how a third party uses it, and what it does not allow."""

import subprocess
import sys
import textwrap

import pytest

from pincite.errors import InvalidArgument
from pincite.stores.memory import MemoryStore
from pincite.stores.threaded import Threaded
from pincite.testing import HashEmbedder, SinkContract, VectorStoreContract, run_contract
from pincite.testing.contract import Contract, contract_tests, scenario


def test_a_replaced_test_is_refused_when_its_class_is_made():
    with pytest.raises(TypeError, match="test_hits_come_best_first"):

        class Cheats(VectorStoreContract):
            def test_hits_come_best_first(self, store_factory):
                pass


@pytest.mark.parametrize("mark", [pytest.mark.skip(reason="slow"), pytest.mark.xfail])
def test_only_a_reasoned_xfail_excuses_a_replacement(mark):
    with pytest.raises(TypeError, match="xfail"):

        class Cheats(VectorStoreContract):
            @mark
            def test_hits_come_best_first(self, store_factory):
                pass


def test_a_test_taken_away_by_none_or_by_a_mixin_is_refused():
    class Mixin:
        def test_hits_come_best_first(self, store_factory):
            pass

    with pytest.raises(TypeError, match="test_hits_come_best_first"):

        class Mixed(Mixin, VectorStoreContract):
            pass

    with pytest.raises(TypeError, match="test_hits_come_best_first"):

        class Emptied(VectorStoreContract):
            test_hits_come_best_first = None


def test_a_reasoned_xfail_is_allowed():
    class Honest(VectorStoreContract):
        @pytest.mark.xfail(reason="scores are approximate")
        def test_hits_come_best_first(self, store_factory):
            super().test_hits_come_best_first(store_factory)

    assert "test_hits_come_best_first" in contract_tests(Honest)


@pytest.mark.parametrize("contract", [VectorStoreContract, SinkContract])
def test_every_test_says_what_to_check_first(contract):
    for name in contract_tests(contract):
        assert "Check first: " in getattr(contract, name).__doc__, name


def test_a_third_party_needs_one_class_and_one_fixture(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent(
            """
            import pytest

            from pincite.stores.memory import MemoryStore
            from pincite.stores.threaded import Threaded
            from pincite.testing import VectorStoreContract


            class WorstFirst(Threaded):
                def reader(self, subject, collections):
                    port = super().reader(subject, collections)
                    search = port.bm25

                    async def worst(target, **arguments):
                        return (await search(target, **arguments))[::-1]

                    port.bm25 = worst
                    return port


            class TestMine(VectorStoreContract):
                @pytest.fixture
                def store_factory(self):
                    return lambda: Threaded(MemoryStore())


            class TestWrong(VectorStoreContract):
                @pytest.fixture
                def store_factory(self):
                    return lambda: WorstFirst(MemoryStore())
            """
        )
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "best_first", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "1 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "FAILED test_mine.py::TestWrong::test_hits_come_best_first" in ran.stdout
    assert "assert [" in ran.stdout, "assertions in the contract are rewritten"


def test_a_factory_may_be_a_coroutine_function():
    async def factory():
        return Threaded(MemoryStore())

    assert run_contract(SinkContract, factory) == {}


def test_a_store_is_closed_also_when_its_test_fails():
    closed = []

    class Closes(Threaded):
        async def aclose(self):
            closed.append(True)
            await super().aclose()

    class Fails(Contract):
        @scenario
        async def test_fails(self, store):
            """Check first: nothing."""
            raise AssertionError("on purpose")

    failures = run_contract(Fails, lambda: Closes(MemoryStore()))

    assert list(failures) == ["test_fails"]
    assert closed == [True]


def test_a_bare_sink_runs_what_it_can():
    class Bare:
        """Only ``Sink.upsert``, and ``reader``."""

        def __init__(self):
            self._store = Threaded(MemoryStore())

        async def upsert(self, **arguments):
            await self._store.upsert(**arguments)

        def reader(self, subject, collections):
            return self._store.reader(subject, collections)

    assert run_contract(VectorStoreContract, Bare) == {}
    assert run_contract(SinkContract, Bare) == {}


def test_hash_vectors_are_alike_where_words_are():
    embedder = HashEmbedder(64)

    def cosine(one, two):
        return sum(a * b for a, b in zip(embedder.vector(one), embedder.vector(two), strict=True))

    assert cosine("quartz and mica", "quartz and mica") == pytest.approx(1.0)
    near = cosine("quartz and mica", "mica with quartz")
    assert cosine("quartz and mica", "running quickly home") < near < 1.0
    assert cosine("mineral", "minerals") > cosine("mineral", "holiday")


def test_hash_vectors_are_the_same_in_every_process():
    code = "from pincite.testing import HashEmbedder; print(HashEmbedder(8).vector('Quartz ä'))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }

    assert seen == {f"{HashEmbedder(8).vector('quartz ä')}\n"}


def test_hash_vectors_of_odd_texts_have_a_direction():
    rows = HashEmbedder(16).encode("any", ["", " ", "???", "\ud800", "x" * 10_000])

    assert rows.shape == (5, 16)
    assert ((rows**2).sum(axis=1) ** 0.5).tolist() == pytest.approx([1.0] * 5, abs=1e-6)


def test_a_hash_embedder_counts_what_is_asked():
    embedder = HashEmbedder(16, seed=1)
    embedder.encode("any", ["a", "b"])
    embedder.encode("any", [])

    assert (embedder.calls, embedder.texts) == (2, 2)
    assert embedder.vector("a") != HashEmbedder(16).vector("a")
    assert embedder.model_name("any") != HashEmbedder(16).model_name("any")


@pytest.mark.parametrize("dimension", [1, 0, -3, True, 8.0])
def test_a_hash_embedder_needs_two_dimensions(dimension):
    with pytest.raises(InvalidArgument, match="dimension"):
        HashEmbedder(dimension)
