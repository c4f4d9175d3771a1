"""What every retriever shares: the number of results, a threshold, a reranker."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from pincite.errors import InvalidArgument, InvalidQueryError
from pincite.model.algebra import Filter
from pincite.model.hits import Hit, Results
from pincite.model.where import filter_from_dict, parse_where

__all__ = ["MetadataFilter", "Reranker", "Retriever", "ScoredChunk", "as_filter"]

ScoredChunk = Hit
"""The name of the reference for a ranked passage."""

MetadataFilter = Filter | str | Mapping[str, object]
"""A filter, its text (``year >= 2020``) or its dict form (``{"year": {"$gte": 2020}}``)."""


class Reranker(Protocol):
    """Puts hits in another order, with scores of its own."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> Sequence[Hit]: ...


def as_filter(filters: MetadataFilter | None) -> Filter | None:
    """The filter that one of its three forms means; ``InvalidQueryError`` for an unknown one."""
    if filters is None:
        return None
    if isinstance(filters, str):
        return parse_where(filters)
    if isinstance(filters, Mapping):
        return filter_from_dict(filters) if filters else None
    return filters


class Retriever(ABC):
    """Finds passages for a query.

    ``fetch_k`` passages (``top_k`` when it is None) are fetched, reranked when there is a
    ``rerank``, cut below ``score_threshold``, then to ``top_k``.
    """

    default_name = "retriever"

    def __init__(
        self,
        top_k: int = 5,
        score_threshold: float | None = None,
        rerank: Reranker | None = None,
        fetch_k: int | None = None,
        name: str | None = None,
    ) -> None:
        """Raises ``InvalidArgument`` for a count below 1 or a threshold that is not finite."""
        for label, count in (("top_k", top_k), ("fetch_k", fetch_k)):
            if count is not None and count < 1:
                raise InvalidArgument(f"{label} is {count}; pass 1 or more.")
        if score_threshold is not None and not math.isfinite(score_threshold):
            raise InvalidArgument(f"score_threshold is {score_threshold}; pass a finite number.")
        self.top_k = top_k
        self.score_threshold = score_threshold
        self.rerank = rerank
        self.fetch_k = fetch_k
        self.name = self.default_name if name is None else name

    @abstractmethod
    def retrieve_chunks(
        self, query: str, k: int, *, filters: MetadataFilter | None = None
    ) -> list[Hit]:
        """The ``k`` best passages as they are found, best first."""

    async def aretrieve_chunks(
        self, query: str, k: int, *, filters: MetadataFilter | None = None
    ) -> list[Hit]:
        """``retrieve_chunks`` in a thread, so that the event loop never waits for it."""
        import anyio

        return await anyio.to_thread.run_sync(
            lambda: self.retrieve_chunks(query, k, filters=filters)
        )

    def retrieve(
        self, query: str, k: int | None = None, *, filters: MetadataFilter | None = None
    ) -> Results:
        """The ``k`` (``top_k`` when None) best passages that pass rerank and threshold.

        A blank query finds nothing. Raises ``InvalidQueryError`` for k below 1 or a bad filter.
        """
        wanted = self._checked(k)
        if not query.strip():
            return Results([])
        found = self.retrieve_chunks(query, max(wanted, self.fetch_k or 0), filters=filters)
        return self._finished(query, found, wanted)

    async def aretrieve(
        self, query: str, k: int | None = None, *, filters: MetadataFilter | None = None
    ) -> Results:
        """``retrieve`` without blocking the event loop."""
        import anyio

        wanted = self._checked(k)
        if not query.strip():
            return Results([])
        depth = max(wanted, self.fetch_k or 0)
        found = await self.aretrieve_chunks(query, depth, filters=filters)
        if self.rerank is None:
            return self._finished(query, found, wanted)
        return await anyio.to_thread.run_sync(lambda: self._finished(query, found, wanted))

    def _checked(self, k: int | None) -> int:
        wanted = self.top_k if k is None else k
        if wanted < 1:
            raise InvalidQueryError(f"k is {wanted}; ask for at least 1 result.", field="k")
        return wanted

    def _finished(self, query: str, hits: Sequence[Hit], k: int) -> Results:
        if self.rerank is not None and hits:
            hits = self.rerank.rerank(query, hits)
        limit = self.score_threshold
        kept = [hit for hit in hits if limit is None or hit.score >= limit][:k]
        return Results([replace(hit, rank=rank) for rank, hit in enumerate(kept, start=1)])
