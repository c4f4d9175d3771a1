"""The search side: a ``VectorStore`` over some collections of a subject."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, LiteralString

from psycopg import AsyncConnection

from pincite.errors import StoreCorrupt
from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter, Nothing
from pincite.model.hits import Chunk, Explanation, Hit, Span
from pincite.stores import checks, hybrid
from pincite.stores.aliases import resolve_filter
from pincite.stores.ordering import sort_by_field
from pincite.stores.postgres import legs
from pincite.stores.postgres.explaining import explain
from pincite.stores.postgres.filters import FilterSql, order_sql
from pincite.stores.postgres.keyword import keyword
from pincite.stores.postgres.legs import Leg, Scored, Tuning
from pincite.stores.postgres.packing import pack, unpack
from pincite.stores.postgres.reanalysing import warn_when_stale
from pincite.stores.postgres.record import Record, Totals, read_aliases, read_view
from pincite.stores.postgres.rows import CHUNK_COLUMNS, chunk_from_row
from pincite.text.analysis import default_analyzer

if TYPE_CHECKING:
    from pincite.stores.ports import Target
    from pincite.stores.postgres.layout import Layout
    from pincite.stores.postgres.sessions import Sessions
    from pincite.stores.threaded import QueryEmbedder

__all__ = ["PgVectorStore", "alias_filter"]

_OWN_PLANS: Final = "SELECT set_config('plan_cache_mode', 'force_custom_plan', true)"
"""Which plan is right depends on what a filter keeps."""

_CHUNKS: Final[LiteralString] = " FROM {chunks} c JOIN {documents} d ON d.key = c.document "


@dataclass(frozen=True, slots=True)
class _View:
    """One collection, in one transaction."""

    connection: AsyncConnection[Any]
    layout: Layout
    record: Record
    totals: Totals

    async def leg(self, where: Filter | None) -> Leg:
        """A search with a checked, folded filter."""
        warn_when_stale(self.record)
        if where is not None:
            await self.connection.execute(_OWN_PLANS)
        kept = await self.filter(where)
        return Leg(self.connection, self.layout, self.record, self.totals, kept)

    async def filter(self, where: Filter | None) -> FilterSql:
        """The filter as SQL, old document ids replaced."""
        resolved = await alias_filter(self.connection, self.layout, self.record, where)
        return FilterSql(resolved, self.record.spec)

    async def chunks(self, keys: Sequence[int]) -> list[Chunk]:
        """The chunks of the given keys, in that order."""
        if not keys:
            return []
        cursor = await self.connection.execute(_by_key(self.layout), [list(keys)])
        found = {key: self.chunk(row) for key, *row in await cursor.fetchall()}
        if len(found) < len(set(keys)):
            raise StoreCorrupt(
                f"Chunks of collection {self.record.name!r} have postings but no row; index its"
                " documents again, or restore a backup."
            )
        return [found[key] for key in keys]

    def chunk(self, row: Sequence[Any]) -> Chunk:
        """A chunk from its columns."""
        return chunk_from_row(row, subject=self.record.subject, collection=self.record.name)


@lru_cache(maxsize=64)
def _by_key(layout: Layout) -> bytes:
    template: LiteralString = "SELECT c.key, {columns}" + _CHUNKS + "WHERE c.key = ANY(%s)"
    return layout.sql(template, columns=CHUNK_COLUMNS).as_bytes()


async def alias_filter(
    connection: AsyncConnection[Any], layout: Layout, record: Record, where: Filter | None
) -> Filter | None:
    """The filter with old document ids replaced."""
    if where is None or record.key is None:
        return where
    aliases = await read_aliases(connection, layout, record)
    return resolve_filter(where, {unpack(old): unpack(new) for old, new in aliases.items()})


class PgVectorStore:
    """Collections of a subject; every call sees what was committed before it.

    ``embedder`` lets ``hybrid`` embed a query; without one it raises ``Unconfigured``.
    """

    def __init__(
        self,
        sessions: Sessions,
        subject: str,
        collections: Sequence[str],
        *,
        embedder: QueryEmbedder | None = None,
        tuning: Tuning | None = None,
    ) -> None:
        self._sessions = sessions
        self._subject = subject
        self._collections = tuple(collections)
        self._embedder = embedder
        self._tuning = tuning or Tuning()

    async def hybrid(
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
        if vector is None and self._embedder is not None:
            vector = await self._embedded(
                self._embedder, target, query, limit, where, alpha, offset
            )
            if vector is None:
                return []
        async with self._view(target) as view:
            folded = checks.check_hybrid(
                view.record.spec,
                query=query,
                vector=vector,
                dimension=view.record.dimension,
                limit=limit,
                where=where,
                alpha=alpha,
                offset=offset,
            )
            if isinstance(folded, Nothing):
                return []
            assert vector is not None
            weight = view.record.alpha if alpha is None else alpha
            plan = hybrid.plan(query=query, limit=limit, alpha=weight, vector=vector)
            leg = await view.leg(folded)
            groups = _groups(query, leg.totals) if plan.keyword else ()
            found = await keyword(leg, groups, plan.depth) if plan.keyword else []
            near = await legs.vector(leg, vector, plan.depth, self._tuning) if plan.vector else []
            fused = hybrid.fuse_scored(
                [(_ordered(hit), hit.score) for hit in found],
                [(_ordered(hit), hit.score) for hit in near],
                alpha=plan.alpha,
                limit=limit,
                offset=offset,
            )
            keys = {_ordered(hit): hit.key for hit in (*found, *near)}
            chunks = await view.chunks([keys[each.key] for each in fused])
        return [_fused_hit(chunk, each, groups) for chunk, each in zip(chunks, fused, strict=True)]

    async def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Every kept chunk by the score of its vector, best first, ties by chunk id."""
        async with self._view(target) as view:
            folded = checks.check_near_vector(
                view.record.spec,
                vector=vector,
                dimension=view.record.dimension,
                limit=limit,
                where=where,
            )
            if isinstance(folded, Nothing):
                return []
            leg = await view.leg(folded)
            found = await legs.vector(leg, vector, limit, self._tuning, whole=True)
        return _hits("vector", view, found, ())

    async def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """The kept chunks with a term of the query, best first, ties by chunk id."""
        async with self._view(target) as view:
            folded = checks.check_bm25(view.record.spec, query=query, limit=limit, where=where)
            if isinstance(folded, Nothing):
                return []
            leg = await view.leg(folded)
            groups = _groups(query, leg.totals)
            found = await keyword(leg, groups, limit, whole=True)
        return _hits("keyword", view, found, groups)

    async def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> list[Chunk]:
        """The kept chunks, in reading order or on a stored field."""
        async with self._view(target) as view:
            spec = view.record.spec
            folded = checks.check_fetch(
                spec, limit=limit, where=where, order_by=order_by, descending=descending
            )
            if isinstance(folded, Nothing) or view.record.key is None:
                return []
            if order_by == "text":
                return await _fetch_by_text(view, folded, limit, descending=descending)
            return await _fetch(view, folded, limit, order_by, descending=descending)

    async def fields(self, target: Target) -> FieldSpec:
        """The reserved fields and those declared or inferred."""
        async with self._view(target) as view:
            return view.record.spec

    async def explain(
        self, target: Target, *, query: str, chunks: Sequence[Chunk]
    ) -> list[Explanation]:
        """How each chunk's keyword score comes about; all zero for one that is gone."""
        async with self._view(target) as view:
            leg = await view.leg(None)
            return await explain(leg, _groups(query, leg.totals), [chunk.id for chunk in chunks])

    async def all_chunks(self) -> list[Chunk]:
        """Every chunk of the reader's collections, in reading order."""
        return [
            chunk
            for name in self._collections
            for chunk in await self.fetch(name, limit=checks.MAX_LIMIT)
        ]

    async def _embedded(
        self,
        embedder: QueryEmbedder,
        target: Target,
        query: str,
        limit: int,
        where: Filter | None,
        alpha: float | None,
        offset: int,
    ) -> list[float] | None:
        """The query's vector, None when nothing can be found; a refused call embeds nothing."""
        async with self._view(target) as view:
            folded = checks.check_hybrid(
                view.record.spec,
                query=query,
                vector=None,
                dimension=None,
                limit=limit,
                where=where,
                alpha=alpha,
                offset=offset,
                can_embed=True,
            )
        if isinstance(folded, Nothing) or not query.strip():
            return None
        return [float(value) for value in await embedder.embed_query(query)]

    @asynccontextmanager
    async def _view(self, target: Target) -> AsyncIterator[_View]:
        checks.check_target(target, self._collections)
        async with self._sessions.reading() as connection:
            layout = self._sessions.layout
            found = await read_view(connection, layout, self._subject, target)
            yield _View(connection, layout, *found)


