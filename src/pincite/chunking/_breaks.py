"""Where a text may be cut: paragraph, line, sentence and word ends, never inside a grapheme."""

from __future__ import annotations

import re
import unicodedata

_NEWLINE = r"(?:\r\n|\n|\r)"
PARAGRAPH = re.compile(rf"{_NEWLINE}[ \t]*{_NEWLINE}")
LINE = re.compile(_NEWLINE)
SENTENCE = re.compile(r"(?:[.!?…][\"'”’»)\]]*(?=\s)|[。！？｡])")
WORD = re.compile(r"\s+")
CELL = re.compile(r"\|")
_INK = re.compile(r"\S")

# A mark needs its base; more than this many in a row is hostile text and may be cut anywhere.
_LONGEST_CLUSTER = 32
_ZERO_WIDTH_JOINER = "\u200d"


def last_break(text: str, low: int, high: int, patterns: tuple[re.Pattern[str], ...]) -> int | None:
    """The last place in ``[low, high]`` that the first pattern with any match allows."""
    for pattern in patterns:
        found = None
        for match in pattern.finditer(text, low, min(len(text), high + 2)):
            at = match.end() if pattern is SENTENCE else match.start()
            if at > high:
                break
            found = at
        if found is not None:
            return found
    return None


def grapheme_break(text: str, low: int, high: int) -> int:
    """The last place in ``(low, high]`` before which no grapheme is open; ``high`` if none."""
    for at in range(high, max(low, high - _LONGEST_CLUSTER), -1):
        if not _joined(text, at):
            return at
    return high


def first_ink(text: str, at: int, stop: int) -> int | None:
    """The first place in ``[at, stop)`` that holds a non-blank character."""
    match = _INK.search(text, at, stop)
    return match.start() if match else None


def content_start(text: str, at: int, stop: int, indent: int) -> int | None:
    """Where content begins at or after ``at``: blank lines are passed over, while up to ``indent``
    characters of a line's own indentation stay. None when the rest up to ``stop`` is blank."""
    ink = first_ink(text, at, stop)
    if ink is None:
        return None
    line = max(text.rfind("\n", max(at - 1, 0), ink), text.rfind("\r", max(at - 1, 0), ink)) + 1
    at_line_start = line > 0 or at == 0
    return line if at_line_start and ink - line <= indent else ink


def content_end(text: str, start: int, end: int) -> int:
    """``end`` moved back over trailing blanks."""
    return start + len(text[start:end].rstrip())


def line_end(text: str, at: int, stop: int) -> int:
    """The end of the line that holds ``at``, without its line break."""
    match = LINE.search(text, at, stop)
    return match.start() if match else stop


def _joined(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before == "\r":
        return after == "\n"
    if before == _ZERO_WIDTH_JOINER or after == _ZERO_WIDTH_JOINER:
        return True
    return unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff"
