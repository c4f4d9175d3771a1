"""The ``rows`` part of a segment: which chunk each row is.

Arrays, R rows, D documents:

- ``chunks`` int64 (R): the key of the row's chunk;
- ``indexes`` uint32 (R): its ``chunk_index``;
- ``documents`` uint32 (R): which of the names below is its document;
- ``names`` bytes, ``name_offsets`` uint64 (D + 1): the documents' ids, UTF-8, one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreCorrupt
from pincite.model.hits import chunk_id
from pincite.segments.file import SegmentFile

__all__ = ["RowTable", "build_rows", "merge_rows"]

_ENCODING: Final = "utf-8"
_FEW: Final = 3000


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
    """Reads a ``rows`` part; what is asked of single rows reads and verifies only their blocks.

    Raises ``StoreCorrupt`` where arrays contradict each other: their sizes at once, their values
    when they are read, all of them in ``check``.
    """

    def __init__(self, segment: SegmentFile) -> None:
        self._segment = segment
        self._sorter: NDArray[np.intp] | None = None
        self._decoded: dict[int, str] = {}
        self._single_reads = 0
        self._rows = self._size("chunks", 8)
        self._documents = self._size("name_offsets", 8) - 1
        self._names_size = self._size("names", 1)
        fits = self._size("indexes", 4) == self._size("documents", 4) == self._rows
        if not fits or self._documents < 0 or (self._rows and not self._documents):
            raise self._contradiction()

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def chunks(self) -> NDArray[np.int64]:
        """The key of each row's chunk."""
        return self._segment.array("chunks")

    @cached_property
    def indexes(self) -> NDArray[np.uint32]:
        """The ``chunk_index`` of each row."""
        return self._segment.array("indexes")

    @cached_property
    def documents(self) -> NDArray[np.uint32]:
        """The number of each row's document."""
        documents: NDArray[np.uint32] = self._segment.array("documents")
        if self._rows and int(documents.max()) >= self._documents:
            raise self._contradiction()
        return documents

    def chunk(self, row: int) -> int:
        """The key of a row's chunk."""
        return self._item("chunks", row)

    def id(self, row: int) -> str:
        """The chunk id of a row."""
        return chunk_id(self.document(row), self._item("indexes", row))

    def document(self, row: int) -> str:
        """The document id of a row."""
        number = self._item("documents", row)
        found = self._decoded.get(number)
        if found is None:
            found = self._decoded[number] = self.name(number).decode(_ENCODING)
        return found

    def name(self, number: int) -> bytes:
        """The id of the segment's document of that number, as UTF-8."""
        if number >= self._documents:
            raise self._contradiction()
        start, stop = self._segment.window("name_offsets", number, number + 2).tolist()
        if not start <= stop <= self._names_size:
            raise self._contradiction()
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
            raise self._contradiction()
        assert len(self.documents) == len(self.chunks) == len(self.indexes)

    def _size(self, name: str, item: int) -> int:
        """The length of an array, which is not read."""
        return self._segment.unverified(name)[0].nbytes // item

    def _item(self, name: str, row: int) -> int:
        self._single_reads += 1
        if self._single_reads > _FEW:  # by now whole arrays are quicker
            return int(getattr(self, name)[row])
        return int(self._segment.window(name, row, row + 1)[0])

    def _contradiction(self) -> StoreCorrupt:
        return StoreCorrupt(
            f"Segment {self._segment.name} is damaged: its arrays contradict each other. Run "
            "`pincite doctor --repair`, or restore a backup."
        )
