"""The keyword leg: postings read from the database, scored here.

The server hands out the blocks that may hold the query's terms, and the chunks that are gone
since, in one statement; the formulas are those of ``bm25.formulas``, over the counts of one state
of the store. A filter is answered by the server, for the best candidates or for all chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, LiteralString, NamedTuple

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.kernels import rounded
from pincite.bm25.search import Group, in_order
from pincite.segments.ranking import at_least_kth
from pincite.stores.postgres.legs import Leg, Scored, best
from pincite.stores.postgres.postings import Block, Postings, keys_of, union, word_of

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
    SELECT DISTINCT p.segment, p.first FROM unnest(%(words)s::bytea[]) w(word)
    CROSS JOIN (SELECT key FROM {segments} WHERE collection = %(c)s) s
    CROSS JOIN LATERAL (SELECT segment, first FROM {postings}
        WHERE segment = s.key AND first <= w.word ORDER BY first DESC LIMIT 1) p)
SELECT b.words, b.data FROM place CROSS JOIN LATERAL (
    SELECT words, data FROM {postings} WHERE segment = place.segment AND first = place.first
    OFFSET 0) b
UNION ALL SELECT NULL, keys FROM {gone} WHERE collection = %(c)s"""

_GIVEN: Final[LiteralString] = """
WITH scored AS MATERIALIZED (
    SELECT * FROM unnest(%(keys)s::bigint[], %(scores)s::float4[]) u(key, score))"""

_GIVEN_KEPT: Final[LiteralString] = """
WITH scored AS MATERIALIZED (
    SELECT u.key, u.score FROM unnest(%(keys)s::bigint[], %(scores)s::float4[]) u(key, score)
    CROSS JOIN LATERAL (SELECT * FROM {chunks} WHERE key = u.key OFFSET 0) c WHERE {condition})"""

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
    gone = keys_of(keys for held, keys in rows if held is None)
    blocks = [Block(held, data) for held, data in rows if held is not None]
    postings = {word: [block.find(word) for block in blocks] for word in words}
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
        return await _best(leg, keys, scores, limit, whole=whole)
    most = max(_CANDIDATES, 4 * limit)
    found = await _best(leg, keys, scores, limit, depth=most, whole=whole)
    if len(found) == limit or len(keys) <= most:
        return found
    query = leg.layout.sql(_KEPT, condition=leg.where.condition)
    ((kept,),) = await leg.run(query, {}, binary=True)
    among = np.isin(keys, keys_of([kept] if kept else []))
    if not among.any():
        return []
    return await _best(leg, keys[among], scores[among], limit, whole=whole)


def score(
    found: Iterable[Found], *, rows: int, average: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Every chunk with a term, and its score, summed in the order of the groups."""
    held = [each for each in found if len(each.postings.keys)]
    if not held:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
    known, places = _places([each.postings.keys for each in held])
    scores = np.zeros(len(known), dtype=np.float64)
    parameters = Bm25Parameters()
    for (_, count, (keys, tfs, lengths)), place in zip(held, places, strict=True):
        weight = count * idf(rows, len(keys))
        scores[place] += weight * parameters.factors(tfs, lengths, average)
    touched = np.flatnonzero(scores)
    return known[touched], rounded(scores[touched])


def _places(
    keys: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Keys in ascending order, among them all of ``keys``, and where those stand."""
    low = min(int(each.min()) for each in keys)
    span = max(int(each.max()) for each in keys) - low + 1
    if span <= max(_DENSE, _SPARSE * sum(map(len, keys))):
        return np.arange(low, low + span), [each - low for each in keys]
    known = np.unique(np.concatenate(keys))
    return known, [np.searchsorted(known, each) for each in keys]


async def _best(
    leg: Leg,
    keys: NDArray[np.int64],
    scores: NDArray[np.float32],
    limit: int,
    *,
    depth: int | None = None,
    whole: bool,
) -> list[Scored]:
    """The best of the chunks; with ``depth``, of those of the first so many that the filter
    keeps."""
    reached = at_least_kth(scores, depth or limit)
    given: dict[str, Any] = {
        "keys": keys[reached].tolist(),
        "scores": scores[reached].tolist(),
        "limit": limit,
    }
    if depth is None:
        return await best(leg, leg.layout.fixed(_GIVEN), given, whole=whole)
    scored: sql.Composed = leg.layout.sql(_GIVEN_KEPT, condition=leg.where.condition)
    return await best(leg, scored, given, whole=whole)
