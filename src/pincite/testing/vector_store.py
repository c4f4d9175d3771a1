"""The contract of ``VectorStore``: one test for each sentence of the port.

A store's tests are a subclass and one fixture::

    class TestMyStore(VectorStoreContract):
        @pytest.fixture
        def store_factory(self):
            return MyStore
"""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from pincite.errors import Unconfigured
from pincite.model.fields import FieldSpec, FieldType
from pincite.model.filters import NOTHING, AllOf, DeclaredFilter, Not
from pincite.model.hits import Chunk, Hit
from pincite.stores.checks import MAX_LIMIT
from pincite.stores.ports import VectorStore
from pincite.testing.contract import scenario
from pincite.testing.filter_contract import FilterContract
from pincite.testing.leg_contract import LegContract
from pincite.testing.samples import (
    COLLECTION,
    METHODS,
    SUBJECT,
    call,
    embed,
    ids,
    minerals,
    predicate,
    put,
    reader,
    refused,
    search_all,
    together,
    typed_rows,
)

__all__ = ["VectorStoreContract"]


class VectorStoreContract(FilterContract, LegContract):
    """What every store's search side must do; the store is loaded by ``upsert`` alone.

    Set ``embeds_queries`` in a subclass whose factory builds stores with an embedder.
    """

    # -- searches

    @scenario
    async def test_a_search_returns_at_most_limit_hits(self, store: Any) -> None:
        """Check first: is ``limit`` applied after the legs are fused, not only to each leg?"""
        port = await minerals(store)
        for limit in (1, 2, 3):
            for method in METHODS:
                assert len(await call(port, method, text="quartz mica", limit=limit)) == limit

    @scenario
    async def test_more_is_asked_than_is_there(self, store: Any) -> None:
        """Check first: does a huge limit overflow an integer, or get padded with other chunks?"""
        port = await minerals(store)
        for limit in (50, MAX_LIMIT):
            for method in ("near_vector", "hybrid", "fetch"):
                assert len(set(ids(await call(port, method, limit=limit)))) == 8
            assert len(await call(port, "bm25", limit=limit)) == 3

    @scenario
    async def test_hits_come_best_first(self, store: Any) -> None:
        """Check first: is a distance returned where a similarity is asked for?"""
        port = await minerals(store)
        for method in ("bm25", "near_vector", "hybrid"):
            hits = await call(port, method, text="quartz veins gold")
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            assert hits[0].chunk.content == "quartz veins hold gold"

    @scenario
    async def test_ranks_count_from_one(self, store: Any) -> None:
        """Check first: is ``Hit.rank`` set by every method?"""
        port = await minerals(store)
        for method in ("bm25", "near_vector", "hybrid"):
            hits = await call(port, method, text="quartz mica")
            assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))

    @scenario
    async def test_equal_scores_are_ordered_by_chunk_id(self, store: Any) -> None:
        """Check first: is the tie broken before the limit cuts, and by the id as a string?"""
        for name in ("t10", "t9", "t1", "t2", "t30"):
            await put(store, name, "identical words in every one")
        port = reader(store)
        wanted = ["t1-0", "t10-0", "t2-0", "t30-0", "t9-0"]
        for method in ("bm25", "near_vector", "hybrid"):
            for limit in (2, 5):
                found = await call(port, method, text="identical words", limit=limit)
                assert ids(found) == wanted[:limit]

    @scenario
    async def test_a_search_twice_gives_the_same(self, store: Any) -> None:
        """Check first: does a score depend on summation order or on a set's order?"""
        port = await minerals(store)
        for method in METHODS:
            first = await call(port, method, text="quartz mica gold")
            assert await call(port, method, text="quartz mica gold") == first

    @scenario
    async def test_a_hit_carries_the_stored_chunk(self, store: Any) -> None:
        """Check first: which column of the chunk is not written, or not read back?"""
        await put(
            store,
            "notes/geo.md",
            "first passage",
            "second about quartz",
            title="Geology",
            metadata={"year": 2020, "tags": ["x"]},
            own=[{}, {"year": 2021}],
            source="/home/notes/geo.md",
        )
        for method in ("bm25", "near_vector", "hybrid", "fetch"):
            found = await call(reader(store), method)
            chunk = next(
                chunk
                for chunk in (item.chunk if isinstance(item, Hit) else item for item in found)
                if chunk.chunk_index == 1
            )
            assert chunk.id == "notes/geo.md-1"
            assert (chunk.document, chunk.title) == ("notes/geo.md", "Geology")
            assert (chunk.subject, chunk.collection) == (SUBJECT, COLLECTION)
            assert chunk.source == "/home/notes/geo.md"
            assert chunk.content == "second about quartz"
            assert (chunk.start_char, chunk.end_char) == (14, 33)
            assert dict(chunk.metadata) == {"year": 2021, "tags": ["x"]}

    # -- targets

    @scenario
    async def test_an_unknown_target_is_refused(self, store: Any) -> None:
        """Check first: does the reader compare the target with the collections it was given?"""
        await put(store, "m", "quartz", collection="other")
        port = reader(store)
        for method in METHODS:
            error = await refused(call(port, method, target="other"), method)
            assert error.field is None
            assert COLLECTION in str(error), "the message names the known targets"
        await refused(port.fields("other"))

    @scenario
    async def test_a_search_reads_its_own_target(self, store: Any) -> None:
        """Check first: is the collection part of every query, on both legs?"""
        await put(store, "same", "quartz in papers")
        await put(store, "same", "quartz in notes", collection="notes")
        port = reader(store, COLLECTION, "notes")
        for target, content in ((COLLECTION, "quartz in papers"), ("notes", "quartz in notes")):
            for method in METHODS:
                found = await call(port, method, target=target)
                chunks = [item.chunk if isinstance(item, Hit) else item for item in found]
                assert [chunk.content for chunk in chunks] == [content], method

    @scenario
    async def test_subjects_do_not_see_each_other(self, store: Any) -> None:
        """Check first: is the subject part of every key and of every statistic?"""
        await put(store, "same", "quartz seen by ann")
        await put(store, "other", "granite seen by ann")
        before = {m: await call(reader(store), m) for m in METHODS}
        for number in range(5):
            await put(store, f"bob{number}", "quartz quartz of bob", subject="bob")
        await put(store, "same", "quartz seen by bob", subject="bob")
        for method in METHODS:
            assert await call(reader(store), method) == before[method], method
            theirs = await call(reader(store, subject="bob"), method, limit=50)
            chunks = [item.chunk if isinstance(item, Hit) else item for item in theirs]
            assert {chunk.subject for chunk in chunks} == {"bob"}, method
            assert "quartz seen by bob" in [chunk.content for chunk in chunks], method

    @scenario
    async def test_collections_keep_their_own_statistics(self, store: Any) -> None:
        """Check first: are df and N counted per collection?"""
        await put(store, "one", "quartz and mica")
        await put(store, "two", "granite alone")
        before = await call(reader(store), "bm25")
        await put(store, "three", "quartz", "quartz", "quartz", collection="notes")
        assert await call(reader(store), "bm25") == before

    # -- arguments

    @scenario
    async def test_limit_is_a_whole_number_of_at_least_one(self, store: Any) -> None:
        """Check first: does ``check_limit`` run in every method?"""
        port = await minerals(store)
        for limit in (0, -1, True, 1.5, "3", None, math.nan, 10**20):
            for method in METHODS:
                error = await refused(call(port, method, limit=limit), f"{method}: {limit!r}")
                assert error.field is None

    @scenario
    async def test_alpha_is_a_number_from_zero_to_one(self, store: Any) -> None:
        """Check first: do NaN and True pass a comparison?"""
        port = await minerals(store)
        bad: list[Any] = [-0.1, 1.1, math.nan, math.inf, True, "0.5"]
        for alpha in bad:
            work: Any = port.hybrid(
                COLLECTION, query="quartz", vector=embed("quartz"), limit=3, alpha=alpha
            )
            await refused(work, repr(alpha))

    @scenario
    async def test_a_vector_is_finite_and_of_the_right_length(self, store: Any) -> None:
        """Check first: does the backend get the vector before it is checked?"""
        port = await minerals(store)
        good = embed("quartz")
        bad: list[Any] = [
            good[:-1],
            [*good, 0.0],
            [],
            [math.nan, *good[1:]],
            [math.inf, *good[1:]],
            [good],
            "quartz",
            [str(x) for x in good],
        ]
        for vector in bad:
            for method in ("near_vector", "hybrid"):
                await refused(call(port, method, vector=vector), f"{method}: {vector!r:.40}")

    @scenario
    async def test_a_query_is_a_string(self, store: Any) -> None:
        """Check first: does ``check_query`` run in ``bm25`` and in ``hybrid``?"""
        port = await minerals(store)
        bad: list[Any] = [None, 7, b"quartz", ["quartz"]]
        for query in bad:
            for method in ("bm25", "hybrid"):
                await refused(call(port, method, text=query, vector=embed("quartz")), repr(query))

    @scenario
    async def test_checks_keep_their_order(self, store: Any) -> None:
        """Check first: target, filter, arguments, ``Unconfigured``, NOTHING: which comes early?"""
        port = await minerals(store)
        bad = DeclaredFilter("nofield", "eq", 1)
        for method in METHODS:
            error = await refused(call(port, method, target="nowhere", where=bad, limit=0))
            assert "nowhere" in str(error), "the target comes before the filter"
            error = await refused(call(port, method, where=bad, limit=0))
            assert error.field == "nofield", "the filter comes before the arguments"
            error = await refused(call(port, method, where=NOTHING, limit=0))
            assert error.field is None, "the arguments come before NOTHING"
        await refused(port.hybrid(COLLECTION, query="quartz", limit=0), "before Unconfigured")
        if not self.embeds_queries:
            with pytest.raises(Unconfigured):
                await port.hybrid(COLLECTION, query="quartz", limit=3, where=NOTHING)

    # -- fetch

    @scenario
    async def test_fetch_returns_chunks_without_a_score(self, store: Any) -> None:
        """Check first: does fetch return hits?"""
        port = await minerals(store)
        chunks = await port.fetch(COLLECTION, limit=20)
        assert all(isinstance(chunk, Chunk) for chunk in chunks)
        assert len(chunks) == len({chunk.id for chunk in chunks}) == 8

    @scenario
    async def test_fetch_orders_by_a_stored_field(self, store: Any) -> None:
        """Check first: is the order applied before the limit, with absent values last?"""
        port = await typed_rows(store)
        for field, up in (
            ("year", "abcd"),
            ("lang", "abcd"),
            ("ratio", "abcd"),
            ("open", "bacd"),
            ("when", "abcd"),
            ("path", "abcd"),
            ("document", "abcd"),
        ):
            chunks = await port.fetch(COLLECTION, limit=10, order_by=field)
            assert "".join(chunk.document for chunk in chunks) == up, field
            assert ids(await port.fetch(COLLECTION, limit=2, order_by=field)) == ids(chunks)[:2]
        for field, down in (("year", "cbad"), ("lang", "bcad"), ("open", "acbd"), ("when", "bcad")):
            chunks = await port.fetch(COLLECTION, limit=10, order_by=field, descending=True)
            assert "".join(chunk.document for chunk in chunks) == down, field

    @scenario
    async def test_an_order_on_no_stored_field_is_refused(self, store: Any) -> None:
        """Check first: does an unknown column reach the backend?"""
        port = await typed_rows(store)
        bad: list[Any] = ["nofield", "", "year; --", 7]
        for field in bad:
            await refused(port.fetch(COLLECTION, limit=3, order_by=field), repr(field))
            await refused(port.fetch(COLLECTION, limit=3, order_by=field, where=NOTHING))

    # -- fields

    @scenario
    async def test_fields_tell_types_and_what_can_be_filtered(self, store: Any) -> None:
        """Check first: are the reserved fields there, and the metadata's types?"""
        port = await typed_rows(store)
        spec = await port.fields(COLLECTION)
        assert isinstance(spec, FieldSpec)
        types = {name: (field.type, field.many) for name, field in spec.fields.items()}
        wanted = {
            "title": (FieldType.KEYWORD, False),
            "document": (FieldType.KEYWORD, False),
            "lang": (FieldType.KEYWORD, False),
            "year": (FieldType.INTEGER, False),
            "ratio": (FieldType.NUMBER, False),
            "open": (FieldType.BOOLEAN, False),
            "tags": (FieldType.KEYWORD, True),
            "when": (FieldType.DATETIME, False),
        }
        assert {name: types.get(name) for name in wanted} == wanted
        assert not spec.fields["text"].filterable
        assert spec.fields["lang"].filterable

    # -- manners

    @scenario
    async def test_arguments_are_not_changed(self, store: Any) -> None:
        """Check first: is the filter or the vector rewritten in place?"""
        port = await typed_rows(store)
        vector = embed("quartz")
        where = AllOf(
            (predicate("year", "in", [2019, 2020]), Not(predicate("tags", "contains_any", ["z"])))
        )
        kept_vector, kept_where = list(vector), copy.deepcopy(where)
        for method in METHODS:
            await call(port, method, vector=vector, where=where)
        assert (vector, where) == (kept_vector, kept_where)

    @scenario
    async def test_what_is_returned_is_the_callers(self, store: Any) -> None:
        """Check first: does a hit share its metadata with the store?"""
        await put(store, "m", "quartz", metadata={"tags": ["x"]})
        for method in METHODS:
            item = (await call(reader(store), method))[0]
            chunk: Any = item.chunk if isinstance(item, Hit) else item
            try:
                chunk.metadata["tags"].append("changed")
                chunk.metadata["new"] = 1
            except (TypeError, AttributeError):
                pass  # read-only is as good as a copy
            again = (await call(reader(store), method))[0]
            chunk = again.chunk if isinstance(again, Hit) else again
            assert dict(chunk.metadata) == {"tags": ["x"]}, method

    @scenario
    async def test_searches_run_at_the_same_time(self, store: Any) -> None:
        """Check first: is a connection, a cursor or a scratch buffer shared by two calls?"""
        port = await minerals(store)
        texts = ["quartz", "mica sheets", "gold metal", "rain water"] * 5
        alone = [await _each(port, text) for text in texts]
        parallel: list[Any] = [None] * len(texts)

        async def search(place: int) -> None:
            parallel[place] = await _each(port, texts[place])

        await together(search, len(texts))
        assert parallel == alone

    @scenario
    async def test_hostile_text_is_only_text(self, store: Any) -> None:
        """Check first: is a query, an id or a value spliced into the backend's own language?"""
        nasty = ["'; DROP TABLE chunks; --", '" OR 1=1', "%_\\", "a\x00b", "{{x}}", "*:*", "🜨" * 50]
        for number, text in enumerate(nasty):
            await put(store, f"n{number}", f"quartz {number}", metadata={"k": text})
        port = reader(store)
        for number, text in enumerate(nasty):
            found = await search_all(port, "quartz", predicate("k", "eq", text))
            assert set(map(frozenset, found.values())) == {frozenset({f"n{number}-0"})}, repr(text)
            await port.bm25(COLLECTION, query=text, limit=5)
            await port.bm25(COLLECTION, query=text * 500, limit=5)
        assert len(await port.fetch(COLLECTION, limit=20)) == len(nasty)


async def _each(port: VectorStore, text: str) -> list[Any]:
    return [list(await call(port, method, text=text)) for method in METHODS]
