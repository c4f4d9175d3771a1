"""Scores straight from their formulas, row by row: the oracle that engines are compared with.

Nothing here is shared with ``pincite.bm25`` or ``pincite.dense``, on purpose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Counted", "bm25_scores", "vector_rows", "vector_scores"]

Groups = Sequence[tuple[str, ...]]


class Counted(NamedTuple):
    """One text: how often each term occurs in it, and its length in terms."""

    terms: Mapping[str, int]
    length: int


def bm25_scores(
    texts: Sequence[Counted], groups: Groups, *, k1: float = 1.2, b: float = 0.75
) -> dict[int, float]:
    """The BM25 score of each text that matches, by its place in ``texts``, rounded to float32.

    ``idf = ln(1 + (N - n + 0.5) / (n + 0.5))``, term factor
    ``f (k1 + 1) / (f + k1 (1 - b + b |d| / avgdl))``: Robertson and Zaragoza, "The Probabilistic
    Relevance Framework: BM25 and Beyond", 2009, with the 1 in the logarithm that keeps a term of
    every text positive. A group is one term: n counts the texts with any of its words and f sums
    them; given twice, it counts twice. Groups are summed in dictionary order.
    """
    count = len(texts)
    average = sum(text.length for text in texts) / count if count else 0.0
    scores: dict[int, float] = {}
    given = Counter(tuple(sorted(set(group))) for group in groups)
    for group, times in sorted(given.items()):
        frequencies = {
            place: f
            for place, text in enumerate(texts)
            if (f := sum(text.terms.get(term, 0) for term in group))
        }
        n = len(frequencies)
        weight = times * math.log(1 + (count - n + 0.5) / (n + 0.5))
        for place, f in frequencies.items():
            relative = texts[place].length / average if average else 0.0
            factor = f * (k1 + 1) / (f + k1 * (1 - b + b * relative))
            scores[place] = scores.get(place, 0.0) + weight * factor
    return {place: float(np.float32(score)) for place, score in scores.items()}


def vector_rows(vectors: NDArray[np.float32], *, cosine: bool = True) -> NDArray[np.float16]:
    """Vectors as they are stored: of unit length where the score is a cosine, then float16.

    What was stored before, float16 of that length, stays bit for bit.
    """
    wide = np.asarray(vectors, dtype=np.float64)
    if (given := np.asarray(vectors)).dtype == np.float16:
        lengths = np.linalg.norm(wide, axis=1)
        if np.all(abs(lengths - (lengths > 0)) < 2**-10):
            return np.asarray(given, dtype=np.float16)
    return (_unit(wide) if cosine else wide).astype(np.float16)


def vector_scores(
    rows: Iterable[NDArray[np.float16]], vector: Sequence[float], *, cosine: bool = True
) -> list[float]:
    """The cosine in [-1, 1] (or the raw dot product) of each stored row with the query."""
    given = np.asarray([vector], dtype=np.float64)
    query = (_unit(given) if cosine else given)[0].astype(np.float32).astype(np.float64)
    scores = [float(row.astype(np.float64) @ query) for row in rows]
    # A unit row rounded to float16 can be a little longer than 1.
    return [float(np.float32(min(1.0, max(-1.0, s)) if cosine else s)) for s in scores]


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length 1; by the largest value first, so that no square overflows."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    rows = rows / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = rows / np.where(lengths > 0, lengths, 1.0)
    return unit
