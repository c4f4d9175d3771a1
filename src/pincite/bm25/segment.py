"""The keyword part of a segment: a sorted vocabulary and the postings of each term.

Version 2. T terms, P postings, R rows, C <= 254 codes, all little-endian:

- ``vocabulary`` uint8: the terms in byte order, UTF-8, one after another;
- ``vocabulary_offsets`` uint32 (T + 1): where each term starts in it;
- ``rows`` uint16 (P): the low 16 bits of each posting's row, ascending within a run;
- ``codes`` uint8 (P): each posting's frequency and length, roughly (see ``codebook``);
- ``code_tfs``, ``code_lengths`` uint32 (C): what a code stands for;
- ``large_at`` uint32, ascending, ``large_tfs`` uint32: which postings have a frequency above
  ``codebook.EXACT``, and that frequency. All others have their code's;
- ``run_starts`` uint32 (runs + 1), ``run_blocks`` uint16 (runs): a run is a term's postings within
  one block of 65,536 rows: where it starts among the postings, and the high bits of its rows;
- ``term_runs`` uint32 (T + 1): where each term's runs start;
- ``lengths`` uint32 (R): |d| of each row; ``totals`` uint64 (1): their sum;
- ``long_terms`` uint32 (L), ascending: the terms with ``packing.LONG`` postings or more. For each,
  over the W windows of ``packing.WINDOW`` rows: ``window_starts`` uint32 (L, W + 1), where the
  window's postings start, and ``window_codes`` uint8 (L, W, 4), for each of ``codebook.GROUPS`` a
  code that none of the window's postings exceeds, or ``NO_CODE``.

Whoever builds a segment groups postings by term and calls ``packing.pack_arrays``. A bound made of
codes holds under every k1, b and average length, so none of them is stored.

Version 3 is the compact layout (see ``compact``). Version 1 (``postings_offsets``, ``rows`` uint32,
``tfs``) is still read.
"""

from __future__ import annotations

import functools
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.compact import (
    COMPACT,
    Damage,
    length_codes,
    packed,
    short_postings,
    window_postings,
)
from pincite.bm25.packing import WINDOW, pack_arrays
from pincite.errors import MEND_SEGMENT, InvalidArgument, StoreCorrupt
from pincite.segments.file import SegmentFile
from pincite.segments.kernels import native

__all__ = [
    "ArraySource",
    "KeywordSegment",
    "Postings",
    "build_arrays",
    "compact_arrays",
    "encoded",
    "merge_arrays",
]

Postings = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Rows, ascending, and the term's frequency in each."""

_VERSION_1 = ("vocabulary", "vocabulary_offsets", "postings_offsets", "rows", "tfs", "lengths")
_TYPES = {
    "vocabulary": "<u1", "vocabulary_offsets": "<u4", "code_tfs": "<u4", "code_lengths": "<u4",
    "lengths": "<u4", "long_terms": "<u4", "window_starts": "<u4", "window_codes": "<u1",
}  # fmt: skip
_LISTS = {
    "term_runs": "<u4", "run_starts": "<u4", "run_blocks": "<u2", "rows": "<u2", "codes": "<u1",
    "large_at": "<u4", "large_tfs": "<u4",
}  # fmt: skip
_COMPACT = dict(zip(COMPACT, ("<u1", "<u4", "<u4", "<u1"), strict=True))
_OFFSETS = {
    "vocabulary_offsets": "vocabulary", "term_runs": "run_blocks", "run_starts": "rows",
    "packed_starts": "packed",
}  # fmt: skip
_ENCODING, _LONE_SURROGATES = "utf-8", "surrogatepass"


class ArraySource(Protocol):
    """Where a segment's arrays come from; an open segment file is one."""

    name: str

    def array(self, name: str) -> NDArray[Any]: ...


