"""The two legs in SQL: keys and scores, best first, on one state of the store.

Keyword: the postings of the query's terms are read by their index, term by term; their number is
df. Vector: an exact scan, or candidates of the index on the vectors of a large collection, scored
exactly again. A filter is part of the candidates' own query on both, never applied to a result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, sql

from pincite.bm25.formulas import Bm25Parameters
from pincite.dense.search import prepare_query
from pincite.stores.postgres.filters import FilterSql
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.packing import pack_term
from pincite.stores.postgres.record import Record, Totals

__all__ = ["INDEXABLE", "Leg", "Scored", "Tuning", "distance_sql", "keyword", "vector"]

INDEXABLE: Final = 4_000
"""Dimensions up to which pgvector can index half-precision vectors."""

_MOST_CANDIDATES: Final = 1_000

Scored = tuple[str, int, float]
"""Packed chunk id, key, score."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """When the vectors' index is made and used: a search whose filter keeps at most
    ``exact_rows`` scans them all; a collection gets an index from ``index_rows`` chunks on."""

    exact_rows: int = 20_000
    index_rows: int = 50_000


@dataclass(frozen=True, slots=True)
class Leg:
    """One search of one collection, in a transaction."""

    connection: AsyncConnection[Any]
    layout: Layout
    record: Record
    totals: Totals
    where: FilterSql

    async def run(self, query: sql.Composed, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a statement with the filter's parameters and the collection as ``c``."""
        bound = {**self.where.parameters, "c": self.record.key, **parameters}
        cursor = await self.connection.execute(query, bound)
        rows: list[tuple[Any, ...]] = await cursor.fetchall()
        return rows


# The rows that reach the k-th score, ties and all, are few; only those are put in order.
_BEST: Final[LiteralString] = """
SELECT c.id, s.key, s.score FROM scored s JOIN {chunks} c ON c.key = s.key
WHERE s.score >= coalesce(
    (SELECT score FROM scored ORDER BY score DESC OFFSET %(limit)s - 1 LIMIT 1), '-infinity')
ORDER BY s.score DESC, c.id LIMIT %(limit)s"""

# OFFSET 0 keeps each term a search of its own in the index of the postings.
_KEYWORD: Final[LiteralString] = """
WITH wanted AS MATERIALIZED (SELECT * FROM unnest(%(groups)s::int[], %(terms)s::text[]) w(g, term)),
found AS MATERIALIZED (
    {found}),
weights AS MATERIALIZED (
    SELECT g, (%(counts)s::int[])[g + 1] * ln(
        1 + (%(rows)s::float8 - count(*) + 0.5::float8) / (count(*) + 0.5::float8)) AS idf
    FROM found GROUP BY g),
summed AS (
    SELECT f.chunk AS key, sum(w.idf * (%(k1)s::float8 + 1) * (f.tf / (f.tf + %(k1)s::float8 *
        (1 - %(b)s::float8 + %(b)s::float8 * (f.length / %(average)s::float8))))) AS score
    FROM found f JOIN weights w USING (g) GROUP BY f.chunk),
scored AS MATERIALIZED (SELECT s.key, s.score::float4 AS score FROM summed s {kept})"""

_EACH: Final[LiteralString] = """SELECT w.g, p.chunk, p.tf::float8, p.length::float8
    FROM wanted w CROSS JOIN LATERAL (
        SELECT chunk, tf, length FROM {postings} WHERE collection = %(c)s AND term = w.term
        OFFSET 0) p"""

_SUMMED: Final[LiteralString] = """SELECT w.g, p.chunk, sum(p.tf)::float8 AS tf,
        max(p.length)::float8 AS length
    FROM wanted w CROSS JOIN LATERAL (
        SELECT chunk, tf, length FROM {postings} WHERE collection = %(c)s AND term = w.term
        OFFSET 0) p GROUP BY w.g, p.chunk"""

_KEPT: Final[LiteralString] = (
    "JOIN {chunks} c ON c.key = s.key WHERE c.collection = %(c)s AND {condition}"
)


