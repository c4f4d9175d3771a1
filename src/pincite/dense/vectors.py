"""The vectors of one segment: scored exactly, or by their codes first."""

from __future__ import annotations

import sys
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pincite.dense.codes import stored_rule
from pincite.dense.effort import Effort, Rule
from pincite.dense.kernels import Found, Mask, Wanted, checked, exact_rows
from pincite.errors import StoreCorrupt
from pincite.segments.file import SegmentFile
from pincite.segments.kernels import native

__all__ = ["Vectors"]

_BLOCK: Final = 65536
_REMEMBERED: Final = 8
_SPARSE: Final = 32  # a mask of one row in so many is kept as row numbers, too


class _Keeps(NamedTuple):
    """How many rows a mask keeps, and which, when they are few."""

    kept: int
    rows: NDArray[np.int64] | None
    mask: Mask | None


_kept = itemgetter(0)


class Vectors:
    """The ``vectors`` of a segment, with their codes if it has any.

    With the extension a block of a mapped array is verified when a search first touches it; the
    pure path verifies and scores all. Safe to share between threads.
    """

    def __init__(self, file: SegmentFile, rows: int, dimension: int | None = None) -> None:
        """Raises ``StoreCorrupt`` when the arrays contradict each other."""
        self._file = file
        self._mapped: NDArray[np.float16] = _mapped(file, "vectors", "<f2")
        if dimension is None:
            dimension = self._mapped.size // rows if rows else 0
        self.shape = rows, dimension
        if self._mapped.size != rows * dimension or not dimension:
            raise _corrupt(file, f"its vectors are not {rows} of {dimension} dimensions")
        self._mapped = self._mapped.reshape(self.shape)
        found = stored_rule(file, rows)
        self._rule: Rule | None = None if found is None else found[0]
        self._exact: Any = None
        self._codes: Any = None
        self._all = _Keeps(rows, None, None)
        self._masks: list[_Keeps] = []
        self._efforts: dict[tuple[int, int], Effort | None] = {}
        module = native()
        straight = sys.byteorder == "little" and self._mapped.flags.aligned
        if module is not None and straight:
            self._open(module, 0.0 if found is None else found[1])

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def codes_nbytes(self) -> int:
        """Bytes of the codes and what is read with them."""
        names = [n for n in self._file.names if n == "codes" or n.startswith("code_")]
        return sum(self._file.unverified(name)[0].nbytes for name in names)

    @property
    def lists(self) -> int:
        """How many lists there are; 0 without codes."""
        return self._rule.lists if self._rule is not None and self._codes is not None else 0

    def whole(self) -> NDArray[np.float16]:
        """Every vector, verified."""
        vectors: NDArray[np.float16] = self._file.array("vectors").reshape(self.shape)
        return vectors

    def candidates(self, live: Mask | None, allow: Mask | None, wanted: Wanted) -> Found:
        """The best rows in both masks; by codes, nearly all of them."""
        if self._exact is None or native() is None:
            return exact_rows(self.whole(), live, allow, wanted)
        living, allowed = self._keeps(live), self._keeps(allow)
        fewer = min(living, allowed, key=_kept)
        query, k, limit, floor, length, unit = wanted
        effort = self._effort(k, fewer.kept)
        if effort is None or self._rule is None:
            answer = self._exact.exact(query, k, live, allow, fewer.rows, limit, floor, unit)
        else:
            margin = self._rule.margin * length
            answer = self._codes.search(query, k, *effort, margin, live, allow, limit, floor, unit)
        return checked(answer, self._file.name)

    def _effort(self, k: int, kept: int) -> Effort | None:
        if self._rule is None or self._codes is None:
            return None
        if (k, kept) not in self._efforts:
            if len(self._efforts) >= _REMEMBERED:
                self._efforts = {}
            self._efforts[k, kept] = self._rule.effort(k, kept)
        return self._efforts[k, kept]

    def _keeps(self, mask: Mask | None) -> _Keeps:
        """What a mask keeps, remembered: searches come with the same few masks."""
        if mask is None:
            return self._all
        for keeps in self._masks:
            if keeps.mask is mask:
                return keeps
        count = int(np.count_nonzero(mask))
        rows = np.flatnonzero(mask) if count * _SPARSE <= len(mask) else None
        keeps = _Keeps(count, rows, mask)
        self._masks = [keeps, *self._masks[: _REMEMBERED - 1]]
        return keeps

    def _open(self, module: Any, scale: float) -> None:
        bits = self._mapped.view(np.uint16)
        self._exact = module.DenseVectors(bits, self._guard("vectors"))
        if not scale:
            return
        factors, order, starts, centroids = (
            self._file.array(f"code_{name}") for name in ("factors", "order", "starts", "centroids")
        )
        try:
            self._codes = module.DenseCodes(
                self._exact,
                _mapped(self._file, "codes", "u1"),
                self._guard("codes"),
                factors.view(np.uint16),
                order,
                starts,
                centroids.view(np.uint16),
                scale,
            )
        except (TypeError, ValueError) as error:
            raise _corrupt(self._file, f"its codes do not fit ({error})") from error

    def _guard(self, name: str) -> tuple[memoryview, bytearray]:
        data, crcs = self._file.unverified(name)
        return crcs, bytearray(-(-data.nbytes // _BLOCK))


def _mapped(file: SegmentFile, name: str, dtype: str) -> NDArray[Any]:
    """An array, flat, not verified."""
    data, _ = file.unverified(name)
    try:
        return np.frombuffer(data, dtype=dtype)
    except ValueError as error:
        raise _corrupt(file, f"array {name!r} is cut short") from error


def _corrupt(file: SegmentFile, what: str) -> StoreCorrupt:
    return StoreCorrupt(
        f"Segment {file.name} is damaged: {what}. Run doctor with repair, or restore a backup."
    )
