"""Postings as PostgreSQL holds them: a segment is what one commit or merge wrote, in blocks.

A block is a row: its terms in byte order, between and around them a NUL (which no packed term
holds), and ``data``, all little-endian: postings of each term uint32; then for every posting the
chunk's key less ``base``, the term's frequency in it and the chunk's length, each in the narrowest
unsigned integers that hold them. A term's postings are never split. A chunk is in one segment.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.segment import KeywordSegment
from pincite.errors import StoreCorrupt
from pincite.stores.postgres.packing import pack_term

__all__ = ["Block", "Inverted", "Postings", "inverted", "keys_of", "merged", "union", "word_of"]

_SIZE: Final = 4_000
"""Bytes that a block is filled to: two in a page of the database."""

_HEAD: Final = struct.Struct("<IqBBB")
"""Postings, base, and the bytes of a key, a frequency and a length."""

_TERM_BYTES: Final = 5
_POSTING_BYTES: Final = 7


class Postings(NamedTuple):
    """Keys of chunks, a term's frequency in each, and the length of each: unsigned integers of any
    width, all of shape (n,)."""

    keys: NDArray[np.int64]
    tfs: NDArray[Any]
    lengths: NDArray[Any]

    def at(self, places: NDArray[Any] | slice) -> Postings:
        """Those at some places, given by their numbers, a mask or a slice."""
        return Postings(self.keys[places], self.tfs[places], self.lengths[places])


_NOTHING: Final = Postings(
    np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.uint8)
)


@dataclass(frozen=True, slots=True)
class Inverted:
    """A segment in memory: words in byte order, how many postings each has, and the postings."""

    words: Sequence[bytes]
    counts: NDArray[np.int64]
    postings: Postings

    def blocks(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The rows of the table: the first word, all words and the data of each block."""
        sizes = np.array([len(word) + _TERM_BYTES for word in self.words], dtype=np.int64)
        ends = np.cumsum(sizes + _POSTING_BYTES * self.counts)
        starts = np.concatenate([[0], np.cumsum(self.counts)])
        first = 0
        while first < len(self.words):
            filled = (ends[first - 1] if first else 0) + _SIZE
            last = max(first + 1, int(np.searchsorted(ends, filled, side="right")))
            words = self.words[first:last]
            part = slice(starts[first], starts[last])
            data = _data(self.counts[first:last], self.postings.at(part))
            yield words[0], b"\0" + b"\0".join(words) + b"\0", data
            first = last


def word_of(term: str) -> bytes:
    """A term as blocks hold it."""
    return pack_term(term).encode()


def inverted(arrays: Mapping[str, NDArray[Any]], keys: NDArray[np.int64]) -> Inverted:
    """The keyword arrays of a segment (``bm25.segment``) whose rows are the chunks ``keys``."""
    segment = KeywordSegment.from_arrays(arrays)
    numbers, rows, tfs = segment.inverted()
    words = [word_of(term) for term in segment.terms()]
    return _grouped(words, numbers, Postings(keys[rows], tfs, segment.lengths[rows]))


def merged(parts: Iterable[Inverted], gone: NDArray[np.int64]) -> Inverted:
    """One segment of several, without the chunks that are gone."""
    held = list(parts)
    known: dict[bytes, int] = {}
    numbers = [
        np.repeat(
            np.array([known.setdefault(word, len(known)) for word in part.words], dtype=np.int64),
            part.counts,
        )
        for part in held
    ]
    postings = _joined([part.postings for part in held])
    terms = np.concatenate([np.zeros(0, dtype=np.int64), *numbers])
    if len(gone):
        kept = ~np.isin(postings.keys, gone)
        terms, postings = terms[kept], postings.at(kept)
    return _grouped(list(known), terms, postings)


