"""``matches`` and ``simplify`` by example; the laws are in the property tests."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from pincite.errors import InvalidQueryError
from pincite.model.fields import Field, FieldSpec, FieldType
from pincite.model.filters import (
    NOTHING,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
    compile_filter,
    matches,
    simplify,
)
from pincite.model.values import scalar, to_microseconds

SPEC = FieldSpec(
    {
        "lang": Field(FieldType.KEYWORD),
        "k": Field(FieldType.KEYWORD),
        "y": Field(FieldType.KEYWORD),
        "n": Field(FieldType.INTEGER),
        "x": Field(FieldType.NUMBER),
        "b": Field(FieldType.BOOLEAN),
        "d": Field(FieldType.DATETIME),
        "l": Field(FieldType.KEYWORD, many=True),
        "path": Field(FieldType.KEYWORD),
    }
)


def holds(field: str, operator: str, value: Any, row: dict[str, Any]) -> bool:
    return matches(DeclaredFilter(field, operator, value), row, SPEC)


LANGS: list[dict[str, Any]] = [{"lang": "de"}, {"lang": "en"}, {}]


@pytest.mark.parametrize(
    "where",
    [
        DeclaredFilter("lang", "ne", "de"),
        Not(DeclaredFilter("lang", "eq", "de")),
        DeclaredFilter("lang", "not_in", ["de"]),
    ],
)
def test_negations_hold_where_the_field_is_absent(where: Filter) -> None:
    assert [matches(where, row, SPEC) for row in LANGS] == [False, True, True]


def test_empty_lists_match_nothing_or_everything() -> None:
    for row in LANGS:
        assert not holds("lang", "in", [], row)
        assert not holds("l", "contains_any", [], {"l": ["a"]})
        assert holds("lang", "not_in", [], row)
    assert holds("l", "contains_all", [], {"l": ["a"]})
    assert not holds("l", "contains_all", [], {})


TYPED: dict[str, Any] = {"k": "007", "y": "2024_123", "n": 7, "b": True, "l": ["a", "b"]}


@pytest.mark.parametrize(
    ("field", "operator", "value", "expected"),
    [
        ("k", "eq", "007", True), ("k", "eq", "7", False), ("y", "eq", "2024_123", True),
        ("n", "eq", 7, True), ("n", "in", [7, 8], True), ("n", "in", [8], False),
        ("b", "eq", True, True), ("b", "eq", False, False), ("b", "gt", False, True),
        ("l", "contains_any", ["a"], True), ("l", "contains_any", ["c"], False),
        ("l", "contains_all", ["a", "b"], True), ("l", "contains_all", ["a", "c"], False),
        ("k", "contains_any", ["x", "007"], True), ("k", "contains_all", ["007"], True),
        ("k", "contains_all", ["007", "x"], False), ("n", "gt", 6, True), ("n", "gt", 7, False),
        ("n", "gte", 7, True), ("n", "lt", 8, True), ("n", "lt", 7, False), ("n", "lte", 7, True),
        ("n", "exists", True, True), ("n", "exists", False, False), ("x", "exists", True, False),
        ("x", "exists", False, True), ("k", "gt", "0", True), ("k", "lt", "01", True),
    ],
)  # fmt: skip
def test_each_type_compares_as_itself(
    field: str, operator: str, value: Any, expected: bool
) -> None:
    assert holds(field, operator, value, TYPED) is expected


DATES = ["2025-01-01", "2025-01-01T00:00:00", "2025-01-01T01:00:00+01:00"]


@pytest.mark.parametrize("written", [*DATES, datetime(2025, 1, 1), date(2025, 1, 1)])
@pytest.mark.parametrize("operand", [DATES[0], date(2025, 1, 1), datetime(2025, 1, 1, tzinfo=UTC)])
def test_one_instant_in_any_writing_is_equal(written: Any, operand: Any) -> None:
    row = {"d": written}

    assert holds("d", "gte", operand, row)
    assert holds("d", "eq", operand, row)
    assert not holds("d", "lt", operand, row)


def test_instants_at_the_ends_of_the_calendar_do_not_overflow() -> None:
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    late = datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))

    assert holds("d", "lt", datetime.min, {"d": early})
    assert holds("d", "gt", datetime.max, {"d": late})


@pytest.mark.parametrize("absent", [None, [], {}, "n.d.", 7.0, True, [7], b"7", float("nan")])
def test_values_that_misfit_their_field_are_absent(absent: Any) -> None:
    row = {"n": absent}

    assert not holds("n", "eq", 7, row)
    assert not holds("n", "exists", True, row)
    assert holds("n", "ne", 7, row)


def test_a_list_field_wants_lists_of_its_type_and_skips_none() -> None:
    assert not holds("l", "exists", True, {"l": "a"})
    assert not holds("l", "exists", True, {"l": ["a", 7]})
    assert not holds("l", "exists", True, {"l": [None]})
    assert holds("l", "contains_any", ["a"], {"l": (None, "a")})


def test_numbers_compare_exactly_across_integers_and_floats() -> None:
    assert holds("x", "eq", 7.0, {"x": 7})
    assert holds("x", "gt", 2.0**53, {"x": 2**53 + 1})
    assert not holds("x", "eq", 2**53 + 1, {"x": 2.0**53})
    assert holds("x", "lt", 10**400, {"x": 1.7e308})


@pytest.mark.parametrize(
    ("scope", "inside", "outside"),
    [
        (
            "a/b",
            ["a/b", "a/b/", "a/b/c", "a/b/c/d"],
            ["a/bc", "a", "A/b", "x/a/b", "a/b0", "a/b-c"],
        ),
        ("a/b/", ["a/b", "a/b/c"], ["a/bc"]),
        ("/", ["/a", "/"], ["a", ""]),
    ],
)
def test_under_holds_for_the_scope_and_below(
    scope: str, inside: list[str], outside: list[str]
) -> None:
    assert [
        path for path in inside + outside if holds("path", "under", scope, {"path": path})
    ] == inside
    assert holds("l", "under", scope, {"l": [outside[0], inside[0]]})


def test_members_of_enums_and_subclasses_compare_by_value() -> None:
    class Tongue(StrEnum):
        DE = "de"

    class Count(IntEnum):
        SEVEN = 7

    assert holds("lang", "in", [Tongue.DE], {"lang": "de"})
    assert holds("n", "eq", 7, {"n": Count.SEVEN})
    assert type(scalar(Tongue.DE, FieldType.KEYWORD)) is str
    assert type(scalar(Count.SEVEN, FieldType.INTEGER)) is int


def test_none_matches_everything_and_nothing_matches_nothing() -> None:
    assert matches(None, {}, SPEC)
    assert not matches(NOTHING, {}, SPEC)
    assert matches(AllOf(()), {}, SPEC)
    assert not matches(AnyOf(()), {}, SPEC)


def test_matches_refuses_what_validate_refuses() -> None:
    for where in (DeclaredFilter("n", "eq", "7"), DeclaredFilter("zzz", "eq", 1), Not(3)):  # type: ignore[arg-type]
        with pytest.raises(InvalidQueryError):
            matches(where, {}, SPEC)
        with pytest.raises(InvalidQueryError):
            compile_filter(where, SPEC)


A, B = DeclaredFilter("n", "eq", 1), DeclaredFilter("n", "eq", 2)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (None, None), (A, A), (NOTHING, NOTHING), (AllOf(()), None), (AnyOf(()), NOTHING),
        (Not(AllOf(())), NOTHING), (Not(NOTHING), None), (Not(AnyOf(())), None),
        (Not(Not(A)), A), (Not(Not(Not(A))), Not(A)), (Not(AllOf((Not(A),))), A),
        (AllOf((A,)), A), (AnyOf((A,)), A), (AllOf((A, NOTHING)), NOTHING),
        (AnyOf((A, NOTHING)), A), (AnyOf((A, AllOf(()))), None), (AllOf((A, AllOf(()))), A),
        (AllOf((B, AllOf(()), A)), AllOf((B, A))), (AnyOf((B, NOTHING, A)), AnyOf((B, A))),
        (AllOf((AllOf((A, B)), B)), AllOf((AllOf((A, B)), B))), (AllOf((A, A)), AllOf((A, A))),
        (DeclaredFilter("n", "in", ()), NOTHING), (DeclaredFilter("n", "not_in", []), None),
        (DeclaredFilter("l", "contains_any", []), NOTHING),
        (DeclaredFilter("l", "contains_all", ()), DeclaredFilter("l", "contains_all", ())),
        (AllOf((A, AnyOf((DeclaredFilter("n", "not_in", ()),)))), A),
    ],
)  # fmt: skip
def test_simplify_folds(where: Filter | None, expected: Filter | None) -> None:
    assert simplify(where) == expected
    assert simplify(expected) == expected


def test_simplify_refuses_what_is_not_a_filter() -> None:
    with pytest.raises(InvalidQueryError):
        simplify(AllOf((A, 3)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1970-01-01", 0), ("1970-01-01T00:00:00.000001", 1), ("1969-12-31T23:59:59Z", -(10**6)),
        ("1970-01-01T01:00+01:00", 0), (date(1970, 1, 2), 86_400 * 10**6),
        (datetime(1970, 1, 1), 0),
        ("1970-01-01T00:00:00.0000019", 1), ("", None), ("70-01-01", None), (0, None), (None, None),
        ("x" * 100, None), ("1970-02-30", None), (True, None),
    ],
)  # fmt: skip
def test_instants_in_microseconds(value: Any, expected: int | None) -> None:
    assert to_microseconds(value) == expected


def test_filters_import_neither_pydantic_nor_numpy() -> None:
    code = (
        "import sys, pincite.model.filters, pincite.model.fields, pincite.model.where; "
        "sys.exit(bool({'pydantic', 'numpy', 'anyio'} & set(sys.modules)))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
