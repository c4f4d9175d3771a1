"""The keyword side under many commits: merged by size, exact throughout, brought along from an
older format."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import psycopg
import pytest

from pincite.errors import StoreNotFound
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, ModelIdentity
from pincite.stores.memory import MemoryStore
from pincite.stores.postgres.opening import PgStore, open_postgres
from pincite.stores.postgres.segments import Shape
from pincite.stores.threaded import Threaded
from pincite.testing.samples import COLLECTION, SUBJECT, ids, put, reader, together, whole

GOLDEN_DOCUMENT = EmbeddedDocument(
    document="",
    title="",
    chunks=[ChunkResult(content="quartz", chunk_index=0, end_char=6)],
    vectors=np.ones((1, 4), dtype=np.float32),
    endpoint="golden--m",
    language="en",
    model=ModelIdentity("m", 4),
)
GOLDEN = Path(__file__).parent / "golden" / "format_1.sql"


@pytest.fixture
def run(postgres_store_uri: str) -> Callable[..., None]:
    """Use a new store."""

    def go(use: Callable[[PgStore], Any]) -> None:
        async def with_store() -> None:
            store = open_postgres(postgres_store_uri, create=True)
            try:
                await use(store)
            finally:
                await store.aclose()

        anyio.run(with_store)

    return go


async def ask(store: PgStore, statement: str) -> Any:
    async with store._sessions.reading() as connection:
        cursor = await connection.execute(store._sessions.layout.sql(statement))
        return (await cursor.fetchall())[0][0]


async def scores(store: Any, query: str) -> list[tuple[str, float]]:
    hits = await reader(store).bm25(COLLECTION, query=query, limit=200)
    return [(hit.chunk.id, hit.score) for hit in hits]


def test_many_commits_leave_few_segments_and_the_same_scores(run: Callable[..., None]) -> None:
    rng = random.Random(2)
    words = ["quartz", "mica", "zinc", "gold", "tin", "iron", "running"]

    async def use(store: PgStore) -> None:
        exact = MemoryStore()
        memory = Threaded(exact)
        for step in range(60):
            name = f"d{rng.randrange(40)}"
            text = " ".join(rng.choices(words, k=rng.randint(1, 9)))
            for each in (store, memory):
                if step % 7 == 6:
                    await each.delete(SUBJECT, COLLECTION, [name])
                else:
                    await put(each, name, text, "tin of " + text)
            if step % 10 == 9:
                for query in ("quartz mica", "tin", "run gold zinc"):
                    assert await scores(store, query) == await scores(memory, query)
        assert await ask(store, "SELECT count(*) FROM {segments}") < 16
        left = "SELECT count(*) FROM {postings} WHERE segment NOT IN (SELECT key FROM {segments})"
        assert await ask(store, left) == 0
        vocabulary = (await store.stats(SUBJECT, COLLECTION))["vocabulary"]
        assert vocabulary == exact.stats(SUBJECT, COLLECTION)["vocabulary"]

    run(use)


def test_what_is_gone_is_forgotten_when_it_is_a_tenth(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        names = [f"d{number}" for number in range(300)]
        await store.commit(SUBJECT, COLLECTION, [whole(name, "quartz", "mica") for name in names])
        await store.delete(SUBJECT, COLLECTION, names[:100])
        assert await ask(store, "SELECT sum(length(keys) / 8)::int FROM {gone}") == 200
        await store.delete(SUBJECT, COLLECTION, names[100:140])
        assert await ask(store, "SELECT count(*) FROM {gone}") == 0
        assert len(await scores(store, "quartz")) == 160

    run(use)


def test_writers_at_once_merge_and_lose_nothing(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        async def write(number: int) -> None:
            for turn in range(12):
                await put(store, f"d{number}-{turn % 8}", f"quartz {number} {turn}")

        await together(write, 6)
        found = ids(await reader(store).bm25(COLLECTION, query="quartz", limit=99))
        assert sorted(found) == sorted(f"d{n}-{t}-0" for n in range(6) for t in range(8))
        memory = Threaded(MemoryStore())
        for number in range(6):
            for turn in range(12):
                await put(memory, f"d{number}-{turn % 8}", f"quartz {number} {turn}")
        for query in ("quartz", "3 11"):
            assert await scores(store, query) == await scores(memory, query)

    run(use)


def test_words_made_anew_beside_writers_are_each_there_once(run: Callable[..., None]) -> None:
    async def use(store: PgStore) -> None:
        await put(store, "first", "quartz")

        async def work(number: int) -> None:
            if number % 3 == 0:
                await store.reanalyse(SUBJECT, COLLECTION)
            for turn in range(4):
                await put(store, f"d{number}-{turn}", "quartz mica")

        await together(work, 6)
        for query, count in (("quartz", 25), ("mica", 24)):
            found = await scores(store, query)
            assert len(found) == len({name for name, _ in found}) == count
        explained = await reader(store).explain(
            COLLECTION, query="mica", chunks=await reader(store).fetch(COLLECTION, limit=1)
        )
        assert explained[0].terms[0].df == 24

    run(use)


@pytest.mark.parametrize(
    ("segments", "due"),
    [
        ([], []),
        ([10] * 7, []),
        ([10] * 8, [8]),
        ([1_000] * 8 + [10] * 3, [11]),
        ([60_000] * 8, [2, 2, 2, 2]),
        ([120_000] * 20 + [10] * 7, []),
    ],
)
def test_segments_of_a_size_are_merged_in_bounds(segments: list[int], due: list[int]) -> None:
    shape = Shape(dict(enumerate(segments)), {})
    assert [len(group) for group in shape.due()] == due
    assert all(sum(segments[key] for key in group) <= 131_072 for group in shape.due())


def test_all_segments_are_written_anew_when_a_tenth_is_gone() -> None:
    sizes = {1: 120_000, 2: 120_000, 3: 10}
    assert Shape(sizes, {1: 24_002}).due() == [[3, 1], [2]]
    assert not Shape(sizes, {1: 20_000}).is_due
    assert Shape({}, {1: 3}).is_due
    assert not Shape({1: 40}, {1: 5}).is_due
    assert Shape({1: 40}, dict.fromkeys(range(64), 1)).is_due


# -- from format 1


@pytest.fixture
def old_store(postgres_uri: str, postgres_schema: str, postgres_store_uri: str) -> str:
    """The URI of a store that a Pincite of format 1 wrote: its dump, in a schema of its own."""
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        dump = GOLDEN.read_text(encoding="utf-8").replace("golden_1", postgres_schema)
        connection.execute(dump.encode())
    return postgres_store_uri


def test_a_store_of_format_1_is_searched_as_before(
    old_store: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The scores are those that format 1 gave."""
    before = {
        "quartz": [("b.pdf-0", 1.566071629524231)],
        "veins mica häuser": [
            ("b.pdf-1", 2.583592653274536),
            ("häuser.md-0", 1.566071629524231),
            ("b.pdf-0", 1.0467480421066284),
        ],
        "run zeolite ERR-4021 石英": [
            ("häuser.md-1", 6.958889484405518),
            ("old.txt-0", 3.132143259048462),
        ],
        "y" * 300: [("old.txt-1", 1.7397223711013794)],
    }

    async def go() -> None:
        reading = open_postgres(old_store)
        with pytest.raises(StoreNotFound, match="format 1"):
            await reading.list("ann")
        await reading.aclose()
        store = open_postgres(old_store, create=True)
        port = store.reader("ann", ["papers"])
        for query, expected in before.items():
            hits = await port.bm25("papers", query=query, limit=9)
            assert [(hit.chunk.id, hit.score) for hit in hits] == expected
        other = await store.reader("bob", ["papers"]).bm25("papers", query="quartz", limit=9)
        assert ids(other) == ["a.pdf-0"]
        assert (await store.stats("ann", "papers"))["chunks"] == 6
        # And it goes on: an update, a delete, an old id.
        await store.commit("ann", "papers", [replace(GOLDEN_DOCUMENT, document="old.txt")])
        assert await store.delete("ann", "papers", ["a.pdf"]) == 2
        hits = await port.bm25("papers", query="quartz zeolite", limit=9)
        assert ids(hits) == ["old.txt-0"]
        await store.aclose()

    anyio.run(go)
    assert "format 2: 6 of 7 chunks" in caplog.text
