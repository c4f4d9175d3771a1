"""Old document ids that still resolve after a rename."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pincite.model.filters import AllOf, AnyOf, DeclaredFilter, Filter, Not

__all__ = ["add_alias", "drop_aliases", "resolve_filter"]

_BY_ID = frozenset({"eq", "ne", "in", "not_in"})


def add_alias(aliases: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The aliases after ``old`` became ``new``; those that named ``old`` name ``new``."""
    moved = {alias: new if name == old else name for alias, name in aliases.items()}
    moved[old] = new
    moved.pop(new, None)
    return moved


def drop_aliases(aliases: Mapping[str, str], document: str) -> dict[str, str]:
    """The aliases without ``document``, as a name and as what a name stands for."""
    return {a: name for a, name in aliases.items() if document not in (a, name)}


def resolve_filter(where: Filter | None, aliases: Mapping[str, str]) -> Filter | None:
    """The filter with old document ids replaced where it compares the field ``document``."""
    if not aliases or where is None:
        return where
    return _resolve(where, aliases)


def _resolve(where: Filter, aliases: Mapping[str, str]) -> Filter:
    if isinstance(where, DeclaredFilter):
        if where.field != "document" or where.operator not in _BY_ID:
            return where
        return replace(where, value=_named(where.value, aliases))
    if isinstance(where, AllOf | AnyOf):
        return replace(where, terms=tuple(_resolve(term, aliases) for term in where.terms))
    if isinstance(where, Not):
        return Not(_resolve(where.term, aliases))
    return where


def _named(value: Any, aliases: Mapping[str, str]) -> Any:
    if isinstance(value, list | tuple):
        return tuple(aliases.get(item, item) for item in value)
    return aliases.get(value, value)
