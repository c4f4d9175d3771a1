"""The ``rows`` part of a segment: which chunk each row is.

Arrays, R rows, D documents:

- ``chunks`` int64 (R): the key of the row's chunk;
- ``indexes`` uint32 (R): its ``chunk_index``;
- ``documents`` uint32 (R): which of the names below is its document;
- ``names`` bytes, ``name_offsets`` uint64 (D + 1): the documents' ids, UTF-8, one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreCorrupt
from pincite.model.hits import chunk_id
from pincite.segments.file import SegmentFile

__all__ = ["RowTable", "build_rows", "merge_rows"]

_ENCODING: Final = "utf-8"


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
    return {
        "chunks": chunks,
        "indexes": indexes,
        "documents": documents,
        "names": b"".join(names),
        "name_offsets": ends,
    }


class RowTable:
    """Reads a ``rows`` part."""

    __slots__ = (
        "_decoded",
        "_label",
        "_names",
        "_offsets",
        "_sorter",
        "chunks",
        "documents",
        "indexes",
    )

    def __init__(self, segment: SegmentFile) -> None:
        self._label = segment.name
        self.chunks: NDArray[np.int64] = segment.array("chunks")
        self.indexes: NDArray[np.uint32] = segment.array("indexes")
        self.documents: NDArray[np.uint32] = segment.array("documents")
        self._names = segment.blob("names")
        self._offsets: NDArray[np.uint64] = segment.array("name_offsets")
        self._sorter: NDArray[np.intp] | None = None
        self._decoded: dict[int, str] = {}
        self._check()

    def __len__(self) -> int:
        return len(self.chunks)

    def id(self, row: int) -> str:
        """The chunk id of a row."""
        return chunk_id(self.document(row), int(self.indexes[row]))

    def document(self, row: int) -> str:
        """The document id of a row."""
        number = int(self.documents[row])
        found = self._decoded.get(number)
        if found is None:
            found = self._decoded[number] = self.name(number).decode(_ENCODING)
        return found

    def name(self, number: int) -> bytes:
        """The id of the segment's document of that number, as UTF-8."""
        return bytes(self._names[int(self._offsets[number]) : int(self._offsets[number + 1])])

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

    def _check(self) -> None:
        rows, offsets = len(self.chunks), self._offsets
        fits = len(self.indexes) == len(self.documents) == rows and len(offsets) >= 1
        fits = fits and int(offsets[0]) == 0 and int(offsets[-1]) == self._names.nbytes
        fits = fits and bool((offsets[1:] >= offsets[:-1]).all())
        if not fits or (rows and int(self.documents.max()) >= len(offsets) - 1):
            raise StoreCorrupt(
                f"Segment {self._label} is damaged: its arrays contradict each other. Run doctor "
                "with repair, or restore a backup."
            )