class _Held:
    """Arrays in memory, read like those of a file."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], name: str = "in memory") -> None:
        self._arrays = arrays
        self.name = name

    def array(self, name: str) -> NDArray[Any]:
        return self._arrays[name]


class KeywordSegment:
    """Reads postings by term. Nothing is copied at open and no list of terms is built."""

    def __init__(self, source: ArraySource) -> None:
        """Raises ``StoreCorrupt`` with the source's name when its arrays contradict each other."""
        self._name = source.name
        self._source = _upgraded(source)
        self.compact = _has(self._source, "packed")
        self._types = _TYPES | (_COMPACT if self.compact else _LISTS)
        self._raw = {name: self._stored(name) for name in self._types}
        self._held: dict[str, NDArray[Any]] = {}
        self._check_shape()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> KeywordSegment:
        """A segment over arrays in memory, as ``build_arrays`` returns them."""
        return cls(_Held(arrays))

    @property
    def names(self) -> frozenset[str]:
        """Those of its arrays."""
        return frozenset((*self._types, "totals"))

    @property
    def rows(self) -> int:
        return self._size("lengths")

    @property
    def lengths(self) -> NDArray[np.uint32]:
        """|d| of each row."""
        return self._array("lengths")

    @functools.cached_property
    def native(self) -> Any:
        """The segment as the compiled kernels read it, verified as they go; None without them."""
        module = native()
        if module is None or sys.byteorder == "big":
            return None
        try:
            return module.KeywordSegment(self._name, self._raw)
        except module.Damaged as error:
            raise self._corrupt(str(error)) from error

    @functools.cached_property
    def total_length(self) -> int:
        """The sum of ``lengths``."""
        totals = self._array("totals")
        if totals.size != 1:
            raise self._corrupt("the sum of its lengths is missing")
        return int(totals[0])

    @property
    def vocabulary_size(self) -> int:
        return self._size("vocabulary_offsets") - 1

    def terms(self) -> Iterator[str]:
        """Every term in byte order, those without a live row included."""
        for index in range(self.vocabulary_size):
            try:
                yield self._term(index).decode(_ENCODING, _LONE_SURROGATES)
            except UnicodeDecodeError as error:
                raise self._corrupt("a term is not UTF-8") from error

    def postings(self, term: str) -> Postings:
        """The rows that hold ``term`` and its frequency in each; empty for an unknown term."""
        wanted = encoded(term)
        index = self._lower_bound(wanted)
        if index == self.vocabulary_size or self._term(index) != wanted:
            return _nothing()
        return self._of_terms(index, index + 1)[1:]

    def inverted(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
        """Term number, row and frequency of every posting, in stored order."""
        counts, rows, tfs = self._of_terms(0, self.vocabulary_size)
        return np.repeat(np.arange(len(counts)), counts), rows, tfs

    def _of_terms(
        self, first: int, end: int
    ) -> tuple[NDArray[np.integer], NDArray[np.uint32], NDArray[np.uint32]]:
        """Of the terms [first, end): how many postings each has, their rows and frequencies."""
        if self.compact:
            return self._unpacked(first, end)
        runs = self._array("term_runs")[first : end + 1].astype(np.int64)
        if (runs[1:] < runs[:-1]).any():
            raise self._corrupt("its runs go backwards")
        rows, tfs = self._postings(int(runs[0]), int(runs[-1]))
        starts: NDArray[np.int64] = self._array("run_starts")[runs].astype(np.int64)
        return starts[1:] - starts[:-1], rows, tfs

    def _unpacked(
        self, first: int, end: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
        module = native()
        if module is None or self.native is None:
            return self._unpacked_slowly(first, end)
        try:
            found = self.native.unpacked(first, end)
        except module.Damaged as error:
            raise self._corrupt(str(error)) from error
        counts, rows, tfs = (np.frombuffer(each, dtype=np.uint32) for each in found)
        return counts, rows, tfs

    def _unpacked_slowly(
        self, first: int, end: int
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
        places = {int(term): place for place, term in enumerate(self._array("long_terms"))}
        try:
            pairs = [self._unpacked_term(n, places.get(n)) for n in range(first, end)]
        except Damage as error:
            raise self._corrupt(str(error)) from error
        rows, tfs = (_joined(each) for each in zip(*pairs, strict=True)) if pairs else _nothing()
        if rows.size and rows.max() >= self.rows:
            raise self._corrupt("a posting names a row that it does not have")
        return np.array([len(each) for each, _ in pairs], dtype=np.uint32), rows, tfs

    def _unpacked_term(self, term: int, place: int | None) -> Postings:
        if place is None:
            return short_postings(self._packed(*self._array("packed_starts")[term : term + 2]))
        windows = -(-self.rows // WINDOW)
        part = slice(place * (windows + 1), (place + 1) * (windows + 1))
        starts = self._array("window_starts").reshape(-1)[part].tolist()
        edges = self._array("packed_windows").reshape(-1)[part].tolist()
        rows, tfs = [], []
        for window in range(windows):
            count = starts[window + 1] - starts[window]
            size = min(WINDOW, self.rows - window * WINDOW)
            if count < 0:
                raise self._corrupt("its windows go backwards")
            if count:
                packed = self._packed(edges[window], edges[window + 1])
                own, own_tfs = window_postings(packed, count, size)
                rows.append(own + np.uint32(window * WINDOW))
                tfs.append(own_tfs)
        return _joined(rows), _joined(tfs)

    def _packed(self, begin: int, end: int) -> NDArray[np.uint8]:
        if not begin <= end <= self._size("packed"):
            raise self._corrupt("a term's postings lie outside of it")
        return self._window("packed", int(begin), int(end))

    def _postings(self, first: int, end: int) -> Postings:
        """Those of the runs [first, end)."""
        blocks = self._array("run_blocks")
        if not first <= end <= len(blocks):
            raise self._corrupt("a term's runs lie outside of it")
        starts = self._array("run_starts")[first : end + 1].astype(np.int64)
        counts = np.diff(starts)
        if (counts < 0).any() or starts[-1] > self._size("rows"):
            raise self._corrupt("a term's postings lie outside of it")
        start, stop = int(starts[0]), int(starts[-1])
        high = np.repeat(blocks[first:end].astype(np.uint32) << np.uint32(16), counts)
        rows = high | self._window("rows", start, stop)
        if rows.size and rows.max() >= self.rows:
            raise self._corrupt("a posting names a row that it does not have")
        return rows, self._frequencies(start, stop)

    def _frequencies(self, start: int, stop: int) -> NDArray[np.uint32]:
        codes, code_tfs = self._window("codes", start, stop), self._array("code_tfs")
        if codes.size and codes.max() >= len(code_tfs):
            raise self._corrupt("a posting has a code that stands for nothing")
        tfs: NDArray[np.uint32] = code_tfs[codes]
        at = self._large_at
        # Of the array's own type, or all of it would be converted.
        first, end = np.searchsorted(at, np.array([start, stop], dtype=at.dtype))
        tfs[at[first:end] - np.uint32(start)] = self._array("large_tfs")[first:end]
        if tfs.size and not tfs.min():
            raise self._corrupt("a posting has a frequency of 0")
        return tfs

    @functools.cached_property
    def _large_at(self) -> NDArray[np.uint32]:
        at = self._array("large_at")
        if at.size and (at[-1] >= self._size("rows") or (at[1:] <= at[:-1]).any()):
            raise self._corrupt("its large frequencies are out of order")
        return at

    def _term(self, index: int) -> bytes:
        start, end = self._array("vocabulary_offsets")[index : index + 2].tolist()
        return self._array("vocabulary")[start:end].tobytes()

    def _lower_bound(self, wanted: bytes) -> int:
        low, high = 0, self.vocabulary_size
        while low < high:
            middle = (low + high) // 2
            if self._term(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def _check_shape(self) -> None:
        sizes = {name: self._size(name) for name in self._types}
        terms = sizes["vocabulary_offsets"]
        if self.compact:
            differ = sizes["packed_starts"] != terms or sizes["length_codes"] != sizes["lengths"]
        else:
            differ = (
                sizes["term_runs"] != terms
                or sizes["run_starts"] != sizes["run_blocks"] + 1
                or sizes["rows"] != sizes["codes"]
                or sizes["large_at"] != sizes["large_tfs"]
            )
        if differ or terms < 1:
            raise self._corrupt("its arrays differ in length")
        for offsets, covered in _OFFSETS.items():
            if offsets not in sizes:
                continue
            ends = np.frombuffer(self._raw[offsets][0], dtype="<u4")[[0, -1]].tolist()
            if ends != [0, sizes[covered]]:
                raise self._corrupt("its offsets do not cover its arrays")

    def _array(self, name: str) -> NDArray[Any]:
        """A whole array, verified."""
        if name not in self._held:
            self._held[name] = self._source.array(name)
        return self._held[name]

    def _window(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Items [start, stop) of a large array, verified without the rest of it."""
        if isinstance(self._source, SegmentFile):
            return self._source.window(name, start, stop)
        return self._array(name)[start:stop]

    def _size(self, name: str) -> int:
        """The length of an array, which is not read."""
        return int(self._raw[name][0].nbytes) // int(self._types[name][2])

    def _stored(self, name: str) -> tuple[Any, memoryview | None]:
        """An array's bytes and the checksums of their blocks, if there are any."""
        if isinstance(self._source, SegmentFile):
            return self._source.unverified(name)
        array = self._source.array(name)
        return np.ascontiguousarray(array, dtype=self._types[name]).reshape(-1), None

    def _corrupt(self, what: str) -> StoreCorrupt:
        return StoreCorrupt(f"Keyword segment {self._name} is damaged: {what}. {MEND_SEGMENT}")


def _upgraded(source: ArraySource) -> ArraySource:
    """``source``, or what it holds in version 1 packed as version 2."""
    if _has(source, "term_runs") or _has(source, "packed"):
        return source
    old = {name: source.array(name) for name in _VERSION_1}
    return _Held(pack_arrays(*old.values()), source.name)


def _has(source: ArraySource, name: str) -> bool:
    names = getattr(source, "names", None)
    if names is not None:
        return name in names
    try:
        source.array(name)
    except KeyError:
        return False
    return True


def encoded(term: str) -> bytes:
    """A term as the vocabulary has it."""
    return term.encode(_ENCODING, _LONE_SURROGATES)


def build_arrays(
    documents: Iterable[tuple[Mapping[str, int], int]],
) -> dict[str, NDArray[Any]]:
    """The arrays of a segment whose rows are ``documents``: (term frequencies, length |d|).

    Raises ``InvalidArgument`` for a frequency below 1, or one or a length beyond 32 bits.
    """
    numbers: dict[str, int] = {}
    terms, tfs, counts, lengths = array("I"), array("I"), array("I"), array("I")
    try:
        for frequencies, length in documents:
            terms.extend([numbers.setdefault(term, len(numbers)) for term in frequencies])
            tfs.extend(frequencies.values())
            counts.append(len(frequencies))
            lengths.append(length)
    except OverflowError as error:
        raise InvalidArgument(
            "A term frequency or length is negative or beyond 32 bits; pass counts of terms."
        ) from error
    rows = np.repeat(np.arange(len(counts), dtype=np.uint32), _uint32(counts))
    vocabulary = [encoded(term) for term in numbers]
    return _assemble(vocabulary, _uint32(terms), rows, _uint32(tfs), _uint32(lengths))


def merge_arrays(
    segments: Sequence[KeywordSegment], keep: Sequence[NDArray[np.bool_]]
) -> dict[str, NDArray[Any]]:
    """One segment of the rows that ``keep`` marks, in order; terms left without a row go."""
    if [segment.rows for segment in segments] != [len(mask) for mask in keep]:
        raise InvalidArgument("keep needs one mask per segment, as long as the segment has rows.")
    numbers: dict[str, int] = {}
    terms, rows, tfs, lengths = [], [], [], []
    first = 0
    for segment, mask in zip(segments, keep, strict=True):
        own = [numbers.setdefault(term, len(numbers)) for term in segment.terms()]
        local, old_rows, old_tfs = segment.inverted()
        kept = mask[old_rows]
        renumbered = np.cumsum(mask) - 1 + first
        terms.append(np.array(own, dtype=np.uint32)[local[kept]])
        rows.append(renumbered[old_rows[kept]].astype(np.uint32))
        tfs.append(old_tfs[kept])
        lengths.append(segment.lengths[mask])
        first += int(np.count_nonzero(mask))
    vocabulary = [encoded(term) for term in numbers]
    return _assemble(vocabulary, _joined(terms), _joined(rows), _joined(tfs), _joined(lengths))


def compact_arrays(segment: KeywordSegment) -> dict[str, NDArray[Any]]:
    """The arrays of a segment in the compact layout.

    Raises ``InvalidArgument`` when packed postings exceed 4 GiB.
    """
    shared = {name: segment._array(name) for name in (*_TYPES, "totals")}
    if segment.compact:
        return shared | {name: segment._array(name) for name in _COMPACT}
    starts = shared["window_starts"].reshape(-1, -(-segment.rows // WINDOW) + 1)
    shared["window_starts"] = starts - starts[:, :1]
    shared["length_codes"] = length_codes(shared["code_lengths"], shared["lengths"])
    if segment.native is None:
        numbers, rows, tfs = segment.inverted()
        offsets = np.searchsorted(numbers, np.arange(segment.vocabulary_size + 1))
        return shared | packed(offsets, rows, tfs, segment.rows)
    try:
        made = segment.native.compact()
    except OverflowError as error:
        raise InvalidArgument(f"The index is too large to be small: {error}.") from error
    except ValueError as error:
        raise segment._corrupt(str(error)) from error
    return shared | {name: np.frombuffer(blob, dtype=_COMPACT[name]) for name, blob in made.items()}


def _assemble(
    vocabulary: Sequence[bytes],
    terms: NDArray[np.uint32],
    rows: NDArray[np.uint32],
    tfs: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
) -> dict[str, NDArray[Any]]:
    """Sort the vocabulary, drop terms without postings, group the postings by term."""
    if tfs.size and tfs.min() < 1:
        raise InvalidArgument("A term frequency is 0; leave out the terms that do not occur.")
    used = np.bincount(terms, minlength=len(vocabulary))
    order = [number for number in _by_bytes(vocabulary) if used[number]]
    place = np.zeros(len(vocabulary), dtype=np.int64)
    place[order] = np.arange(len(order))
    # Stable, so that rows stay ascending within each term.
    grouped = np.argsort(place[terms], kind="stable")
    words = [vocabulary[number] for number in order]
    return pack_arrays(
        b"".join(words),
        _offsets(np.array([len(word) for word in words], dtype=np.uint64)),
        _offsets(used[order]),
        rows[grouped],
        tfs[grouped],
        lengths,
    )


def _by_bytes(vocabulary: Sequence[bytes]) -> list[int]:
    return sorted(range(len(vocabulary)), key=vocabulary.__getitem__)


def _offsets(counts: NDArray[Any]) -> NDArray[np.uint64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)


def _uint32(values: array[int]) -> NDArray[np.uint32]:
    return np.frombuffer(values, dtype=np.uintc).astype(np.uint32)


def _joined(parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    return np.concatenate([np.zeros(0, dtype=np.uint32), *parts])


def _nothing() -> Postings:
    return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint32)
