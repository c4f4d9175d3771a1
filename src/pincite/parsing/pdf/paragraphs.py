"""Lines of one column as paragraphs, list items and code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from statistics import median

from pincite.parsing.pdf.draft import Draft
from pincite.parsing.pdf.lines import Line
from pincite.parsing.pdf.page import BULLETS, is_marker, union

__all__ = ["drafts_of", "ends_sentence", "is_mono"]

_SURE_BULLETS = BULLETS - {"–", "-", "*", "o", "·"}
_SYMBOLS = re.compile(r"dingbat|wingding|webding", re.IGNORECASE)
_REFERENCE = re.compile(r"\[[\w+-]{1,8}\]$")
_ENDS = frozenset(".!?:;…。！？؟۔»”\"'’)")


def drafts_of(lines: Sequence[Line], page: int, *, code: bool = True) -> list[Draft]:
    """The blocks of one column, from top to bottom; ``code`` allows code blocks."""
    column = _Column(lines, code=code)
    drafts: list[Draft] = []
    for i, line in enumerate(lines):
        marker = column.marker(i, drafts[-1] if drafts else None)
        if drafts and not marker and not column.starts(i, drafts[-1]):
            drafts[-1].lines.append(line)
        else:
            drafts.append(Draft("list_item" if marker else "paragraph", page, line.box, [line]))
            drafts[-1].marker = marker
            if column.mono[i]:
                drafts[-1].kind = "code"
    for draft in drafts:
        if draft.kind == "code" and len(draft.lines) == 1:
            draft.kind = "paragraph"
        draft.box = union([line.box for line in draft.lines])
    _nest(drafts)
    return drafts


def is_mono(line: Line) -> bool:
    """Whether nearly every letter is set in a font for code."""
    letters = sum(len(word.text) for word in line.words)
    mono = sum(len(word.text) for word in line.words if word.mono and word.text.isascii())
    return mono >= 0.9 * letters


def ends_sentence(text: str) -> bool:
    """Whether a sentence can end here."""
    return bool(text) and text[-1] in _ENDS


def _usual_size(lines: Sequence[Line]) -> float:
    sizes: dict[float, int] = {}
    for line in lines:
        sizes[line.size] = sizes.get(line.size, 0) + len(line.words)
    return max(sizes, key=lambda size: sizes[size], default=0.0)


def _text_left(item: Draft) -> float:
    """Where the text of a list item begins, after its marker."""
    return item.lines[0].words[1].box.x0


def _has_leaders(line: Line) -> bool:
    """Whether dots lead to a number at the end: an entry of a table of contents."""
    words = line.words
    return len(words) > 2 and not words[-2].text.strip(".·…") and len(words[-1].text) < 6


class _Column:
    """One column's measures and the decision where a block starts."""

    def __init__(self, lines: Sequence[Line], *, code: bool) -> None:
        self._lines = lines
        self.mono = [code and is_mono(line) for line in lines]
        self._left = min((line.box.x0 for line in lines), default=0.0)
        self._right = max((line.box.x1 for line in lines), default=0.0)
        pairs = list(itertools.pairwise(lines))
        steps = [b.box.y1 - a.box.y1 for a, b in pairs if abs(a.size - b.size) < 0.5]
        steps = [step for step in steps if step > 1]
        self._size = _usual_size(lines)
        self._step = median(steps) if steps else 0.0

    def marker(self, i: int, current: Draft | None) -> str:
        """The list marker that line ``i`` starts with, "" without one."""
        words = self._lines[i].words
        if len(words) < 2 or self.mono[i]:
            return ""
        first = words[0].text
        if first in _SURE_BULLETS or (len(first) == 1 and _SYMBOLS.search(words[0].font)):
            return first
        opens = current is None or self.starts(i, current) or current.marker != ""
        if first in BULLETS:
            gap = words[1].box.x0 - words[0].box.x1
            return first if opens and gap > 0.2 * words[0].size else ""
        if not is_marker(first):
            return ""
        before = self._lines[i - 1].text if i else "."
        return first if opens and (i == 0 or self._gap(i) or ends_sentence(before)) else ""

    def starts(self, i: int, current: Draft) -> bool:
        """Whether line ``i`` cannot belong to ``current``, the block of the line before it."""
        line, before = self._lines[i], self._lines[i - 1]
        if self.mono[i] != (current.kind == "code"):
            return True
        if current.kind == "code":
            return line.box.y1 - before.box.y1 > 3 * line.size
        if abs(line.size - before.size) > 0.1 * before.size:
            return True
        if line.bold != before.bold and line.size <= 1.1 * self._size:
            return True
        if self._gap(i) or _has_leaders(before) or _REFERENCE.match(line.words[0].text):
            return True
        if current.marker and abs(line.box.x0 - _text_left(current)) < 0.5 * line.size:
            return False  # it hangs under the item's text
        return self._indented(i, current) or self._after_short(i)

    def _gap(self, i: int) -> bool:
        line, before = self._lines[i], self._lines[i - 1]
        step = line.box.y1 - before.box.y1
        if line.size > 1.1 * self._size:
            return step > 1.7 * line.size or step < -line.size
        usual = self._step
        if not 0.9 * line.size <= usual < 2.2 * line.size:  # the step of text of another size
            usual = 1.25 * line.size
        return step > 1.32 * usual + 0.5 or step < -line.size

    def _indented(self, i: int, current: Draft) -> bool:
        line, before = self._lines[i], self._lines[i - 1]
        if line.rtl:
            return False
        if current.marker:
            return line.box.x0 < _text_left(current) - 0.5 * line.size and self._short(i - 1)
        step = line.box.x0 - before.box.x0
        return (
            step > 0.8 * line.size
            and before.box.x0 - self._left < 0.4 * line.size
            and (
                step < 4 * line.size
                and before.box.x1 - self._left > 0.3 * (self._right - self._left)
            )
            and (self._short(i - 1) or ends_sentence(before.text))
        )

    def _after_short(self, i: int) -> bool:
        text = self._lines[i].text
        if self._short(i - 1) and ends_sentence(self._lines[i - 1].text):
            return text[0].isupper() or not text[0].isalpha()
        return self._had_room(i)

    def _had_room(self, i: int) -> bool:
        """Whether the line before ended although the first word of line ``i`` would have fitted."""
        line, before = self._lines[i], self._lines[i - 1]
        if (
            line.rtl
            or line.size > 1.1 * self._size
            or abs((line.box.x0 + line.box.x1) - (before.box.x0 + before.box.x1)) < 6
        ):
            return False
        room = self._right - before.box.x1
        first = line.words[0]
        return room > first.box.width + line.size and room > 0.12 * (self._right - self._left)

    def _short(self, i: int) -> bool:
        line, width = self._lines[i], self._right - self._left
        room = line.box.x0 - self._left if line.rtl else self._right - line.box.x1
        return room > 0.2 * width


def _nest(drafts: Sequence[Draft]) -> None:
    """Give list items that follow each other a depth by their indentation."""
    lefts: list[float] = []
    for draft in drafts:
        if not draft.marker:
            lefts = []
            continue
        left = draft.lines[0].words[0].box.x0
        while lefts and left < lefts[-1] - 3:
            lefts.pop()
        if not lefts or left > lefts[-1] + 6:
            lefts.append(left)
        draft.depth = min(len(lefts) - 1, 5)
