"""The search side of the local store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.search import search_segments
from pincite.dense.search import search_vectors
from pincite.errors import StoreNotFound, StoreUnavailable
from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter, Nothing
from pincite.model.hits import Chunk, Hit
from pincite.segments.ranking import Ranked
from pincite.stores import checks, hybrid
from pincite.stores.local.home import Home
from pincite.stores.local.snapshot import Segment, Session
from pincite.stores.local.texts import chunks_by_key, columns_values, document_chunks
from pincite.stores.ordering import sort_by_field
from pincite.text.analysis import default_analyzer

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
            legs = _Search(session, folded)
            weight = alpha if alpha is not None else record.alpha
            hits = hybrid.run(
                hybrid.plan(query=query, limit=limit, alpha=weight),
                lambda depth: legs.keyword(query, depth),
                lambda depth: legs.vector(vector, depth),
                limit=limit,
                offset=offset,
            )
            return legs.filled(hits, "hybrid")

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
            legs = _Search(session, folded)
            return legs.filled(legs.vector(vector, limit), "vector")

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
            legs = _Search(session, folded)
            return legs.filled(legs.keyword(query, limit), "keyword")

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
            kept = _Search(session, folded)
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


class _Search:
    """One query over one snapshot. Hits carry only ids until ``filled`` reads their rows."""

    def __init__(self, session: Session, where: Filter | None) -> None:
        self._session = session
        self._where = where
        self._places: dict[str, Place] = {}
        self._groups: Groups = ()

    def keyword(self, query: str, limit: int) -> list[Hit]:
        snapshot = self._session.snapshot
        if not query.strip() or not snapshot.segments:
            return []
        self._groups = default_analyzer().query_groups(query, snapshot.languages)
        segments = self._session.keyword()
        found = search_segments(
            segments,
            snapshot.live,
            self._session.allow(self._where),
            self._groups,
            limit,
            row_id=self._session.row_id,
            statistics=snapshot.statistics(segments),
        )
        return self._hits("keyword", found)

    def vector(self, vector: Sequence[float], limit: int) -> list[Hit]:
        snapshot = self._session.snapshot
        if not snapshot.segments:
            return []
        found = search_vectors(
            self._session.vectors(),
            snapshot.live,
            self._session.allow(self._where),
            vector,
            limit,
            row_id=self._session.row_id,
            normalized=snapshot.collection.normalized,
        )
        return self._hits("vector", found)

    def filled(self, hits: Sequence[Hit], retriever: str) -> list[Hit]:
        """The hits with their chunks, and what the keyword side matched in them."""
        keys = [self._session.chunk_key(*self._places[hit.chunk.id]) for hit in hits]
        pairs = zip(hits, self.chunks(keys), strict=True)
        return [self._filled(hit, chunk, retriever) for hit, chunk in pairs]

    def chunks(self, keys: Sequence[int]) -> list[Chunk]:
        record = self._session.snapshot.collection
        return chunks_by_key(
            self._session.connection, keys, subject=record.subject, collection=record.name
        )

    def in_reading_order(self, limit: int) -> list[int]:
        """The keys of the first kept chunks, document by document."""
        names: list[str] = []
        parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = []
        for segment, rows in self._kept():
            table = segment.rows(self._session)
            numbers, place = np.unique(table.documents[rows], return_inverse=True)
            base = len(names)
            names += [table.name(int(number)).decode() for number in numbers]
            own = (table.chunks[rows], base + place, table.indexes[rows].astype(np.int64))
            parts.append(own)
        if not parts:
            return []
        keys, documents, indexes = (np.concatenate(column) for column in zip(*parts, strict=True))
        rank = np.empty(len(names), dtype=np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        order = np.lexsort((indexes, rank[documents]))
        return [int(key) for key in keys[order[:limit]]]

    def in_field_order(self, field: str, limit: int, *, descending: bool) -> list[int]:
        """The keys of the first kept chunks by a stored field."""
        record = self._session.snapshot.collection
        ids: dict[int, str] = {}
        for segment, rows in self._kept():
            table = segment.rows(self._session)
            ids.update((int(table.chunks[row]), table.id(int(row))) for row in rows)
        keys = list(ids)
        values = columns_values(
            self._session.connection, keys, subject=record.subject, collection=record.name
        )
        by_key = dict(zip(keys, values, strict=True))
        ranked = sort_by_field(
            keys,
            field,
            record.spec,
            values=by_key.__getitem__,
            chunk_id=ids.__getitem__,
            descending=descending,
        )
        return ranked[:limit]

    def _kept(self) -> Iterator[tuple[Segment, NDArray[np.intp]]]:
        segments = self._session.snapshot.segments
        for segment, mask in zip(segments, self._session.kept(self._where), strict=True):
            rows = np.arange(segment.record.rows) if mask is None else np.flatnonzero(mask)
            if len(rows):
                yield segment, rows

    def _hits(self, leg: str, found: Sequence[Ranked]) -> list[Hit]:
        record = self._session.snapshot.collection
        hits = []
        for rank, (segment, row, score) in enumerate(found, start=1):
            name = self._session.row_id(segment, row)
            self._places[name] = (segment, row)
            chunk = Chunk("", id=name, collection=record.name, subject=record.subject)
            hits.append(hybrid.leg_hit(leg, chunk, score, rank))
        return hits

    def _filled(self, hit: Hit, chunk: Chunk, retriever: str) -> Hit:
        marked: Sequence[tuple[int, int]] = ()
        if "keyword" in hit.legs:
            marked = default_analyzer().highlights(chunk.content, self._groups, chunk.language)
        return replace(
            hit,
            chunk=chunk,
            highlights=tuple(marked),
            spans=tuple((chunk.start_char + a, chunk.start_char + b) for a, b in marked),
            retriever=retriever,
        )
