"""The laws of the filter algebra, against an evaluator written independently here."""

from __future__ import annotations

import copy
import json
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.errors import InvalidQueryError
from pincite.model.fields import Field, FieldSpec, FieldType
from pincite.model.filters import (
    NOTHING,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
    Nothing,
    matches,
    simplify,
    validate,
)
from pincite.model.where import filter_from_dict, filter_to_dict, format_where, parse_where
from pincite.testing.strategies import field_specs, filters, metadata

modest = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def reading(value: Any, kind: FieldType) -> Any:
    """The value as the page means it; None when it does not fit. Deliberately naive."""
    if kind in (FieldType.KEYWORD, FieldType.TEXT):
        return ("s", value) if type(value) is str else None
    if kind is FieldType.BOOLEAN:
        return ("b", value) if type(value) is bool else None
    if kind is FieldType.INTEGER:
        return ("i", value) if type(value) is int else None
    if kind is FieldType.NUMBER:
        finite = type(value) is int or (type(value) is float and abs(value) < float("inf"))
        return ("n", Fraction(value)) if finite else None
    return moment(value)


def moment(value: Any) -> Any:
    if type(value) is str:
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if type(value) is date:
        value = datetime(value.year, value.month, value.day)
    if type(value) is not datetime:
        return None
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    offset = value.utcoffset()
    day = value.toordinal()
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return ("d", (day * 86400 + seconds - offset.days * 86400 - offset.seconds) * 10**6
            + value.microsecond - offset.microseconds)  # fmt: skip


def present(row: dict[str, Any], name: str, field: Field) -> list[Any]:
    if row.get(name) is None:
        return []
    if not field.many:
        one = reading(row[name], field.type)
        return [] if one is None else [one]
    if not isinstance(row[name], list):
        return []
    all_read = [reading(item, field.type) for item in row[name] if item is not None]
    return [] if None in all_read else all_read


def holds(where: Filter | None, row: dict[str, Any], spec: FieldSpec) -> bool:
    match where:
        case None:
            return True
        case Nothing():
            return False
        case AllOf(terms):
            return False not in [holds(term, row, spec) for term in terms]
        case AnyOf(terms):
            return True in [holds(term, row, spec) for term in terms]
        case Not(term):
            return not holds(term, row, spec)
        case DeclaredFilter(name, operator, value):
            field = spec.fields[name]
            return predicate(operator, value, present(row, name, field), field)
    raise AssertionError(where)


def predicate(operator: str, value: Any, here: list[Any], field: Field) -> bool:
    if operator == "ne":
        return not predicate("eq", value, here, field)
    if operator == "not_in":
        return not predicate("in", value, here, field)
    if operator == "exists":
        return (here != []) == value
    if here == []:
        return False
    if operator == "under":
        scope = value
        while scope.endswith("/"):
            scope = scope[:-1]
        return any(
            text.split("/")[: scope.count("/") + 1] == scope.split("/")
            and (text != scope or scope != "")
            for _, text in here
        )
    if operator in ("in", "contains_any"):
        return any(reading(item, field.type) in here for item in value)
    if operator == "contains_all":
        return all(reading(item, field.type) in here for item in value)
    left, right = here[0][1], reading(value, field.type)[1]
    return {
        "eq": left == right,
        "gt": left > right,
        "gte": left >= right,
        "lt": left < right,
        "lte": left <= right,
    }[operator]


@st.composite
def cases(draw: st.DrawFn) -> tuple[FieldSpec, Filter, list[dict[str, Any]]]:
    spec = draw(field_specs())
    return spec, draw(filters(spec)), draw(st.lists(metadata(spec), min_size=1, max_size=6))


@modest
@given(cases())
def test_matches_agrees_with_the_independent_evaluator(case: Any) -> None:
    spec, where, rows = case
    before = copy.deepcopy(rows)

    assert [matches(where, row, spec) for row in rows] == [holds(where, row, spec) for row in rows]
    assert repr(rows) == repr(before)


@modest
@given(cases())
def test_simplify_is_equivalent_idempotent_and_leaves_nothing_to_fold(case: Any) -> None:
    spec, where, rows = case

    folded = simplify(where)

    assert simplify(folded) == folded
    validate(folded, spec)
    for row in rows:
        assert matches(folded, row, spec) == matches(where, row, spec)
    assert folded is None or folded == NOTHING or is_folded(folded)


def is_folded(where: Filter) -> bool:
    match where:
        case AllOf(terms) | AnyOf(terms):
            return len(terms) > 1 and all(map(is_folded, terms))
        case Not(term):
            return not isinstance(term, Not) and is_folded(term)
        case DeclaredFilter(_, operator, value):
            return not (operator in ("in", "not_in", "contains_any") and value == ())
    return False


def leaves(where: Filter | None) -> list[DeclaredFilter]:
    match where:
        case AllOf(terms) | AnyOf(terms):
            return [leaf for term in terms for leaf in leaves(term)]
        case Not(term):
            return leaves(term)
        case DeclaredFilter():
            return [where]
    return []


@modest
@given(cases())
def test_simplify_keeps_the_order_of_what_stays(case: Any) -> None:
    _, where, _ = case

    kept = leaves(simplify(where))

    rest = iter(leaves(where))
    assert all(any(leaf is other for other in rest) for leaf in kept)


@modest
@given(cases())
def test_negations_are_plain(case: Any) -> None:
    spec, where, rows = case

    for row in rows:
        assert matches(Not(where), row, spec) is not matches(where, row, spec)
        assert matches(Not(AllOf((where, NOTHING))), row, spec) is True


@modest
@given(cases())
def test_text_and_dict_forms_read_back_as_equal_filters(case: Any) -> None:
    spec, where, rows = case

    from_text = parse_where(format_where(where))
    from_dict = filter_from_dict(json.loads(json.dumps(filter_to_dict(where))))

    assert from_text == from_dict == with_iso_dates(where)
    assert repr(from_text) == repr(from_dict) == repr(with_iso_dates(where))
    for row in rows:
        assert matches(from_text, row, spec) == matches(where, row, spec)


def with_iso_dates(where: Filter) -> Filter:
    match where:
        case AllOf(terms):
            return AllOf(tuple(map(with_iso_dates, terms)))
        case AnyOf(terms):
            return AnyOf(tuple(map(with_iso_dates, terms)))
        case Not(term):
            return Not(with_iso_dates(term))
        case DeclaredFilter(name, operator, tuple() as values):
            return DeclaredFilter(name, operator, tuple(map(iso, values)))
        case DeclaredFilter(name, operator, value):
            return DeclaredFilter(name, operator, iso(value))
    return where


def iso(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


@modest
@given(st.text(max_size=60) | st.text(alphabet="ab=<>!()[]'\"\\, 01-.naotrdi", max_size=40))
def test_any_text_is_a_filter_or_a_refusal_with_its_place(text: str) -> None:
    where, refusal = None, ""
    try:
        where = parse_where(text)
    except InvalidQueryError as error:
        refusal = str(error)

    assert "at character" in refusal or parse_where(format_where(where)) == where
