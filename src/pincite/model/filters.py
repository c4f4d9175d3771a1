"""The filter algebra: nouns, ``validate``, ``simplify`` and ``matches``.

A filter is a ``DeclaredFilter``, ``AllOf``, ``AnyOf``, ``Not`` or ``NOTHING``; None restricts
nothing. Filters combine with ``&``, ``|`` and ``~``.
"""

from __future__ import annotations

from pincite.model.algebra import (
    MAX_DEPTH,
    NOTHING,
    OPERATORS,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
    Nothing,
    Operator,
)
from pincite.model.checking import check_node, validate
from pincite.model.matching import compile_filter, matches

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
    "compile_filter",
    "matches",
    "simplify",
    "validate",
]


def simplify(where: Filter | None) -> Filter | None:
    """``where`` with what matches everything or nothing folded out, the order of terms kept.

    None matches everything, ``NOTHING`` nothing; an ``AllOf`` or ``AnyOf`` left with one term
    becomes that term. Without values ``in`` and ``contains_any`` match nothing and ``not_in``
    everything. Raises InvalidQueryError for what is not a filter.
    """
    return None if where is None else _fold(where, 1)


def _fold(where: Filter, depth: int) -> Filter | None:
    check_node(where, depth)
    if isinstance(where, DeclaredFilter):
        return _fold_predicate(where)
    if isinstance(where, Not):
        return _fold_not(where, depth)
    if isinstance(where, AllOf):
        return _fold_all(where, depth)
    if isinstance(where, AnyOf):
        return _fold_any(where, depth)
    return NOTHING


def _fold_predicate(where: DeclaredFilter) -> Filter | None:
    if isinstance(where.value, (list, tuple)) and not where.value:
        if where.operator in ("in", "contains_any"):
            return NOTHING
        if where.operator == "not_in":
            return None
    return where


def _fold_not(where: Not, depth: int) -> Filter | None:
    inner = _fold(where.term, depth + 1)
    if inner is None:
        return NOTHING
    if isinstance(inner, Nothing):
        return None
    if isinstance(inner, Not):
        return inner.term
    return where if inner is where.term else Not(inner)


def _fold_all(where: AllOf, depth: int) -> Filter | None:
    folded = [_fold(term, depth + 1) for term in where.terms]
    kept = tuple(term for term in folded if term is not None)
    if any(isinstance(term, Nothing) for term in kept):
        return NOTHING
    if len(kept) < 2:
        return kept[0] if kept else None
    return AllOf(kept)


def _fold_any(where: AnyOf, depth: int) -> Filter | None:
    folded = [_fold(term, depth + 1) for term in where.terms]
    if any(term is None for term in folded):
        return None
    kept = tuple(term for term in folded if term is not None and not isinstance(term, Nothing))
    if len(kept) < 2:
        return kept[0] if kept else NOTHING
    return AnyOf(kept)
