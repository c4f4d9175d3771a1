"""The keyword leg: postings read from the database, scored here.

The server hands out the blocks that may hold the query's terms, and the chunks that are gone
since, in one statement; the formulas are those of ``bm25.formulas``, over the counts of one state
of the store. A filter is answered by the server, for the best candidates or for all chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, LiteralString, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.kernels import rounded
from pincite.bm25.search import Group, in_order
from pincite.segments.ranking import at_least_kth
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.legs import DOCUMENTS_OF, Leg, Scored
from pincite.stores.postgres.postings import Block, Postings, keys_of, union, word_of
from pincite.stores.postgres.rows import CHUNK_COLUMNS

__all__ = ["Found", "find", "keyword"]

_DENSE: Final = 1_000_000
_SPARSE: Final = 8
"""Scores are kept in an array over all keys from the lowest to the highest, unless there are more
than these, and more than so many for each posting."""

_CANDIDATES: Final = 400
"""How many of the best are looked up under a filter before all that it keeps are asked for."""

# OFFSET 0 keeps each a look-up by its key: how many there are is nothing the planner could know.
_BLOCKS: Final[LiteralString] = """
WITH place AS MATERIALIZED (
    SELECT p.segment, p.first, array_agg(w.n - 1) AS wanted
    FROM unnest(%(words)s::bytea[]) WITH ORDINALITY w(word, n)
    CROSS JOIN (SELECT key FROM {segments} WHERE collection = %(c)s) s
    CROSS JOIN LATERAL (SELECT segment, first FROM {postings}
        WHERE segment = s.key AND first <= w.word ORDER BY first DESC LIMIT 1) p
    GROUP BY p.segment, p.first)
SELECT place.wanted, b.words, b.data FROM place CROSS JOIN LATERAL (
    SELECT words, data FROM {postings} WHERE segment = place.segment AND first = place.first
    OFFSET 0) b
UNION ALL SELECT NULL, NULL, keys FROM {gone} WHERE collection = %(c)s"""

_CANDIDATE_ROWS: Final[LiteralString] = """
SELECT c.id, c.key, c.score::float8{columns} FROM (
    SELECT c.*, u.score FROM unnest(%(keys)s::bigint[], %(scores)s::float4[]) u(key, score)
    CROSS JOIN LATERAL (SELECT * FROM {chunks} WHERE key = u.key OFFSET 0) c
    WHERE """

_IN_ORDER: Final[LiteralString] = """ ORDER BY u.score DESC, c.id LIMIT %(limit)s) c{documents_of}
ORDER BY c.score DESC, c.id"""

_KEPT: Final[LiteralString] = (
    "SELECT string_agg(int8send(c.key), '') FROM {chunks} c"
    " WHERE c.collection = %(c)s AND {condition}"
)


class Found(NamedTuple):
    """A group of synonyms, how often the query says it, and its live postings."""

    group: Group
    repeats: int
    postings: Postings


async def find(leg: Leg, groups: Sequence[Group]) -> list[Found]:
    """The postings of each distinct group, in dictionary order; df is their number."""
    ordered = in_order(groups)
    words = sorted({word_of(term) for group, _ in ordered for term in group})
    if not words or leg.record.key is None:
        return [Found(group, count, union([])) for group, count in ordered]
    rows = await leg.run(leg.layout.fixed(_BLOCKS), {"words": words}, binary=True)
    gone = keys_of(keys for wanted, _, keys in rows if wanted is None)
    postings: dict[bytes, list[Postings]] = {word: [] for word in words}
    for wanted, held, data in rows:
        if wanted is not None:
            block = Block(held, data)
            for number in wanted:
                postings[words[number]].append(block.find(words[number]))
    found = []
    for group, count in ordered:
        each = union([held for term in group for held in postings[word_of(term)]])
        if len(gone):
            each = each.at(~np.isin(each.keys, gone))
        found.append(Found(group, count, each))
    return found


async def keyword(
    leg: Leg, groups: Sequence[Group], limit: int, *, whole: bool = False
) -> list[Scored]:
    """The chunks with a term of the query, by BM25, ties by id.

    A group of synonyms is one term, and counts as often as it is given.
    ``whole`` brings the rows of the chunks along.
    """
    keys, scores = score(
        await find(leg, groups), rows=leg.totals.chunks, average=leg.totals.average
    )
    if not len(keys):
        return []
    if not leg.where.restricts:
        return await _best(leg, keys, scores, limit, limit, whole=whole)
    most = max(_CANDIDATES, 4 * limit)
    found = await _best(leg, keys, scores, limit, most, whole=whole)
    if len(found) == limit or len(keys) <= most:
        return found
    query = leg.layout.sql(_KEPT, condition=leg.where.condition)
    ((kept,),) = await leg.run(query, {}, binary=True)
    among = np.isin(keys, keys_of([kept] if kept else []))
    return await _best(leg, keys[among], scores[among], limit, limit, whole=whole)


def score(
    found: Iterable[Found], *, rows: int, average: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Every chunk with a term, and its score, summed in the order of the groups."""
    held = [each for each in found if len(each.postings.keys)]
    if not held:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    low, known, places = _places([each.postings.keys for each in held])
    size = max(int(place.max()) for place in places) + 1
    scores = np.zeros(size, dtype=np.float64)
    parameters = Bm25Parameters()
    for (_, count, (keys, tfs, lengths)), place in zip(held, places, strict=True):
        weight = count * idf(rows, len(keys))
        scores[place] += weight * parameters.factors(tfs, lengths, average)
    touched = np.flatnonzero(scores)
    return touched + low if known is None else known[touched], rounded(scores[touched])


def _places(
    keys: Sequence[NDArray[np.int64]],
) -> tuple[int, NDArray[np.int64] | None, list[NDArray[np.int64]]]:
    """Where each key has its place: above the lowest, or among all that there are."""
    low = min(int(each.min()) for each in keys)
    span = max(int(each.max()) for each in keys) - low + 1
    if span <= max(_DENSE, _SPARSE * sum(map(len, keys))):
        return low, None, [each - low for each in keys]
    known = np.unique(np.concatenate(keys))
    return 0, known, [np.searchsorted(known, each) for each in keys]


async def _best(
    leg: Leg,
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    limit: int,
    most: int,
    *,
    whole: bool,
) -> list[Scored]:
    """The best of the first ``most`` chunks (and those equal to the last) that the filter
    keeps."""
    reached = at_least_kth(scores, most)
    given = {"keys": keys[reached].tolist(), "scores": scores[reached].tolist(), "limit": limit}
    before, after = _best_sql(leg.layout, whole=whole)
    rows = await leg.run(before + leg.where.condition.as_bytes() + after, given)
    return [Scored(name, key, score, tuple(row)) for name, key, score, *row in rows]


@lru_cache(maxsize=64)
def _best_sql(layout: Layout, *, whole: bool) -> tuple[bytes, bytes]:
    """What stands before and after the filter's condition."""
    columns = sql.SQL(", ") + CHUNK_COLUMNS if whole else sql.SQL("")
    documents_of = layout.sql(DOCUMENTS_OF) if whole else sql.SQL("")
    before = layout.sql(_CANDIDATE_ROWS, columns=columns)
    return before.as_bytes(), layout.sql(_IN_ORDER, documents_of=documents_of).as_bytes()
