"""The part of the sink contract that is about what is already stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pincite.errors import InvalidArgument
from pincite.model.documents import Geometry
from pincite.model.fields import Field, FieldType
from pincite.testing.contract import Contract, scenario, skip_without
from pincite.testing.samples import (
    COLLECTION,
    METHODS,
    SUBJECT,
    call,
    contents,
    embed,
    ids,
    predicate,
    put,
    reader,
    whole,
)

__all__ = ["ManagedContract"]


class ManagedContract(Contract):
    """What every managed store does to documents that it holds."""

    # -- rename, metadata, vectors, geometry

    @scenario
    async def test_rename_keeps_vectors_and_leaves_an_alias(self, store: Any) -> None:
        """Check first: are chunk ids made anew, and does the old id still resolve?"""
        skip_without(store, "rename", "vectors", "documents")
        await put(store, "old", "quartz one", "quartz two", metadata={"year": 2020})
        before = await store.vectors(SUBJECT, COLLECTION, "old")
        await store.rename(SUBJECT, COLLECTION, "old", "new")
        port = reader(store)
        for method in METHODS:
            found = await call(port, method)
            assert set(ids(found)) == {"new-0", "new-1"}, method
        for name in ("old", "new"):
            where = predicate("document", "eq", name)
            chunks = await port.fetch(COLLECTION, where=where, limit=5)
            assert {chunk.document for chunk in chunks} == {"new"}
            assert np.array_equal(await store.vectors(SUBJECT, COLLECTION, name), before)
            listed = await store.documents(SUBJECT, COLLECTION, where)
            assert [info.document for info in listed] == ["new"]

    @scenario
    async def test_an_alias_follows_later_renames_and_gives_way(self, store: Any) -> None:
        """Check first: does a new document under an old id find the renamed one in its place?"""
        skip_without(store, "rename", "delete")
        await put(store, "a", "quartz first")
        await store.rename(SUBJECT, COLLECTION, "a", "b")
        await store.rename(SUBJECT, COLLECTION, "b", "c")
        port = reader(store)
        for name in ("a", "b", "c"):
            where = predicate("document", "in", [name])
            assert ids(await port.fetch(COLLECTION, where=where, limit=5)) == ["c-0"], name
        await put(store, "a", "quartz second")
        where = predicate("document", "eq", "a")
        assert ids(await port.fetch(COLLECTION, where=where, limit=5)) == ["a-0"]
        assert await store.delete(SUBJECT, COLLECTION, ["b"]) == 1, "an alias deletes"
        assert await contents(port) == ["quartz second"]

    @scenario
    async def test_rename_refuses_what_would_lose_a_document(self, store: Any) -> None:
        """Check first: does a rename write over the document that has the new id?"""
        skip_without(store, "rename")
        await put(store, "a", "quartz a")
        await put(store, "b", "quartz b")
        for old, new in (("a", "b"), ("nowhere", "c"), ("a", "")):
            with pytest.raises(ValueError, match=r".{10}"):
                await store.rename(SUBJECT, COLLECTION, old, new)
        await store.rename(SUBJECT, COLLECTION, "a", "a")
        assert await contents(reader(store)) == ["quartz a", "quartz b"]

    @scenario
    async def test_set_metadata_replaces_metadata_alone(self, store: Any) -> None:
        """Check first: are old keys still filterable, or the chunks' own metadata lost?"""
        skip_without(store, "set_metadata", "vectors", "documents")
        await put(store, "m", "quartz", metadata={"year": 2020, "lang": "de"}, own=[{"page": 3}])
        before = await store.vectors(SUBJECT, COLLECTION, "m")
        await store.set_metadata(SUBJECT, COLLECTION, "m", {"year": 2021, "new": True})
        port = reader(store)
        for method in METHODS:
            item = (await call(port, method, where=predicate("year", "eq", 2021)))[0]
            chunk = getattr(item, "chunk", item)
            assert dict(chunk.metadata) == {"year": 2021, "new": True, "page": 3}, method
            for where in (predicate("year", "eq", 2020), predicate("lang", "exists", True)):
                assert list(await call(port, method, where=where)) == [], method
            assert len(await call(port, method, where=predicate("new", "eq", True))) == 1
        assert np.array_equal(await store.vectors(SUBJECT, COLLECTION, "m"), before)
        info = (await store.documents(SUBJECT, COLLECTION))[0]
        assert dict(info.metadata) == {"year": 2021, "new": True}

    @scenario
    async def test_vectors_come_back_in_chunk_order(self, store: Any) -> None:
        """Check first: are they sorted by a chunk id that is a string?"""
        skip_without(store, "vectors")
        texts = [f"quartz {number}" for number in range(12)]
        await put(store, "m", *texts)
        rows = await store.vectors(SUBJECT, COLLECTION, "m")
        assert rows.shape == (12, 32)
        assert rows.dtype == np.float32
        assert rows == pytest.approx(np.array([embed(text) for text in texts]), abs=2e-3)

    @scenario
    async def test_chunks_come_in_the_order_of_their_index(self, store: Any) -> None:
        """Check first: does chunk 10 come before chunk 2?"""
        await put(store, "m", *(f"quartz {number}" for number in range(12)))
        chunks = await reader(store).fetch(COLLECTION, limit=20)
        indexes = [chunk.chunk_index for chunk in chunks]
        assert sorted(indexes) == list(range(12))

    @scenario
    async def test_geometry_is_kept_with_the_document(self, store: Any) -> None:
        """Check first: is every part written, and found under the old id after a rename?"""
        skip_without(store, "geometry", "rename", "commit")
        kept = Geometry(
            "quartz\n",
            page_ranges=((0, 7, 1),),
            page_dimensions={"1": (612.0, 792.0)},
            words=b"PWB1...",
            tables={"t1": "<table></table>"},
        )
        await store.commit(SUBJECT, COLLECTION, [whole("m", "quartz", geometry=kept)])
        await store.rename(SUBJECT, COLLECTION, "m", "n")
        for name in ("m", "n"):
            found = await store.geometry(SUBJECT, COLLECTION, name)
            assert (found.markdown, found.words) == (kept.markdown, kept.words)
            assert [tuple(r) for r in found.page_ranges] == [(0, 7, 1)]
            assert {k: tuple(v) for k, v in found.page_dimensions.items()} == {"1": (612.0, 792.0)}
            assert dict(found.tables) == dict(kept.tables)

    # -- fields

    @scenario
    async def test_fields_are_declared_or_inferred_from_the_first_value(self, store: Any) -> None:
        """Check first: does a later value of another type change the field?"""
        skip_without(store, "declare")
        await store.declare(SUBJECT, COLLECTION, {"when": Field(FieldType.DATETIME)})
        await put(store, "a", "quartz", metadata={"when": "2025-01-01", "day": "2025-01-01"})
        spec = await reader(store).fields(COLLECTION)
        assert spec.fields["when"].type is FieldType.DATETIME
        assert spec.fields["day"].type is FieldType.KEYWORD
        assert not (await reader(store, subject="bob").fields(COLLECTION)).fields.get("day")

    @scenario
    async def test_a_declaration_that_differs_is_refused(self, store: Any) -> None:
        """Check first: is a stored or a reserved type changed under its values?"""
        skip_without(store, "declare")
        await put(store, "a", "quartz", metadata={"n": 7})
        await store.declare(SUBJECT, COLLECTION, {"n": Field(FieldType.INTEGER)})
        for fields in (
            {"n": Field(FieldType.KEYWORD)},
            {"n": Field(FieldType.INTEGER, many=True)},
            {"title": Field(FieldType.INTEGER)},
            {"fine": Field(FieldType.TEXT), "n": Field(FieldType.NUMBER)},
        ):
            with pytest.raises(InvalidArgument):
                await store.declare(SUBJECT, COLLECTION, fields)
        assert "fine" not in (await reader(store).fields(COLLECTION)).fields
