"""From positioned characters to words: where one ends, and its logical order."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pincite.parsing.pdf.page import Box, PdfWord, union

__all__ = ["Glyph", "Style", "flattened", "is_bold_font", "words_of"]

_GAP = 0.45  # of the font size: a jump that ends a word without white space
_SHIFT = 0.55  # of the font size: a change of the base line that ends a word
_ACCENTS = {
    "`": "\u0300",
    "´": "\u0301",
    "ˆ": "\u0302",
    "˜": "\u0303",
    "¨": "\u0308",
    "˚": "\u030a",
    "ˇ": "\u030c",
    "¸": "\u0327",
    "˘": "\u0306",
    "˝": "\u030b",
    "˛": "\u0328",
    "˙": "\u0307",
}
_SPACES = frozenset("\u200b\u2028\u2029")
_BOLD = ("bold", "black", "heavy", "demi", "-medi", "cmbx", "sfbx")
_DROPPED = frozenset("\u0000\ufffe\uffff\ufeff\u200e\u200f\u202a\u202b\u202c\u202d\u202e")


class Style(NamedTuple):
    """What the characters of one text object share."""

    size: float
    bold: bool
    font: str
    angle: int
    mono: bool = False


class Glyph(NamedTuple):
    """A character; ``style`` is None for one that the backend made up (space, line end)."""

    char: str
    box: Box
    style: Style | None


def is_bold_font(name: str) -> bool:
    """Whether the font's name speaks of a bold face."""
    folded = name.lower()
    return any(mark in folded for mark in _BOLD)


def flattened(box: Box) -> Box:
    """``box`` without its smaller side: the middle line of a thin rectangle."""
    if box.width >= box.height:
        return Box(box.x0, box.middle, box.x1, box.middle)
    x = (box.x0 + box.x1) / 2
    return Box(x, box.y0, x, box.y1)


def words_of(glyphs: Iterable[Glyph]) -> list[PdfWord]:
    """The words of a page in the order of its text layer, each in logical order."""
    words: list[PdfWord] = []
    run: list[tuple[Glyph, Style]] = []
    spaced = True
    for glyph in glyphs:
        blank = glyph.char.isspace() or glyph.char in _SPACES
        if blank or glyph.style is None:
            _close(run, words, spaced=spaced)
            spaced = (spaced and not run) or glyph.char not in "\r\n"
            run = []
        elif glyph.char not in _DROPPED and unicodedata.category(glyph.char) != "Cc":
            if run and _breaks(run[-1], glyph, glyph.style):
                _close(run, words, spaced=spaced)
                run, spaced = [], False
            run.append((glyph, glyph.style))
    _close(run, words, spaced=spaced)
    return _without_shadows(words)


def _without_shadows(words: Sequence[PdfWord]) -> list[PdfWord]:
    """Without words printed twice in one place, as shadows and false bold are."""
    seen: dict[tuple[str, int, int], list[Box]] = {}
    kept: list[PdfWord] = []
    for word in words:
        cell_x, cell_y = round(word.box.x0 / 4), round(word.box.y0 / 4)
        around = [
            (x, y) for x in range(cell_x - 1, cell_x + 2) for y in range(cell_y - 1, cell_y + 2)
        ]
        near = [box for x, y in around for box in seen.get((word.text, x, y), ())]
        if not any(_same_place(box, word.box, word.size) for box in near):
            kept.append(word)
            seen.setdefault((word.text, cell_x, cell_y), []).append(word.box)
    return kept


def _same_place(a: Box, b: Box, size: float) -> bool:
    return abs(a.x0 - b.x0) < 0.25 * size and abs(a.y0 - b.y0) < 0.25 * size


