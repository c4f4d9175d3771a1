"""The part of the store contract that is about ``where``."""

from __future__ import annotations

from typing import Any

import pytest

from pincite.model.filters import DeclaredFilter, Filter, Not
from pincite.testing.contract import Contract, scenario, skip_without
from pincite.testing.filter_cases import FIELDS, FOLDS_AWAY, KEPT, REFUSED
from pincite.testing.samples import (
    COLLECTION,
    METHODS,
    SUBJECT,
    call,
    ids,
    predicate,
    put,
    reader,
    refused,
    search_all,
    typed_rows,
)

__all__ = ["FilterContract"]


class FilterContract(Contract):
    """What every store does with a filter."""

    @scenario
    async def test_every_operator_restricts_every_method(self, store: Any) -> None:
        """Check first: the one filter that the message shows, on the method that it names."""
        port = await typed_rows(store)
        for where, kept in KEPT:
            wanted = {f"{letter}-0" for letter in kept}
            for method, found in (await search_all(port, "quartz", where)).items():
                assert found == wanted, f"{method} with {where}"

    @scenario
    async def test_where_restricts_before_scoring(self, store: Any) -> None:
        """Check first: are the best ``limit`` found first and filtered afterwards?"""
        for number in range(12):
            await put(store, f"near{number}", "quartz quartz quartz", metadata={"far": False})
        text = "quartz among many other words that make the match a weak one"
        await put(store, "wanted", text, metadata={"far": True})
        where = DeclaredFilter("far", "eq", True)
        for method in METHODS:
            assert ids(await call(reader(store), method, limit=3, where=where)) == ["wanted-0"]

    @scenario
    async def test_where_changes_no_score(self, store: Any) -> None:
        """Check first: are N, df and the average length counted over the filtered chunks?"""
        port = await typed_rows(store)
        where = DeclaredFilter("lang", "eq", "en")
        for method in ("bm25", "near_vector"):
            everywhere = {h.chunk.id: h.score for h in await call(port, method)}
            for hit in await call(port, method, where=where):
                assert hit.score == pytest.approx(everywhere[hit.chunk.id], rel=1e-6)

    @scenario
    async def test_none_restricts_nothing(self, store: Any) -> None:
        """Check first: does ``where=None`` differ from leaving it out?"""
        port = await typed_rows(store)
        for method, found in (await search_all(port, "quartz", None)).items():
            assert found == {"a-0", "b-0", "c-0", "d-0"}, method

    @scenario
    async def test_nothing_is_answered_empty(self, store: Any) -> None:
        """Check first: does the store ``simplify`` before it builds its query?"""
        port = await typed_rows(store)
        for where in FOLDS_AWAY:
            for method in METHODS:
                assert list(await call(port, method, where=where)) == [], f"{method}: {where}"

    @scenario
    async def test_what_cannot_be_served_is_refused_by_name(self, store: Any) -> None:
        """Check first: does the method call ``validate`` with the target's fields?"""
        port = await typed_rows(store)
        for where, field in REFUSED:
            for method in METHODS:
                error = await refused(call(port, method, where=where), f"{method}: {where}")
                assert error.field == field, f"{method}: {where}"

    @scenario
    async def test_a_filter_is_checked_in_an_empty_collection_too(self, store: Any) -> None:
        """Check first: does an early return for no chunks come before the checks?"""
        where = DeclaredFilter("nofield", "eq", "x")
        for method in METHODS:
            error = await refused(call(reader(store), method, where=where))
            assert error.field == "nofield"

    @scenario
    async def test_missing_keys_follow_two_valued_logic(self, store: Any) -> None:
        """Check first: is a comparison on an absent field false, and ``Not`` plain negation?"""
        await put(store, "de", "quartz", metadata={"lang": "de"})
        await put(store, "en", "quartz", metadata={"lang": "en"})
        await put(store, "none", "quartz")
        port = reader(store)
        eq = DeclaredFilter("lang", "eq", "de")
        same: list[Filter] = [
            DeclaredFilter("lang", "ne", "de"),
            Not(eq),
            DeclaredFilter("lang", "not_in", ["de"]),
        ]
        for where in same:
            for method, found in (await search_all(port, "quartz", where)).items():
                assert found == {"en-0", "none-0"}, f"{method}: {where}"
        for where, wanted in (
            (DeclaredFilter("lang", "in", []), set()),
            (DeclaredFilter("lang", "not_in", []), {"de-0", "en-0", "none-0"}),
        ):
            for method, found in (await search_all(port, "quartz", where)).items():
                assert found == wanted, f"{method}: {where}"
        error = await refused(
            port.fetch(COLLECTION, where=predicate("lang", "$regexx", "d"), limit=5)
        )
        assert "$regexx" in str(error)

    @scenario
    async def test_values_keep_their_types(self, store: Any) -> None:
        """Check first: are metadata values compared as strings, or cast by the backend?"""
        skip_without(store, "declare")
        await store.declare(SUBJECT, COLLECTION, {"d": FIELDS["when"]})
        values = {"k": "007", "y": "2024_123", "n": 7, "b": True, "l": ["a", "b"]}
        dates = ("2025-01-01", "2025-01-01T00:00:00", "2025-01-01T01:00:00+01:00")
        for number, date in enumerate(dates):
            more = values if number == 0 else {}
            await put(store, f"v{number}", "quartz", metadata={**more, "d": date})
        port = reader(store)
        first, every = {"v0-0"}, {"v0-0", "v1-0", "v2-0"}
        for where, wanted in (
            (predicate("k", "eq", "007"), first),
            (predicate("k", "eq", "7"), set()),
            (predicate("n", "eq", 7), first),
            (predicate("n", "in", [7, 8]), first),
            (predicate("y", "eq", "2024_123"), first),
            (predicate("b", "eq", True), first),
            (predicate("l", "contains_any", ["a"]), first),
            (predicate("d", "gte", "2025-01-01"), every),
            (predicate("d", "lt", "2025-01-01"), set()),
        ):
            for method, found in (await search_all(port, "quartz", where)).items():
                assert found == wanted, f"{method}: {where}"
        for where in (
            predicate("n", "eq", "7"),
            predicate("n", "eq", True),
            predicate("l", "eq", "a"),
        ):
            for method in METHODS:
                error = await refused(call(port, method, where=where), method)
                assert error.field == where.field