async def _fetch(
    view: _View, where: Filter | None, limit: int, order_by: str | None, *, descending: bool
) -> list[Chunk]:
    kept = await view.filter(where)
    order = order_sql(order_by, view.record.spec, descending=descending) if order_by else None
    query = view.layout.sql(
        "SELECT {columns}"
        + _CHUNKS
        + "WHERE c.collection = %(c)s AND {condition} ORDER BY {order} LIMIT %(limit)s",
        columns=CHUNK_COLUMNS,
        condition=kept.condition,
        order=order or view.layout.sql("d.document, c.chunk_index"),
    )
    parameters = {
        **kept.parameters,
        "c": view.record.key,
        "by": pack(order_by or ""),
        "limit": limit,
    }
    cursor = await view.connection.execute(query, parameters)
    return [view.chunk(row) for row in await cursor.fetchall()]


async def _fetch_by_text(
    view: _View, where: Filter | None, limit: int, *, descending: bool
) -> list[Chunk]:
    chunks = await _fetch(view, where, checks.MAX_LIMIT, None, descending=False)
    return sort_by_field(
        chunks,
        "text",
        view.record.spec,
        values=lambda chunk: {"text": chunk.content},
        chunk_id=lambda chunk: chunk.id,
        descending=descending,
    )[:limit]


def _groups(query: str, totals: Totals) -> tuple[tuple[str, ...], ...]:
    if not query.strip():
        return ()
    return default_analyzer().query_groups(query, totals.languages, repeats=True)


def _ordered(hit: Scored) -> tuple[str, str]:
    return (unpack(hit.id), "")


def _hits(
    leg: str, view: _View, found: Sequence[Scored], groups: Sequence[tuple[str, ...]]
) -> list[Hit]:
    chunks = [view.chunk(each.row) for each in found]
    return [
        hybrid.leg_hit(leg, chunk, each.score, rank, _marked(chunk, groups))
        for rank, (chunk, each) in enumerate(zip(chunks, found, strict=True), start=1)
    ]


def _fused_hit(
    chunk: Chunk, fused: hybrid.Fused[tuple[str, str]], groups: Sequence[tuple[str, ...]]
) -> Hit:
    marked = _marked(chunk, groups) if "keyword" in fused.legs else ()
    spans = tuple((chunk.start_char + a, chunk.start_char + b) for a, b in marked)
    return Hit(chunk, fused.score, fused.rank, fused.legs, marked, spans, "hybrid")


def _marked(chunk: Chunk, groups: Sequence[tuple[str, ...]]) -> tuple[Span, ...]:
    if not groups:
        return ()
    return tuple(default_analyzer().highlights(chunk.content, groups, chunk.language))
