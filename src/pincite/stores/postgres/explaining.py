"""Why a chunk has the keyword score it has."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Final, LiteralString

import numpy as np

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.search import Group, in_order
from pincite.model.hits import Explanation, TermScore
from pincite.stores.postgres.legs import Leg, found_sql
from pincite.stores.postgres.packing import pack, unpack

__all__ = ["explain"]

_FREQUENCIES: Final[LiteralString] = """
WITH {found} SELECT g, count(*)::int, NULL, NULL::int FROM found GROUP BY g
UNION ALL SELECT f.g, NULL, c.id, f.tf::int FROM found f JOIN {chunks} c ON c.key = f.chunk
WHERE c.collection = %(c)s AND c.id = ANY(%(ids)s)"""

_LENGTHS: Final[LiteralString] = (
    "SELECT id, length FROM {chunks} WHERE collection = %(c)s AND id = ANY(%(ids)s)"
)


async def explain(leg: Leg, groups: Sequence[Group], ids: Sequence[str]) -> list[Explanation]:
    """How each chunk's score comes about, in the order of ``ids``; all zero when it is gone."""
    totals = leg.totals
    ordered = in_order(groups)
    given = {"ids": [pack(name) for name in ids]}
    lengths = {unpack(name): n for name, n in await leg.run(leg.layout.sql(_LENGTHS), given)}
    found, wanted = found_sql(leg.layout, [group for group, _ in ordered])
    rows = await leg.run(leg.layout.sql(_FREQUENCIES, found=found), {**wanted, **given})
    matching = {g: n for g, n, name, _ in rows if name is None}
    frequencies = {(unpack(name), g): tf for g, _, name, tf in rows if name is not None}
    explained = []
    for name in ids:
        if name not in lengths:
            explained.append(Explanation(0.0, (), totals.chunks, totals.average))
            continue
        tfs = {g: frequencies.get((name, g), 0) for g in range(len(ordered))}
        explained.append(_explained(leg, ordered, matching, tfs, lengths[name]))
    return explained


def _explained(
    leg: Leg,
    ordered: Sequence[tuple[Group, int]],
    matching: Mapping[int, int],
    tfs: Mapping[int, int],
    length: int,
) -> Explanation:
    totals = leg.totals
    terms = []
    for g, (group, count) in enumerate(ordered):
        weight = idf(totals.chunks, matching.get(g, 0))
        part = count * weight * _factor(tfs[g], length, totals.average) if tfs[g] else 0.0
        terms.append(TermScore(group, tfs[g], matching.get(g, 0), weight, length, part, count))
    # From left to right, as the search adds; the built-in sum compensates on newer Pythons.
    total = functools.reduce(operator.add, (term.contribution for term in terms), 0.0)
    return Explanation(float(np.float32(total)), tuple(terms), totals.chunks, totals.average)


def _factor(tf: int, length: int, average: float) -> float:
    counts = np.array([tf], dtype=np.uint32), np.array([length], dtype=np.uint32)
    return float(Bm25Parameters().factors(*counts, average)[0])
