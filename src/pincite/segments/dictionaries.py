"""Sorted dictionaries of a column's values: the code of a value is its rank, counted from 1.

Three forms: strings as UTF-8 with end offsets, 64-bit numbers as an array, and the exact form for
integers beyond 64 bits and numbers that a double cannot hold: one hexadecimal literal a line.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.model.fields import FieldType
from pincite.model.values import Scalar

__all__ = ["Dictionary", "Parts", "encode_dictionary"]

Parts = Mapping[str, "NDArray[Any] | bytes | memoryview"]
"""The arrays of a dictionary by their short names."""

_STRINGS: Final = frozenset({FieldType.KEYWORD, FieldType.TEXT})
_INT64: Final = (-(2**63), 2**63 - 1)
_SCAN_ABOVE: Final = 1 / 50
"""Share of the dictionary that a list of operands must reach before one pass beats bisection."""


def encode_dictionary(values: Sequence[Any], kind: FieldType) -> dict[str, NDArray[Any] | bytes]:
    """The arrays of canonical ``values``, which are sorted and distinct."""
    if kind in _STRINGS:
        encoded = [_utf8(value) for value in values]
        ends = np.cumsum([len(item) for item in encoded], dtype=np.uint64)
        return {"text": b"".join(encoded), "ends": ends}
    if kind is FieldType.BOOLEAN:
        return {"numbers": np.array(values, dtype=np.uint8)}
    if kind is FieldType.NUMBER and all(map(_is_double, values)):
        return {"numbers": np.array([float(value) for value in values], dtype=np.float64)}
    if kind is not FieldType.NUMBER and (not values or _fits_int64(values)):
        return {"numbers": np.array(values, dtype=np.int64)}
    return {"exact": "\n".join(map(_literal, values)).encode("ascii")}


def _utf8(text: str) -> bytes:
    # Lone surrogates pass, and bytes then sort as code points do.
    return text.encode("utf-8", "surrogatepass")


def _is_double(value: float) -> bool:
    try:
        return float(value) == value
    except OverflowError:
        return False


def _fits_int64(values: Sequence[int]) -> bool:
    return values[0] >= _INT64[0] and values[-1] <= _INT64[1]


def _literal(value: float) -> str:
    return value.hex() if isinstance(value, float) else hex(value)


def _from_literal(literal: str) -> int | float:
    return float.fromhex(literal) if "p" in literal else int(literal, 16)


class Dictionary:
    """Sorted distinct values, looked up in place; codes count from 1, 0 stands for absent."""

    def __init__(self, kind: FieldType, parts: Parts) -> None:
        self._is_text = kind in _STRINGS
        self._is_boolean = kind is FieldType.BOOLEAN
        self._items = _TextItems(parts) if self._is_text else _number_items(parts)

    def __len__(self) -> int:
        return len(self._items)

    def scalars(self) -> list[Scalar]:
        """Every value, decoded, in order."""
        if self._is_text:
            return [item.decode("utf-8", "surrogatepass") for item in self._items]
        return [bool(item) for item in self._items] if self._is_boolean else list(self._items)

    def lower(self, value: Scalar) -> int:
        """The code of the first value >= ``value``; ``len + 1`` when there is none."""
        return bisect_left(self._items, self._key(value)) + 1

    def upper(self, value: Scalar) -> int:
        """The code of the first value > ``value``; ``len + 1`` when there is none."""
        return bisect_right(self._items, self._key(value)) + 1

    def codes(self, values: Collection[Scalar]) -> list[int]:
        """The codes of those of ``values`` that are in the dictionary, ascending and distinct."""
        keys = {self._key(value) for value in values}
        if len(keys) > len(self) * _SCAN_ABOVE:
            return [code for code, item in enumerate(self._items, 1) if item in keys]
        places = ((bisect_left(self._items, key), key) for key in keys)
        found = (at for at, key in places if at < len(self) and self._items[at] == key)
        return sorted(at + 1 for at in found)

    def _key(self, value: Scalar) -> Any:
        return _utf8(value) if isinstance(value, str) else value


class _TextItems(Sequence[Any]):
    """The UTF-8 of each string, sliced on demand."""

    def __init__(self, parts: Parts) -> None:
        self._text = memoryview(parts["text"])  # type: ignore[arg-type]  # bytes or a view
        # A memory view gives Python's integers three times as fast as an array does.
        self._ends = np.ascontiguousarray(parts["ends"], dtype=np.uint64).data

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, at: Any) -> bytes:
        start = self._ends[at - 1] if at else 0
        return bytes(self._text[start : self._ends[at]])

    def __iter__(self) -> Iterator[bytes]:
        start = 0
        text = bytes(self._text)
        for end in self._ends.tolist():
            yield text[start:end]
            start = end


class _NumberItems(Sequence[Any]):
    """Numbers of an array as Python's own, which compare exactly with any other."""

    def __init__(self, numbers: NDArray[Any]) -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        return self._numbers[at].item()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._numbers.tolist())


def _number_items(parts: Parts) -> Sequence[Any]:
    if "exact" in parts:
        lines: Iterable[str] = bytes(parts["exact"]).decode("ascii").split()
        return [_from_literal(line) for line in lines]
    return _NumberItems(np.asarray(parts["numbers"]))
