"""What both legs share, and the vector leg: keys and scores, best first, on one state of the store.

Vectors: an exact scan, or candidates of the index on the vectors of a large collection, scored
exactly again. A filter is part of the candidates' own query, never applied to a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, LiteralString, NamedTuple

from psycopg import AsyncConnection, sql

from pincite.dense.search import prepare_query
from pincite.stores.postgres.filters import FilterSql
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.record import Record, Totals
from pincite.stores.postgres.rows import CHUNK_COLUMNS

__all__ = ["DOCUMENTS_OF", "INDEXABLE", "Leg", "Scored", "Tuning", "distance_sql", "vector"]

INDEXABLE: Final = 4_000
"""Dimensions up to which pgvector can index half-precision vectors."""

_LEAST_CANDIDATES: Final = 400
_MOST_CANDIDATES: Final = 1_000


class Scored(NamedTuple):
    """A chunk that was found; ``row`` are the ``CHUNK_COLUMNS`` where they were asked for."""

    id: str
    key: int
    score: float
    row: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Tuning:
    """When the vectors' index is made and used: a search whose filter keeps at most
    ``exact_rows`` scans them all; a collection gets an index from ``index_rows`` chunks on, but
    not while commits follow each other by less than ``burst_seconds``."""

    exact_rows: int = 20_000
    index_rows: int = 50_000
    burst_seconds: float = 60


@dataclass(frozen=True, slots=True)
class Leg:
    """One search of one collection, in a transaction."""

    connection: AsyncConnection[Any]
    layout: Layout
    record: Record
    totals: Totals
    where: FilterSql

    async def run(
        self, query: sql.Composed | bytes, parameters: dict[str, Any], *, binary: bool = False
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement with the filter's parameters and the collection as ``c``."""
        bound = {**self.where.parameters, "c": self.record.key, **parameters}
        cursor = await self.connection.execute(query, bound, binary=binary)
        rows: list[tuple[Any, ...]] = await cursor.fetchall()
        return rows


# The rows that reach the k-th score, ties and all, are few; only those are put in order. OFFSET 0
# keeps each a look-up by its key: how many there are is nothing that the planner could know.
_BEST: Final[LiteralString] = """
SELECT (SELECT count(*) FROM scored), c.id, s.key, s.score::float8{columns} FROM scored s
CROSS JOIN LATERAL (SELECT * FROM {chunks} WHERE key = s.key OFFSET 0) c{documents_of}
WHERE s.score >= coalesce(
    (SELECT score FROM scored ORDER BY score DESC OFFSET %(limit)s - 1 LIMIT 1), '-infinity')
ORDER BY s.score DESC, c.id LIMIT %(limit)s"""

DOCUMENTS_OF: Final[LiteralString] = """
CROSS JOIN LATERAL (SELECT * FROM {documents} WHERE key = c.document OFFSET 0) d"""

_FROM_KEPT: Final[LiteralString] = (
    " FROM {chunks} c WHERE c.collection = {collection} AND {condition}"
)

# Nothing here is in the order of a distance, so that no index on vectors can be chosen.
_EXACT: Final[LiteralString] = """
WITH scored AS MATERIALIZED (SELECT c.key, {score}::float4 AS score{kept})"""

_EXACT_IF_FEW: Final[LiteralString] = """
WITH scored AS MATERIALIZED (SELECT c.key, {score}::float4 AS score FROM (
    SELECT c.key, c.embedding{kept} LIMIT %(most)s + 1) c)"""

_NEAREST: Final[LiteralString] = """
WITH near AS MATERIALIZED (
    SELECT c.key, c.embedding{kept} ORDER BY {distance} LIMIT %(candidates)s),
scored AS MATERIALIZED (SELECT c.key, {score}::float4 AS score FROM near c)"""


async def vector(
    leg: Leg, query: Sequence[float], limit: int, tuning: Tuning, *, whole: bool = False
) -> list[Scored]:
    """The kept chunks by the score of their vector, exact up to ``tuning.exact_rows``."""
    if leg.record.dimension is None or not leg.totals.chunks:
        return []
    unit = prepare_query(query, normalized=leg.record.normalized)
    given = {"q": "[" + ",".join(map(str, unit.tolist())) + "]", "limit": limit}
    parts = {"kept": _kept(leg), "score": _score(leg)}
    most = max(tuning.exact_rows, limit)
    if leg.totals.indexed and leg.totals.chunks > most:
        if leg.where.restricts:
            few = leg.layout.sql(_EXACT_IF_FEW, **parts)
            found, count = await _best(leg, few, {**given, "most": most}, whole=whole)
            if count <= most:
                return found
        found = await _indexed(leg, given, limit, whole=whole)
        if len(found) == limit:
            return found
    found, _ = await _best(leg, leg.layout.sql(_EXACT, **parts), given, whole=whole)
    return found


async def _indexed(leg: Leg, given: dict[str, Any], limit: int, *, whole: bool) -> list[Scored]:
    """Candidates by the index, which knows half-precision queries only, then scored exactly.

    Under a filter the index may return fewer than there are, and the caller scans.
    """
    count = min(_MOST_CANDIDATES, max(_LEAST_CANDIDATES, 4 * limit))
    await leg.connection.execute(
        "SELECT set_config('hnsw.ef_search', %s, true),"
        " set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        [str(count)],
    )
    query = leg.layout.sql(
        _NEAREST,
        kept=_kept(leg),
        distance=distance_sql(leg.layout, leg.record.dimension, sql.SQL("%(q)s")),
        score=_score(leg),
    )
    found, _ = await _best(leg, query, {**given, "candidates": max(count, limit)}, whole=whole)
    return found


def _kept(leg: Leg) -> sql.Composed:
    return leg.layout.sql(
        _FROM_KEPT, collection=sql.Literal(leg.record.key), condition=leg.where.condition
    )


def _score(leg: Leg) -> sql.Composed:
    score: LiteralString = "-(c.embedding::{v}.vector OPERATOR({v}.<#>) %(q)s::{v}.vector)"
    if leg.record.normalized:
        # A unit row rounded to float16 can be a little longer than 1.
        score = "greatest(-1, least(1, " + score + "))"
    return leg.layout.sql("(" + score + ")")


async def _best(
    leg: Leg, scored: sql.Composed, given: dict[str, Any], *, whole: bool
) -> tuple[list[Scored], int]:
    """The best of the rows that ``scored`` gives, ties by id, and how many it gives."""
    query = scored.as_bytes() + _best_sql(leg.layout, whole=whole)
    rows = await leg.run(query, given)
    found = [Scored(name, key, score, tuple(row)) for _, name, key, score, *row in rows]
    return found, rows[0][0] if rows else 0


@lru_cache(maxsize=64)
def _best_sql(layout: Layout, *, whole: bool) -> bytes:
    return layout.sql(
        _BEST,
        columns=sql.SQL(", ") + CHUNK_COLUMNS if whole else sql.SQL(""),
        documents_of=layout.sql(DOCUMENTS_OF) if whole else sql.SQL(""),
    ).as_bytes()


def distance_sql(layout: Layout, dimension: int | None, query: sql.Composable | None = None) -> Any:
    """What the index on vectors of this dimension holds; with ``query``, the distance to it."""
    column = layout.sql("embedding::{v}.halfvec({d})", d=sql.Literal(dimension))
    if query is None:
        return column
    return layout.sql(
        "({column}) OPERATOR({v}.<#>) {q}::{v}.halfvec({d})",
        column=column,
        q=query,
        d=sql.Literal(dimension),
    )
