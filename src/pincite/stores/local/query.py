"""One query over one snapshot: ids and scores first, rows only of what is returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.explain import explain_row
from pincite.model.filters import DeclaredFilter, Filter
from pincite.model.hits import Chunk, Explanation, Hit, Span, Spans
from pincite.segments.ranking import Ranked, Ranking, in_id_order
from pincite.stores.hybrid import Fused, LegPlan, both_spans, fuse_rankings, fuse_scored, leg_hit
from pincite.stores.local.snapshot import Mask, Segment, Session
from pincite.stores.local.texts import chunks_by_key, columns_values
from pincite.stores.ordering import sort_by_field
from pincite.text.analysis import default_analyzer

__all__ = ["Place", "Query", "Scored"]

Place = tuple[int, int]
"""Segment and row."""

Scored = Sequence[tuple[Place, float]]
"""Where chunks are, and their scores, best first."""


class Query:
    """A session with a checked, folded filter."""

    def __init__(self, session: Session, where: Filter | None) -> None:
        self._session = session
        self._where = where
        self._groups: Sequence[tuple[str, ...]] = ()

    @cached_property
    def _allow(self) -> Sequence[Mask | None] | None:
        """What the filter keeps, for both legs; None for all."""
        return None if self._where is None else self._session.allow(self._where)

    def keyword(self, query: str, limit: int) -> Scored:
        """The keyword leg; [] for a blank query."""
        found = self._keyword(query, limit)
        return self._scored(found, limit)

    def vector(self, vector: Sequence[float], limit: int) -> Scored:
        """The vector leg."""
        return self._scored(self._vector(vector, limit), limit)

    def _keyword(self, query: str, limit: int) -> Ranking | list[Ranked]:
        snapshot = self._session.snapshot
        if not query.strip() or not snapshot.segments:
            return []
        self._groups = default_analyzer().query_groups(query, snapshot.languages, repeats=True)
        searcher, allow = self._session.keyword(), self._allow
        ranking = searcher.ranking(self._groups, limit, allow=allow)
        if ranking is not None:
            return ranking
        return searcher.search(self._groups, limit, allow=allow, row_id=self._session.row_id)

    def _vector(self, vector: Sequence[float], limit: int) -> Ranking | list[Ranked]:
        if not self._session.snapshot.segments:
            return []
        searcher, allow = self._session.searched(), self._allow
        ranking = searcher.ranking(vector, limit, allow=allow)
        if ranking is not None:
            return ranking
        return searcher.search(vector, limit, allow=allow, row_id=self._session.row_id)

    def _scored(self, found: Ranking | list[Ranked], limit: int) -> Scored:
        if not isinstance(found, list):
            found = in_id_order(found, limit, self._session.row_id)
        return [((segment, row), score) for segment, row, score in found]

    def hybrid(
        self, plan: LegPlan, query: str, vector: Sequence[float], *, limit: int, offset: int
    ) -> list[Hit]:
        """The hits of a hybrid search; what the keyword leg found is highlighted."""
        keyword = self._keyword(query, plan.depth) if plan.keyword else []
        near = self._vector(vector, plan.depth) if plan.vector else []
        fused = self._fused(plan, keyword, near, limit=limit, offset=offset)
        chunks = self._chunks_of([each.key for each in fused])
        return [self._fused_hit(*pair) for pair in zip(chunks, fused, strict=True)]

    def _fused(
        self,
        plan: LegPlan,
        keyword: Ranking | list[Ranked],
        vector: Ranking | list[Ranked],
        *,
        limit: int,
        offset: int,
    ) -> list[Fused[Place]]:
        row_id = self._session.row_id
        if keyword and vector and not isinstance(keyword, list) and not isinstance(vector, list):
            return fuse_rankings(
                keyword, vector, alpha=plan.alpha, limit=limit, offset=offset, row_id=row_id
            )
        return fuse_scored(
            self._scored(keyword, plan.depth),
            self._scored(vector, plan.depth),
            alpha=plan.alpha,
            limit=limit,
            offset=offset,
            name=lambda place: row_id(*place),
        )

    def hits(self, leg: str, scored: Scored) -> list[Hit]:
        """The hits of one leg."""
        chunks = self._chunks_of([place for place, _ in scored])
        return [
            leg_hit(leg, chunk, score, rank, self._marked(chunk))
            for rank, (chunk, (_, score)) in enumerate(zip(chunks, scored, strict=True), start=1)
        ]

    def explain(self, query: str, chunks: Sequence[Chunk]) -> list[Explanation]:
        """How each chunk's keyword score comes about; all zero for one that is gone."""
        snapshot = self._session.snapshot
        groups = default_analyzer().query_groups(query, snapshot.languages, repeats=True)
        keyword = self._session.keyword()
        segments, statistics = keyword.segments, keyword.statistics
        explained = []
        for chunk in chunks:
            place = self._place(chunk)
            explained.append(
                Explanation(0.0, (), statistics.rows, statistics.average)
                if place is None
                else explain_row(segments, snapshot.live, groups, *place, statistics=statistics)
            )
        return explained

    def _place(self, chunk: Chunk) -> tuple[int, int] | None:
        own = DeclaredFilter("document", "eq", chunk.document)
        for number, mask in enumerate(self._session.kept(own)):
            table = self._session.snapshot.segments[number].rows(self._session)
            rows = np.arange(len(table)) if mask is None else np.flatnonzero(mask)
            found = rows[table.indexes[rows] == chunk.chunk_index]
            if len(found):
                return number, int(found[0])
        return None

    def chunks(self, keys: Sequence[int]) -> list[Chunk]:
        """The chunks of the given keys."""
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

    def _chunks_of(self, places: Sequence[Place]) -> list[Chunk]:
        return self.chunks(self._session.chunk_keys(places))

    def _fused_hit(self, chunk: Chunk, fused: Fused[Place]) -> Hit:
        spans = both_spans(chunk, self._marked(chunk) if "keyword" in fused.legs else ())
        return Hit(chunk, fused.score, fused.rank, fused.legs, *spans, "hybrid")

    def _marked(self, chunk: Chunk) -> Sequence[Span]:
        """Where the query's words stand in the content, for who asks; nowhere for a vector
        search."""
        groups = self._groups
        if not groups:
            return ()
        return Spans(lambda: default_analyzer().highlights(chunk.content, groups, chunk.language))
