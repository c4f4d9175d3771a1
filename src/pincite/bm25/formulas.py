"""The formulas of BM25: one inverse document frequency, three term factors.

Every function is pure and takes numbers or float64 arrays alike. A score is the sum over the
query's terms of ``idf * factor``; both are positive, so every match scores above zero.
"""

from __future__ import annotations

from pincite.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:  # a process that only searches natively does without them
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    import numpy as np
    from numpy.typing import NDArray

    Number = TypeVar("Number", float, NDArray[np.float64])
    Factor = Callable[[NDArray[np.float64], NDArray[np.float64], float], NDArray[np.float64]]

__all__ = [
    "BM25_PLUS_DELTA",
    "FACTORS",
    "Bm25Parameters",
    "bm25_plus_factor",
    "idf",
    "length_norm",
    "lucene_factor",
    "okapi_factor",
]

BM25_PLUS_DELTA = 1.0

_LARGEST_K1 = 1e250


def idf(rows: int, matching: int) -> float:
    """``ln(1 + (N - n + 0.5) / (n + 0.5))`` for N rows of which n match.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), section 3.2, with the
    1 inside the logarithm that Lucene's BM25Similarity adds, so that it is never negative.
    """
    from math import log1p

    return log1p((rows - matching + 0.5) / (matching + 0.5))


def length_norm(length: Number, average: float, k1: float, b: float) -> Number:
    """``k1 * (1 - b + b * |d| / avgdl)``: what a term frequency saturates against."""
    return k1 * (1.0 - b + b * (length / average))


def okapi_factor(tf: Number, norm: Number, k1: float) -> Number:
    """``tf (k1 + 1) / (tf + norm)``: Robertson et al., "Okapi at TREC-3" (1994)."""
    return (k1 + 1.0) * (tf / (tf + norm))


def lucene_factor(tf: Number, norm: Number, k1: float) -> Number:  # noqa: ARG001 - one signature
    """``tf / (tf + norm)``: Lucene 8's BM25Similarity, which dropped the constant k1 + 1."""
    return tf / (tf + norm)


def bm25_plus_factor(tf: Number, norm: Number, k1: float) -> Number:
    """The okapi factor + delta: Lv and Zhai, "Lower-Bounding Term Frequency" (CIKM 2011)."""
    return okapi_factor(tf, norm, k1) + BM25_PLUS_DELTA


FACTORS: Mapping[str, Factor] = {
    "okapi": okapi_factor,
    "lucene": lucene_factor,
    "bm25+": bm25_plus_factor,
}


class Bm25Parameters:
    """``k1`` (finite, >= 0), ``b`` (in [0, 1]) and the term factor's name, checked once."""

    __slots__ = ("b", "k1", "method")

    def __init__(self, k1: float = 1.2, b: float = 0.75, method: str = "okapi") -> None:
        if not 0 <= k1 < float("inf"):
            raise InvalidArgument(f"k1 is {k1}; pass a finite number that is 0 or more.")
        if not 0 <= b <= 1:
            raise InvalidArgument(f"b is {b}; pass a number from 0 to 1.")
        if method not in FACTORS:
            known = ", ".join(FACTORS)
            raise InvalidArgument(f"There is no BM25 method {method!r}; pass one of {known}.")
        # Far beyond any use; larger values would overflow and lose matches.
        self.k1 = min(k1, _LARGEST_K1)
        self.b = b
        self.method = method

    @property
    def scale_and_delta(self) -> tuple[float, float]:
        """The factor as ``scale * tf / (tf + norm) + delta``, the form that native code takes."""
        scale = 1.0 if self.method == "lucene" else self.k1 + 1.0
        return scale, BM25_PLUS_DELTA if self.method == "bm25+" else 0.0

    def factors(
        self, tfs: NDArray[np.uint32], lengths: NDArray[np.uint32], average: float
    ) -> NDArray[np.float64]:
        """The term factor of each posting, given its tf and its row's length."""
        norms = length_norm(lengths.astype("float64"), average, self.k1, self.b)
        return FACTORS[self.method](tfs.astype("float64"), norms, self.k1)
