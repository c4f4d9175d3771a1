"""Rows of a column by intervals of codes, as boolean arrays.

Rows with one value have an array of codes, 0 for absent. Rows with lists have postings: the rows of
each code, ascending, codes one after the other, and where each code starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Interval", "Postings", "code_type", "join_codes"]

Interval = tuple[int, int]
"""Codes from the first up to but not including the second."""

_BLOCK: Final = 32_768
"""Rows looked at together, so that the pieces stay in the processor's cache."""
_FEW_BYTES: Final = 4
_FEW_WORDS: Final = 6
"""Intervals up to which comparing beats a look-up table, for 1-byte and for wider codes."""


def code_type(size: int) -> type[np.uint8 | np.uint16 | np.uint32]:
    """The narrowest dtype for codes 0 to ``size``."""
    if size < 2**8:
        return np.uint8
    return np.uint16 if size < 2**16 else np.uint32


def join_codes(codes: Iterable[int]) -> list[Interval]:
    """Ascending codes as intervals, neighbours joined."""
    intervals: list[Interval] = []
    for code in codes:
        if intervals and intervals[-1][1] == code:
            intervals[-1] = (intervals[-1][0], code + 1)
        else:
            intervals.append((code, code + 1))
    return intervals


@dataclass(frozen=True, slots=True)
class Codes:
    """One value a row; ``size`` is the length of the dictionary."""

    codes: NDArray[Any]
    size: int

    def select(self, intervals: Sequence[Interval]) -> NDArray[np.bool_]:
        """The rows whose code lies in one of the disjoint, ascending ``intervals``."""
        if not intervals:
            return np.zeros(len(self.codes), dtype=np.bool_)
        one_byte = self.codes.dtype.itemsize == 1
        if len(intervals) == 1 and (one_byte or self._is_one_comparison(intervals[0])):
            return self._between(self.codes, intervals[0])
        if len(intervals) <= (_FEW_BYTES if one_byte else _FEW_WORDS):
            return self._compared(intervals)
        return self._translated(intervals) if one_byte else self._looked_up(intervals)

    def _is_one_comparison(self, interval: Interval) -> bool:
        return interval[1] - interval[0] == 1 or interval[1] > self.size

    def _between(self, codes: NDArray[Any], interval: Interval) -> NDArray[np.bool_]:
        low, high = interval
        kind = codes.dtype.type
        if high - low == 1:
            chosen = codes == kind(low)
        elif high > self.size:
            chosen = codes >= kind(low)
        else:  # unsigned codes below the interval wrap round to large ones
            chosen = (codes - kind(low)) < kind(high - low)
        return np.asarray(chosen, dtype=np.bool_)

    def _compared(self, intervals: Sequence[Interval]) -> NDArray[np.bool_]:
        chosen = np.zeros(len(self.codes), dtype=np.bool_)
        for start in range(0, len(self.codes), _BLOCK):
            block = self.codes[start : start + _BLOCK]
            out = chosen[start : start + _BLOCK]
            for interval in intervals:
                out |= self._between(block, interval)
        return chosen

    def _table(self, intervals: Sequence[Interval], size: int) -> NDArray[np.bool_]:
        table = np.zeros(size, dtype=np.bool_)
        for low, high in intervals:
            table[low:high] = True
        return table

    def _translated(self, intervals: Sequence[Interval]) -> NDArray[np.bool_]:
        table = self._table(intervals, 256).tobytes()
        return np.frombuffer(self.codes.tobytes().translate(table), dtype=np.bool_)

    def _looked_up(self, intervals: Sequence[Interval]) -> NDArray[np.bool_]:
        table = self._table(intervals, self.size + 1)
        chosen = np.empty(len(self.codes), dtype=np.bool_)
        for start in range(0, len(self.codes), _BLOCK):
            end = start + _BLOCK
            table.take(self.codes[start:end], mode="clip", out=chosen[start:end])
        return chosen


@dataclass(frozen=True, slots=True)
class Postings:
    """Lists: ``rows[starts[c - 1]:starts[c]]`` are the rows that hold code c."""

    rows: NDArray[Any]
    starts: NDArray[Any]
    count: int

    def select(self, intervals: Sequence[Interval]) -> NDArray[np.bool_]:
        """The rows that hold a code of one of the ``intervals``."""
        chosen = np.zeros(self.count, dtype=np.bool_)
        for low, high in intervals:
            chosen[self.rows[int(self.starts[low - 1]) : int(self.starts[high - 1])]] = True
        return chosen
