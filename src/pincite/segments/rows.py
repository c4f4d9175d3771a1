"""The ``rows`` part of a segment: which chunk each row is.

Version 2. Rows that follow each other, of one document, with chunk keys and indexes that rise by
one, are a run. R rows, U runs, D documents:

- ``run_starts`` uint32 (U + 1): the first row of each run, and R;
- ``run_chunks`` int64 (U): the key of the chunk of its first row;
- ``run_indexes`` uint32 (U): the ``chunk_index`` of its first row;
- ``run_documents`` uint32 (U): which of the names below is its document;
- ``names`` bytes, ``name_offsets`` uint64 (D + 1): the documents' ids, UTF-8, one after another.

Version 1, still read, has ``chunks``, ``indexes`` and ``documents`` of every row instead.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from struct import calcsize
from typing import Any, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreCorrupt
from pincite.model.hits import chunk_id
from pincite.segments.file import SegmentFile

__all__ = ["RowTable", "build_rows", "merge_rows"]

_ENCODING: Final = "utf-8"
_FEW: Final = 3000
_NEAR: Final = 8192  # runs that are verified together: a block of their keys


def build_rows(
    chunks: Sequence[int], documents: Sequence[str], indexes: Sequence[int]
) -> dict[str, NDArray[Any] | bytes]:
    """The arrays of rows given by chunk key, document id and chunk index."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(name, len(numbers)) for name in documents]
    return _arrays(
        np.array(chunks, dtype=np.int64),
        np.array(indexes, dtype=np.uint32),
        np.array(codes, dtype=np.uint32),
        [name.encode(_ENCODING) for name in numbers],
    )


def merge_rows(
    tables: Sequence[RowTable], keep: Sequence[NDArray[np.bool_]]
) -> dict[str, NDArray[Any] | bytes]:
    """The arrays of the rows that ``keep`` marks, one table after the other."""
    numbers: dict[bytes, int] = {}
    codes = []
    for table, mask in zip(tables, keep, strict=True):
        kept = table.documents[mask]
        used, place = np.unique(kept, return_inverse=True)
        own = [numbers.setdefault(table.name(int(code)), len(numbers)) for code in used]
        codes.append(np.array(own, dtype=np.uint32)[place])
    pairs = list(zip(tables, keep, strict=True))
    return _arrays(
        np.concatenate([table.chunks[mask] for table, mask in pairs]),
        np.concatenate([table.indexes[mask] for table, mask in pairs]),
        np.concatenate(codes).astype(np.uint32),
        list(numbers),
    )


def _arrays(
    chunks: NDArray[np.int64],
    indexes: NDArray[np.uint32],
    documents: NDArray[np.uint32],
    names: Sequence[bytes],
) -> dict[str, NDArray[Any] | bytes]:
    ends = np.cumsum([0, *(len(name) for name in names)]).astype(np.uint64)
    starts = _run_starts(chunks, indexes.astype(np.int64), documents.astype(np.int64))
    return {
        "run_starts": np.append(starts, len(chunks)).astype(np.uint32),
        "run_chunks": chunks[starts],
        "run_indexes": indexes[starts],
        "run_documents": documents[starts],
        "names": b"".join(names),
        "name_offsets": ends,
    }


def _run_starts(
    chunks: NDArray[np.int64], indexes: NDArray[np.int64], documents: NDArray[np.int64]
) -> NDArray[np.intp]:
    breaks = (np.diff(chunks) != 1) | (np.diff(indexes) != 1) | (np.diff(documents) != 0)
    first = np.zeros(min(len(chunks), 1), dtype=np.intp)
    return np.concatenate([first, np.flatnonzero(breaks) + 1])


class _Rows(Protocol):
    """Where a part has its rows' chunk keys, indexes and numbers of documents."""

    count: int

    def key(self, row: int) -> int: ...
    def index(self, row: int) -> int: ...
    def number(self, row: int) -> int: ...
    def named(self, row: int) -> tuple[int, int]: ...
    def keys(self) -> NDArray[np.int64]: ...
    def indexes(self) -> NDArray[np.uint32]: ...
    def numbers(self) -> NDArray[np.uint32]: ...


