"""Filters with the chunks that they keep, and filters that a store refuses."""

from __future__ import annotations

from typing import Any

from pincite.model.fields import Field, FieldType
from pincite.model.filters import NOTHING, AllOf, AnyOf, DeclaredFilter, Filter, Not

__all__ = ["FIELDS", "FOLDS_AWAY", "KEPT", "REFUSED", "ROWS"]

P = DeclaredFilter

FIELDS = {"when": Field(FieldType.DATETIME)}
"""Types that a store cannot guess, to be declared before the rows are written."""

ROWS: dict[str, dict[str, Any]] = {
    "a": {
        "lang": "de",
        "year": 2019,
        "ratio": 0.5,
        "open": True,
        "tags": ["x", "y"],
        "path": "old/a",
        "when": "2024-12-31",
    },
    "b": {
        "lang": "en",
        "year": 2020,
        "ratio": 1,
        "open": False,
        "tags": ["y"],
        "path": "old/a/deep",
        "when": "2025-01-01T00:00:00",
    },
    "c": {
        "lang": "en",
        "year": 2021,
        "ratio": 1.5,
        "open": True,
        "tags": [],
        "path": "older",
        "when": "2025-01-01T01:00:00+01:00",
    },
    "d": {},
}
"""One document each, of one chunk that holds the word "quartz"; the id is the key."""

KEPT: list[tuple[Filter, str]] = [
    (P("lang", "eq", "de"), "a"),
    (P("lang", "eq", "fr"), ""),
    (P("lang", "ne", "de"), "bcd"),
    (P("lang", "in", ["de", "en"]), "abc"),
    (P("lang", "in", []), ""),
    (P("lang", "not_in", ["de"]), "bcd"),
    (P("lang", "not_in", []), "abcd"),
    (P("lang", "gt", "de"), "bc"),
    (P("lang", "contains_any", ["de"]), "a"),
    (P("lang", "exists", True), "abc"),
    (P("lang", "exists", False), "d"),
    (P("year", "eq", 2020), "b"),
    (P("year", "ne", 2020), "acd"),
    (P("year", "gt", 2019), "bc"),
    (P("year", "gte", 2020), "bc"),
    (P("year", "lt", 2020), "a"),
    (P("year", "lte", 2020), "ab"),
    (P("year", "in", [2019, 2021]), "ac"),
    (P("ratio", "eq", 1), "b"),
    (P("ratio", "gte", 0.75), "bc"),
    (P("ratio", "in", [0.5, 1.5]), "ac"),
    (P("open", "eq", True), "ac"),
    (P("open", "ne", True), "bd"),
    (P("tags", "contains_any", ["x", "z"]), "a"),
    (P("tags", "contains_any", ["y"]), "ab"),
    (P("tags", "contains_any", []), ""),
    (P("tags", "contains_all", ["x", "y"]), "a"),
    (P("tags", "exists", True), "ab"),
    (P("path", "under", "old/a"), "ab"),
    (P("path", "under", "old"), "ab"),
    (P("path", "under", "old/"), "ab"),
    (P("path", "under", "ol"), ""),
    (P("when", "gte", "2025-01-01"), "bc"),
    (P("when", "lt", "2025-01-01"), "a"),
    (P("when", "eq", "2025-01-01T00:00:00Z"), "bc"),
    (P("document", "eq", "b"), "b"),
    (P("document", "in", ["a", "d"]), "ad"),
    (P("title", "eq", "c"), "c"),
    (Not(P("lang", "eq", "de")), "bcd"),
    (Not(P("year", "lt", 2020)), "bcd"),
    (Not(Not(P("lang", "eq", "de"))), "a"),
    (AllOf((P("lang", "eq", "en"), P("year", "gt", 2020))), "c"),
    (AnyOf((P("lang", "eq", "de"), P("year", "gt", 2020))), "ac"),
    (
        AllOf((AnyOf((P("open", "eq", True), P("year", "eq", 2020))), Not(P("lang", "eq", "de")))),
        "bc",
    ),
    (AllOf(()), "abcd"),
    (Not(NOTHING), "abcd"),
]
"""Filters and the ids of the rows they keep, as one string of letters."""

FOLDS_AWAY: list[Filter] = [
    NOTHING,
    AnyOf(()),
    Not(AllOf(())),
    Not(Not(NOTHING)),
    AllOf((P("lang", "eq", "de"), NOTHING)),
    AnyOf((NOTHING, AnyOf(()))),
    P("lang", "in", []),
    Not(P("lang", "not_in", [])),
]
"""Filters that ``simplify`` folds to NOTHING."""

REFUSED: list[tuple[Any, str | None]] = [
    (P("nofield", "eq", "x"), "nofield"),
    (P("text", "eq", "quartz"), "text"),
    (P("lang", "$regexx", "d.*"), "lang"),
    (P("lang", "EQ", "de"), "lang"),
    (P("lang", "eq", ["de"]), "lang"),
    (P("lang", "eq", None), "lang"),
    (P("lang", "eq", 7), "lang"),
    (P("lang", "in", "de"), "lang"),
    (P("lang", "in", ["de", 7]), "lang"),
    (P("lang", "exists", "yes"), "lang"),
    (P("year", "eq", "2020"), "year"),
    (P("year", "eq", True), "year"),
    (P("year", "gte", 2020.5), "year"),
    (P("year", "under", "20"), "year"),
    (P("ratio", "lt", float("nan")), "ratio"),
    (P("ratio", "lt", float("inf")), "ratio"),
    (P("open", "eq", 1), "open"),
    (P("tags", "eq", "x"), "tags"),
    (P("tags", "in", ["x"]), "tags"),
    (P("tags", "gt", "x"), "tags"),
    (P("when", "gte", "yesterday"), "when"),
    (Not(P("nofield", "eq", 1)), "nofield"),
    (AllOf((NOTHING, P("nofield", "eq", 1))), "nofield"),
    (AnyOf((AllOf(()), P("year", "eq", "2020"))), "year"),
    ({"lang": "de"}, None),
    ("lang = 'de'", None),
    (AllOf((P("lang", "eq", "de"), "year > 2020")), None),  # type: ignore[arg-type]  # on purpose
]
"""What a store refuses, with the field that the error names."""
