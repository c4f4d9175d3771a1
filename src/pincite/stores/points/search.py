"""One query over one state: candidates from the database, exact scores from what is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from pincite.dense.search import prepare_query, search_vectors
from pincite.errors import Unconfigured
from pincite.model.fields import chunk_values
from pincite.model.filters import Filter
from pincite.model.hits import Chunk, Explanation, Hit, Span, chunk_id
from pincite.model.matching import compile_filter
from pincite.stores.aliases import resolve_filter
from pincite.stores.hybrid import Fused, leg_hit
from pincite.stores.ordering import sort_by_field
from pincite.stores.points.backend import Backend, Native, OneOf, Scored
from pincite.stores.points.held import held_rows
from pincite.stores.points.keyword import KeywordIndex, Query, by_number, slack
from pincite.stores.points.rows import Row
from pincite.stores.points.targets import State
from pincite.stores.points.tokens import plan
from pincite.text.analysis import default_analyzer

__all__ = ["Search"]

_MARGIN: Final = 16
_FLOAT32_ERROR: Final = 1e-4
_EXACT_ROWS: Final = 2_000
_MOST_CANDIDATES: Final = 4_000
_COUNTED_UNION: Final = 2_000


class Search:
    """A state with a checked, folded filter; it remembers the rows that it read."""

    def __init__(
        self, backend: Backend, state: State, keyword: KeywordIndex | None, where: Filter | None
    ) -> None:
        self._backend = backend
        self._state = state
        self._head = state.head
        self._index = keyword
        self._where = resolve_filter(where, state.aliases)
        self._rows: dict[str, Row] = {}
        self._groups: Sequence[tuple[str, ...]] = ()

    # -- legs

    def keyword(self, query: str, limit: int) -> list[Scored]:
        """Chunk ids by BM25; [] for a blank query."""
        if not query.strip() or not self._state.counts.rows:
            return []
        self._groups = default_analyzer().query_groups(
            query, self._state.counts.spoken, repeats=True
        )
        if self._backend.keeps_terms:
            return self._matched(limit)
        if self._index is None:
            raise Unconfigured(
                f"{self._backend.place} has no keyword index; name a folder for one with"
                " ?keyword=PATH."
            )
        allow = None if self._where is None else self._allowed()
        limit = min(limit, self._state.counts.rows)
        return self._index.search(self._head.space, self._head.stamp, query, limit, allow)

    def vector(self, vector: Sequence[float], limit: int) -> list[Scored]:
        """Chunk ids by the score of their vectors."""
        count = self._state.counts.rows
        if not count:
            return []
        query = prepare_query(vector, normalized=self._head.normalized)
        limit = min(limit, count)
        if self._backend.approximate:
            ids = self._few()
            if ids is not None:
                return self._compared(ids, query, limit)

        def near(want: int) -> list[Scored]:
            return self._backend.near(self._head.space, query, want, self._native)

        found = self._deepened(near, lambda ids: self._compared(ids, query, limit), limit, 1.0)
        if len(found) < limit and self._backend.approximate:
            # An index walked through a filter can end before it found enough.
            ids = self.kept_ids()
            return self._compared(ids, query, limit) if len(ids) > len(found) else found
        return found

    def hits(self, leg: str, scored: Sequence[Scored]) -> list[Hit]:
        """The hits of one leg."""
        chunks = self._chunks([name for name, _ in scored])
        return [
            leg_hit(leg, chunk, score, rank, self._marked(chunk))
            for rank, (chunk, (_, score)) in enumerate(zip(chunks, scored, strict=True), start=1)
        ]

    def fused_hits(self, fused: Sequence[Fused[str]]) -> list[Hit]:
        """The hits of a hybrid search; what the keyword leg found is highlighted."""
        chunks = self._chunks([each.key for each in fused])
        return [self._fused_hit(*pair) for pair in zip(chunks, fused, strict=True)]

    def explain(self, query: str, chunks: Sequence[Chunk]) -> list[Explanation]:
        """How each chunk's keyword score comes about; all zero for one that is gone."""
        counts = self._state.counts
        groups = default_analyzer().query_groups(query, counts.spoken, repeats=True)
        asked = Query.of(groups, counts, self._union)
        self._read([self._head.point(chunk.id) for chunk in chunks])
        rows = (self._rows.get(chunk.id) for chunk in chunks)
        return [asked.nothing() if row is None else asked.explain(row.terms()) for row in rows]

    # -- without scores

    def in_reading_order(self, limit: int) -> list[Chunk]:
        """The first kept chunks, document by document."""
        ids = self.kept_ids()[:limit]
        return self._decoded(ids)

    def in_field_order(self, field: str, limit: int, *, descending: bool) -> list[Chunk]:
        """The first kept chunks by a stored field."""
        ranked = sort_by_field(
            self._decoded(self.kept_ids()),
            field,
            self._head.spec,
            values=chunk_values,
            chunk_id=lambda chunk: chunk.id,
            descending=descending,
        )
        return ranked[:limit]

    def kept_ids(self) -> list[str]:
        """The points that the filter keeps, in reading order."""
        every = self._state.chunks
        if self._where is None or not every:
            return list(every)
        kept = set(self._backend.select(self._head.space, self._native))
        return [name for name in every if name in kept]

    # -- candidates

    def _matched(self, limit: int) -> list[Scored]:
        query = Query.of(self._groups, self._state.counts, self._union)
        weights = query.weights()
        if not weights:
            return []

        def match(want: int) -> list[Scored]:
            return self._backend.match(self._head.space, weights, want, self._native)

        def exact(ids: Sequence[str]) -> list[Scored]:
            scored = [(row.id, query.score(row.terms())) for row in self._read(ids)]
            return _best([pair for pair in scored if pair[1] > 0.0], limit)

        looseness = slack(self._head.average, query.average)
        return self._deepened(match, exact, min(limit, self._state.counts.rows), looseness)

    def _deepened(
        self,
        candidates: Callable[[int], list[Scored]],
        exact: Callable[[Sequence[str]], list[Scored]],
        limit: int,
        looseness: float,
    ) -> list[Scored]:
        """The best by exact scores: candidates are fetched deeper until none that was not fetched
        could be among them, each being at most ``looseness`` times as good as it looked."""
        want = limit + _MARGIN
        while True:
            found = candidates(want)
            best = exact([name for name, _ in found])
            if len(found) < want or want >= limit + _MOST_CANDIDATES:
                return best
            last = found[-1][1]
            bound = last * looseness + _FLOAT32_ERROR * max(1.0, abs(last))
            if len(best) == limit and best[-1][1] > bound:
                return best
            want *= 4

    def _compared(self, ids: Sequence[str], query: np.ndarray, limit: int) -> list[Scored]:
        rows = list(held_rows(self._backend, self._head, ids, vectors=True))
        if not rows:
            return []
        names = [row.id for row, _ in rows]
        self._rows.update(zip(names, (row for row, _ in rows), strict=True))
        part = np.array([held.vector for _, held in rows]).astype(np.float16)
        found = search_vectors(
            [part],
            [None],
            [None],
            query,
            limit,
            row_id=lambda _, row: names[row],
            normalized=self._head.normalized,
        )
        return [(names[row], score) for _, row, score in found]

    def _union(self, terms: Sequence[str]) -> int:
        """How many rows have any of the terms: counted where they are few, else at most this."""
        most = sum(self._state.counts.matching(term) for term in terms)
        if most > _COUNTED_UNION or not self._backend.keeps_terms:
            return most
        found = self._backend.match(self._head.space, by_number(terms), most + 1, None)
        wanted = set(terms)
        return sum(
            not wanted.isdisjoint(row.terms()[0]) for row in self._read([i for i, _ in found])
        )

    # -- the filter

    @cached_property
    def _native(self) -> Native | None:
        """The filter as the database is given it, a residue as the ids that it keeps."""
        native, residue = plan(self._where, self._head.spec, self._head.loose)
        if residue is None:
            return native
        holds = compile_filter(residue, self._head.spec)
        ids = self._backend.select(self._head.space, native)
        rows = held_rows(self._backend, self._head, ids, vectors=False)
        kept = (
            self._head.point(row.id)
            for row, _ in rows
            if holds(chunk_values(row.chunk(self._head.subject, self._head.collection)))
        )
        return OneOf(tuple(kept))

    def _few(self) -> list[str] | None:
        """The kept points when they are so few that each is compared, else None."""
        if self._where is None:
            few = self._state.counts.rows <= _EXACT_ROWS
            return list(self._state.chunks) if few else None
        most = _EXACT_ROWS + 1
        ids = self._backend.select(self._head.space, self._native, most)
        return ids if len(ids) <= _EXACT_ROWS else None

    def _allowed(self) -> list[str]:
        """The chunk ids that the filter keeps."""
        places = self._state.chunks
        return [chunk_id(*places[name]) for name in self.kept_ids()]

    # -- rows

    def _read(self, ids: Sequence[str]) -> list[Row]:
        rows = [row for row, _ in held_rows(self._backend, self._head, ids, vectors=False)]
        self._rows.update((row.id, row) for row in rows)
        return rows

    def _chunks(self, names: Sequence[str]) -> list[Chunk]:
        missing = [self._head.point(name) for name in names if name not in self._rows]
        self._read(missing)
        known = [self._rows[name] for name in names if name in self._rows]
        return [row.chunk(self._head.subject, self._head.collection) for row in known]

    def _decoded(self, ids: Sequence[str]) -> list[Chunk]:
        return [row.chunk(self._head.subject, self._head.collection) for row in self._read(ids)]

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


def _best(scored: Sequence[Scored], limit: int) -> list[Scored]:
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]
