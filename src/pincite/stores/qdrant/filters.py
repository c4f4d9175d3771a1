"""Filters as Qdrant's conditions."""

from __future__ import annotations

from qdrant_client import models

from pincite.stores.points.backend import Compare, Every, Has, Native, Negated, OneOf, Some, Space

__all__ = ["condition", "restriction"]


def restriction(space: Space, where: Native | None) -> models.Filter:
    """What a search is given: the tenant always, and the filter."""
    own = models.FieldCondition(key="tenant", match=models.MatchValue(value=space.tenant))
    return models.Filter(must=[own] if where is None else [own, condition(where)])


def condition(where: Native) -> models.Condition:
    """One filter."""
    if isinstance(where, Has):
        return models.FieldCondition(key="tokens", match=models.MatchValue(value=where.token))
    if isinstance(where, Negated):
        return models.Filter(must_not=[condition(where.term)])
    if isinstance(where, Compare):
        bounds = models.Range.model_validate({where.operator: where.value})
        return models.FieldCondition(key=f"numbers.{where.name}", range=bounds)
    if isinstance(where, OneOf):
        return models.HasIdCondition(has_id=list(where.ids))
    terms = [condition(term) for term in where.terms]
    if isinstance(where, Every):
        return models.Filter(must=terms)
    assert isinstance(where, Some)
    return models.Filter(should=terms)
