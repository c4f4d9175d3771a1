"""What a backend reads from a PDF: positioned words, ruling lines and the outline."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

__all__ = [
    "BULLETS",
    "Box",
    "OutlineEntry",
    "PdfBackend",
    "PdfPage",
    "PdfText",
    "PdfWord",
    "is_marker",
    "is_mono_font",
    "is_rtl",
    "union",
]


_MONO = re.compile(
    r"mono|courier|consol|menlo|typewriter|cmtt|sftt|lettergothic|code", re.IGNORECASE
)


BULLETS = frozenset("•◦▪▫‣●○■□❑❒➢➤⃁∙·–-*o\uf0b7\uf0a7\uf0d8")
"""Signs that mark list items; some of them are also other things."""

_NUMBER = re.compile(r"\d{1,3}[.)]$")


class Box(NamedTuple):
    """A rectangle in points from the top-left corner."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def middle(self) -> float:
        """The height of the centre."""
        return (self.y0 + self.y1) / 2


@dataclass(slots=True)
class PdfWord:
    """A word in logical order. ``box`` is where it stands on the page as shown; ``angle`` is the
    direction it reads in, clockwise, 0, 90, 180 or 270; ``spaced`` is False when no white space
    stands in the text layer before it; ``shown`` is the place on the page of a word whose ``box``
    was turned to lie upright. ``mono`` says that the font is one for code. ``bold`` and ``font``
    are False and "" when not known."""

    text: str
    box: Box
    size: float
    bold: bool = False
    font: str = ""
    angle: int = 0
    mono: bool = False
    spaced: bool = True
    shown: Box | None = None


@dataclass(slots=True)
class PdfPage:
    """A page as it is shown (rotation applied). ``rules`` are thin lines and the edges of drawn
    rectangles, each as a box without width or without height."""

    number: int
    width: float
    height: float
    words: list[PdfWord] = field(default_factory=list)
    rules: list[Box] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A bookmark: its depth from 1, and its page, 0 when it points nowhere."""

    title: str
    level: int
    page: int


@dataclass(slots=True)
class PdfText:
    """A whole document as a backend reads it."""

    pages: list[PdfPage]
    outline: Sequence[OutlineEntry] = ()
    metadata: dict[str, str] = field(default_factory=dict)


class PdfBackend(Protocol):
    """Reads positioned words from a PDF."""

    name: str

    def read(self, data: bytes, *, filename: str = "", password: str | None = None) -> PdfText:
        """Every page of ``data``; ``ParseError`` when it is damaged or encrypted."""


def union(boxes: Sequence[Box]) -> Box:
    """The smallest box around ``boxes``, of which there is at least one."""
    x0s, y0s, x1s, y1s = zip(*boxes, strict=True)
    return Box(min(x0s), min(y0s), max(x1s), max(y1s))


def is_marker(text: str) -> bool:
    """Whether a word can mark a list item: a bullet, or a number with a dot or a bracket."""
    return text in BULLETS or bool(_NUMBER.match(text))


def is_mono_font(name: str) -> bool:
    """Whether the font's name speaks of code."""
    return bool(_MONO.search(name))


def is_rtl(text: str) -> bool:
    """Whether the first strong character of ``text`` reads from right to left."""
    if text.isascii():
        return False
    for char in text:
        direction = unicodedata.bidirectional(char)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False
