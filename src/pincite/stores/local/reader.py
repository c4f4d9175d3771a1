"""The search side of the local store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from pincite.errors import StoreNotFound, StoreUnavailable
from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter, Nothing
from pincite.model.hits import Chunk, Explanation, Hit
from pincite.stores import checks, hybrid
from pincite.stores.local.home import Home
from pincite.stores.local.query import Query
from pincite.stores.local.snapshot import Session
from pincite.stores.local.texts import document_chunks

if TYPE_CHECKING:
    from pincite.stores.ports import Target

__all__ = ["LocalReader", "attempt"]

T = TypeVar("T")

Groups = Sequence[tuple[str, ...]]
Place = tuple[int, int]

_ATTEMPTS: Final = 8


def attempt(home: Home, subject: str, collection: str, task: Callable[[Session], T]) -> T:
    """Run a task on the current generation, again when a merge took a file away meanwhile."""
    for _ in range(_ATTEMPTS):
        try:
            with home.session(subject, collection) as session:
                return task(session)
        except StoreNotFound:
            home.forget(subject, collection)
    raise StoreUnavailable(
        f"Files of {home.path} are missing or change too quickly; try again, and if it stays so, "
        "run doctor with repair."
    )


class LocalReader:
    """Some collections of a subject; every call sees what was committed before it.

    It implements ``SyncReader`` and is safe to share between threads.
    """

    def __init__(self, home: Home, subject: str, collections: tuple[str, ...]) -> None:
        self._home = home
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

        def search(session: Session) -> list[Hit]:
            record = session.snapshot.collection
            folded = checks.check_hybrid(
                record.spec,
                query=query,
                vector=vector,
                dimension=record.stored_dimension,
                limit=limit,
                where=where,
                alpha=alpha,
                offset=offset,
            )
            if isinstance(folded, Nothing):
                return []
            assert vector is not None
            weight = alpha if alpha is not None else record.alpha
            plan = hybrid.plan(query=query, limit=limit, alpha=weight, vector=vector)
            legs = Query(session, folded)
            return legs.hybrid(plan, query, vector, limit=limit, offset=offset)

        return self._run(target, search)

    def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Every kept chunk by the score of its vector, best first, ties by chunk id."""

        def search(session: Session) -> list[Hit]:
            record = session.snapshot.collection
            folded = checks.check_near_vector(
                record.spec,
                vector=vector,
                dimension=record.stored_dimension,
                limit=limit,
                where=where,
            )
            if isinstance(folded, Nothing):
                return []
            legs = Query(session, folded)
            return legs.hits("vector", legs.vector(vector, limit))

        return self._run(target, search)

    def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """The kept chunks with a term of the query, best first, ties by chunk id."""

        def search(session: Session) -> list[Hit]:
            spec = session.snapshot.collection.spec
            folded = checks.check_bm25(spec, query=query, limit=limit, where=where)
            if isinstance(folded, Nothing):
                return []
            legs = Query(session, folded)
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

        def search(session: Session) -> list[Chunk]:
            record = session.snapshot.collection
            folded = checks.check_fetch(
                record.spec, limit=limit, where=where, order_by=order_by, descending=descending
            )
            if isinstance(folded, Nothing):
                return []
            kept = Query(session, folded)
            keys = (
                kept.in_reading_order(limit)
                if order_by is None
                else kept.in_field_order(order_by, limit, descending=descending)
            )
            return kept.chunks(keys)

        return self._run(target, search)

    def fields(self, target: Target) -> FieldSpec:
        """The reserved fields and those declared or inferred."""
        return self._run(target, lambda session: session.snapshot.collection.spec)

    def explain(self, target: Target, *, query: str, chunks: Sequence[Chunk]) -> list[Explanation]:
        """How each chunk's keyword score comes about."""
        return self._run(target, lambda session: Query(session, None).explain(query, chunks))

    def all_chunks(self) -> Iterator[Chunk]:
        """Every chunk of the reader's collections, in reading order, each collection as it is
        when its turn comes."""
        for name in self._collections:
            with self._home.session(self._subject, name) as session:
                record = session.snapshot.collection
                if record.key is not None:
                    yield from document_chunks(
                        session.connection, record.key, subject=self._subject, collection=name
                    )

    def _run(self, target: Target, task: Callable[[Session], T]) -> T:
        checks.check_target(target, self._collections)
        return attempt(self._home, self._subject, target, task)
