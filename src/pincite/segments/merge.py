"""When segments are merged: by size class, and when a tenth of a segment is dead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pincite.segments.manifest import SegmentRecord

__all__ = ["DEAD_SHARE", "FAN_IN", "plan_merge", "size_class"]

FAN_IN: Final = 8
"""How many segments of one size class are merged into one."""

DEAD_SHARE: Final = 0.1
"""The share of dead rows from which a segment is written anew."""

_SMALLEST: Final = 128


def size_class(rows: int) -> int:
    """0 for fewer than 128 rows, then one more for each factor of 8."""
    level = 0
    while rows >= _SMALLEST:
        rows //= FAN_IN
        level += 1
    return level


def plan_merge(segments: Sequence[SegmentRecord]) -> list[SegmentRecord]:
    """The segments to merge next, in the order of their numbers; [] when none needs it.

    The lowest size class that is full goes first, and takes the segments of lower classes along;
    then the segment with the largest share of dead rows.
    """
    for level in sorted({size_class(segment.live) for segment in segments}):
        members = [segment for segment in segments if size_class(segment.live) == level]
        if len(members) >= FAN_IN:
            smaller = [segment for segment in segments if size_class(segment.live) < level]
            return sorted(members + smaller, key=lambda segment: segment.number)
    dying = [s for s in segments if s.dead and s.dead >= DEAD_SHARE * s.rows]
    return sorted(dying, key=lambda s: s.dead / s.rows)[-1:]
