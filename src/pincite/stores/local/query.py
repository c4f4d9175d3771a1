"""One query over one snapshot: ids and scores first, rows only of what is returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.explain import explain_row
from pincite.dense.search import search_vectors
from pincite.model.filters import DeclaredFilter, Filter
from pincite.model.hits import Chunk, Explanation, Hit, Span
from pincite.segments.ranking import Ranked
from pincite.stores.hybrid import Fused, leg_hit
from pincite.stores.local.snapshot import Segment, Session
from pincite.stores.local.texts import chunks_by_key, columns_values
from pincite.stores.ordering import sort_by_field
from pincite.text.analysis import default_analyzer

__all__ = ["Query", "Scored"]

Scored = Sequence[tuple[str, float]]
"""Chunk ids and scores, best first."""


class Query:
    """A session with a checked, folded filter; it remembers where the ids that it found are."""

    def __init__(self, session: Session, where: Filter | None) -> None:
        self._session = session
        self._where = where
        self._places: dict[str, tuple[int, int]] = {}
        self._groups: Sequence[tuple[str, ...]] = ()

    def keyword(self, query: str, limit: int) -> Scored:
        """The keyword leg; [] for a blank query."""
        snapshot = self._session.snapshot
        if not query.strip() or not snapshot.segments:
            return []
        self._groups = default_analyzer().query_groups(query, snapshot.languages, repeats=True)
        found = self._session.keyword().search(
            self._groups,
            limit,
            allow=None if self._where is None else self._session.allow(self._where),
            row_id=self._session.row_id,
        )
        return self._named(found)

    def vector(self, vector: Sequence[float], limit: int) -> Scored:
        """The vector leg."""
        snapshot = self._session.snapshot
        if not snapshot.segments:
            return []
        found = search_vectors(
            self._session.searched(),
            snapshot.live,
            self._session.allow(self._where),
            vector,
            limit,
            row_id=self._session.row_id,
            normalized=snapshot.collection.normalized,
        )
        return self._named(found)

    def hits(self, leg: str, scored: Scored) -> list[Hit]:
        """The hits of one leg."""
        chunks = self._chunks_of([name for name, _ in scored])
        return [
            leg_hit(leg, chunk, score, rank, self._marked(chunk))
            for rank, (chunk, (_, score)) in enumerate(zip(chunks, scored, strict=True), start=1)
        ]

    def fused_hits(self, fused: Sequence[Fused[str]]) -> list[Hit]:
        """The hits of a hybrid search; what the keyword leg found is highlighted."""
        chunks = self._chunks_of([each.key for each in fused])
        return [self._fused_hit(*pair) for pair in zip(chunks, fused, strict=True)]

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

    def _named(self, found: Sequence[Ranked]) -> Scored:
        names = [""] * len(found)
        for number, segment in enumerate(self._session.snapshot.segments):
            places = [place for place, (own, _, _) in enumerate(found) if own == number]
            if places:
                ids = segment.rows(self._session).ids([found[place][1] for place in places])
                for place, name in zip(places, ids, strict=True):
                    names[place] = name
        self._places.update(zip(names, [(own, row) for own, row, _ in found], strict=True))
        return [(name, score) for name, (_, _, score) in zip(names, found, strict=True)]

    def _chunks_of(self, names: Sequence[str]) -> list[Chunk]:
        return self.chunks([self._session.chunk_key(*self._places[name]) for name in names])

    def _fused_hit(self, chunk: Chunk, fused: Fused[str]) -> Hit:
        marked = self._marked(chunk) if "keyword" in fused.legs else ()
        spans = tuple((chunk.start_char + a, chunk.start_char + b) for a, b in marked)
        return Hit(chunk, fused.score, fused.rank, fused.legs, marked, spans, "hybrid")

    def _marked(self, chunk: Chunk) -> tuple[Span, ...]:
        """Where the query's words stand in the content; nowhere for a vector search."""
        if not self._groups:
            return ()
        analyzer = default_analyzer()
        return tuple(analyzer.highlights(chunk.content, self._groups, chunk.language))
