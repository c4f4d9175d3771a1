"""Filters compiled to a test on one row of values: what every store's filters must agree with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pincite.errors import InvalidQueryError
from pincite.model.algebra import AllOf, AnyOf, DeclaredFilter, Filter, Not, Nothing
from pincite.model.checking import check_node, check_predicate
from pincite.model.fields import FieldSpec
from pincite.model.values import Scalar, scalar, stored_scalars

__all__ = ["Operand", "Row", "compile_filter", "is_under", "matches", "operand"]

Row = Mapping[str, Any]
Operand = Scalar | tuple[Scalar, ...]
_Present = Callable[[tuple[Any, ...]], bool]


def matches(where: Filter | None, values: Row, spec: FieldSpec) -> bool:
    """Whether a row of ``values`` (field name to stored value) satisfies ``where``.

    A comparison on an absent field is false and ``Not`` is plain negation, so that ``ne`` and
    ``not_in`` hold where the field is absent. A value that misfits its field is absent. Raises
    InvalidQueryError for a filter that ``validate`` refuses.
    """
    return compile_filter(where, spec)(values)


def compile_filter(where: Filter | None, spec: FieldSpec) -> Callable[[Row], bool]:
    """``matches`` with the filter read once, for many rows; the same errors, raised here."""
    if where is None:
        return lambda _row: True
    return _compile(where, spec, 1)


def _compile(where: Filter, spec: FieldSpec, depth: int) -> Callable[[Row], bool]:
    check_node(where, depth)
    if isinstance(where, DeclaredFilter):
        return _compile_predicate(where, spec)
    if isinstance(where, Not):
        inner = _compile(where.term, spec, depth + 1)
        return lambda row: not inner(row)
    if isinstance(where, Nothing):
        return lambda _row: False
    tests = [_compile(term, spec, depth + 1) for term in where.terms]
    if isinstance(where, AllOf):
        return lambda row: all(test(row) for test in tests)
    assert isinstance(where, AnyOf)
    return lambda row: any(test(row) for test in tests)


def _compile_predicate(predicate: DeclaredFilter, spec: FieldSpec) -> Callable[[Row], bool]:
    name, field = predicate.field, check_predicate(predicate, spec)
    holds, wanted = _test(predicate.operator, operand(predicate, spec))

    def test(row: Row) -> bool:
        present = stored_scalars(row.get(name), field)
        return (bool(present) and holds(present)) is wanted

    return test


def operand(predicate: DeclaredFilter, spec: FieldSpec) -> Operand:
    """The canonical operand of a checked predicate: a scalar, or a tuple for the operators that
    take many; the plain boolean of ``exists``."""
    if predicate.operator == "exists":
        return bool(predicate.value)
    kind = spec.fields[predicate.field].type
    if isinstance(predicate.value, (list, tuple)):
        return tuple(_fitting(item, predicate, kind) for item in predicate.value)
    return _fitting(predicate.value, predicate, kind)


def _fitting(value: Any, predicate: DeclaredFilter, kind: Any) -> Scalar:
    fitted = scalar(value, kind)
    if fitted is None:
        raise InvalidQueryError(
            f"the operand of {predicate.field!r} is not of type {kind}; validate the filter first",
            field=predicate.field,
        )
    return fitted


def _test(operator: str, wanted: Any) -> tuple[_Present, bool]:
    """A test of the present scalars, and the outcome of it for which the predicate holds."""
    if operator == "exists":
        return (lambda _present: True), wanted
    if operator in ("ne", "not_in"):
        return _POSITIVE["eq" if operator == "ne" else "in"](wanted), False
    return _POSITIVE[operator](wanted), True


def _any_of(wanted: tuple[Scalar, ...]) -> _Present:
    listed = frozenset(wanted)
    return lambda present: not listed.isdisjoint(present)


def _all_of(wanted: tuple[Scalar, ...]) -> _Present:
    listed = frozenset(wanted)
    return lambda present: listed.issubset(present)


def is_under(value: str, scope: str) -> bool:
    """Whether ``value`` is ``scope`` or lies below it; slashes that end ``scope`` do not count,
    and "/" holds every value that starts with a slash."""
    stem = scope.rstrip("/")
    return value.startswith(stem + "/") or (value == stem and stem != "")


_POSITIVE: Mapping[str, Callable[[Any], _Present]] = {
    "eq": lambda wanted: lambda present: present[0] == wanted,
    "gt": lambda wanted: lambda present: present[0] > wanted,
    "gte": lambda wanted: lambda present: present[0] >= wanted,
    "lt": lambda wanted: lambda present: present[0] < wanted,
    "lte": lambda wanted: lambda present: present[0] <= wanted,
    "in": _any_of,
    "contains_any": _any_of,
    "contains_all": _all_of,
    "under": lambda wanted: lambda present: any(is_under(value, wanted) for value in present),
}
