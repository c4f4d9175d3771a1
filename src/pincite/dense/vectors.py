"""The vectors of one segment: scored exactly, or by their codes first."""

from __future__ import annotations

import mmap
import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.dense.codes import stored_rule
from pincite.dense.effort import Rule
from pincite.dense.kernels import Mask
from pincite.errors import MEND_SEGMENT, StoreCorrupt
from pincite.segments.file import SegmentFile
from pincite.segments.kernels import native

__all__ = ["Step", "Vectors"]

_BLOCK: Final = 65536
_READ_WHOLE: Final = 256 << 20  # bytes up to which the system may read ahead as it likes


Step = tuple[Any, Any, Mask | None, tuple[float, ...] | None]
"""A segment's vectors and codes as the extension holds them, the kept rows, and an effort."""


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
        file.ask(*(name for name in file.names if name.startswith(("vector_", "code_"))))
        self._order: NDArray[np.uint32] | None = None
        self._places: NDArray[np.uint32] | None = None
        if "vector_order" in file.names:
            self._order = _permutation(file, rows)
        found = stored_rule(file, rows)
        self._rule: Rule | None = None if found is None else found[0]
        self._scattered = False
        self._exact: Any = None
        self._codes: Any = None
        module = native()
        straight = sys.byteorder == "little" and self._mapped.flags.aligned
        if module is not None and straight:
            self._open(module, 0.0 if found is None else found[1])

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def codes_nbytes(self) -> int:
        """Bytes of the codes and what is read with them."""
        names = [n for n in self._file.names if n.startswith(("code", "vector_"))]
        return sum(self._file.unverified(name)[0].nbytes for name in names)

    @property
    def lists(self) -> int:
        """How many lists there are; 0 without codes."""
        return self._rule.lists if self._rule is not None and self._codes is not None else 0

    def __getitem__(self, rows: NDArray[np.integer] | Mask) -> NDArray[np.float16]:
        """The vectors of some rows, by number or by mask, verified: (rows, dimension)."""
        vectors = self.lying()
        if self._order is None:
            return vectors[rows]
        if self._places is None:
            places = np.full(len(self), len(self), dtype=np.uint32)
            places[self._order] = np.arange(len(self), dtype=np.uint32)
            if len(self) in places:
                raise _corrupt(self._file, "the order of its vectors names a row twice")
            self._places = places
        return vectors[self._places[rows]]

    def lying(self) -> NDArray[np.float16]:
        """Every vector as they lie, verified."""
        if self._scattered:
            self._exact.fetch()
        vectors: NDArray[np.float16] = self._file.array("vectors").reshape(self.shape)
        return vectors

    @property
    def order(self) -> NDArray[np.uint32] | None:
        """The row at each place; None when they lie in their order."""
        return self._order

    @property
    def name(self) -> str:
        """What errors call the segment."""
        return self._file.name

    def step(self, k: int, mask: Mask | None) -> Step | None:
        """How the extension finds the k best of the masked rows; None where it cannot."""
        if self._exact is None:
            return None
        if self._rule is None or self._codes is None:
            return self._exact, None, mask, None
        kept = self.shape[0] if mask is None else int(np.count_nonzero(mask))
        effort = self._rule.effort(k, kept)
        bounds = None if effort is None else (*effort, self._rule.margin)
        return self._exact, self._codes, mask, bounds

    def _open(self, module: Any, scale: float) -> None:
        bits = self._mapped.view(np.uint16)
        self._exact = module.DenseVectors(bits, self._guard("vectors"), self._order)
        mapped = isinstance(self._file.contents.obj, mmap.mmap)
        self._scattered = self._order is not None and mapped and bits.nbytes > _READ_WHOLE
        if self._scattered:
            self._exact.scatter()
        if not scale:
            return
        factors, starts, centroids = (
            self._file.array(f"code_{name}") for name in ("factors", "starts", "centroids")
        )
        order = self._file.array("code_order") if "code_order" in self._file.names else None
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


def _permutation(file: SegmentFile, rows: int) -> NDArray[np.uint32]:
    """The order of a segment's vectors, checked."""
    order: NDArray[np.uint32] = file.array("vector_order")
    if order.dtype != np.uint32 or order.shape != (rows,):
        raise _corrupt(file, "the order of its vectors does not fit its rows")
    if rows and int(order.max()) >= rows:
        raise _corrupt(file, "the order of its vectors names rows that do not exist")
    return order


def _corrupt(file: SegmentFile, what: str) -> StoreCorrupt:
    return StoreCorrupt(f"Segment {file.name} is damaged: {what}. {MEND_SEGMENT}")
