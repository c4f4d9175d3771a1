"""The nouns of the filter algebra and the operators: closed, frozen, two-valued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NoReturn

from pincite.errors import InvalidQueryError
from pincite.model.fields import FieldType

__all__ = [
    "MAX_DEPTH",
    "NOTHING",
    "OPERATORS",
    "AllOf",
    "AnyOf",
    "DeclaredFilter",
    "Filter",
    "Not",
    "Nothing",
    "Operator",
]

MAX_DEPTH: Final = 100
"""How deep filters may nest; deeper ones are refused by ``validate`` and by the parsers."""


class _Combinable:
    """``&``, ``|`` and ``~`` on filters; ``a & b & c`` is one ``AllOf`` of three terms."""

    __slots__ = ()

    def __and__(self, other: object) -> AllOf:
        if not isinstance(other, _Combinable):
            return NotImplemented
        return AllOf((*_terms(AllOf, self), *_terms(AllOf, other)))

    def __or__(self, other: object) -> AnyOf:
        if not isinstance(other, _Combinable):
            return NotImplemented
        return AnyOf((*_terms(AnyOf, self), *_terms(AnyOf, other)))

    def __invert__(self) -> Not:
        return Not(self)  # type: ignore[arg-type]  # every subclass is a member of Filter

    def __bool__(self) -> NoReturn:
        raise InvalidQueryError(
            "a filter has no truth value: Python's 'and', 'or', 'not', 'if' and chained "
            "comparisons such as 1 < F('x') < 3 cannot combine filters. Use &, | and ~ with each "
            "comparison in parentheses, and 'is None' to ask whether there is a filter"
        )


def _terms(kind: type[AllOf | AnyOf], part: Any) -> tuple[Filter, ...]:
    return part.terms if isinstance(part, kind) else (part,)


def _freeze_terms(node: AllOf | AnyOf) -> None:
    terms: object = node.terms
    if isinstance(terms, list):
        object.__setattr__(node, "terms", tuple(terms))


@dataclass(frozen=True, slots=True)
class DeclaredFilter(_Combinable):
    """A predicate on one field: ``DeclaredFilter("year", "gte", 2020)``."""

    field: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class AllOf(_Combinable):
    """Holds when every term holds; without terms it matches everything.

    A list of terms is taken as the tuple of them.
    """

    terms: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _freeze_terms(self)


@dataclass(frozen=True, slots=True)
class AnyOf(_Combinable):
    """Holds when a term holds; without terms it matches nothing.

    A list of terms is taken as the tuple of them.
    """

    terms: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _freeze_terms(self)


@dataclass(frozen=True, slots=True)
class Not(_Combinable):
    """Plain negation: holds where ``term`` does not."""

    term: Filter


@dataclass(frozen=True, slots=True)
class Nothing(_Combinable):
    """Matches nothing; use the constant ``NOTHING``."""


NOTHING: Final = Nothing()

Filter = DeclaredFilter | AllOf | AnyOf | Not | Nothing


@dataclass(frozen=True, slots=True)
class Operator:
    """The operand an operator takes: one scalar or many, on any field type or only some."""

    many: bool = False
    on: frozenset[FieldType] | None = None


OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        "eq": Operator(),
        "ne": Operator(),
        "gt": Operator(),
        "gte": Operator(),
        "lt": Operator(),
        "lte": Operator(),
        "in": Operator(many=True),
        "not_in": Operator(many=True),
        "contains_any": Operator(many=True),
        "contains_all": Operator(many=True),
        "under": Operator(on=frozenset({FieldType.KEYWORD})),
        "exists": Operator(),
    }
)
"""The operators a ``DeclaredFilter`` can name; read-only.

``ne`` and ``not_in`` are the negations of ``eq`` and ``in``; ``under("a/b")`` holds for ``a/b``
and ``a/b/...``; ``exists`` takes a boolean, whatever the type of its field.
"""