async def keyword(leg: Leg, groups: Sequence[tuple[str, ...]], limit: int) -> list[Scored]:
    """The chunks with a term of the query, by BM25; the formulas are those of ``bm25.formulas``.

    A group of synonyms is one term, and counts as often as it is given.
    """
    counted = Counter(tuple(sorted(set(group))) for group in groups if group)
    ordered = sorted(counted.items())
    numbers = [number for number, (group, _) in enumerate(ordered) for _ in group]
    if not numbers:
        return []
    single = len(numbers) == len(ordered)
    kept = leg.layout.sql(_KEPT, condition=leg.where.condition)
    query = leg.layout.sql(
        _KEYWORD,
        found=leg.layout.sql(_EACH if single else _SUMMED),
        kept=kept if leg.where.restricts else sql.SQL(""),
    ) + leg.layout.sql(_BEST)
    parameters = Bm25Parameters()
    return [
        (name, key, score)
        for name, key, score in await leg.run(
            query,
            {
                "groups": numbers,
                "terms": [pack_term(term) for group, _ in ordered for term in group],
                "counts": [count for _, count in ordered],
                "rows": leg.totals.chunks,
                "average": leg.totals.average,
                "k1": parameters.k1,
                "b": parameters.b,
                "limit": limit,
            },
        )
    ]


_CANDIDATES: Final[LiteralString] = (
    "SELECT c.key, c.embedding FROM {chunks} c WHERE c.collection = {collection} AND {condition}"
)

_SCORED: Final[LiteralString] = """
WITH kept AS MATERIALIZED ({candidates}),
scored AS MATERIALIZED (SELECT key, {score}::float4 AS score FROM kept)"""

_COUNT: Final[LiteralString] = (
    "SELECT count(*) FROM (SELECT FROM {chunks} c"
    " WHERE c.collection = %(c)s AND {condition} LIMIT %(most)s + 1) s"
)


async def vector(leg: Leg, query: Sequence[float], limit: int, tuning: Tuning) -> list[Scored]:
    """The kept chunks by the score of their vector, exact up to ``tuning.exact_rows``."""
    if leg.record.dimension is None or not leg.totals.chunks:
        return []
    unit = prepare_query(query, normalized=leg.record.normalized)
    given = {"q": "[" + ",".join(map(str, unit.tolist())) + "]", "limit": limit}
    if leg.totals.indexed and not await _is_small(leg, max(tuning.exact_rows, limit)):
        found = await _indexed(leg, given, limit)
        if len(found) == limit:
            return found
    return await _scan(leg, sql.SQL(""), given)


async def _is_small(leg: Leg, most: int) -> bool:
    """Whether the filter keeps at most ``most`` chunks."""
    if leg.totals.chunks <= most or not leg.where.restricts:
        return leg.totals.chunks <= most
    query = leg.layout.sql(_COUNT, condition=leg.where.condition)
    return bool((await leg.run(query, {"most": most}))[0][0] <= most)


async def _indexed(leg: Leg, given: dict[str, Any], limit: int) -> list[Scored]:
    """Candidates by the index, which knows half-precision queries only, then scored exactly.

    Under a filter the index may return fewer than there are, and the caller scans.
    """
    count = min(_MOST_CANDIDATES, 2 * limit + 50)
    await leg.connection.execute(
        "SELECT set_config('hnsw.ef_search', %s, true),"
        " set_config('hnsw.iterative_scan', 'relaxed_order', true)",
        [str(count)],
    )
    nearest = leg.layout.sql(
        " ORDER BY {distance} LIMIT %(candidates)s",
        distance=distance_sql(leg.layout, leg.record.dimension, sql.SQL("%(q)s")),
    )
    return await _scan(leg, nearest, {**given, "candidates": max(count, limit)})


async def _scan(leg: Leg, tail: sql.Composable, given: dict[str, Any]) -> list[Scored]:
    score: LiteralString = "-(embedding::{v}.vector OPERATOR({v}.<#>) %(q)s::{v}.vector)"
    if leg.record.normalized:
        # A unit row rounded to float16 can be a little longer than 1.
        score = "greatest(-1, least(1, " + score + "))"
    candidates = leg.layout.sql(
        _CANDIDATES, collection=sql.Literal(leg.record.key), condition=leg.where.condition
    )
    query = leg.layout.sql(
        _SCORED, candidates=candidates + tail, score=leg.layout.sql("(" + score + ")")
    ) + leg.layout.sql(_BEST)
    return [(name, key, value) for name, key, value in await leg.run(query, given)]


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
