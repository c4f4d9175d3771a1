"""Filters as Chroma's ``where``, and the lists of ids that they restrict a call to."""

from __future__ import annotations

from typing import Any, NamedTuple

from pincite.stores.points.backend import Compare, Every, Has, Native, Negated, OneOf, Some

__all__ = ["Restriction", "restriction"]


class Restriction(NamedTuple):
    """What a call is given: ``where``, and ``ids`` when only those count."""

    where: dict[str, Any] | None
    ids: list[str] | None


def restriction(where: Native | None) -> Restriction:
    """A filter in Chroma's language."""
    if isinstance(where, OneOf):
        return Restriction(None, list(where.ids))
    return Restriction(None if where is None else _where(where), None)


def _where(where: Native) -> dict[str, Any]:
    if isinstance(where, Has):
        return {"tokens": {"$contains": where.token}}
    if isinstance(where, Negated):
        return {"tokens": {"$not_contains": where.term.token}}
    if isinstance(where, Compare):
        return {where.name: {f"${where.operator}": where.value}}
    assert isinstance(where, Every | Some)
    return {"$and" if isinstance(where, Every) else "$or": [_where(t) for t in where.terms]}
