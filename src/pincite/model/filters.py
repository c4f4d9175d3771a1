"""The filter algebra: closed, frozen, two-valued."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from pincite.model.fields import FieldType

__all__ = [
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


@dataclass(frozen=True, slots=True)
class DeclaredFilter:
    """A predicate on one field: ``DeclaredFilter("year", "gte", 2020)``."""

    field: str
    operator: str
    value: Any


@dataclass(frozen=True, slots=True)
class AllOf:
    """Holds when every term holds; without terms it matches everything."""

    terms: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds when a term holds; without terms it matches nothing."""

    terms: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Plain negation: holds where ``term`` does not."""

    term: Filter


@dataclass(frozen=True, slots=True)
class Nothing:
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
