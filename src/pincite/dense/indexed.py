"""A segment of a dense index: vectors with their codes, and the ids of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.dense.codes import vector_arrays
from pincite.dense.kernels import Mask
from pincite.dense.vectors import Vectors
from pincite.errors import StoreCorrupt
from pincite.segments.commits import Kind, write_new
from pincite.segments.file import SegmentFile, write_segment
from pincite.segments.ids import IdTable, build_ids, merge_ids

__all__ = ["KIND", "Segment", "build_segment", "index_corrupt", "merge_segments"]

KIND: Final = Kind("dense", "dense", 1)
index_corrupt = KIND.corrupt

_KIND: Final = "dense-segment"
_VERSION: Final = 2


class Segment:
    """Rows that never change. ``number`` grows with the age; ``file`` is where a folder has them,
    "" while it does not. Safe to share between threads."""

    def __init__(self, number: int, source: SegmentFile, file: str = "") -> None:
        """Raises ``StoreCorrupt`` when the source is no segment of a dense index."""
        if source.kind != _KIND:
            raise index_corrupt(source.name, f"it is a {source.kind}")
        if source.version > _VERSION:
            raise StoreCorrupt(
                f"Segment {source.name} has version {source.version}; open it with a newer Pincite."
            )
        self.number = number
        self.file = file
        self.source = source
        try:
            rows, dimension = int(source.meta["rows"]), int(source.meta["dimension"])
        except (KeyError, TypeError, ValueError) as error:
            raise index_corrupt(source.name, f"its size cannot be read ({error})") from error
        self.vectors = Vectors(source, rows, dimension)

    @classmethod
    def open(cls, number: int, folder: Path, file: str) -> Segment:
        """Map a segment's file; ``StoreNotFound`` when it is gone."""
        return cls(number, SegmentFile.open(folder / file, name=file), file)

    def placed(self, folder: Path) -> Segment:
        """The same, written to a folder and mapped."""
        return self.open(self.number, folder, write_new(folder, [self.source.contents]))

    @property
    def rows(self) -> int:
        return len(self.vectors)

    @property
    def checksum(self) -> int:
        """That of its file."""
        return self.source.checksum

    @cached_property
    def ids(self) -> IdTable:
        """The ids; raises ``StoreCorrupt`` when they do not fit the rows."""
        table = IdTable(self.source)
        if len(table) != self.rows:
            raise index_corrupt(self.source.name, "its ids and its vectors differ in rows")
        return table


def build_segment(number: int, ids: Sequence[str], vectors: NDArray[np.float16]) -> Segment:
    """A segment in memory with a row for each id."""
    return _segment(number, build_ids(ids), vectors)


def merge_segments(
    number: int, segments: Sequence[Segment], live: Sequence[Mask | None]
) -> Segment:
    """The live rows of some segments as one, in memory."""
    keep = [
        np.ones(segment.rows, dtype=np.bool_) if mask is None else mask
        for segment, mask in zip(segments, live, strict=True)
    ]
    parts = [s.vectors[mask] for s, mask in zip(segments, keep, strict=True)]
    ids = merge_ids([segment.ids for segment in segments], keep)
    return _segment(number, ids, np.concatenate(parts))


def _segment(
    number: int, ids: Mapping[str, NDArray[Any] | bytes], vectors: NDArray[np.float16]
) -> Segment:
    arrays = {**vector_arrays(vectors), **ids}
    meta = {"rows": len(vectors), "dimension": vectors.shape[1]}
    data = write_segment(_KIND, _VERSION, arrays, meta)
    return Segment(number, SegmentFile.open(data, name="in memory"))
