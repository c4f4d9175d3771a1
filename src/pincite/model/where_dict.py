"""The dict form of filters, for JSON: ``{"year": {"$gte": 2020}, "lang": "en"}``.

Several keys hold together, ``{"field": value}`` is ``$eq``. Operators: ``$eq $ne $gt $gte $lt
$lte $in $nin $exists $contains $contains_any $contains_all $under``, combined by ``$and``, ``$or``
(lists) and ``$not`` (one filter, or the operators of a field). ``{"$field": name, "$eq": value}``
names a field that starts with a dollar sign, ``{"$nothing": true}`` matches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from pincite.errors import InvalidQueryError
from pincite.model.algebra import (
    MAX_DEPTH,
    NOTHING,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
    Nothing,
)
from pincite.model.checking import check_node, refuse_operator

__all__ = ["filter_from_dict", "filter_to_dict"]

_OPERATORS: Mapping[str, str] = {
    "$eq": "eq",
    "$ne": "ne",
    "$gt": "gt",
    "$gte": "gte",
    "$lt": "lt",
    "$lte": "lte",
    "$in": "in",
    "$nin": "not_in",
    "$not_in": "not_in",
    "$exists": "exists",
    "$contains": "contains_any",
    "$contains_any": "contains_any",
    "$contains_all": "contains_all",
    "$under": "under",
}
_WRITTEN: Mapping[str, str] = {
    **{ours: written for written, ours in _OPERATORS.items()},
    "not_in": "$nin",
}
_EXAMPLE = 'write a mapping such as {"year": {"$gte": 2020}}'


def filter_from_dict(mapping: Mapping[str, Any]) -> Filter:
    """The filter that a dict form writes; an empty mapping matches everything.

    Lists become tuples. Raises InvalidQueryError for an unknown operator, naming it, and for a
    wrong shape; operands are checked by ``validate``, which knows the fields.
    """
    return _read(mapping, 1)


def _read(mapping: object, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise InvalidQueryError(
            f"the filter nests deeper than {MAX_DEPTH} levels; put the terms of nested $and or $or "
            "side by side"
        )
    if not isinstance(mapping, Mapping):
        raise InvalidQueryError(
            f"a filter cannot be read from {type(mapping).__name__}; {_EXAMPLE}"
        )
    if "$field" in mapping:
        return _read_named(mapping, depth)
    return _joined([_read_entry(key, value, depth) for key, value in mapping.items()])


def _joined(terms: list[Filter]) -> Filter:
    return terms[0] if len(terms) == 1 else AllOf(tuple(terms))


def _read_entry(key: object, value: Any, depth: int) -> Filter:
    if not isinstance(key, str):
        raise InvalidQueryError(f"the key {key!r} of a filter is not a string; {_EXAMPLE}")
    if key in _COMBINATORS:
        return _COMBINATORS[key](value, depth)
    if key in _OPERATORS:
        raise InvalidQueryError(
            f'{key!r} stands without a field; write {{"field": {{"{key}": ...}}}}'
        )
    if key.startswith("$"):
        refuse_operator(key, None, (*_COMBINATORS, *_OPERATORS))
    return _read_field(key, value, depth)


def _read_named(mapping: Mapping[str, Any], depth: int) -> Filter:
    name = mapping["$field"]
    operators = {key: value for key, value in mapping.items() if key != "$field"}
    if not isinstance(name, str) or not operators:
        raise InvalidQueryError(
            '\'$field\' names a field beside its operators; write {"$field": "$price", "$gte": 3}'
        )
    return _read_operators(name, operators, depth)


def _read_field(name: str, value: Any, depth: int) -> Filter:
    if isinstance(value, Mapping):
        return _read_operators(name, value, depth)
    return DeclaredFilter(name, "eq", _frozen(value))


def _read_operators(name: str, operators: Mapping[str, Any], depth: int) -> Filter:
    if not operators:
        raise InvalidQueryError(
            f"field {name!r} has an empty mapping and no operator; {_EXAMPLE}", field=name
        )
    return _joined([_read_operator(name, key, value, depth) for key, value in operators.items()])


def _read_operator(name: str, key: object, value: Any, depth: int) -> Filter:
    if key == "$not":
        if depth >= MAX_DEPTH or not isinstance(value, Mapping):
            raise InvalidQueryError(
                f"'$not' on field {name!r} takes a mapping of operators, not too deep; write "
                '{"$not": {"$gt": 3}}',
                field=name,
            )
        return Not(_read_operators(name, value, depth + 1))
    if not isinstance(key, str) or key not in _OPERATORS:
        refuse_operator(key, name, (*_OPERATORS, "$not"))
    if key == "$contains" and not isinstance(value, (list, tuple)):
        value = (value,)
    return DeclaredFilter(name, _OPERATORS[key], _frozen(value))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read_terms(key: str, value: Any, depth: int) -> tuple[Filter, ...]:
    if not isinstance(value, (list, tuple)):
        raise InvalidQueryError(
            f"{key!r} takes a list of filters, not {type(value).__name__}; write "
            f'{{"{key}": [{{"year": 2020}}, {{"lang": "en"}}]}}'
        )
    return tuple(_read(term, depth + 1) for term in value)


def _read_nothing(value: Any, _depth: int) -> Filter:
    if value is not True:
        raise InvalidQueryError("'$nothing' takes true; leave it out to match more")
    return NOTHING


_COMBINATORS: Mapping[str, Callable[[Any, int], Filter]] = {
    "$and": lambda value, depth: AllOf(_read_terms("$and", value, depth)),
    "$or": lambda value, depth: AnyOf(_read_terms("$or", value, depth)),
    "$not": lambda value, depth: Not(_read(value, depth + 1)),
    "$nothing": _read_nothing,
}


def filter_to_dict(where: Filter) -> dict[str, Any]:
    """The dict form, of JSON values only, which ``filter_from_dict`` reads back as an equal filter.

    Datetimes and dates become ISO strings, which mean the same to a datetime field. Raises
    InvalidQueryError for what is not a filter and for an unknown operator.
    """
    return _write(where, 1)


def _write(where: Filter, depth: int) -> dict[str, Any]:
    check_node(where, depth)
    if isinstance(where, DeclaredFilter):
        return _write_predicate(where)
    if isinstance(where, Not):
        return {"$not": _write(where.term, depth + 1)}
    if isinstance(where, Nothing):
        return {"$nothing": True}
    key = "$and" if isinstance(where, AllOf) else "$or"
    return {key: [_write(term, depth + 1) for term in where.terms]}


def _write_predicate(where: DeclaredFilter) -> dict[str, Any]:
    if not isinstance(where.operator, str) or where.operator not in _WRITTEN:
        refuse_operator(where.operator, where.field)
    many = isinstance(where.value, (list, tuple))
    operand = [_json(item, where) for item in where.value] if many else _json(where.value, where)
    operators = {_WRITTEN[where.operator]: operand}
    if where.field.startswith("$"):
        return {"$field": where.field, **operators}
    return {where.field: operators}


def _json(value: Any, where: DeclaredFilter) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise InvalidQueryError(
        f"{where.operator!r} on field {where.field!r} cannot take {type(value).__name__}; give "
        "strings, numbers, dates, true or false",
        field=where.field,
    )
