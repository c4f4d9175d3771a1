"""How far a search by codes looks, from what calibration found.

A search for the k best of a share s of the rows must see about as far as one for the ``k / s``
best of all rows: that number is its *reach*. Calibration writes, for a few reaches, how many lists
must be probed and how many rows scored exactly; between them both are interpolated in logarithms.
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


class Effort(NamedTuple):
    """Bounds of one search: lists with kept rows and kept rows to see at least, rows to score."""

    probes: int
    seen: int
    depth: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What calibration wrote for one segment.

    ``probes[i]`` lists and ``depth[i]`` exact scores find the ``reach[i]`` nearest rows; ``margin``
    is by how much a product exceeds its estimate, but for one in a thousand.
    """

    rows: int
    lists: int
    reach: tuple[int, ...]
    probes: tuple[int, ...]
    depth: tuple[int, ...]
    margin: float

    def effort(self, k: int, kept: int) -> Effort | None:
        """For the k best of ``kept`` rows; None when scoring all of those exactly is cheaper."""
        if kept <= k:
            return None
        share = kept / self.rows
        reach = k / share
        probes = min(self.lists, math.ceil(_between(self.reach, self.probes, reach)))
        depth = max(2 * k, math.ceil(_between(self.reach, self.depth, reach) * share))
        scanned = probes * self.rows / self.lists
        if share > _HALF:
            cost = scanned + depth * _ROW
            effort = Effort(probes, 0, depth)
        else:
            cost = scanned * (_LOOK + min(1.0, _BLOCK * share)) + depth * _ROW
            alone = min(self.lists, math.ceil(_between(self.reach, self.probes, k)))
            effort = Effort(alone, max(1, math.ceil(scanned * share)), depth)
        exact = kept * (_SCANNED_ROW if share > _HALF else _ROW)
        return None if exact <= cost + self.lists else effort

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], rows: int) -> Self:
        """Raises ``ValueError``, ``TypeError`` or ``KeyError`` for what was never written."""
        reach, probes, depth = (
            tuple(int(n) for n in stored[name]) for name in ("reach", "probes", "depth")
        )
        rule = cls(
            int(stored["rows"]), int(stored["lists"]), reach, probes, depth, float(stored["margin"])
        )
        rising = all(a < b for a, b in pairwise(reach))
        if not (reach and len(reach) == len(probes) == len(depth) and rising):
            raise ValueError("the table of efforts is uneven")
        if min(*reach, *probes, *depth, rule.lists) < 1 or rule.rows != rows:
            raise ValueError("the table of efforts does not fit the rows")
        if not math.isfinite(rule.margin):
            raise ValueError("the margin is not finite")
        return rule


def _between(reach: tuple[int, ...], values: tuple[int, ...], wanted: float) -> float:
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
