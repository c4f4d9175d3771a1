"""Flat code point ranges as the inside of a regular expression's character class."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["character_class", "pairs"]


def pairs(flat: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The (first, last) pairs of a flat range tuple."""
    return zip(flat[::2], flat[1::2], strict=True)


def character_class(*tables: Sequence[int]) -> str:
    r"""``\UXXXXXXXX-\UXXXXXXXX...`` for all the ranges."""
    return "".join(
        f"\\U{first:08x}-\\U{last:08x}" for flat in tables for first, last in pairs(flat)
    )
