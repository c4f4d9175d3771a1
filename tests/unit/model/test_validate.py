"""``validate``: everything that a filter may not say, with the field named."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from pincite.errors import InvalidQueryError
from pincite.model.fields import Field, FieldSpec, FieldType, full_spec
from pincite.model.filters import (
    MAX_DEPTH,
    NOTHING,
    OPERATORS,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Not,
    Operator,
    matches,
    simplify,
    validate,
)

SPEC = full_spec(
    {
        "k": Field(FieldType.KEYWORD),
        "t": Field(FieldType.TEXT),
        "i": Field(FieldType.INTEGER),
        "n": Field(FieldType.NUMBER),
        "b": Field(FieldType.BOOLEAN),
        "d": Field(FieldType.DATETIME),
        "ks": Field(FieldType.KEYWORD, many=True),
        "is": Field(FieldType.INTEGER, many=True),
        "secret": Field(FieldType.KEYWORD, filterable=False),
        "year": Field(FieldType.INTEGER),
    }
)
GOOD: dict[str, Any] = {"k": "a", "t": "a", "i": 1, "n": 0.5, "b": True, "d": "2025-01-01"}
SINGLE = ["eq", "ne", "gt", "gte", "lt", "lte"]
MANY = ["in", "not_in", "contains_any", "contains_all"]
NUL_OPERAND = object()


def refusal(where: Any, spec: FieldSpec = SPEC) -> InvalidQueryError:
    with pytest.raises(InvalidQueryError) as caught:
        validate(where, spec)
    return caught.value


def refused(field: str, operator: Any, value: Any) -> str:
    error = refusal(DeclaredFilter(field, operator, value))
    assert error.field == field
    return str(error)


def test_none_and_nothing_pass() -> None:
    validate(None, SPEC)
    validate(NOTHING, SPEC)
    validate(AllOf(()), SPEC)
    validate(AnyOf(()), SPEC)


@pytest.mark.parametrize("field", GOOD)
@pytest.mark.parametrize("operator", SINGLE)
def test_single_operators_take_one_fitting_scalar_on_every_type(field: str, operator: str) -> None:
    validate(DeclaredFilter(field, operator, GOOD[field]), SPEC)


@pytest.mark.parametrize("field", GOOD)
@pytest.mark.parametrize("operator", MANY)
def test_many_operators_take_lists_and_tuples_on_every_type(field: str, operator: str) -> None:
    for operand in ([], (), [GOOD[field]], (GOOD[field], GOOD[field])):
        validate(DeclaredFilter(field, operator, operand), SPEC)


@pytest.mark.parametrize("operator", SINGLE)
@pytest.mark.parametrize("operand", [[], ["a"], ("a",), {"a"}, {}, None, b"a", NUL_OPERAND, 1j])
def test_single_operators_refuse_other_shapes(operator: str, operand: Any) -> None:
    assert "takes one value" in refused("k", operator, operand)


@pytest.mark.parametrize("operator", MANY)
@pytest.mark.parametrize(
    "operand", ["ab", "", 1, None, True, {"a"}, frozenset("a"), {"a": 1}, b"a", iter("a"), range(3)]
)
def test_many_operators_refuse_what_is_no_list_or_tuple(operator: str, operand: Any) -> None:
    assert "takes a list" in refused("k", operator, operand)


WRONG: list[tuple[str, Any]] = [
    ("k", 7), ("k", True), ("k", 0.5), ("k", date(2025, 1, 1)),
    ("t", 7), ("t", False),
    ("i", "7"), ("i", True), ("i", False), ("i", 7.0), ("i", 0.5), ("i", date(2025, 1, 1)),
    ("n", "7"), ("n", True), ("n", float("nan")), ("n", float("inf")), ("n", float("-inf")),
    ("b", 1), ("b", 0), ("b", "true"), ("b", 1.0),
    ("d", 7), ("d", True), ("d", "n.d."), ("d", "2025"), ("d", "2025-13-01"), ("d", ""),
    ("d", "2025-01-01T25:00"), ("d", 1735689600.0),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_values_of_another_type_are_refused_by_every_operator(field: str, value: Any) -> None:
    for operator in SINGLE:
        assert f"type {SPEC.fields[field].type}" in refused(field, operator, value)
    for operator in MANY:
        refused(field, operator, [GOOD[field], value])
        refused(field, operator, (value,))


def test_a_list_operand_may_not_hold_none_or_lists() -> None:
    refused("k", "in", ["a", None])
    refused("k", "in", ["a", ["b"]])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 7), ("n", 10**400), ("i", 10**400), ("i", -(2**63)), ("k", "\x00\ud800"),
        ("d", date(2025, 1, 1)), ("d", datetime(2025, 1, 1, 1)), ("d", "2025-01-01T00:00:00Z"),
        ("d", "20250101"), ("d", "2025-01-01 10:00"), ("d", datetime.max), ("d", datetime.min),
    ],
)  # fmt: skip
def test_values_that_fit_are_taken(field: str, value: Any) -> None:
    validate(DeclaredFilter(field, "eq", value), SPEC)


@pytest.mark.parametrize("operator", [*SINGLE, "in", "not_in"])
@pytest.mark.parametrize("field", ["ks", "pages", "headings"])
def test_comparing_a_list_field_points_to_contains_any(operator: str, field: str) -> None:
    value: Any = 1 if field == "pages" else "a"
    message = refused(field, operator, [value] if OPERATORS[operator].many else value)

    assert "contains_any" in message


def test_list_fields_serve_contains_under_and_exists() -> None:
    validate(DeclaredFilter("ks", "contains_any", ["a"]), SPEC)
    validate(DeclaredFilter("is", "contains_all", [1]), SPEC)
    validate(DeclaredFilter("ks", "under", "a"), SPEC)
    validate(DeclaredFilter("is", "exists", False), SPEC)
    refused("is", "contains_any", ["a"])
    refused("is", "contains_any", [True])


@pytest.mark.parametrize("field", ["t", "i", "n", "b", "d", "is"])
def test_under_is_for_keywords_only(field: str) -> None:
    assert "of type keyword" in refused(field, "under", "a")


def test_under_refuses_lists_other_types_and_an_empty_scope() -> None:
    refused("k", "under", ["a"])
    refused("k", "under", 7)
    assert "empty scope" in refused("k", "under", "")
    validate(DeclaredFilter("k", "under", "/"), SPEC)


@pytest.mark.parametrize("field", ["k", "i", "d", "ks"])
def test_exists_takes_a_boolean_whatever_the_type(field: str) -> None:
    validate(DeclaredFilter(field, "exists", True), SPEC)
    for operand in (1, 0, "true", None, [True], ()):
        refused(field, "exists", operand)


def test_unknown_fields_are_refused_with_the_nearest_name_or_all() -> None:
    assert refused("yaer", "eq", 1).endswith("did you mean 'year'?")
    assert refused("YEAR", "eq", 1).endswith("did you mean 'year'?")
    assert "'headings'" in refused("zzzzzz", "eq", 1)
    assert len(refused("x" * 100_000, "eq", 1)) < 1_000
    assert "none" in str(refusal(DeclaredFilter("a", "eq", 1), FieldSpec()))


@pytest.mark.parametrize("field", ["text", "secret"])
def test_unfilterable_fields_are_refused(field: str) -> None:
    for operator, operand in (("eq", "a"), ("in", ["a"]), ("exists", True), ("under", "a")):
        assert "cannot be filtered" in refused(field, operator, operand)


@pytest.mark.parametrize("operator", ["regexx", "EQ", "", "$eq", "nin", None, 3, ["eq"]])
def test_unknown_operators_are_named(operator: Any) -> None:
    assert repr(operator) in refused("k", operator, "a")


def test_an_unknown_field_is_found_before_an_unknown_operator() -> None:
    assert "no field" in refused("nope", "regexx", 1)


@pytest.mark.parametrize("name", [7, None, ("k",), b"k"])
def test_a_field_name_that_is_no_string_is_refused(name: Any) -> None:
    error = refusal(DeclaredFilter(name, "eq", "a"))

    assert error.field == repr(name)


@pytest.mark.parametrize(
    "where",
    [3, "year >= 2020", {"year": 2020}, ("k", "eq", "a"), [], DeclaredFilter, True, object()],
)
def test_what_is_not_a_filter_is_refused_without_a_field_anywhere(where: Any) -> None:
    fine = DeclaredFilter("k", "eq", "a")
    for wrapped in (where, Not(where), AllOf((fine, where)), AnyOf((fine, Not(AllOf((where,)))))):
        assert refusal(wrapped).field is None


def test_none_is_no_term() -> None:
    assert refusal(AllOf((None,))).field is None  # type: ignore[arg-type]
    assert refusal(Not(None)).field is None  # type: ignore[arg-type]


def test_terms_given_as_a_list_are_taken_as_a_tuple() -> None:
    fine = DeclaredFilter("k", "eq", "a")
    where = AllOf([fine, AnyOf([fine])])  # type: ignore[arg-type]

    validate(where, SPEC)

    assert where == AllOf((fine, AnyOf((fine,))))
    assert hash(where) == hash(AllOf((fine, AnyOf((fine,)))))


@pytest.mark.parametrize("terms", [None, "ab", {1}, iter(()), DeclaredFilter("k", "eq", "a")])
def test_terms_of_another_shape_are_refused(terms: Any) -> None:
    assert refusal(AllOf(terms)).field is None
    assert refusal(Not(AnyOf(terms))).field is None


def test_the_first_bad_predicate_depth_first_is_named() -> None:
    fine = DeclaredFilter("k", "eq", "a")
    first, second = DeclaredFilter("i", "eq", "x"), DeclaredFilter("b", "eq", 1)

    assert refusal(AllOf((fine, AnyOf((fine, Not(first))), second))).field == "i"
    assert refusal(AllOf((second, AnyOf((first,))))).field == "b"
    assert refusal(AllOf((Not(Not(second)), 3))).field == "b"  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [DeclaredFilter("nope", "in", []), DeclaredFilter("i", "eq", True)])
def test_branches_that_fold_away_are_checked_too(bad: DeclaredFilter) -> None:
    for where in (
        AllOf((NOTHING, bad)),
        AnyOf((AllOf(()), bad)),
        AllOf((AnyOf(()), Not(AnyOf((bad, AllOf(())))))),
    ):
        assert simplify(where) in (None, NOTHING)
        assert refusal(where).field == bad.field


def test_empty_lists_are_still_checked_for_their_field() -> None:
    assert refusal(DeclaredFilter("ks", "in", ())).field == "ks"
    assert refusal(DeclaredFilter("nope", "not_in", ())).field == "nope"


def nested(depth: int) -> Any:
    where: Any = DeclaredFilter("k", "eq", "a")
    for _ in range(depth - 1):
        where = Not(where)
    return where


def test_depth_is_bounded_without_exhausting_the_stack() -> None:
    validate(nested(MAX_DEPTH), SPEC)
    assert matches(nested(MAX_DEPTH), {"k": "a"}, SPEC) is (MAX_DEPTH % 2 == 1)
    for act in (lambda w: validate(w, SPEC), simplify, lambda w: matches(w, {}, SPEC)):
        with pytest.raises(InvalidQueryError, match="nests deeper"):
            act(nested(50_000))


def test_operators_are_read_only_and_as_documented() -> None:
    with pytest.raises(TypeError):
        OPERATORS["regex"] = Operator()  # type: ignore[index]
    with pytest.raises(AttributeError):
        OPERATORS["eq"].many = True  # type: ignore[misc]
    with pytest.raises(AttributeError):
        OPERATORS.clear()  # type: ignore[attr-defined]
    assert {name for name, taken in OPERATORS.items() if taken.many} == set(MANY)
    assert {name: taken.on for name, taken in OPERATORS.items() if taken.on is not None} == {
        "under": frozenset({FieldType.KEYWORD})
    }
    assert set(OPERATORS) == {*SINGLE, *MANY, "under", "exists"}
    assert Operator() == Operator(many=False, on=None)


def test_messages_end_with_what_to_do_and_stay_short() -> None:
    for where in (
        DeclaredFilter("i", "eq", "x" * 100_000),
        DeclaredFilter("i", "in", ["x" * 100_000]),
        DeclaredFilter("k", "eq", 10**5_000),
        DeclaredFilter("k", "x" * 100_000, 1),
    ):
        message = str(refusal(where))
        assert len(message) < 600
        assert ";" in message
