"""How far a search by codes looks, from what calibration found.

A search for the k best of a share s of the rows must see about as far as one for the ``k / s``
best of all rows: that number is its *reach*. Calibration writes, for a few reaches, by how much a
list's product may fall short of the nearest list's (its *gap*) and how many rows must be scored
exactly; between them both are interpolated in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final, NamedTuple, Self

__all__ = ["Effort", "Rule"]

# Costs in units of one estimate, measured at 256 and 384 dimensions.
_ROW: Final = 16.0  # a row scored exactly, fetched from anywhere
_SCANNED_ROW: Final = 10.0  # a row scored exactly among its neighbours
_LOOK: Final = 0.35  # a row that the filter drops
_BLOCK: Final = 16  # rows that are estimated together
_HALF: Final = 0.5
# Queries are less like the rows than rows are like each other: headings against passages need
# gaps wider by so much of the first to find what calibration does (benchmarks/dense.py).
_UNLIKE: Final = 0.15
_EVERY: Final = math.inf  # the gap of the farthest list
_BEYOND: Final = 2.0  # so many times the last reach may be taken from the line through it
_GATHERED: Final = 512  # so few kept rows are always scored: some 50 microseconds


class Effort(NamedTuple):
    """Bounds of one search.

    Lists within ``gap`` of the nearest are looked at, and those within ``own_gap`` of the nearest
    that holds a kept row; at least ``seen`` kept rows; at most ``depth`` are scored exactly.
    """

    gap: float
    own_gap: float
    seen: int
    depth: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What calibration wrote for one segment.

    The lists within ``gap[i]`` of the nearest one, ``scanned[i]`` rows on average, and ``depth[i]``
    exact scores find the ``reach[i]`` nearest rows; ``margin`` is by how much a product exceeds its
    estimate, but for one in a thousand.
    """

    rows: int
    lists: int
    reach: tuple[int, ...]
    gap: tuple[float, ...]
    scanned: tuple[float, ...]
    depth: tuple[int, ...]
    margin: float

    def effort(self, k: int, kept: int) -> Effort | None:
        """For the k best of ``kept`` rows; None when scoring all of those exactly is cheaper."""
        if kept <= max(k, _GATHERED):
            return None
        share = kept / self.rows
        reach = k / share
        depth = max(2 * k, math.ceil(_between(self.reach, self.depth, reach) * share))
        scanned = min(float(self.rows), _between(self.reach, self.scanned, reach))
        gap = self._gap(reach)
        if gap == _EVERY:
            scanned = float(self.rows)
        if share > _HALF:
            cost = scanned + depth * _ROW
            effort = Effort(gap, gap, 0, depth)
        else:
            cost = scanned * (_LOOK + min(1.0, _BLOCK * share)) + depth * _ROW
            effort = Effort(gap, self._gap(k), depth, depth)
        exact = kept * (_SCANNED_ROW if share > _HALF else _ROW)
        return None if exact <= cost + self.lists else effort

    def _gap(self, reach: float) -> float:
        """Linear in the logarithm of the reach, also a little beyond the last one."""
        if reach <= self.reach[0]:
            return self.gap[0] + _UNLIKE * self.gap[0]
        if len(self.reach) == 1 or reach > _BEYOND * self.reach[-1]:
            return _EVERY
        upper = next((i for i, r in enumerate(self.reach) if reach <= r), len(self.reach) - 1)
        low, high = self.reach[upper - 1], self.reach[upper]
        slope = (self.gap[upper] - self.gap[upper - 1]) / math.log(high / low)
        gap = self.gap[upper - 1] + slope * math.log(reach / low)
        return gap + _UNLIKE * self.gap[0]

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], rows: int) -> Self:
        """Raises ``ValueError``, ``TypeError`` or ``KeyError`` for what was never written."""
        reach, depth = (tuple(int(n) for n in stored[name]) for name in ("reach", "depth"))
        gap, scanned = (tuple(float(n) for n in stored[name]) for name in ("gap", "scanned"))
        rule = cls(
            int(stored["rows"]),
            int(stored["lists"]),
            reach,
            gap,
            scanned,
            depth,
            float(stored["margin"]),
        )
        rising = all(a < b for a, b in pairwise(reach))
        even = len(reach) == len(gap) == len(scanned) == len(depth)
        if not (reach and even and rising):
            raise ValueError("the table of efforts is uneven")
        if min(*reach, *depth, rule.lists) < 1 or rule.rows != rows:
            raise ValueError("the table of efforts does not fit the rows")
        if not all(math.isfinite(n) and n >= 0.0 for n in (*gap, *scanned)):
            raise ValueError("a gap is no positive number")
        if not math.isfinite(rule.margin):
            raise ValueError("the margin is not finite")
        return rule


def _between(reach: tuple[int, ...], values: tuple[float, ...], wanted: float) -> float:
    """Interpolated in logarithms; beyond the last entry in proportion, before the first as it."""
    if wanted <= reach[0]:
        return float(values[0])
    if wanted >= reach[-1]:
        return values[-1] * wanted / reach[-1]
    place = next(i for i in range(1, len(reach)) if wanted <= reach[i])
    low, high = reach[place - 1], reach[place]
    part = math.log(wanted / low) / math.log(high / low)
    start, end = values[place - 1], values[place]
    return float(start * (end / start) ** part)
