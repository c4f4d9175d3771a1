"""The contract of ``Sink`` and ``ManagedSink``: what is written, replaced, renamed and removed.

    class TestMySink(SinkContract):
        @pytest.fixture
        def store_factory(self):
            return MyStore

A store that only has ``Sink.upsert`` and ``reader`` runs the tests of those; the others skip.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from pincite.errors import CollectionMismatch, InvalidArgument, InvalidQueryError
from pincite.model.documents import Collection, ModelIdentity
from pincite.model.fields import Field, FieldType
from pincite.model.filters import NOTHING
from pincite.stores.ports import VectorStore
from pincite.testing.contract import scenario, skip_without
from pincite.testing.managed_contract import ManagedContract
from pincite.testing.samples import (
    COLLECTION,
    ENDPOINT,
    METHODS,
    SUBJECT,
    call,
    contents,
    embed,
    ids,
    passages,
    predicate,
    put,
    reader,
    together,
    whole,
)

__all__ = ["SinkContract"]

M1 = ModelIdentity("m1", 32)


class SinkContract(ManagedContract):
    """What every store's writing side must do."""

    # -- upsert

    @scenario
    async def test_setup_can_run_again_and_at_the_same_time(self, store: Any) -> None:
        """Check first: does a second ``CREATE`` fail, or empty what is there?"""
        skip_without(store, "setup")
        await put(store, "m", "quartz")
        await together(lambda _: store.setup(), 5)
        assert await contents(reader(store)) == ["quartz"]

    @scenario
    async def test_upsert_writes_what_both_legs_and_fetch_find(self, store: Any) -> None:
        """Check first: is a leg filled later than the rows?"""
        await put(store, "m", "quartz one", "quartz two")
        for method in METHODS:
            assert set(ids(await call(reader(store), method))) == {"m-0", "m-1"}, method

    @scenario
    async def test_upsert_replaces_the_chunks_that_the_document_had(self, store: Any) -> None:
        """Check first: are chunks past the new count left behind, on one leg or on both?"""
        await put(store, "m", *(f"quartz old{number} words" for number in range(5)))
        await put(store, "m", "quartz new one", "quartz new two")
        port = reader(store)
        for method in METHODS:
            assert set(ids(await call(port, method))) == {"m-0", "m-1"}, method
        for word in ("old0", "old4"):
            assert list(await port.bm25(COLLECTION, query=word, limit=5)) == []
        assert await contents(port) == ["quartz new one", "quartz new two"]

    @scenario
    async def test_a_replaced_document_leaves_no_trace_in_scores(self, store: Any) -> None:
        """Check first: do df, N or lengths still count chunks that are gone?"""
        await put(store, "a", "quartz and mica")
        await put(store, "b", "granite")
        fresh = [hit.score for hit in await call(reader(store), "bm25")]
        for number in range(3):
            await put(store, "b", f"quartz quartz {number}", "more quartz and other words")
        await put(store, "b", "granite")
        assert [hit.score for hit in await call(reader(store), "bm25")] == pytest.approx(fresh)

    @scenario
    async def test_writing_the_same_again_changes_nothing(self, store: Any) -> None:
        """Check first: are chunks doubled?"""
        for _ in range(3):
            await put(store, "m", "quartz one", "quartz two")
        for method in METHODS:
            assert sorted(ids(await call(reader(store), method))) == ["m-0", "m-1"], method

    @scenario
    async def test_no_chunks_are_refused(self, store: Any) -> None:
        """Check first: does an empty list delete the document, or pass in silence?"""
        await put(store, "m", "quartz")
        with pytest.raises(ValueError, match=r".{20}"):
            await put(store, "m")
        assert await contents(reader(store)) == ["quartz"]

    @scenario
    async def test_a_blank_owner_is_refused(self, store: Any) -> None:
        """Check first: is a name of blanks taken for a name?"""
        for blank in ("", "  ", "\n"):
            with pytest.raises(ValueError, match="blank"):
                await put(store, "m", "quartz", subject=blank)
            with pytest.raises(ValueError, match="blank"):
                await put(store, "m", "quartz", collection=blank)

    @scenario
    async def test_vectors_that_cannot_be_compared_are_refused(self, store: Any) -> None:
        """Check first: is NaN, an empty vector or one of another length written first?"""
        bad: list[list[list[float]]] = [
            [[math.nan, 1.0]],
            [[math.inf, 1.0]],
            [[]],
            [[1.0, 0.0], [1.0]],
        ]
        for vectors in bad:
            texts = ["quartz"] * len(vectors)
            with pytest.raises(ValueError, match=r".{20}"):
                await put(store, "m", *texts, vectors=vectors)
        assert await contents(reader(store)) == []
        await put(store, "m", "quartz", vectors=[[1.0, 0.0, 0.0]])

    @scenario
    async def test_the_first_write_fixes_endpoint_and_length(self, store: Any) -> None:
        """Check first: is the check made before anything is written, also for a new document?"""
        await put(store, "m", "quartz")
        for endpoint, vector in (("other", embed("x")), (ENDPOINT, [1.0, 0.0]), ("o", [1.0])):
            for document in ("m", "new"):
                with pytest.raises(ValueError, match="32"):
                    await put(store, document, "changed", vectors=[vector], endpoint=endpoint)
        assert await contents(reader(store)) == ["quartz"]
        assert ids(await call(reader(store), "near_vector")) == ["m-0"]

    @scenario
    async def test_another_collection_may_have_another_model(self, store: Any) -> None:
        """Check first: is the model recorded for each subject and collection?"""
        await put(store, "m", "quartz")
        await put(store, "m", "quartz", vectors=[[1.0, 0.0]], collection="notes", endpoint="o")
        await put(store, "m", "quartz", vectors=[[1.0]], subject="bob", endpoint="p")
        port = reader(store, "notes")
        assert len(await port.near_vector("notes", vector=[0.0, 1.0], limit=3)) == 1

    @scenario
    async def test_a_model_is_known_by_its_identity(self, store: Any) -> None:
        """Check first: does the endpoint's name decide where both identities are known?"""
        skip_without(store, "commit")
        await store.commit(SUBJECT, COLLECTION, [whole("a", "quartz", model=M1)])
        moved = replace(whole("b", "quartz", model=M1), endpoint="host2--m1")
        await store.commit(SUBJECT, COLLECTION, [moved])
        others = [
            (ModelIdentity("m2", 16), np.ones((1, 16), dtype=np.float32)),
            (ModelIdentity("m3", 32), np.ones((1, 32), dtype=np.float32)),
            (replace(M1, query_prefix="query: "), np.ones((1, 32), dtype=np.float32)),
        ]
        for model, vectors in others:
            with pytest.raises(CollectionMismatch) as caught:
                await store.commit(
                    SUBJECT, COLLECTION, [replace(moved, model=model, vectors=vectors)]
                )
            for named in ("m1", model.name, "32", str(model.dimension), "reindex --model"):
                assert named in str(caught.value)
        assert len(await call(reader(store), "near_vector")) == 2

    @scenario
    async def test_what_was_given_stays_the_callers(self, store: Any) -> None:
        """Check first: are the caller's lists and mappings kept, or written into?"""
        metadata = {"tags": ["x"], "year": 2020}
        chunks = passages(["quartz"])
        before = copy.deepcopy((metadata, chunks))
        await store.upsert(
            subject=SUBJECT,
            collection=COLLECTION,
            document="m",
            title="m",
            chunks=chunks,
            endpoint=ENDPOINT,
            metadata=metadata,
        )
        assert (metadata, chunks) == before
        metadata["tags"].append("later")  # type: ignore[attr-defined]  # a list, as written above
        chunks.clear()
        chunk = (await reader(store).fetch(COLLECTION, limit=1))[0]
        assert chunk.metadata["tags"] == ["x"]

    @scenario
    async def test_a_value_that_does_not_fit_its_field_is_refused(self, store: Any) -> None:
        """Check first: does ``upsert`` compare metadata with the collection's fields?"""
        await put(store, "first", "quartz", metadata={"n": 7})
        with pytest.raises(InvalidArgument) as caught:
            await put(store, "later", "quartz", metadata={"n": "n.d."})
        for named in ("later", "'n'", "integer", "n.d."):
            assert named in str(caught.value)
        assert ids(await reader(store).fetch(COLLECTION, limit=5)) == ["first-0"]

    @scenario
    async def test_commit_keeps_a_value_that_does_not_fit(self, store: Any) -> None:
        """Check first: is the value kept verbatim, and absent for filters?"""
        skip_without(store, "commit")
        await put(store, "first", "quartz", metadata={"n": 7})
        await store.commit(SUBJECT, COLLECTION, [whole("later", "quartz", metadata={"n": "n.d."})])
        port = reader(store)
        where = predicate("n", "exists", True)
        assert ids(await port.fetch(COLLECTION, where=where, limit=5)) == ["first-0"]
        kept = await port.fetch(COLLECTION, where=predicate("n", "exists", False), limit=5)
        assert [dict(chunk.metadata) for chunk in kept] == [{"n": "n.d."}]
        ordered = await port.fetch(COLLECTION, limit=5, order_by="n", descending=True)
        assert ids(ordered) == ["first-0", "later-0"]

    @scenario
    async def test_metadata_comes_back_as_it_was(self, store: Any) -> None:
        """Check first: are dates, nested values or texts changed on their way through JSON?"""
        moment = datetime(2025, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
        given = {
            "text_key": "ä\u0000\u2028'\"",
            "whole": 2**53 + 1,
            "ratio": 0.1,
            "yes": True,
            "none": None,
            "day": date(2025, 1, 2),
            "moment": moment,
            "nested": {"list": [1, "two", [3.5, None]], "day": date(2025, 1, 2)},
            "": "an empty key",
        }
        await put(store, "m", "quartz", metadata=given)
        for method in METHODS:
            item = (await call(reader(store), method))[0]
            assert dict(getattr(item, "chunk", item).metadata) == given, method
        where = predicate("moment", "eq", "2025-01-02T04:04:05.000678+01:00")
        assert ids(await call(reader(store), "fetch", where=where)) == ["m-0"]

    @scenario
    async def test_metadata_that_cannot_be_kept_is_refused(self, store: Any) -> None:
        """Check first: is an object written by its ``repr``, or a NaN kept?"""
        for value in (object(), math.nan, math.inf, {1, 2}, b"bytes", [1, object()]):
            with pytest.raises(InvalidArgument, match="'m'"):
                await put(store, "m", "quartz", metadata={"k": value})
            with pytest.raises(InvalidArgument, match="'m'"):
                await put(store, "m", "quartz", own=[{"k": value}])
        assert await contents(reader(store)) == []

    # -- commit

    @scenario
    async def test_commit_writes_many_documents(self, store: Any) -> None:
        """Check first: are documents of one commit mixed up?"""
        skip_without(store, "commit")
        documents = [whole(f"d{number}", f"quartz {number}") for number in range(20)]
        await store.commit(SUBJECT, COLLECTION, documents)
        await store.commit(SUBJECT, COLLECTION, [])
        assert await contents(reader(store)) == sorted(f"quartz {number}" for number in range(20))

    @scenario
    async def test_a_commit_is_all_or_nothing(self, store: Any) -> None:
        """Check first: is a document of the batch written before a later one is refused?"""
        skip_without(store, "commit")
        await put(store, "a", "quartz old")
        batch = [whole("a", "quartz new"), whole("b", "quartz b"), whole("c")]
        with pytest.raises(ValueError, match=r".{20}"):
            await store.commit(SUBJECT, COLLECTION, batch)
        assert await contents(reader(store)) == ["quartz old"]

    @scenario
    async def test_a_reader_sees_what_was_written_after_it_was_made(self, store: Any) -> None:
        """Check first: does the reader keep a snapshot for ever?"""
        port = reader(store)
        for number in range(3):
            await put(store, f"m{number}", "quartz")
            for method in METHODS:
                assert len(await call(port, method)) == number + 1, method

    @scenario
    async def test_writers_at_the_same_time_lose_nothing(self, store: Any) -> None:
        """Check first: is a read-modify-write of the collection unlocked?"""

        async def write(number: int) -> None:
            await put(store, f"d{number}", f"quartz {number}")
            await put(store, "shared", *[f"quartz of {number}"] * (number + 1))

        await together(write, 8)
        port = reader(store)
        found = await port.fetch(COLLECTION, limit=50)
        assert {f"d{number}" for number in range(8)} <= {chunk.document for chunk in found}
        shared = [chunk.content for chunk in found if chunk.document == "shared"]
        writers = {int(text.rsplit(" ", 1)[1]) for text in shared}
        assert len(writers) == 1, "one writer's version, whole"
        assert len(shared) == writers.pop() + 1
        hits = await port.bm25(COLLECTION, query="quartz", limit=50)
        assert sorted(ids(hits)) == sorted(ids(found))

    @scenario
    async def test_readers_see_a_document_old_or_new(self, store: Any) -> None:
        """Check first: is the old version deleted in one transaction and the new one written in
        another?"""
        await put(store, "m", "quartz v0", "quartz v0")
        port = reader(store)
        torn: list[list[str]] = []

        async def work(place: int) -> None:
            if place == 0:
                for version in range(1, 9):
                    await put(store, "m", f"quartz v{version}", f"quartz v{version}")
                return
            for _ in range(8):
                method = METHODS[place % len(METHODS)]
                items = await call(port, method)
                texts = [getattr(item, "chunk", item).content for item in items]
                if len(texts) != 2 or len(set(texts)) != 1:
                    torn.append([method, *texts])

        await together(work, 5)
        assert torn == []

    # -- list and documents

    @scenario
    async def test_list_names_the_collections_that_hold_chunks(self, store: Any) -> None:
        """Check first: are empty collections listed, or those of another subject?"""
        skip_without(store, "list", "delete", "declare")
        assert list(await store.list(SUBJECT)) == []
        await put(store, "m", "quartz", "mica", collection="zoo")
        await put(store, "n", "quartz", collection="zoo")
        await put(store, "m", "quartz", collection="art")
        await put(store, "m", "quartz", collection="gone")
        await put(store, "m", "quartz", subject="bob", collection="theirs")
        await store.declare(SUBJECT, "declared", {"n": Field(FieldType.INTEGER)})
        await store.delete(SUBJECT, "gone", ["m"])
        assert list(await store.list(SUBJECT)) == [Collection("art", 1, 1), Collection("zoo", 2, 3)]

    @scenario
    async def test_documents_are_listed_by_id(self, store: Any) -> None:
        """Check first: is what upsert was told of a document kept, and told again?"""
        skip_without(store, "documents")
        for name in ("b", "a", "c"):
            await store.upsert(
                subject=SUBJECT,
                collection=COLLECTION,
                document=name,
                title=f"Title {name}",
                chunks=passages(["quartz", "mica"]),
                endpoint=ENDPOINT,
                source=f"/files/{name}.md",
                content_hash=f"hash-{name}",
                fingerprint="chunker-1",
                language="en",
                metadata={"year": 2020, "name": name},
            )
        listed = await store.documents(SUBJECT, COLLECTION)
        assert [info.document for info in listed] == ["a", "b", "c"]
        info = listed[0]
        assert (info.title, info.source) == ("Title a", "/files/a.md")
        assert (info.content_hash, info.fingerprint) == ("hash-a", "chunker-1")
        assert (info.chunks, info.language) == (2, "en")
        assert dict(info.metadata) == {"year": 2020, "name": "a"}

    @scenario
    async def test_documents_takes_a_filter(self, store: Any) -> None:
        """Check first: is a document listed when any chunk of it matches, and only then?"""
        skip_without(store, "documents")
        await put(store, "a", "quartz", "mica", own=[{"page": 1}, {"page": 2}])
        await put(store, "b", "quartz", own=[{"page": 2}])
        where = predicate("page", "eq", 1)
        assert [i.document for i in await store.documents(SUBJECT, COLLECTION, where)] == ["a"]
        assert list(await store.documents(SUBJECT, COLLECTION, NOTHING)) == []
        with pytest.raises(InvalidQueryError):
            await store.documents(SUBJECT, COLLECTION, predicate("nofield", "eq", 1))

    # -- delete

    @scenario
    async def test_delete_removes_from_rows_and_both_legs(self, store: Any) -> None:
        """Check first: is a tombstone missing on one leg?"""
        skip_without(store, "delete", "documents", "list")
        for name in ("a", "b", "c"):
            await put(store, name, f"quartz {name}", "quartz again")
        assert await store.delete(SUBJECT, COLLECTION, ["a", "c", "unknown"]) == 4
        port = reader(store)
        for method in METHODS:
            assert set(ids(await call(port, method))) == {"b-0", "b-1"}, method
        assert list(await port.bm25(COLLECTION, query="a", limit=5)) == []
        assert [i.document for i in await store.documents(SUBJECT, COLLECTION)] == ["b"]
        assert list(await store.list(SUBJECT)) == [Collection(COLLECTION, 1, 2)]

    @scenario
    async def test_a_deleted_document_can_come_back(self, store: Any) -> None:
        """Check first: does a tombstone hide a later version?"""
        skip_without(store, "delete")
        await put(store, "m", "quartz first")
        assert await store.delete(SUBJECT, COLLECTION, ["m"]) == 1
        assert await store.delete(SUBJECT, COLLECTION, ["m"]) == 0
        await put(store, "m", "quartz second")
        for method in METHODS:
            found = await call(reader(store), method)
            assert [getattr(i, "chunk", i).content for i in found] == ["quartz second"], method

    @scenario
    async def test_delete_stays_in_its_own_collection(self, store: Any) -> None:
        """Check first: is the subject, or the collection, missing in the delete?"""
        skip_without(store, "delete")
        await put(store, "m", "quartz")
        await put(store, "m", "quartz", collection="notes")
        await put(store, "m", "quartz", subject="bob")
        assert await store.delete(SUBJECT, COLLECTION, ["m"]) == 1
        assert await store.delete("carl", COLLECTION, ["m"]) == 0
        assert list(await call(reader(store), "bm25")) == []
        assert len(await call(reader(store, "notes"), "bm25", target="notes")) == 1
        assert len(await call(reader(store, subject="bob"), "bm25")) == 1

    @scenario
    async def test_the_model_stays_when_the_last_document_goes(self, store: Any) -> None:
        """Check first: is the record of the model deleted with the chunks?"""
        skip_without(store, "delete")
        await put(store, "m", "quartz")
        await store.delete(SUBJECT, COLLECTION, ["m"])
        with pytest.raises(CollectionMismatch):
            await put(store, "m", "quartz", vectors=[[1.0, 0.0]])

    # -- readers

    @scenario
    async def test_a_reader_is_made_for_named_collections(self, store: Any) -> None:
        """Check first: is a string taken for a sequence of names?"""
        with pytest.raises(ValueError, match=r".{20}"):
            store.reader(SUBJECT, COLLECTION)
        with pytest.raises(ValueError, match="blank"):
            store.reader("", [COLLECTION])
        assert isinstance(store.reader(SUBJECT, [COLLECTION]), VectorStore)
