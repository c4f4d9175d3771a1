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
from weakref import WeakKeyDictionary

import numpy as np

from pincite.errors import StoreCorrupt
from pincite.segments.kernels import native

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
_NEAR: Final = 8192  # rows whose ids are verified together: a block of their offsets
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
    sizes = np.concatenate([table.sizes()[mask] for table, mask in pairs])
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
        """The array of that name, verified."""
        ...

    def window(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """A part of it, verified."""
        ...

    def unverified(self, name: str) -> tuple[memoryview, memoryview]:
        """Its bytes as they lie there, and their checksums."""
        ...


class IdTable:
    """Reads the ids of a segment; what is asked of single rows verifies only what lies near them.

    Raises ``StoreCorrupt`` with the source's name where arrays contradict each other: their sizes
    at once, their values when they are read.
    """

    __slots__ = ("_blob", "_ends", "_found", "_source", "_strings", "_verified")

    def __init__(self, source: IdSource) -> None:
        self._source = source
        self._blob = source.unverified("ids")[0]
        # A memoryview hands out Python's integers, quicker than NumPy its own.
        self._ends = _integers(source, "id_offsets")
        self._verified = bytearray(-(-len(self._ends) // _NEAR))
        self._found: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None = None
        hashes, rows = (source.unverified(name)[0].nbytes for name in ("id_hashes", "id_rows"))
        if not hashes == rows == 4 * (len(self._ends) - 1):
            raise self._misfit()
        module = native()
        self._strings: Any = None
        if module is not None:
            self._strings = module.IdStrings(self._blob, self._ends, self._verified, _NEAR)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[str]:
        return map(self.id, range(len(self)))

    def id(self, row: int) -> str:
        """The id of a row."""
        return self.ids([row])[0]

    def ids(self, rows: Sequence[int]) -> list[str]:
        """The ids of some rows."""
        try:
            found: list[str] | None = None if self._strings is None else self._strings.ids(rows)
            return self._verified_ids(rows) if found is None else found
        except UnicodeDecodeError as error:
            raise self._corrupt("an id is not UTF-8") from error

    def _verified_ids(self, rows: Sequence[int]) -> list[str]:
        for row in rows:
            if not self._verified[row // _NEAR]:
                self._verify(row // _NEAR)
        blob, ends = self._blob, self._ends
        return [str(blob[ends[r] : ends[r + 1]], _ENCODING, _LONE_SURROGATES) for r in rows]

    def raw(self, row: int) -> bytes:
        """The id of a row as it is stored."""
        if not self._verified[row // _NEAR]:
            self._verify(row // _NEAR)
        return bytes(self._blob[self._ends[row] : self._ends[row + 1]])

    def sizes(self) -> NDArray[np.uint64]:
        """How many bytes each id has."""
        return np.diff(self._source.array("id_offsets"))

    def find(self, ids: Sequence[str]) -> list[tuple[int, int]]:
        """The (place in ``ids``, row) of those that the segment has, in the order of ``ids``."""
        hashes, rows = self._hashes()
        encoded = [encode_id(name) for name in ids]
        wanted = np.fromiter(map(zlib.crc32, encoded), dtype=np.uint32, count=len(encoded))
        first = np.searchsorted(hashes, wanted, "left")
        last = np.searchsorted(hashes, wanted, "right")
        found = []
        for place in np.flatnonzero(first < last).tolist():
            for at in range(first[place], last[place]):
                row = int(rows[at])
                if self.raw(row) == encoded[place]:
                    found.append((place, row))
        return found

    def hashes_by_row(self) -> NDArray[np.uint32]:
        """The CRC-32 of each row's id, in row order."""
        sorted_hashes, rows = self._hashes()
        hashes = np.empty(len(self), dtype=np.uint32)
        hashes[rows] = sorted_hashes
        return hashes

    def _verify(self, near: int) -> None:
        """Checks the ids that begin in one block of offsets."""
        first = near * _NEAR
        offsets = self._source.window("id_offsets", first, first + _NEAR + 1)
        start, end = int(offsets[0]), int(offsets[-1])
        last = first + len(offsets) > len(self)
        fits = end == self._blob.nbytes if last else end <= self._blob.nbytes
        fits = fits and (near > 0 or start == 0)
        if not fits or not bool((offsets[1:] >= offsets[:-1]).all()):
            raise self._misfit()
        self._source.window("ids", start, end)
        self._verified[near] = 1

    def _hashes(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """The hashes, ascending, and the row of each."""
        if self._found is None:
            hashes, rows = self._source.array("id_hashes"), self._source.array("id_rows")
            if len(rows) and int(rows.max()) >= len(self):
                raise self._misfit()
            self._found = hashes, rows
        return self._found

    def _misfit(self) -> StoreCorrupt:
        return self._corrupt("its ids do not fit its rows")

    def _corrupt(self, what: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"Segment {self._source.name} is damaged: {what}. Restore a backup, or build the index "
            "anew."
        )


def _integers(source: IdSource, name: str) -> memoryview:
    """An array of uint64, not verified."""
    data = source.unverified(name)[0]
    if data.nbytes < 8 or data.nbytes % 8:
        raise StoreCorrupt(
            f"Segment {source.name} is damaged: its ids are cut short. Restore a backup, or build "
            "the index anew."
        )
    return np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False).data


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

    The rows of a segment are looked up once, and forgotten with the segment; ids that the index
    does not have are no harm. Safe to share between threads.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = list(dict.fromkeys(ids))
        # Of segments that are in use: an index that changes would leave more and more behind.
        self._known: WeakKeyDictionary[Identified, tuple[NDArray[np.bool_], _Kept]]
        self._known = WeakKeyDictionary()
        self._last: tuple[Sequence[Identified], list[NDArray[np.bool_]]] = (), []

    def __len__(self) -> int:
        return len(self._ids)

    def masks(self, segments: Sequence[Identified]) -> list[NDArray[np.bool_]]:
        """Which rows of each of them are allowed."""
        last = self._last
        if last[0] is not segments:
            last = self._last = segments, [self.mask(segment) for segment in segments]
        return last[1]

    def mask(self, segment: Identified) -> NDArray[np.bool_]:
        """Which rows of ``segment`` are allowed."""
        return self._found(segment)[0]

    def kept(self, segment: Identified) -> _Kept:
        """The same, by the rows themselves, ascending, where they are few."""
        return self._found(segment)[1]

    def _found(self, segment: Identified) -> tuple[NDArray[np.bool_], _Kept]:
        known = self._known.get(segment)
        if known is None:
            rows = np.array(sorted(row for _, row in segment.ids.find(self._ids)), dtype=np.uint32)
            mask = np.zeros(segment.rows, dtype=np.bool_)
            mask[rows] = True
            known = self._known[segment] = (mask, rows if len(rows) * _FEW < len(mask) else mask)
        return known
