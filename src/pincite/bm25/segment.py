"""The keyword part of a segment: a sorted vocabulary and the postings of each term.

Arrays, T terms, P postings, R rows:

- ``vocabulary`` uint8: the terms in byte order, UTF-8, one after another;
- ``vocabulary_offsets`` uint64 (T + 1): where each term starts in it;
- ``postings_offsets`` uint64 (T + 1): where each term's postings start;
- ``rows`` uint32 (P): ascending within a term; ``tfs`` (P), the narrowest of uint8, 16 and 32;
- ``lengths`` uint32 (R): |d| of each row.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pincite.errors import InvalidArgument, StoreCorrupt

__all__ = ["ArraySource", "KeywordSegment", "Postings", "build_arrays", "merge_arrays"]

Postings = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Rows, ascending, and the term's frequency in each."""

_ENCODING, _LONE_SURROGATES = "utf-8", "surrogatepass"


class ArraySource(Protocol):
    """Where a segment's arrays come from; an open segment file is one."""

    name: str

    def array(self, name: str) -> NDArray[Any]: ...


class _Held:
    """Arrays in memory, read like those of a file."""

    name = "in memory"

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays

    def array(self, name: str) -> NDArray[Any]:
        return self._arrays[name]


class KeywordSegment:
    """Reads postings by term. Nothing is copied at open and no list of terms is built."""

    def __init__(self, source: ArraySource) -> None:
        """Raises ``StoreCorrupt`` with the source's name when its arrays contradict each other."""
        self._name = source.name
        self.lengths: NDArray[np.uint32] = source.array("lengths")
        self._rows = source.array("rows")
        self._tfs = source.array("tfs")
        self._blob = source.array("vocabulary").data
        self._terms_at = source.array("vocabulary_offsets").data
        self._postings_at = source.array("postings_offsets").data
        self._check_shape()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> KeywordSegment:
        """A segment over arrays in memory, as ``build_arrays`` returns them."""
        return cls(_Held(arrays))

    @property
    def rows(self) -> int:
        return len(self.lengths)

    @functools.cached_property
    def total_length(self) -> int:
        """The sum of ``lengths``."""
        return int(self.lengths.sum(dtype=np.uint64))

    @property
    def vocabulary_size(self) -> int:
        return len(self._terms_at) - 1

    def terms(self) -> Iterator[str]:
        """Every term in byte order, those without a live row included."""
        for index in range(self.vocabulary_size):
            try:
                yield self._term(index).decode(_ENCODING, _LONE_SURROGATES)
            except UnicodeDecodeError as error:
                raise self._corrupt("a term is not UTF-8") from error

    def postings(self, term: str) -> Postings:
        """The rows that hold ``term`` and its frequency in each; empty for an unknown term."""
        wanted = term.encode(_ENCODING, _LONE_SURROGATES)
        index = self._lower_bound(wanted)
        if index == self.vocabulary_size or self._term(index) != wanted:
            return _nothing()
        return self._postings(index)

    def inverted(self) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
        """Term number, row and frequency of every posting, in stored order."""
        offsets = np.array(self._postings_at, dtype=np.int64)
        counts = offsets[1:] - offsets[:-1]
        if counts.size and counts.min() < 0:
            raise self._corrupt("its postings run backwards")
        self._check_rows(self._rows)
        numbers = np.repeat(np.arange(len(counts)), counts)
        return numbers, self._rows, self._tfs.astype(np.uint32)

    def _postings(self, index: int) -> Postings:
        start, end = self._postings_at[index], self._postings_at[index + 1]
        if not start <= end <= len(self._rows):
            raise self._corrupt("a term's postings lie outside of it")
        rows = self._rows[start:end]
        self._check_rows(rows)
        return rows, self._tfs[start:end].astype(np.uint32, copy=False)

    def _term(self, index: int) -> bytes:
        return bytes(self._blob[self._terms_at[index] : self._terms_at[index + 1]])

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
        terms, postings = self._terms_at, self._postings_at
        if not len(terms) == len(postings) >= 1 or len(self._rows) != len(self._tfs):
            raise self._corrupt("its arrays differ in length")
        ends = (terms[0], terms[-1], postings[0], postings[-1])
        if ends != (0, len(self._blob), 0, len(self._rows)):
            raise self._corrupt("its offsets do not cover its arrays")

    def _check_rows(self, rows: NDArray[np.uint32]) -> None:
        if rows.size and rows.max() >= self.rows:
            raise self._corrupt("a posting names a row that it does not have")

    def _corrupt(self, what: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"Keyword segment {self._name} is damaged: {what}. "
            "Run `pincite doctor --repair` to rebuild it."
        )


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
    vocabulary = [term.encode(_ENCODING, _LONE_SURROGATES) for term in numbers]
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
    vocabulary = [term.encode(_ENCODING, _LONE_SURROGATES) for term in numbers]
    return _assemble(vocabulary, _joined(terms), _joined(rows), _joined(tfs), _joined(lengths))


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
    return {
        "vocabulary": np.frombuffer(b"".join(words), dtype=np.uint8),
        "vocabulary_offsets": _offsets(np.array([len(word) for word in words], dtype=np.uint64)),
        "postings_offsets": _offsets(used[order]),
        "rows": rows[grouped],
        "tfs": _narrow(tfs[grouped]),
        "lengths": lengths,
    }


def _by_bytes(vocabulary: Sequence[bytes]) -> list[int]:
    return sorted(range(len(vocabulary)), key=vocabulary.__getitem__)


def _offsets(counts: NDArray[Any]) -> NDArray[np.uint64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint64)


def _narrow(values: NDArray[np.uint32]) -> NDArray[Any]:
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def _uint32(values: array[int]) -> NDArray[np.uint32]:
    return np.frombuffer(values, dtype=np.uintc).astype(np.uint32)


def _joined(parts: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    return np.concatenate([np.zeros(0, dtype=np.uint32), *parts])


def _nothing() -> Postings:
    return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint32)