def union(found: Sequence[Postings]) -> Postings:
    """The chunks of any of ``found``, with the frequencies of each summed."""
    held = [each for each in found if len(each.keys)]
    if len(held) < 2:
        return held[0] if held else _NOTHING
    joined = _joined(held)
    keys, first, place = np.unique(joined.keys, return_index=True, return_inverse=True)
    tfs = np.bincount(place, weights=joined.tfs).astype(np.uint32)
    return Postings(keys, tfs, joined.lengths[first])


def keys_of(packed: Iterable[bytes]) -> NDArray[np.int64]:
    """Keys that the server packed by ``string_agg(int8send(key), '')``."""
    return np.frombuffer(b"".join(packed), dtype=">i8").astype(np.int64)


class Block:
    """Reads one block. Raises ``StoreCorrupt`` when its parts contradict each other."""

    def __init__(self, words: bytes, data: bytes) -> None:
        self._words = words
        self._data = data
        terms = words.count(b"\0") - 1
        try:
            self._total, self._base, *self._widths = _HEAD.unpack_from(data)
            self._counts = np.frombuffer(data, "<u4", terms, _HEAD.size)
            self._start = _HEAD.size + 4 * terms
        except (struct.error, ValueError) as error:
            raise _damaged() from error
        if len(data) != self._start + self._total * sum(self._widths):
            raise _damaged()

    def find(self, word: bytes) -> Postings:
        """The postings of a word, none when the block does not hold it."""
        at = self._words.find(b"\0" + word + b"\0")
        if at < 0:
            return _NOTHING
        place = self._words.count(b"\0", 0, at)
        start = int(self._counts[:place].sum())
        return self._postings(start, int(self._counts[place]))

    def words(self) -> list[bytes]:
        """All words, in order."""
        return self._words[1:-1].split(b"\0")

    def whole(self) -> Inverted:
        """Everything."""
        counts = self._counts.astype(np.int64)
        if counts.sum() != self._total:
            raise _damaged()
        return Inverted(self.words(), counts, self._postings(0, self._total))

    def _postings(self, start: int, count: int) -> Postings:
        if start + count > self._total:
            raise _damaged()
        columns = []
        offset = self._start
        for width in self._widths:
            columns.append(np.frombuffer(self._data, f"<u{width}", count, offset + width * start))
            offset += width * self._total
        keys, tfs, lengths = columns
        return Postings(keys.astype(np.int64) + self._base, tfs, lengths)


def _grouped(words: Sequence[bytes], numbers: NDArray[np.int64], postings: Postings) -> Inverted:
    """Postings put in the order of their words; words without any are left out."""
    used = np.bincount(numbers, minlength=len(words))
    order = sorted(np.flatnonzero(used).tolist(), key=words.__getitem__)
    place = np.zeros(len(words), dtype=np.int64)
    place[order] = np.arange(len(order))
    places = place[numbers]
    if (places[1:] < places[:-1]).any():
        postings = postings.at(np.argsort(places, kind="stable"))
    return Inverted([words[number] for number in order], used[order], postings)


def _joined(found: Sequence[Postings]) -> Postings:
    return Postings(*(np.concatenate(each) for each in zip(_NOTHING, *found, strict=True)))


def _data(counts: NDArray[np.int64], postings: Postings) -> bytes:
    base = int(postings.keys.min())
    columns = [_narrow(postings.keys - base), _narrow(postings.tfs), _narrow(postings.lengths)]
    head = _HEAD.pack(len(postings.keys), base, *(column.dtype.itemsize for column in columns))
    return b"".join([head, counts.astype("<u4").tobytes(), *(c.tobytes() for c in columns)])


def _narrow(values: NDArray[Any]) -> NDArray[Any]:
    return values.astype(np.min_scalar_type(int(values.max())).newbyteorder("<"))


def _damaged() -> StoreCorrupt:
    return StoreCorrupt(
        "A block of postings contradicts itself; call `await sink.reanalyse(subject, collection)`"
        " to make the keyword side anew, or restore a backup."
    )
