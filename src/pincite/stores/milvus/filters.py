"""Filters as Milvus expressions.

What is written into them are tenants, tokens, ids and names of our own making, of letters, digits
and dashes, and numbers: no text of a user.
"""

from __future__ import annotations

from pincite.stores.points.backend import Compare, Every, Has, Native, Negated, OneOf, Some, Space

__all__ = ["expression", "listed", "restriction"]

_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def restriction(space: Space, where: Native | None) -> str:
    """What a search is given: the tenant always, and the filter."""
    own = f'tenant == "{space.tenant}"'
    return own if where is None else f"{own} and ({expression(where)})"


def expression(where: Native) -> str:
    """One filter."""
    if isinstance(where, Has):
        return f'array_contains(tokens, "{where.token}")'
    if isinstance(where, Negated):
        return f"not {expression(where.term)}"
    if isinstance(where, Compare):
        return f'numbers["{where.name}"] {_SIGNS[where.operator]} {where.value!r}'
    if isinstance(where, OneOf):
        return listed("id", where.ids)
    assert isinstance(where, Every | Some)
    joint = " and " if isinstance(where, Every) else " or "
    return joint.join(f"({expression(term)})" for term in where.terms)


def listed(field: str, values: tuple[str, ...] | list[str]) -> str:
    """``field`` is one of ``values``."""
    return f"{field} in [" + ", ".join(f'"{value}"' for value in values) + "]"
