"""What ``doctor`` says of a store."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

__all__ = ["Finding"]

_ADVICE = re.compile(r"[.;] [Rr]un (?:`pincite doctor --repair`|doctor with repair)[^.]*(?=\.)")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where, and whether it was repaired."""

    place: str
    problem: str
    repaired: bool = False

    def told(self) -> Finding:
        """The finding; once repaired, without the advice to repair it."""
        if not self.repaired:
            return self
        return replace(self, problem=_ADVICE.sub("", self.problem))
