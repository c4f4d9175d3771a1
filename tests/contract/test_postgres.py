"""The PostgreSQL store keeps the contract, on a real server with pgvector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pincite.stores.blocking import Blocking
from pincite.stores.postgres.legs import Tuning
from pincite.stores.postgres.opening import PgStore, open_postgres
from pincite.stores.threaded import Threaded
from pincite.testing import HashEmbedder, SinkContract, VectorStoreContract
from pincite.testing.stateful import state_machine_test

_SERVER: list[tuple[str, Iterator[str]]] = []


@pytest.fixture(scope="module", autouse=True)
def _server(postgres_uri: str, postgres_schemas: Iterator[str]) -> Iterator[None]:
    """The state machine makes its stores without fixtures."""
    _SERVER.append((postgres_uri, postgres_schemas))
    yield
    _SERVER.clear()


def make(**options: Any) -> PgStore:
    """A new, empty store."""
    uri, schemas = _SERVER[0]
    place = f"{uri}{'&' if '?' in uri else '?'}schema={next(schemas)}"
    return open_postgres(place, create=True, **options)


class TestPostgres(VectorStoreContract):
    @pytest.fixture
    def store_factory(self) -> Callable[[], PgStore]:
        return make


class TestPostgresSink(SinkContract):
    @pytest.fixture
    def store_factory(self) -> Callable[[], PgStore]:
        return make


def test_a_store_with_an_embedder_embeds_queries() -> None:
    class WithEmbedder(VectorStoreContract):
        embeds_queries = True

    from pincite.testing.contract import run_test

    for name in (
        "test_hybrid_without_a_vector_embeds_or_is_unconfigured",
        "test_checks_keep_their_order",
    ):
        factory = lambda: make(embedder=HashEmbedder(32))  # noqa: E731 - one line in a loop
        assert run_test(WithEmbedder, name, factory) is None, name


def test_the_contract_of_the_vector_leg_holds_over_an_index() -> None:
    """With an index on the vectors from the first chunk on, which every search asks first."""
    from pincite.testing.contract import run_test

    factory = lambda: make(tuning=Tuning(exact_rows=0, index_rows=1))  # noqa: E731 - as above
    for name in (
        "test_vectors_rank_by_cosine",
        "test_equal_scores_are_ordered_by_chunk_id",
        "test_every_operator_restricts_every_method",
        "test_more_is_asked_than_is_there",
        "test_where_restricts_before_scoring",
    ):
        assert run_test(VectorStoreContract, name, factory) is None, name


TestPostgresMachine = state_machine_test(make, examples=4, steps=15)

# As the library sees it: through an event loop of its own, called from threads.
TestPostgresBlockingMachine = state_machine_test(
    lambda: Threaded(Blocking(make())), examples=2, steps=12
)
