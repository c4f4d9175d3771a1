"""Hypothesis strategies for fields, metadata and filters: valid ones, with values that often meet.

@given(st.data())
def test_my_store_agrees(data):
    spec = data.draw(field_specs())
    rows = data.draw(st.lists(metadata(spec)))
    where = data.draw(filters(spec))
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache
from typing import Any

from hypothesis import strategies as st

from pincite.model.fields import Field, FieldSpec, FieldType
from pincite.model.filters import (
    NOTHING,
    OPERATORS,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
)

__all__ = [
    "field_names",
    "field_specs",
    "fields",
    "filters",
    "metadata",
    "predicates",
    "scalars",
    "stored_values",
]

_SINGLE_ONLY = frozenset({"eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in"})
_STRINGS = ["", "a", "A", "a/b", "a/b/", "a/b/c", "a/bc", "a0", "a-b", "/a", "007", "7", "é"]
_INTEGERS = [-1, 0, 1, 2, 7, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30]
_FLOATS = [-0.0, 0.0, 0.5, 1.0, 7.0, 2.0**53, 1e300, 5e-324]
_ZONES = [None, UTC, timezone(timedelta(hours=1)), timezone(-timedelta(hours=23, minutes=59))]
_DATES = [
    "2025-01-01", "2025-01-01T00:00:00", "2025-01-01T01:00:00+01:00", "2025-01-01T00:00:00.000001Z",
    "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.999999-01:00", date(2025, 1, 1),
    date(1969, 12, 31),
]  # fmt: skip


def field_names() -> st.SearchStrategy[str]:
    """Names of metadata fields: mostly plain, some that need quotes or escapes."""
    odd = st.text(max_size=5).filter(lambda name: name != "text")
    return st.sampled_from(["k", "n", "b", "d", "year", "file.name", "in", "$x", "a b"]) | odd


def fields() -> st.SearchStrategy[Field]:
    """Filterable fields of every type."""
    return st.builds(Field, st.sampled_from(FieldType), st.booleans())


def field_specs(*, max_size: int = 5) -> st.SearchStrategy[FieldSpec]:
    """Specs of one to ``max_size`` filterable fields."""
    named = st.dictionaries(field_names(), fields(), min_size=1, max_size=max_size)
    return st.builds(FieldSpec, named)


@cache
def scalars(kind: FieldType) -> st.SearchStrategy[Any]:
    """Values that fit a single field of this type; few enough to meet often."""
    strings = st.sampled_from(_STRINGS) | st.text(max_size=4)
    integers = st.sampled_from(_INTEGERS) | st.integers(-3, 10)
    floats = st.sampled_from(_FLOATS) | st.floats(allow_nan=False, allow_infinity=False)
    moments = st.datetimes(
        datetime(1969, 12, 31), datetime(2025, 1, 2), timezones=st.sampled_from(_ZONES[:3])
    )
    by_type: Mapping[FieldType, st.SearchStrategy[Any]] = {
        FieldType.KEYWORD: strings,
        FieldType.TEXT: strings,
        FieldType.INTEGER: integers,
        FieldType.NUMBER: integers | floats,
        FieldType.BOOLEAN: st.booleans(),
        FieldType.DATETIME: st.sampled_from(_DATES) | moments,
    }
    return by_type[kind]


@cache
def stored_values(field: Field, *, misfits: bool = True) -> st.SearchStrategy[Any]:
    """What a row may hold for a field: fitting values, None, and some that do not fit."""
    fitting = scalars(field.type)
    held = st.lists(fitting | st.none(), max_size=4) if field.many else fitting
    if not misfits:
        return held | st.none()
    odd = st.sampled_from(["n.d.", "7", 7, 7.5, True, float("nan"), ["a", 1], ["a"], {}, []])
    return st.one_of(held, held, held, st.none(), odd)


def metadata(spec: FieldSpec, *, misfits: bool = True) -> st.SearchStrategy[dict[str, Any]]:
    """Rows of a spec: each field present, None, absent, or holding what does not fit."""
    cells = {name: stored_values(field, misfits=misfits) for name, field in spec.fields.items()}
    return st.fixed_dictionaries({}, optional=cells)


def predicates(spec: FieldSpec) -> st.SearchStrategy[DeclaredFilter]:
    """Predicates that ``validate`` passes for ``spec``."""
    filterable = {name: field for name, field in spec.fields.items() if field.filterable}
    pairs = [
        (name, operator)
        for name, field in filterable.items()
        for operator, taken in OPERATORS.items()
        if not (field.many and operator in _SINGLE_ONLY)
        and (taken.on is None or field.type in taken.on)
    ]
    return st.sampled_from(pairs).flatmap(lambda pair: _predicate(*pair, filterable[pair[0]]))


def _predicate(name: str, operator: str, field: Field) -> st.SearchStrategy[DeclaredFilter]:
    return _operands(operator, field.type).map(lambda made: DeclaredFilter(name, operator, made))


@cache
def _operands(operator: str, kind: FieldType) -> st.SearchStrategy[Any]:
    operand = scalars(kind)
    if operator == "exists":
        return st.booleans()
    if operator == "under":
        return operand.filter(bool)
    return st.lists(operand, max_size=8).map(tuple) if OPERATORS[operator].many else operand


def filters(spec: FieldSpec, *, max_leaves: int = 6) -> st.SearchStrategy[Filter]:
    """Filters that ``validate`` passes for ``spec``: nested, empty, single-term, ``NOTHING``."""
    leaves: st.SearchStrategy[Filter] = predicates(spec) | st.just(NOTHING)
    return st.recursive(leaves, _combined, max_leaves=max_leaves)


def _combined(inner: st.SearchStrategy[Filter]) -> st.SearchStrategy[Filter]:
    terms = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(st.builds(AllOf, terms), st.builds(AnyOf, terms), st.builds(Not, inner))
