"""What the analyser finds in a text."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Token"]


class Token(NamedTuple):
    """A term and its place in the raw text; ``part`` marks a piece of an identifier."""

    term: str
    start: int
    end: int
    part: bool
