"""``validate``: what a filter may say, given the fields of a target."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any, NoReturn

from pincite.errors import InvalidQueryError
from pincite.model.algebra import (
    MAX_DEPTH,
    OPERATORS,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
    Nothing,
)
from pincite.model.fields import Field, FieldSpec, FieldType
from pincite.model.values import scalar

__all__ = ["check_node", "check_predicate", "listing", "refuse_operator", "validate"]

_SINGLE_VALUE_ONLY = frozenset({"eq", "ne", "gt", "gte", "lt", "lte", "in", "not_in"})
_WANTED: Mapping[str, str] = {
    "keyword": "a string",
    "text": "a string",
    "integer": "an integer, such as 2020 (not 2020.0, not '2020')",
    "number": "a finite number, such as 0.5",
    "boolean": "true or false",
    "datetime": "a date, a datetime or an ISO 8601 string, such as '2025-01-31T12:00:00+01:00'",
}
_SHOWN = 60
_LISTED = 20


def validate(where: Filter | None, spec: FieldSpec) -> None:
    """Refuse the first predicate anywhere in ``where``, depth first, that ``spec`` cannot serve.

    Raises InvalidQueryError. Its ``field`` names the field of the predicate; it is None where
    something is not a filter, or nests deeper than ``MAX_DEPTH``. Branches that ``simplify``
    removes are checked like the others. None passes.
    """
    if where is not None:
        _walk(where, spec, 1)


def _walk(where: Filter, spec: FieldSpec, depth: int) -> None:
    check_node(where, depth)
    if isinstance(where, DeclaredFilter):
        check_predicate(where, spec)
    elif isinstance(where, Not):
        _walk(where.term, spec, depth + 1)
    elif isinstance(where, (AllOf, AnyOf)):
        for term in where.terms:
            _walk(term, spec, depth + 1)


def check_node(where: object, depth: int) -> None:
    """Refuse, without a field, what is not a filter or nests too deep."""
    if depth > MAX_DEPTH:
        raise InvalidQueryError(
            f"the filter nests deeper than {MAX_DEPTH} levels; put the terms of nested 'and' or "
            "'or' side by side in one AllOf or AnyOf"
        )
    if isinstance(where, (AllOf, AnyOf)):
        if not isinstance(where.terms, tuple):
            raise InvalidQueryError(
                f"the terms of {type(where).__name__} are {_described(where.terms)}; "
                "give a tuple of filters"
            )
    elif not isinstance(where, (DeclaredFilter, Not, Nothing)):
        raise InvalidQueryError(
            f"{_described(where)} is not a filter; build one with F('year') >= 2020, "
            "parse_where(text) or filter_from_dict(mapping)"
        )


def check_predicate(predicate: DeclaredFilter, spec: FieldSpec) -> Field:
    """The field of a predicate that ``spec`` can serve; InvalidQueryError naming it otherwise."""
    field = _field(predicate, spec)
    _check_operator(predicate)
    _check_shape(predicate)
    _check_type(predicate, field)
    _check_values(predicate, field)
    return field


def _refuse(predicate: DeclaredFilter, message: str) -> NoReturn:
    raise InvalidQueryError(message, field=_name(predicate.field))


def _name(field: object) -> str:
    return field if isinstance(field, str) else repr(field)


def _field(predicate: DeclaredFilter, spec: FieldSpec) -> Field:
    name: object = predicate.field
    if not isinstance(name, str):
        _refuse(predicate, f"a field name must be a string, not {_described(name)}; name a field")
    field = spec.fields.get(name)
    if field is None:
        advice = _nearest(name, spec.fields) or f"the fields are {listing(spec.fields)}"
        _refuse(predicate, f"there is no field {_short(name)}; {advice}")
    if not field.filterable:
        allowed = (known for known, other in spec.fields.items() if other.filterable)
        _refuse(
            predicate,
            f"field {_short(name)} cannot be filtered; filter one of {listing(allowed)}",
        )
    return field


def _check_operator(predicate: DeclaredFilter) -> None:
    if not isinstance(predicate.operator, str) or predicate.operator not in OPERATORS:
        refuse_operator(predicate.operator, predicate.field)


def refuse_operator(
    operator: object, field: str | None, known: Iterable[str] = OPERATORS
) -> NoReturn:
    """Raise for an operator that is not one of ``known``, naming a near one or all."""
    named = _nearest(operator, known) if isinstance(operator, str) else ""
    on_field = "" if field is None else f" on field {_short(field)}"
    raise InvalidQueryError(
        f"there is no operator {_short(operator)}{on_field}; "
        f"{named or f'the operators are {listing(known)}'}",
        field=None if field is None else _name(field),
    )


def _check_shape(predicate: DeclaredFilter) -> None:
    name, operator, value = predicate.field, predicate.operator, predicate.value
    listed = isinstance(value, (list, tuple))
    if OPERATORS[operator].many and not listed:
        _refuse(
            predicate,
            f"{operator!r} on field {_short(name)} takes a list of values, not "
            f"{_described(value)}; put the values in a list or a tuple",
        )
    if not OPERATORS[operator].many and not _is_scalar(value):
        advice = "use 'in' for several values" if listed else "give one string, number or date"
        if value is None:
            advice = "use 'exists' to ask whether the field is there"
        _refuse(
            predicate,
            f"{operator!r} on field {_short(name)} takes one value, not {_described(value)}; "
            f"{advice}",
        )


def _is_scalar(value: object) -> bool:
    return isinstance(value, (str, int, float, date))


def _check_type(predicate: DeclaredFilter, field: Field) -> None:
    name, operator = predicate.field, predicate.operator
    if field.many and operator in _SINGLE_VALUE_ONLY:
        _refuse(
            predicate,
            f"{operator!r} is not defined on field {_short(name)}, which holds a list; use "
            "'contains_any' or 'contains_all'",
        )
    on = OPERATORS[operator].on
    if on is not None and field.type not in on:
        _refuse(
            predicate,
            f"{operator!r} is not defined on field {_short(name)} of type {field.type}; use it on "
            f"a field of type {' or '.join(sorted(on))}",
        )


def _check_values(predicate: DeclaredFilter, field: Field) -> None:
    value = predicate.value
    if predicate.operator == "exists":
        _check_value(predicate, value, FieldType.BOOLEAN)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_value(predicate, item, field.type)
    else:
        _check_value(predicate, value, field.type)
    if predicate.operator == "under" and not value:
        _refuse(
            predicate,
            f"'under' on field {_short(predicate.field)} has an empty scope; name a folder, or "
            "use 'exists' for every value",
        )


def _check_value(predicate: DeclaredFilter, value: Any, kind: FieldType) -> None:
    if scalar(value, kind) is not None:
        return
    subject = f"{predicate.operator!r} on field {_short(predicate.field)}"
    if predicate.operator != "exists":
        subject += f" of type {kind}"
    _refuse(predicate, f"{subject} cannot take {_described(value)}; give {_WANTED[kind]}")


def _described(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} (not a finite number)"
    kind = type(value).__name__
    if isinstance(value, (str, int, float, date)):
        return f"the {kind} {_short(value)}"
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _short(value: object) -> str:
    try:
        shown = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "of thousands of digits"
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _nearest(name: str, known: Iterable[str]) -> str:
    folded = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(name[:_SHOWN].casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}?" if near else ""


def listing(names: Iterable[str]) -> str:
    """Names in order for a message, the first twenty of many."""
    shown = sorted(names)
    more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ", ".join(_short(name) for name in shown[:_LISTED]) + more or "none"
