"""A segment's vectors as they are stored: in lists, with two bits a dimension and a rule to search.

A vector is rotated at random (signs and Hadamard transforms, never stored), taken relative to its
list's centroid, and each dimension of what is left rounded to one of four levels. A product with
it is estimated from the codes alone without bias (Gao and Long, "RaBitQ", SIGMOD 2024, with two
bits instead of one); the best estimates are then scored exactly.

Arrays, R rows of D dimensions (P = D padded to a multiple of 32), L lists, B = ceil(R / 16) blocks:

- ``vectors`` float16 (R, D), the rows of a list next to each other;
- ``vector_order`` uint32 (R): the row at each place, ascending within a list; without it rows lie
  in their order;
- ``codes`` uint8 (B, 4 P): 16 vectors a block, see native/dense_codes.hpp;
- ``code_factors`` float16 (B, 32): 16 times the part along the centroid, 16 times the factor
  across it, in units of the scale;
- ``code_starts`` uint32 (L + 1): the first place of each list, and the end;
- ``code_centroids`` float16 (L, P), rotated, of unit length;
- ``code_rule`` bytes: JSON of the version, the scale and the rule.

Segments of before have ``code_order`` in place of ``vector_order``: the row of each code, the
vectors being in the order of rows. Codes are derived: a segment without them, or with those of
another version, is searched exactly.
"""

from __future__ import annotations

import json
import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.dense.calibration import calibrated
from pincite.dense.effort import Rule
from pincite.dense.kernels import half_bits
from pincite.errors import MEND_SEGMENT, StoreCorrupt
from pincite.segments.file import SegmentFile
from pincite.segments.kernels import native

__all__ = ["CODED_ROWS", "LIST_ROWS", "stored_rule", "vector_arrays"]

CODED_ROWS: Final = 1024
"""Below so many rows scoring all of them is as quick."""

LIST_ROWS: Final = 16_384
"""From so many rows on there are lists; below, one list holds all."""

_VERSION: Final = 2
_ROUNDS: Final = 6
_SAMPLE: Final = 40  # rows for each list that k-means looks at
_FLAT_SAMPLE: Final = 4096
_SEED: Final = 20260101


def vector_arrays(vectors: NDArray[np.float16]) -> dict[str, NDArray[Any] | bytes]:
    """What is stored of vectors (R, D): codes too, but for few rows and on the pure path.

    Costs about 30 seconds a million rows of 384 dimensions, once for each time they are merged.
    """
    module = native()
    scale = _scale(vectors) if len(vectors) >= CODED_ROWS else 0.0
    if module is None or not scale:
        return {"vectors": vectors}
    bits = half_bits(vectors)
    lists = _list_count(len(vectors))
    centroids = module.dense_train(_sample(bits, lists), lists, _ROUNDS)
    codes, factors, order, starts = module.dense_encode(bits, centroids, scale)
    blocks = -(-len(vectors) // 16)
    exact = module.DenseVectors(bits, None)
    reader = module.DenseCodes(exact, codes, None, factors, order, starts, centroids, scale)
    rule = calibrated(vectors, exact, reader, order, starts.astype(np.int64))
    stored = {"version": _VERSION, "scale": scale, "rule": rule.to_json()}
    # One list holds its rows in their order.
    lie = {"vectors": vectors[order], "vector_order": order} if lists > 1 else {"vectors": vectors}
    return {
        **lie,
        "codes": codes.reshape(blocks, -1),
        "code_factors": factors.view(np.float16).reshape(blocks, -1),
        "code_starts": starts,
        "code_centroids": centroids.view(np.float16),
        "code_rule": json.dumps(stored).encode("ascii"),
    }


def stored_rule(file: SegmentFile, rows: int) -> tuple[Rule, float] | None:
    """The rule and the scale of a segment; None when it has no codes that this version reads.

    Raises ``StoreCorrupt`` for what was never written.
    """
    if "code_rule" not in file.names:
        return None
    try:
        stored = json.loads(bytes(file.blob("code_rule")))
        if int(stored["version"]) != _VERSION:
            return None
        scale = float(stored["scale"])
        if not 0.0 < scale < math.inf:
            raise ValueError("the scale is no positive number")
        return Rule.from_json(stored["rule"], rows), scale
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise StoreCorrupt(
            f"The codes of segment {file.name} are damaged: {error}. {MEND_SEGMENT}"
        ) from error


def _scale(vectors: NDArray[np.float16]) -> float:
    """A power of two that no vector is longer than; 0 when all are zero or one is not finite."""
    longest = 0.0
    for start in range(0, len(vectors), 16_384):
        wide = vectors[start : start + 16_384].astype(np.float32)
        longest = max(longest, float(np.einsum("ij,ij->i", wide, wide).max()))
        if not math.isfinite(longest):
            return 0.0
    return 2.0 ** math.ceil(math.log2(longest) / 2) if longest else 0.0


def _list_count(rows: int) -> int:
    """About twice the root of the rows, a multiple of 16."""
    return 1 if rows < LIST_ROWS else round(2 * math.sqrt(rows) / 16) * 16


def _sample(bits: NDArray[np.uint16], lists: int) -> NDArray[np.uint16]:
    count = min(len(bits), max(_FLAT_SAMPLE, _SAMPLE * lists))
    chosen = np.random.default_rng(_SEED).permutation(len(bits))[:count]
    return np.ascontiguousarray(bits[np.sort(chosen)])
