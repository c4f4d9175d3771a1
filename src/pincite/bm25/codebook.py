"""One byte for a posting's frequency and its row's length: what a search needs to bound a score.

A code stands for a class of frequencies and a bucket of lengths. Its ``tf`` is the largest
frequency of the class and its ``length`` the smallest of the bucket, so that the term factor of
(tf, length), under any k1, b and average length, is never below that of a posting with this code.
Frequencies up to ``EXACT`` are classes of their own; larger ones are also kept as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLASS_FIRSTS", "EXACT", "GROUPS", "NO_CODE", "CodeBook"]

EXACT: Final = 8
"""The largest frequency that its code tells exactly."""

NO_CODE: Final = 255
"""Where a window has no posting to bound."""

CLASS_FIRSTS: Final = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14, 19, 30, 60], dtype=np.uint64)
# Buckets of length by class. The factor saturates, so large frequencies need few. 254 in all.
_BUCKETS: Final = (58, 40, 30, 24, 20, 17, 15, 13, 11, 9, 7, 5, 3, 2)
_LARGEST: Final = 2**32 - 1

GROUPS: Final = ((0, 1), (1, 3), (3, 7), (7, len(_BUCKETS)))
"""Classes of frequencies, [first, end), that share one bound in a window: 1, 2-3, 4-7, 8 on."""

# Only the resolution depends on these, never a result.
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class CodeBook:
    """``tfs`` and ``lengths`` (uint32), one for each code, ascending by class, then length."""

    tfs: NDArray[np.uint32]
    lengths: NDArray[np.uint32]

    @classmethod
    def of(cls, lengths: NDArray[np.uint32]) -> CodeBook:
        """The book for rows of these lengths: fine where lengths are common or matter much."""
        distinct, counts = np.unique(lengths, return_counts=True)
        if not distinct.size:
            distinct, counts = np.zeros(1, dtype=np.uint32), np.ones(1, dtype=np.intp)
        below = (np.cumsum(counts) - counts) / counts.sum()
        average = float((distinct * (counts / counts.sum())).sum()) or 1.0
        norms = _K1 * (1.0 - _B + _B * (distinct / average))
        tfs, edges = [], []
        for number, buckets in enumerate(_BUCKETS):
            first, last = int(CLASS_FIRSTS[number]), _class_end(number)
            edge = distinct[_bucket_starts(first / (first + norms), below, buckets)]
            edges.append(edge)
            tfs.append(np.full(len(edge), last, dtype=np.uint32))
        return cls(np.concatenate(tfs), np.concatenate(edges).astype(np.uint32))

    def encode(self, tfs: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.uint8]:
        """The code of each posting, given its frequency (at least 1) and its row's length."""
        return self.encode_classes(self.classes(tfs), lengths)

    def encode_classes(self, classes: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.uint8]:
        """The code of each pair of a class and a length that is no less than every edge's least."""
        keys = (self.code_classes.astype(np.uint64) << np.uint64(32)) | self.lengths
        wanted = (classes.astype(np.uint64) << np.uint64(32)) | lengths.astype(np.uint64)
        return (np.searchsorted(keys, wanted, "right") - 1).astype(np.uint8)

    @property
    def code_classes(self) -> NDArray[np.intp]:
        """The class of each code."""
        return self.classes(self.tfs)

    @staticmethod
    def classes(tfs: NDArray[Any]) -> NDArray[np.intp]:
        """The class of each frequency."""
        return np.searchsorted(CLASS_FIRSTS, tfs, "right") - 1


def _class_end(number: int) -> int:
    return int(CLASS_FIRSTS[number + 1]) - 1 if number + 1 < len(CLASS_FIRSTS) else _LARGEST


def _bucket_starts(
    factors: NDArray[np.float64], below: NDArray[np.float64], buckets: int
) -> NDArray[np.intp]:
    """Where buckets begin: half of them by the rows below, half by the fall of the factor."""
    fall = factors[0] - factors[-1]
    share = (factors[0] - factors) / fall if fall > 0 else np.zeros(len(factors))
    place = ((below + share) * 0.5 * buckets).astype(np.int64).clip(0, buckets - 1)
    return np.flatnonzero(np.diff(place, prepend=-1))
