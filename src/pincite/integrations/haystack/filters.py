"""Haystack's filters, nested dicts, as ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

from haystack.errors import FilterError

from pincite.errors import InvalidQueryError
from pincite.model.filters import NOTHING, AllOf, AnyOf, DeclaredFilter, Filter, Not

__all__ = ["filter_of", "translated"]

_COMPARED: Final[Mapping[str, str]] = MappingProxyType(
    {"==": "eq", "!=": "ne", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
)
_LISTED: Final[Mapping[str, str]] = MappingProxyType({"in": "in", "not in": "not_in"})
_NAMES: Final[Mapping[str, str]] = MappingProxyType({"id": "document", "content": "text"})


@contextmanager
def translated() -> Iterator[None]:
    """Raise what our filters refuse as Haystack's ``FilterError``."""
    try:
        yield
    except InvalidQueryError as error:
        if error.field is None:
            raise
        raise FilterError(str(error)) from error


def filter_of(filters: Mapping[str, Any] | None) -> Filter | None:
    """The filter that a dict means; ``FilterError`` for one that is malformed.

    ``None`` as a value is what absent fields have. ``NOT`` negates the conjunction of its
    conditions, as in Haystack.
    """
    if not filters:
        return None
    if not isinstance(filters, Mapping):
        raise FilterError(f"Filters are a dictionary, not {type(filters).__name__}.")
    if "field" in filters:
        return _comparison(filters)
    terms = [_condition(each) for each in _part(filters, "conditions", list)]
    return _joined(_part(filters, "operator", str), terms)


def _condition(filters: Any) -> Filter:
    found = filter_of(filters)
    if found is None:
        raise FilterError("A condition is empty; leave it out.")
    return found


def _joined(operator: str, terms: list[Filter]) -> Filter:
    if operator == "AND":
        return AllOf(tuple(terms))
    if operator == "OR":
        return AnyOf(tuple(terms))
    if operator == "NOT":
        return Not(AllOf(tuple(terms)))
    raise FilterError(f"There is no logical operator {operator!r}; write AND, OR or NOT.")


def _comparison(filters: Mapping[str, Any]) -> Filter:
    name = _part(filters, "field", str).removeprefix("meta.")
    name = _NAMES.get(name, name)
    operator, value = _part(filters, "operator", str), _part(filters, "value", object)
    if operator in _COMPARED:
        return _compared(name, _COMPARED[operator], value)
    if operator in _LISTED:
        return _listed(name, operator, value)
    known = ", ".join((*_COMPARED, *_LISTED))
    raise FilterError(f"There is no operator {operator!r}; write one of {known}.")


def _compared(name: str, operator: str, value: Any) -> Filter:
    if value is not None:
        return DeclaredFilter(name, operator, value)
    if operator in ("eq", "ne"):
        return DeclaredFilter(name, "exists", operator == "ne")
    return AllOf((DeclaredFilter(name, "exists", True), NOTHING))


def _listed(name: str, operator: str, values: Any) -> Filter:
    if not isinstance(values, list):
        raise FilterError(f"{operator!r} on {name!r} takes a list of values, not {values!r}.")
    given = tuple(value for value in values if value is not None)
    among: Filter = DeclaredFilter(name, "in", given)
    if len(given) < len(values):
        among = AnyOf((among, DeclaredFilter(name, "exists", False)))
    return among if operator == "in" else Not(among)


def _part(filters: Mapping[str, Any], key: str, kind: type) -> Any:
    if key not in filters:
        raise FilterError(f"{key!r} is missing in the filter {dict(filters)!r:.200}; add it.")
    value = filters[key]
    if not isinstance(value, kind):
        raise FilterError(f"{key!r} is a {kind.__name__}, not {value!r:.80}.")
    return value
