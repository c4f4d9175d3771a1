"""Writing to streams: colours only on a terminal, control characters never."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from typing import Any, TextIO

__all__ = [
    "OutputClosed",
    "cut",
    "escape",
    "has_colour",
    "is_terminal",
    "paint",
    "silence",
    "terminal_width",
    "text_width",
    "warn",
    "write",
    "write_json",
    "write_raw",
]

# C0, DEL, C1, line separators, bidirectional controls, the byte-order mark and lone surrogates:
# what can move the cursor, change the title, reorder a name or break the encoder.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_UNSAFE_IN_BLOCK = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))
_UNSAFE_IN_JSON = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", ""))
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class OutputClosed(Exception):
    """The reader of the output went away (``| head``)."""


def escape(text: str, *, block: bool = False) -> str:
    r"""``text`` with control characters spelled out (``\x1b``); ``block`` keeps \n and \t."""
    return (_UNSAFE_IN_BLOCK if block else _UNSAFE).sub(_spell, text)


def _spell(match: re.Match[str]) -> str:
    code = ord(match.group())
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(
        code, f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    )


def is_terminal(stream: TextIO) -> bool:
    """Whether a person reads this stream."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def has_colour(stream: TextIO) -> bool:
    """Whether colours are wanted: a terminal that is not dumb, and no ``NO_COLOR``."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and is_terminal(stream)


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """``text`` in a style ("bold", "dim", "red", ...; several with spaces), if colours are on."""
    if not text or not has_colour(stream or sys.stdout):
        return text
    codes = ";".join(_CODES[name] for name in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


def terminal_width() -> int:
    """Columns to fill; 100 when the output is not a terminal."""
    return max(40, shutil.get_terminal_size((100, 24)).columns)


def text_width(text: str) -> int:
    """Columns that ``text`` takes: wide characters count two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_char_width(character) for character in text)


def _char_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` columns, with an ellipsis where something is missing."""
    if text_width(text) <= width:
        return text
    used = 0
    for at, character in enumerate(text):
        used += _char_width(character)
        if used > width - 1:
            return text[:at] + "\u2026"
    return text


def write(text: str = "") -> None:
    """One line (or block) on standard output; the caller has escaped foreign text."""
    write_raw(text + "\n")


def write_raw(text: str) -> None:
    """``text`` as it is; raises ``OutputClosed`` when nobody reads any more."""
    _put(sys.stdout, text)


def warn(text: str) -> None:
    """One line on standard error; a closed one is nobody's loss."""
    try:
        _put(sys.stderr, text + "\n")
    except OutputClosed:
        silence(sys.stderr)


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """``value`` as JSON that no terminal acts upon; ``indent=None`` makes one line of it."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only, default=str)
    write(_UNSAFE_IN_JSON.sub(lambda m: f"\\u{ord(m.group()):04x}", text))


def _put(stream: TextIO, text: str) -> None:
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError as error:
        raise OutputClosed from error


def silence(stream: TextIO) -> None:
    """Send what is still buffered nowhere, so that the exit of the process stays quiet."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        return
