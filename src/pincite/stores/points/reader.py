"""The search side of a store over points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from pincite.errors import Unconfigured
from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter, Nothing
from pincite.model.hits import Chunk, Explanation, Hit
from pincite.stores import checks, hybrid
from pincite.stores.points.backend import Backend
from pincite.stores.points.gate import Gate
from pincite.stores.points.keyword import KeywordIndex
from pincite.stores.points.search import Search
from pincite.stores.points.targets import State, Targets

if TYPE_CHECKING:
    from pincite.stores.ports import Target

__all__ = ["PointReader"]

T = TypeVar("T")


class PointReader:
    """Some collections of a subject; every call sees what was committed before it.

    It implements ``SyncReader`` and is safe to share between threads.
    """

    def __init__(
        self,
        backend: Backend,
        targets: Targets,
        gate: Gate,
        keyword: KeywordIndex | None,
        subject: str,
        collections: tuple[str, ...],
    ) -> None:
        self._backend = backend
        self._targets = targets
        self._gate = gate
        self._keyword = keyword
        self._subject = subject
        self._collections = collections

    def hybrid(
        self,
        target: Target,
        *,
        query: str,
        vector: Sequence[float] | None = None,
        limit: int,
        where: Filter | None = None,
        alpha: float | None = None,
        offset: int = 0,
    ) -> list[Hit]:
        """Both legs, fused; ``stores.hybrid`` says how."""

        def search(state: State) -> list[Hit]:
            head = state.head
            folded = checks.check_hybrid(
                head.spec,
                query=query,
                vector=vector,
                dimension=head.dimension or None,
                limit=limit,
                where=where,
                alpha=alpha,
                offset=offset,
            )
            self._check_keyword()
            if isinstance(folded, Nothing):
                return []
            assert vector is not None
            legs = self._search(state, folded)
            weight = alpha if alpha is not None else head.alpha
            plan = hybrid.plan(query=query, limit=limit, alpha=weight, vector=vector)
            fused = hybrid.fuse_scored(
                legs.keyword(query, plan.depth) if plan.keyword else (),
                legs.vector(vector, plan.depth) if plan.vector else (),
                alpha=plan.alpha,
                limit=limit,
                offset=offset,
            )
            return legs.fused_hits(fused)

        return self._run(target, search)

    def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Every kept chunk by the score of its vector, best first, ties by chunk id."""

        def search(state: State) -> list[Hit]:
            folded = checks.check_near_vector(
                state.head.spec,
                vector=vector,
                dimension=state.head.dimension or None,
                limit=limit,
                where=where,
            )
            if isinstance(folded, Nothing):
                return []
            legs = self._search(state, folded)
            return legs.hits("vector", legs.vector(vector, limit))

        return self._run(target, search)

    def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """The kept chunks with a term of the query, best first, ties by chunk id."""

        def search(state: State) -> list[Hit]:
            folded = checks.check_bm25(state.head.spec, query=query, limit=limit, where=where)
            self._check_keyword()
            if isinstance(folded, Nothing):
                return []
            legs = self._search(state, folded)
            return legs.hits("keyword", legs.keyword(query, limit))

        return self._run(target, search)

    def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> list[Chunk]:
        """The kept chunks, in reading order or on a stored field."""

        def search(state: State) -> list[Chunk]:
            folded = checks.check_fetch(
                state.head.spec, limit=limit, where=where, order_by=order_by, descending=descending
            )
            if isinstance(folded, Nothing):
                return []
            kept = self._search(state, folded)
            if order_by is None:
                return kept.in_reading_order(limit)
            return kept.in_field_order(order_by, limit, descending=descending)

        return self._run(target, search)

    def fields(self, target: Target) -> FieldSpec:
        """The reserved fields and those declared or inferred."""
        return self._run(target, lambda state: state.head.spec)

    def explain(self, target: Target, *, query: str, chunks: Sequence[Chunk]) -> list[Explanation]:
        """How each chunk's keyword score comes about; all zero for one that is gone."""
        return self._run(target, lambda state: self._search(state, None).explain(query, chunks))

    def all_chunks(self) -> Iterator[Chunk]:
        """Every chunk of the reader's collections, in reading order."""
        for name in self._collections:
            yield from self._run(
                name, lambda state: self._search(state, None).in_reading_order(checks.MAX_LIMIT)
            )

    def _run(self, target: Target, task: Callable[[State], T]) -> T:
        checks.check_target(target, self._collections)
        with self._gate.reading():
            return task(self._targets.state(self._subject, target))

    def _search(self, state: State, where: Filter | None) -> Search:
        return Search(self._backend, state, self._keyword, where)

    def _check_keyword(self) -> None:
        if not self._backend.keeps_terms and self._keyword is None:
            raise Unconfigured(
                f"{self._backend.place} has no keyword index, which bm25 and hybrid need; name a"
                " folder for one with ?keyword=PATH, or search with near_vector."
            )