def _breaks(last: tuple[Glyph, Style], glyph: Glyph, style: Style) -> bool:
    before, old = last
    a, b = before.box, glyph.box
    if (
        old is style
        and before.char < "\x80" > glyph.char
        and style.angle == 0
        and (a.y1 == b.y1 and abs(b.x0 - a.x1) < 0.2 * style.size)
    ):
        return False  # the usual case, decided cheaply
    if old.angle != style.angle or _turns(before.char, glyph.char):
        return True
    size = max(old.size, style.size, 1.0)
    if style.angle in (90, 270):
        along, across = (max(a.y0, b.y0) - min(a.y1, b.y1)), abs(a.x0 + a.x1 - b.x0 - b.x1) / 2
    else:
        along, across = (max(a.x0, b.x0) - min(a.x1, b.x1)), abs(a.middle - b.middle)
    return along > _GAP * size or across > _SHIFT * size


def _turns(a: str, b: str) -> bool:
    """Whether the direction of writing changes between two characters."""
    if a.isascii() and b.isascii():
        return False
    first, second = unicodedata.bidirectional(a), unicodedata.bidirectional(b)
    return (first in ("R", "AL") and second == "L") or (first == "L" and second in ("R", "AL"))


def _close(run: Sequence[tuple[Glyph, Style]], words: list[PdfWord], *, spaced: bool) -> None:
    if not run:
        return
    style = run[len(run) // 2][1]
    glyphs = [glyph for glyph, _ in run]
    words.append(
        PdfWord(
            text=_logical(glyphs),
            box=union([glyph.box for glyph in glyphs]),
            size=style.size,
            bold=style.bold,
            font=style.font,
            angle=style.angle,
            mono=style.mono,
            spaced=spaced,
        )
    )


def _logical(glyphs: Sequence[Glyph]) -> str:
    text = "".join(glyph.char for glyph in glyphs)
    if text.isascii():
        return _with_accents(glyphs) if "`" in text else text
    if not any(map(_is_rtl, text)):
        return _with_accents(glyphs)
    places = [(g.box.x0 + g.box.x1) / 2 for g in glyphs if _is_rtl(g.char)]
    steps = sum((b > a) - (b < a) for a, b in itertools.pairwise(places))
    return "".join(_ligatures_turned(list(reversed(glyphs)) if steps > 0 else list(glyphs)))


def _with_accents(glyphs: Sequence[Glyph]) -> str:
    """The characters; an accent printed over the next letter (as TeX does) is composed with it."""
    chars = [glyph.char for glyph in glyphs]
    for i in range(len(glyphs) - 1):
        mark, letter = _ACCENTS.get(chars[i]), chars[i + 1].replace("ı", "i").replace("ȷ", "j")
        if mark and letter.isalpha() and _over(glyphs[i].box, glyphs[i + 1].box):
            composed = unicodedata.normalize("NFC", letter + mark)
            if len(composed) == 1:
                chars[i], chars[i + 1] = "", composed
    return "".join(chars)


def _over(mark: Box, letter: Box) -> bool:
    middle = (mark.x0 + mark.x1) / 2
    return letter.x0 - 0.5 <= middle <= letter.x1 + 0.5


def _ligatures_turned(glyphs: list[Glyph]) -> list[str]:
    """The characters, with those of one right-to-left glyph (lam-alef) in logical order.

    A line reaches us turned as a whole; a glyph that stands for several characters, whose boxes
    are therefore one box, was turned within itself as well and is turned back here.
    """
    chars: list[str] = []
    at = 0
    while at < len(glyphs):
        end = at + 1
        while end < len(glyphs) and _one_glyph(glyphs[at].box, glyphs[end].box):
            end += 1
        group = [glyph.char for glyph in glyphs[at:end]]
        chars += reversed(group) if any(map(_is_rtl, group)) else group
        at = end
    return chars


def _one_glyph(a: Box, b: Box) -> bool:
    return abs(a.x0 - b.x0) < 0.05 and abs(a.x1 - b.x1) < 0.05


def _is_rtl(char: str) -> bool:
    return unicodedata.bidirectional(char) in ("R", "AL")
