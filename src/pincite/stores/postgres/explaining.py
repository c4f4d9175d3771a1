"""Why a chunk has the keyword score it has."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Final, LiteralString

import numpy as np

from pincite.bm25.formulas import Bm25Parameters, idf
from pincite.bm25.search import Group
from pincite.model.hits import Explanation, TermScore
from pincite.stores.postgres.keyword import Found, find
from pincite.stores.postgres.legs import Leg
from pincite.stores.postgres.packing import pack, unpack

__all__ = ["explain"]

_LENGTHS: Final[LiteralString] = (
    "SELECT id, key, length FROM {chunks} WHERE collection = %(c)s AND id = ANY(%(ids)s)"
)


async def explain(leg: Leg, groups: Sequence[Group], ids: Sequence[str]) -> list[Explanation]:
    """How each chunk's score comes about, in the order of ``ids``; all zero when it is gone."""
    found = await find(leg, groups)
    rows = await leg.run(leg.layout.sql(_LENGTHS), {"ids": [pack(name) for name in ids]})
    known = {unpack(name): (key, length) for name, key, length in rows}
    return [_explained(leg, found, *known.get(name, (None, 0))) for name in ids]


def _explained(leg: Leg, found: Sequence[Found], key: int | None, length: int) -> Explanation:
    totals = leg.totals
    if key is None:
        return Explanation(0.0, (), totals.chunks, totals.average)
    terms = []
    for group, count, postings in found:
        tf = int(postings.tfs[postings.keys == key].sum())
        weight = idf(totals.chunks, len(postings.keys))
        part = count * weight * _factor(tf, length, totals.average) if tf else 0.0
        terms.append(TermScore(group, tf, len(postings.keys), weight, length, part, count))
    # From left to right, as the search adds; the built-in sum compensates on newer Pythons.
    total = functools.reduce(operator.add, (term.contribution for term in terms), 0.0)
    return Explanation(float(np.float32(total)), tuple(terms), totals.chunks, totals.average)


def _factor(tf: int, length: int, average: float) -> float:
    counts = np.array([tf], dtype=np.uint32), np.array([length], dtype=np.uint32)
    return float(Bm25Parameters().factors(*counts, average)[0])
