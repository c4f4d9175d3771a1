"""``LiveSegments``: the segments of an index and which of their rows live, as one search sees them.

It is never changed: a writer replaces it as a whole, so that a search takes no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from pincite.errors import InvalidArgument
from pincite.segments.ids import Allowed, IdTable
from pincite.segments.merge import plan_merge
from pincite.segments.tombstones import Mask

__all__ = ["LiveSegments", "Merge", "allowed_ids", "id_list"]


class Numbered(Protocol):
    """A segment with ids; ``number`` grows with the age."""

    number: int

    @property
    def rows(self) -> int: ...

    @property
    def ids(self) -> IdTable: ...


S = TypeVar("S", bound=Numbered)

Merge = Callable[[Sequence[S], Sequence[Mask | None]], S]
"""Makes the live rows of some segments into one."""


@dataclass(frozen=True)
class _Size:
    number: int
    rows: int
    dead: int


@dataclass(frozen=True)
class LiveSegments(Generic[S]):
    """``live`` has a mask for each segment, None where every row lives."""

    segments: tuple[S, ...] = ()
    live: tuple[Mask | None, ...] = ()

    @cached_property
    def dead(self) -> tuple[int, ...]:
        """How many rows of each segment are deleted."""
        return tuple(0 if mask is None else int(np.count_nonzero(~mask)) for mask in self.live)

    @cached_property
    def rows(self) -> int:
        """Live rows."""
        return sum(segment.rows for segment in self.segments) - sum(self.dead)

    def row_id(self, number: int, row: int) -> str:
        """The id of a row of segment ``number`` of these."""
        return self.segments[number].ids.id(row)

    def all_ids(self) -> list[str]:
        """The id of every live row, in their order."""
        return [
            segment.ids.id(row)
            for number, segment in enumerate(self.segments)
            for row in range(segment.rows)
            if self.is_live(number, row)
        ]

    def find(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """The (segment, row) of those ids that have a live row."""
        return {
            ids[place]: (number, row)
            for number, segment in enumerate(self.segments)
            for place, row in segment.ids.find(ids)
            if self.is_live(number, row)
        }

    def is_live(self, number: int, row: int) -> bool:
        mask = self.live[number]
        return mask is None or bool(mask[row])

    def plus(self, segment: S) -> Self:
        return type(self)((*self.segments, segment), (*self.live, None))

    def without(self, places: Iterable[tuple[int, int]]) -> Self:
        """The same with these (segment, row) deleted; segments without a live row go."""
        rows: dict[int, list[int]] = {}
        for number, row in places:
            rows.setdefault(number, []).append(row)
        live = list(self.live)
        for number, dead in rows.items():
            mask = live[number]
            new = np.ones(self.segments[number].rows, bool) if mask is None else mask.copy()
            new[dead] = False
            live[number] = new
        return self._kept(
            (segment, mask)
            for number, (segment, mask) in enumerate(zip(self.segments, live, strict=True))
            if number not in rows or (mask is not None and mask.any())
        )

    def merged(self, merge: Merge[S]) -> Self:
        """With segments that are due made into one, until none is."""
        state = self
        while due := plan_merge([_Size(s.number, s.rows, d) for s, d in state._sizes()]):
            numbers = {size.number for size in due}
            state = state.as_one([s for s in state.segments if s.number in numbers], merge)
        return state

    def whole(self, merge: Merge[S]) -> Self:
        """All as one segment, without deleted rows."""
        if len(self.segments) > 1 or any(self.dead):
            return self.as_one(self.segments, merge)
        return self

    def as_one(self, old: Sequence[S], merge: Merge[S]) -> Self:
        """With ``merge`` of some segments in the place of the first of them."""
        live = dict(zip((s.number for s in self.segments), self.live, strict=True))
        new = merge(old, [live[segment.number] for segment in old])
        numbers = {segment.number for segment in old}
        at = min(i for i, s in enumerate(self.segments) if s.number in numbers)
        rest = [(s, live[s.number]) for s in self.segments if s.number not in numbers]
        made = [(new, None)] if new.rows else []
        return self._kept([*rest[:at], *made, *rest[at:]])

    def _sizes(self) -> Iterable[tuple[S, int]]:
        return zip(self.segments, self.dead, strict=True)

    def _kept(self, parts: Iterable[tuple[S, Mask | None]]) -> Self:
        kept = list(parts)
        return type(self)(tuple(s for s, _ in kept), tuple(mask for _, mask in kept))


def allowed_ids(allow: Collection[str] | Allowed) -> Allowed:
    """What a search may return; raises ``InvalidArgument`` for a string."""
    if isinstance(allow, str):
        raise InvalidArgument(f"allow is the string {allow!r}; pass a set of ids.")
    return allow if isinstance(allow, Allowed) else Allowed(allow)


def id_list(ids: Iterable[str]) -> list[str]:
    """Each id once; raises ``InvalidArgument`` for a string."""
    if isinstance(ids, str):
        raise InvalidArgument(f"ids is the string {ids!r}; pass a list of ids.")
    return list(dict.fromkeys(ids))
