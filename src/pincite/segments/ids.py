"""The ids of a segment's rows, found by row and by id without a dictionary of them.

Arrays, R rows:

- ``ids`` bytes, ``id_offsets`` uint64 (R + 1): the ids in row order, UTF-8, one after another;
- ``id_hashes`` uint32 (R): the CRC-32 of each id, ascending;
- ``id_rows`` uint32 (R): the row that each hash belongs to.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from pincite.errors import StoreCorrupt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Kept = NDArray[np.bool_] | NDArray[np.uint32]

__all__ = [
    "Allowed",
    "IdSource",
    "IdTable",
    "Identified",
    "build_ids",
    "encode_id",
    "merge_ids",
    "repeated",
]

_ENCODING: Final = "utf-8"
_LONE_SURROGATES: Final = "surrogatepass"
_FEW: Final = 64  # among so many rows, one is quicker found by its number than in a mask


def encode_id(name: str) -> bytes:
    """An id as it is stored."""
    return name.encode(_ENCODING, _LONE_SURROGATES)


def build_ids(ids: Sequence[str]) -> dict[str, NDArray[Any] | bytes]:
    """The arrays of rows with these ids."""
    try:
        encoded = list(map(str.encode, ids))
    except UnicodeEncodeError:  # a lone surrogate
        encoded = [encode_id(name) for name in ids]
    hashes = np.fromiter(map(zlib.crc32, encoded), dtype=np.uint32, count=len(encoded))
    sizes = np.fromiter(map(len, encoded), dtype=np.uint64, count=len(encoded))
    return _arrays(b"".join(encoded), sizes, hashes)


def merge_ids(
    tables: Sequence[IdTable], keep: Sequence[NDArray[np.bool_]]
) -> dict[str, NDArray[Any] | bytes]:
    """The arrays of the rows that ``keep`` marks, one table after the other."""
    pairs = list(zip(tables, keep, strict=True))
    blob = b"".join(table.raw(int(row)) for table, mask in pairs for row in np.flatnonzero(mask))
    sizes = np.concatenate([np.diff(table.offsets)[mask] for table, mask in pairs])
    hashes = np.concatenate([table.hashes_by_row()[mask] for table, mask in pairs])
    return _arrays(blob, sizes, hashes)


def repeated(ids: Sequence[str]) -> set[int]:
    """The places of ids that occur again later."""
    if len(set(ids)) == len(ids):
        return set()
    last = {name: place for place, name in enumerate(ids)}
    return {place for place, name in enumerate(ids) if last[name] != place}


def _arrays(
    blob: bytes, sizes: NDArray[np.uint64], hashes: NDArray[np.uint32]
) -> dict[str, NDArray[Any] | bytes]:
    order = np.argsort(hashes, kind="stable")
    return {
        "ids": blob,
        "id_offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64),
        "id_hashes": hashes[order],
        "id_rows": order.astype(np.uint32),
    }


class IdSource(Protocol):
    """Whatever holds the arrays: a ``SegmentFile``, or arrays in memory."""

    @property
    def name(self) -> str:
        """What errors call it."""
        ...

    def array(self, name: str) -> NDArray[Any]:
        """The array of that name."""
        ...


class IdTable:
    """Reads the ids of a segment."""

    __slots__ = ("_blob", "_ends", "_hashes", "_name", "_rows", "offsets")

    def __init__(self, source: IdSource) -> None:
        """Raises ``StoreCorrupt`` with the source's name when its arrays contradict each other."""
        self._name = source.name
        self._blob = np.ascontiguousarray(source.array("ids")).data
        self.offsets: NDArray[np.uint64] = source.array("id_offsets")
        # A memoryview hands out Python's integers, quicker than NumPy its own.
        self._ends = np.ascontiguousarray(self.offsets, dtype=np.uint64).data
        self._hashes: NDArray[np.uint32] = source.array("id_hashes")
        self._rows: NDArray[np.uint32] = source.array("id_rows")
        self._check()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return map(self.id, range(len(self)))

    def id(self, row: int) -> str:
        """The id of a row."""
        try:
            start, end = self._ends[row], self._ends[row + 1]
            return str(self._blob[start:end], _ENCODING, _LONE_SURROGATES)
        except UnicodeDecodeError as error:
            raise self._corrupt("an id is not UTF-8") from error

    def raw(self, row: int) -> bytes:
        """The id of a row as it is stored."""
        return bytes(self._blob[self._ends[row] : self._ends[row + 1]])

    def find(self, ids: Sequence[str]) -> list[tuple[int, int]]:
        """The (place in ``ids``, row) of those that the segment has, in the order of ``ids``."""
        encoded = [encode_id(name) for name in ids]
        wanted = np.fromiter(map(zlib.crc32, encoded), dtype=np.uint32, count=len(encoded))
        first = np.searchsorted(self._hashes, wanted, "left")
        last = np.searchsorted(self._hashes, wanted, "right")
        found = []
        for place in np.flatnonzero(first < last).tolist():
            for at in range(first[place], last[place]):
                row = int(self._rows[at])
                if self.raw(row) == encoded[place]:
                    found.append((place, row))
        return found

    def hashes_by_row(self) -> NDArray[np.uint32]:
        """The CRC-32 of each row's id, in row order."""
        hashes = np.empty(len(self), dtype=np.uint32)
        hashes[self._rows] = self._hashes
        return hashes

    def _check(self) -> None:
        rows, offsets = len(self._rows), self.offsets
        fits = len(self._hashes) == rows and len(offsets) == rows + 1
        fits = fits and int(offsets[0]) == 0 and int(offsets[-1]) == self._blob.nbytes
        fits = fits and bool((offsets[1:] >= offsets[:-1]).all())
        if not fits or (rows and int(self._rows.max()) >= rows):
            raise self._corrupt("its ids do not fit its rows")

    def _corrupt(self, what: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"Segment {self._name} is damaged: {what}. Restore a backup, or build the index anew."
        )


class Identified(Protocol):
    """A segment with ids."""

    @property
    def rows(self) -> int:
        """How many rows it has."""
        ...

    @property
    def ids(self) -> IdTable:
        """Their ids."""
        ...


class Allowed:
    """Ids that a search may return, ready for many searches of any index.

    The rows of a segment are looked up once; ids that the index does not have are no harm. Safe to
    share between threads.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = list(dict.fromkeys(ids))
        self._known: dict[int, tuple[Identified, NDArray[np.bool_], _Kept]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def mask(self, segment: Identified) -> NDArray[np.bool_]:
        """Which rows of ``segment`` are allowed."""
        return self._found(segment)[1]

    def kept(self, segment: Identified) -> _Kept:
        """The same, by the rows themselves, ascending, where they are few."""
        known = self._known.get(id(segment))
        return known[2] if known is not None and known[0] is segment else self._found(segment)[2]

    def _found(self, segment: Identified) -> tuple[Identified, NDArray[np.bool_], _Kept]:
        known = self._known.get(id(segment))
        if known is None or known[0] is not segment:
            rows = np.array(sorted(row for _, row in segment.ids.find(self._ids)), dtype=np.uint32)
            mask = np.zeros(segment.rows, dtype=np.bool_)
            mask[rows] = True
            known = segment, mask, rows if len(rows) * _FEW < len(mask) else mask
            self._known[id(segment)] = known
        return known
