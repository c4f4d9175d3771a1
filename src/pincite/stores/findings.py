"""What ``doctor`` says of a store."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where, and whether it was repaired."""

    place: str
    problem: str
    repaired: bool = False
