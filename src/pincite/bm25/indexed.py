"""A segment of an index: postings, the ids of its rows, and what is kept with each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.builder import Analysis, build_threads, keyword_arrays
from pincite.bm25.search import Mask
from pincite.bm25.segment import ArraySource, KeywordSegment, compact_arrays, merge_arrays
from pincite.segments.commits import Kind
from pincite.segments.file import SegmentFile
from pincite.segments.ids import IdTable, build_ids, merge_ids

__all__ = [
    "KIND",
    "Arrays",
    "RecordOf",
    "Segment",
    "build_segment",
    "index_corrupt",
    "merge_segments",
]

KIND: Final = Kind("bm25", "keyword", 2)
index_corrupt = KIND.corrupt

Arrays = Mapping[str, NDArray[Any] | bytes]

RecordOf = Callable[[str], bytes]
"""What is kept with an id."""


class _Held:
    """Arrays in memory, read like those of a file."""

    name = "in memory"

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._arrays)

    def array(self, name: str) -> NDArray[Any]:
        found = self._arrays[name]
        return np.frombuffer(found, dtype=np.uint8) if isinstance(found, bytes) else found

    def window(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return self.array(name)[start:stop]

    def unverified(self, name: str) -> tuple[memoryview, memoryview]:
        held = np.ascontiguousarray(self.array(name)).reshape(-1)
        return held.view(np.uint8).data, memoryview(b"")


class Segment:
    """Rows that never change. ``languages`` are those that they were analysed in; ``file`` is
    where a folder has them, "" while it does not; ``number`` grows with the age."""

    def __init__(self, number: int, source: SegmentFile | _Held, languages: frozenset[str]) -> None:
        """Raises ``StoreCorrupt`` when the source's arrays contradict each other."""
        self.number = number
        self.languages = languages
        self.file = ""
        self.checksum = source.checksum if isinstance(source, SegmentFile) else 0
        self._source = source
        reader: ArraySource = source
        self.ids = IdTable(source)
        self.keyword = KeywordSegment(reader)
        if len(self.ids) != self.keyword.rows:
            raise index_corrupt(source.name, "its ids and its postings differ in rows")

    @property
    def rows(self) -> int:
        return self.keyword.rows

    def arrays(
        self,
        live: Mask | None = None,
        record_of: RecordOf | None = None,
        *,
        compact: bool | None = None,
    ) -> Arrays:
        """Every array by name, to be written, with a record of each live row; with postings in the
        ``compact`` layout or the other, None for the one that they have."""
        held = {name: self._source.array(name) for name in self._source.names}
        if compact is not None and compact != self.keyword.compact:
            whole = np.ones(self.rows, dtype=np.bool_)
            made = (
                compact_arrays(self.keyword) if compact else merge_arrays([self.keyword], [whole])
            )
            held = {n: a for n, a in held.items() if n not in self.keyword.names} | made
        if record_of is None:
            return held
        kept = [
            record_of(name) if live is None or live[row] else b""
            for row, name in enumerate(self.ids)
        ]
        return held | _record_arrays(kept)

    def records(self) -> Sequence[bytes]:
        """What is kept with each row; empty bytes when nothing is."""
        if "records" not in self._source.names:
            return [b""] * self.rows
        ends = self._source.array("record_offsets").tolist()
        blob = np.ascontiguousarray(self._source.array("records")).data
        spans = list(pairwise(ends))
        whole = len(spans) == self.rows and ends[0] == 0 and ends[-1] == blob.nbytes
        if not whole or any(start > end for start, end in spans):
            raise index_corrupt(self._source.name, "its records do not fit its rows")
        return [bytes(blob[start:end]) for start, end in spans]


def build_segment(
    number: int,
    ids: Sequence[str],
    texts: Sequence[str],
    languages: Sequence[str],
    *,
    analysis: Analysis,
    threads: int | None = None,
) -> Segment:
    """A segment in memory with a row for each text."""
    if build_threads(len(ids), threads) == 1:
        named = build_ids(ids)
        arrays = keyword_arrays(analysis, texts, languages, threads=threads)
    else:  # native code runs in parts on one processor, and ids are for Python alone
        with ThreadPoolExecutor(1) as pool:
            promised = pool.submit(build_ids, ids)
            arrays = keyword_arrays(analysis, texts, languages, threads=threads)
            named = promised.result()
    return Segment(number, _Held({**arrays, **named}), frozenset(languages))


def merge_segments(
    number: int, segments: Sequence[Segment], live: Sequence[NDArray[np.bool_] | None]
) -> Segment:
    """The live rows of some segments as one, in memory."""
    keep = [
        np.ones(segment.rows, dtype=np.bool_) if mask is None else mask
        for segment, mask in zip(segments, live, strict=True)
    ]
    arrays = {
        **merge_arrays([segment.keyword for segment in segments], keep),
        **merge_ids([segment.ids for segment in segments], keep),
    }
    return Segment(number, _Held(arrays), frozenset().union(*(s.languages for s in segments)))


def _record_arrays(records: Sequence[bytes]) -> dict[str, NDArray[Any] | bytes]:
    ends = np.cumsum([0, *map(len, records)]).astype(np.uint64)
    return {"records": b"".join(records), "record_offsets": ends}
