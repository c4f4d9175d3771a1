"""The parts of a segment: built from rows of chunks, opened from the database or from a file."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.builder import keyword_arrays
from pincite.dense.codes import vector_arrays
from pincite.errors import StoreCorrupt
from pincite.model.fields import FieldSpec
from pincite.model.hits import Chunk
from pincite.segments.columns import build_columns
from pincite.segments.file import SegmentFile, segment_pieces
from pincite.segments.manifest import PartKind, PartRecord
from pincite.segments.rows import build_rows
from pincite.text.analysis import default_analyzer

__all__ = [
    "LARGE",
    "Arrays",
    "IndexedText",
    "Piece",
    "columns_part",
    "encode_part",
    "is_part_file",
    "keyword_part",
    "open_part",
    "part_file",
    "rebuilt",
    "rows_part",
    "vectors_part",
]

LARGE: Final = 128 << 10
"""From this size in bytes on a part is a file of its own."""

_PART_FILE: Final = re.compile(r"[0-9]+\.[0-9]+\.[a-z]+\.seg(\.tmp)?")
_VERSIONS: Final[Mapping[PartKind, int]] = {
    PartKind.ROWS: 2,
    PartKind.VECTORS: 2,
    PartKind.KEYWORD: 2,
    PartKind.COLUMNS: 1,
}
"""The version of each kind of part that is written; older ones are read."""

Arrays = Mapping[str, NDArray[Any] | bytes]
Piece = bytes | memoryview
IndexedText = tuple[str, str]
"""A text and the language it is analysed in."""


def rows_part(chunks: Sequence[Chunk], keys: Sequence[int]) -> Arrays:
    """Which chunk each row is; ``keys`` are the chunks' keys in the database."""
    return build_rows(
        keys, [chunk.document for chunk in chunks], [chunk.chunk_index for chunk in chunks]
    )


def vectors_part(vectors: NDArray[np.float16], keys: NDArray[np.int64]) -> Arrays:
    """The stored vectors, shape (rows, dimension), and whose they are: enough to build the other
    parts anew; and their codes, for searching."""
    return {"chunks": keys, **vector_arrays(vectors)}


def keyword_part(texts: Sequence[IndexedText]) -> Arrays:
    """The postings of rows given by their texts."""
    return keyword_arrays(default_analyzer(), [t for t, _ in texts], [code for _, code in texts])


def columns_part(values: Sequence[Mapping[str, Any]], spec: FieldSpec) -> Arrays:
    """The columns that filters read, of rows given by their ``chunk_values``."""
    return build_columns(values, spec)


def encode_part(kind: PartKind, arrays: Arrays) -> list[Piece]:
    """A part as the pieces of its container."""
    meta: dict[str, Any] = {}
    if kind is PartKind.KEYWORD:
        analyzer = default_analyzer()
        meta = {"analyzer_version": analyzer.version, "analyzer": analyzer.fingerprint}
    return segment_pieces(kind, _VERSIONS[kind], arrays, meta)


def part_file(number: int, kind: PartKind, stamp: int) -> str:
    """The name of a part's file: numbers and the kind only."""
    return f"{number}.{stamp}.{kind}.seg"


def is_part_file(name: str) -> bool:
    """Whether ``part_file`` could have made the name, or the draft of one."""
    return _PART_FILE.fullmatch(name) is not None


def open_part(
    connection: sqlite3.Connection, folder: Path, number: int, record: PartRecord
) -> SegmentFile:
    """Open a part and check that it is the one of the manifest.

    Raises ``StoreNotFound`` when its file was removed meanwhile and ``StoreCorrupt`` for damage.
    """
    label = record.file or f"{number} ({record.kind})"
    if record.file and not is_part_file(record.file):
        raise StoreCorrupt(
            f"Segment {number} names the file {record.file!r}, which no store does. Restore a "
            "backup."
        )
    if record.file:
        segment = SegmentFile.open(folder / record.file, name=label)
    else:
        segment = SegmentFile.open(_blob(connection, number, record, label), name=label)
    expected = (record.kind, record.size, record.checksum)
    if (segment.kind, segment.nbytes, segment.checksum) != expected:
        raise StoreCorrupt(
            f"Segment {label} is not the one that was committed. Run doctor with repair, or "
            "restore a backup."
        )
    if segment.version > _VERSIONS[record.kind]:
        raise StoreCorrupt(
            f"Segment {label} has version {segment.version}; open it with a newer Pincite."
        )
    return segment


def _blob(connection: sqlite3.Connection, number: int, record: PartRecord, label: str) -> bytes:
    found = connection.execute(
        "SELECT data FROM parts WHERE segment = ? AND kind = ?", (number, str(record.kind))
    ).fetchone()
    if found is None:
        raise StoreCorrupt(
            f"Segment {label} is missing. Run doctor with repair, or restore a backup."
        )
    data: bytes = found[0]
    return data


def rebuilt(kind: PartKind, arrays: Arrays, label: str) -> SegmentFile:
    """A part built in memory, opened."""
    return SegmentFile.open(b"".join(encode_part(kind, arrays)), name=f"{label} (rebuilt)")
