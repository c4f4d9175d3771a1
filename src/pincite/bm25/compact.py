"""The compact layout of postings: about half the size, read a window at a time.

Version 3. It replaces the arrays of runs, rows, codes and large frequencies of version 2 (see
``segment``); a posting's code follows from its frequency and its row's length. T terms, of which L
are long, W windows:

- ``packed`` uint8: the postings, term after term;
- ``packed_starts`` uint32 (T + 1): where each term's begin in it;
- ``packed_windows`` uint32 (L, W + 1): where each window of a long term begins, and the end;
- ``length_codes`` uint8 (R): which of the distinct ``code_lengths``, ascending, is the largest
  not above the row's length;
- ``window_starts``: as in version 2, but each term's postings are counted from 0.

Numbers are LEB128: seven bits a byte, the low ones first, the high bit set on all but the last.

- A short term: the number of its postings; its rows, each as the number of rows since the one
  before; the frequencies.
- A window of a long term: with ``_DENSE`` postings or more a bit for each of its rows, low bits
  first; with fewer, bytes, each the number of rows since the posting before, where 255 is as many
  rows without a posting; then the frequencies.
- Frequencies: two bits each, low bits first, for 1, 2, 3 and more; then what those have above 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.packing import LONG, WINDOW

__all__ = ["COMPACT", "Damage", "length_codes", "packed", "short_postings", "window_postings"]

COMPACT: Final = ("packed", "packed_starts", "packed_windows", "length_codes")

_DENSE: Final = 512
_SKIP: Final = 255
_COUNTED: Final = 4
_LARGEST: Final = 2**32 - 1

Pairs = tuple[NDArray[np.uint32], NDArray[np.uint32]]


class Damage(ValueError):
    """Bytes that are no postings."""


def packed(
    offsets: NDArray[np.int64], rows: NDArray[np.uint32], tfs: NDArray[np.uint32], size: int
) -> dict[str, NDArray[Any]]:
    """The three arrays for postings grouped by term: ``offsets`` (T + 1), ``rows`` and ``tfs`` (P)
    ascending within each term, ``size`` rows in the segment."""
    out, starts = bytearray(), []
    windows: list[int] = []
    edges = np.arange(-(-size // WINDOW) + 1) * WINDOW
    for begin, end in pairwise(offsets.tolist()):
        starts.append(len(out))
        own, own_tfs = rows[begin:end], tfs[begin:end].tolist()
        if end - begin < LONG:
            _put(out, [end - begin, *_gaps(own.tolist())])
            _put_frequencies(out, own_tfs)
            continue
        for first, last in pairwise(np.searchsorted(own, edges).tolist()):
            windows.append(len(out))
            if last > first:
                _put_rows(out, own[first:last] % WINDOW)
                _put_frequencies(out, own_tfs[first:last])
        windows.append(len(out))
    return {
        "packed": np.frombuffer(bytes(out), dtype=np.uint8),
        "packed_starts": np.array([*starts, len(out)], dtype=np.uint32),
        "packed_windows": np.array(windows, dtype=np.uint32),
    }


def length_codes(
    code_lengths: NDArray[np.uint32], lengths: NDArray[np.uint32]
) -> NDArray[np.uint8]:
    """The array of that name."""
    places = np.searchsorted(np.unique(code_lengths), lengths, "right") - 1
    return np.maximum(places, 0).astype(np.uint8)


def short_postings(data: NDArray[np.uint8]) -> Pairs:
    """Rows and frequencies of a short term. Raises ``Damage``."""
    values = iter(data.tobytes())
    count = _number(values)
    rows: list[int] = []
    row = -1
    for _ in range(min(count, len(data))):
        row += _number(values) + 1
        rows.append(row)
    if not count or len(rows) != count or row > _LARGEST:
        raise Damage("a term has no such number of postings")
    return np.array(rows, dtype=np.uint32), _frequencies(bytes(values), count)


def window_postings(data: NDArray[np.uint8], count: int, size: int) -> Pairs:
    """Rows within a window of ``size`` rows, and frequencies. Raises ``Damage``."""
    if count >= _DENSE:
        rows = np.flatnonzero(np.unpackbits(data[: WINDOW // 8], bitorder="little"))
        end = WINDOW // 8
    else:
        there = np.flatnonzero(data != _SKIP)[:count]
        end = int(there[-1]) + 1 if there.size else 0
        steps = data[:end].astype(np.int64) + (data[:end] != _SKIP)
        rows = np.cumsum(steps)[there] - 1
    if len(rows) != count or (count and rows[-1] >= size):
        raise Damage("a packed window does not have its rows")
    return rows.astype(np.uint32), _frequencies(data[end:].tobytes(), count)


def _gaps(rows: list[int]) -> Iterator[int]:
    return (row - before - 1 for before, row in pairwise([-1, *rows]))


def _put(out: bytearray, numbers: Iterable[int]) -> None:
    for number in numbers:
        while number >= 0x80:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)


def _put_rows(out: bytearray, rows: NDArray[np.uint32]) -> None:
    if len(rows) >= _DENSE:
        bits = np.zeros(WINDOW, dtype=np.bool_)
        bits[rows] = True
        out += np.packbits(bits, bitorder="little").tobytes()
        return
    for gap in _gaps(rows.tolist()):
        out += bytes([_SKIP]) * (gap // _SKIP)
        out.append(gap % _SKIP)


def _put_frequencies(out: bytearray, tfs: list[int]) -> None:
    twos = np.zeros(-(-len(tfs) // 4) * 4, dtype=np.uint8)
    twos[: len(tfs)] = np.minimum(tfs, _COUNTED) - 1
    out += (
        (twos.reshape(-1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8))
        .sum(axis=1, dtype=np.uint8)
        .tobytes()
    )
    _put(out, (tf - _COUNTED for tf in tfs if tf >= _COUNTED))


def _number(values: Iterator[int]) -> int:
    number = 0
    for shift in range(0, 35, 7):
        byte = next(values, None)
        if byte is None:
            break
        number |= (byte & 0x7F) << shift
        if byte < 0x80 and number <= _LARGEST:
            return number
    raise Damage("a packed number does not end")


def _frequencies(data: bytes, count: int) -> NDArray[np.uint32]:
    size = -(-count // 4)
    if len(data) < size:
        raise Damage("packed frequencies end too early")
    twos = np.frombuffer(data[:size], dtype=np.uint8)[:, None] >> np.array([0, 2, 4, 6])
    tfs: NDArray[np.uint32] = (twos & 3).reshape(-1)[:count].astype(np.uint32) + np.uint32(1)
    values = iter(data[size:])
    for place in np.flatnonzero(tfs == _COUNTED).tolist():
        tf = _number(values) + _COUNTED
        if tf > _LARGEST:
            raise Damage("a frequency is beyond 32 bits")
        tfs[place] = tf
    if next(values, None) is not None:
        raise Damage("a term's packed postings are too long")
    return tfs