class _Runs:
    """Version 2. Single rows verify what lies near their run."""

    def __init__(self, segment: SegmentFile) -> None:
        self._segment = segment
        # Memoryviews hand out Python's integers, quicker than NumPy its own.
        self._starts = _integers(segment, "run_starts", "I")
        self._keys = _integers(segment, "run_chunks", "q")
        self._indexes = _integers(segment, "run_indexes", "I")
        self._numbers = _integers(segment, "run_documents", "I")
        runs = len(self._starts) - 1
        if any(len(held) != runs for held in (self._keys, self._indexes, self._numbers)):
            raise _contradiction(segment)
        self._verified = bytearray(-(-(runs + 1) // _NEAR))
        self.count = int(segment.window("run_starts", runs, runs + 1)[0])

    def key(self, row: int) -> int:
        run = self._run(row)
        return self._keys[run] + row - self._starts[run]

    def index(self, row: int) -> int:
        run = self._run(row)
        return self._indexes[run] + row - self._starts[run]

    def number(self, row: int) -> int:
        return self._numbers[self._run(row)]

    def named(self, row: int) -> tuple[int, int]:
        run = self._run(row)
        return self._numbers[run], self._indexes[run] + row - self._starts[run]

    def keys(self) -> NDArray[np.int64]:
        return self._every("run_chunks", rises=True)

    def indexes(self) -> NDArray[np.uint32]:
        return self._every("run_indexes", rises=True)

    def numbers(self) -> NDArray[np.uint32]:
        return self._every("run_documents", rises=False)

    def _run(self, row: int) -> int:
        """The run of a row."""
        run = bisect_right(self._starts, row) - 1
        near = run // _NEAR
        if not self._verified[near]:
            self._verify(near)
        if not 0 <= self._starts[run] <= row < self._starts[run + 1]:
            self._segment.array("run_starts")  # names the block that fails its checksum
            raise _contradiction(self._segment)
        return run

    def _verify(self, near: int) -> None:
        first = near * _NEAR
        self._segment.window("run_starts", first, first + _NEAR + 1)
        for name in ("run_chunks", "run_indexes", "run_documents"):
            self._segment.window(name, first, first + _NEAR)
        self._verified[near] = 1

    def _every(self, name: str, *, rises: bool) -> NDArray[Any]:
        starts = self._segment.array("run_starts").astype(np.int64)
        counts = np.diff(starts)
        if starts[0] != 0 or (counts < 1).any():
            raise _contradiction(self._segment)
        first = self._segment.array(name)
        values = np.repeat(first, counts)
        if rises:
            places = np.arange(self.count) - np.repeat(starts[:-1], counts)
            values = (values + places).astype(first.dtype)
        return values


class _Plain:
    """Version 1."""

    def __init__(self, segment: SegmentFile) -> None:
        self._segment = segment
        self._single_reads = 0
        self.count = _size(segment, "chunks", 8)
        if not _size(segment, "indexes", 4) == _size(segment, "documents", 4) == self.count:
            raise _contradiction(segment)

    def key(self, row: int) -> int:
        return self._item("chunks", row)

    def index(self, row: int) -> int:
        return self._item("indexes", row)

    def number(self, row: int) -> int:
        return self._item("documents", row)

    def named(self, row: int) -> tuple[int, int]:
        return self.number(row), self.index(row)

    def keys(self) -> NDArray[np.int64]:
        return self._segment.array("chunks")

    def indexes(self) -> NDArray[np.uint32]:
        return self._segment.array("indexes")

    def numbers(self) -> NDArray[np.uint32]:
        return self._segment.array("documents")

    def _item(self, name: str, row: int) -> int:
        self._single_reads += 1
        if self._single_reads > _FEW:  # by now whole arrays are quicker
            return int(self._segment.array(name)[row])
        return int(self._segment.window(name, row, row + 1)[0])


class RowTable:
    """Reads a ``rows`` part; what is asked of single rows reads and verifies only their blocks.

    Raises ``StoreCorrupt`` where arrays contradict each other: their sizes at once, their values
    when they are read, all of them in ``check``.
    """

    def __init__(self, segment: SegmentFile) -> None:
        self._segment = segment
        self._sorter: NDArray[np.intp] | None = None
        self._decoded: dict[int, str] = {}
        self._rows: _Rows = (_Runs if "run_starts" in segment.names else _Plain)(segment)
        self._documents = _size(segment, "name_offsets", 8) - 1
        self._names_size = _size(segment, "names", 1)
        if self._documents < 0 or (self._rows.count and not self._documents):
            raise _contradiction(segment)

    def __len__(self) -> int:
        return self._rows.count

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """The key of each row's chunk."""
        return self._rows.keys()

    @cached_property
    def indexes(self) -> NDArray[np.uint32]:
        """The ``chunk_index`` of each row."""
        return self._rows.indexes()

    @cached_property
    def documents(self) -> NDArray[np.uint32]:
        """The number of each row's document."""
        documents = self._rows.numbers()
        if len(documents) and int(documents.max()) >= self._documents:
            raise _contradiction(self._segment)
        return documents

    def chunk(self, row: int) -> int:
        """The key of a row's chunk."""
        return self._rows.key(row)

    def id(self, row: int) -> str:
        """The chunk id of a row."""
        number, index = self._rows.named(row)
        return chunk_id(self._document(number), index)

    def document(self, row: int) -> str:
        """The document id of a row."""
        return self._document(self._rows.number(row))

    def _document(self, number: int) -> str:
        found = self._decoded.get(number)
        if found is None:
            found = self._decoded[number] = self.name(number).decode(_ENCODING)
        return found

    def name(self, number: int) -> bytes:
        """The id of the segment's document of that number, as UTF-8."""
        if number >= self._documents:
            raise _contradiction(self._segment)
        start, stop = self._segment.window("name_offsets", number, number + 2).tolist()
        if not start <= stop <= self._names_size:
            raise _contradiction(self._segment)
        return self._segment.window("names", start, stop).tobytes()

    def document_names(self, rows: NDArray[np.bool_] | None = None) -> list[str]:
        """The distinct documents of the rows that a mask marks (all without one)."""
        marked = self.documents if rows is None else self.documents[rows]
        return [self.name(int(number)).decode(_ENCODING) for number in np.unique(marked)]

    def find(self, first: int, count: int) -> NDArray[np.intp]:
        """The rows whose chunk key is in ``[first, first + count)``, by key."""
        if self._sorter is None:
            self._sorter = np.argsort(self.chunks, kind="stable")
        start, stop = np.searchsorted(self.chunks, [first, first + count], sorter=self._sorter)
        return self._sorter[start:stop]

    def check(self) -> None:
        """Read everything: every row has a document and every document a name."""
        offsets = self._segment.array("name_offsets")
        fits = int(offsets[0]) == 0 and int(offsets[-1]) == self._names_size
        if not fits or not bool((offsets[1:] >= offsets[:-1]).all()):
            raise _contradiction(self._segment)
        assert len(self.documents) == len(self.chunks) == len(self.indexes)


def _integers(segment: SegmentFile, name: str, code: Literal["I", "q"]) -> memoryview[int]:
    """An array, not verified."""
    if sys.byteorder == "big":
        return np.ascontiguousarray(segment.array(name)).data
    data = segment.unverified(name)[0]
    if data.nbytes % calcsize(code):
        raise _contradiction(segment)
    return data.cast(code)


def _size(segment: SegmentFile, name: str, item: int) -> int:
    """The length of an array, which is not read."""
    return segment.unverified(name)[0].nbytes // item


def _contradiction(segment: SegmentFile) -> StoreCorrupt:
    return StoreCorrupt(
        f"Segment {segment.name} is damaged: its arrays contradict each other. Run "
        "`pincite doctor --repair`, or restore a backup."
    )
