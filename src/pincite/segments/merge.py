"""When segments are merged: by size class, and when a tenth of a segment is dead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

__all__ = ["DEAD_SHARE", "FAN_IN", "plan_merge", "size_class"]

FAN_IN: Final = 8
"""How many segments of one size class are merged into one."""

DEAD_SHARE: Final = 0.1
"""The share of dead rows from which a segment is written anew."""

_SMALLEST: Final = 128


class Counted(Protocol):
    """A segment, as far as it matters here."""

    @property
    def number(self) -> int: ...

    @property
    def rows(self) -> int: ...

    @property
    def dead(self) -> int: ...


C = TypeVar("C", bound=Counted)


def size_class(rows: int) -> int:
    """0 for fewer than 128 rows, then one more for each factor of 8."""
    level = 0
    while rows >= _SMALLEST:
        rows //= FAN_IN
        level += 1
    return level


def plan_merge(segments: Sequence[C]) -> list[C]:
    """The segments to merge next, in the order of their numbers; [] when none needs it.

    The lowest size class that is full goes first, and takes the segments of lower classes along;
    then the segment with the largest share of dead rows.
    """
    levels = [(size_class(segment.rows - segment.dead), segment) for segment in segments]
    for level in sorted({level for level, _ in levels}):
        if sum(own == level for own, _ in levels) >= FAN_IN:
            due = [segment for own, segment in levels if own <= level]
            return sorted(due, key=lambda segment: segment.number)
    dying = [s for s in segments if s.dead and s.dead >= DEAD_SHARE * s.rows]
    return sorted(dying, key=lambda s: s.dead / s.rows)[-1:]
