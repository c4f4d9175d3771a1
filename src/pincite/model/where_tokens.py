"""The tokens of the text form of filters, and errors that point into the text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from pincite.errors import InvalidQueryError

__all__ = [
    "LONGEST_TEXT",
    "RESERVED_WORDS",
    "Token",
    "error_at",
    "is_plain_name",
    "quote",
    "tokenize",
]

LONGEST_TEXT: Final = 100_000
"""Characters that a filter text may have."""

RESERVED_WORDS: Final = frozenset(
    {
        "all", "and", "any", "contains", "contains_all", "contains_any", "exists", "false", "in",
        "not", "not_in", "nothing", "or", "true", "under",
    }
)  # fmt: skip
"""Words that are field names only in quotes, in any case."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token: ``kind`` is name, string, number, date, symbol or end; ``value`` is a string's
    decoded text, a name's text, and elsewhere the text itself."""

    kind: str
    value: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words, unquoted, in any case."""
        return self.kind == "name" and self.value.lower() in words


_NAME = r"[^\W\d][\w.\-]*"
_TOKEN = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.,]+(?:Z|[+-][0-9:]+)?)?(?![\w.:+-]))"
    r"|(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))"
    rf"|(?P<name>{_NAME})"
    r"|(?P<string>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<symbol>==|!=|<>|>=|<=|&&|\|\||[=<>()\[\],!&|~])",
    re.DOTALL,
)
_SPACE = re.compile(r"\s*")
_PLAIN = re.compile(_NAME + r"\Z")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\"}
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WINDOW = 60


def tokenize(text: str) -> list[Token]:
    """The tokens of ``text``, the last of kind "end"; InvalidQueryError points at what is none."""
    if len(text) > LONGEST_TEXT:
        raise InvalidQueryError(
            f"the filter has {len(text):,} characters, more than {LONGEST_TEXT:,}; build a long "
            "one in Python with F(...) or pass the dict form"
        )
    tokens = []
    position = _after_space(text, 0)
    while position < len(text):
        token = _token_at(text, position)
        tokens.append(token)
        position = _after_space(text, token.end)
    tokens.append(Token("end", "", position, position))
    return tokens


def _after_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _token_at(text: str, start: int) -> Token:
    found = _TOKEN.match(text, start)
    if found is None:
        raise _stray_error(text, start)
    kind, raw = found.lastgroup or "", found.group()
    value = _unquote(text, start, raw) if kind == "string" else raw
    return Token(kind, value, start, found.end())


def _stray_error(text: str, start: int) -> InvalidQueryError:
    character = text[start]
    if character in "\"'":
        return error_at(text, start, "this quote is never closed", f"close it with {character}")
    if character.isdigit() or character in "+-.":
        return error_at(
            text,
            start,
            "this is neither a number nor a date",
            "put text in quotes, and write dates as 2025-01-31",
        )
    return error_at(
        text, start, f"unexpected {character!r}", "put names and values with it in quotes"
    )


def _unquote(text: str, start: int, raw: str) -> str:
    def unescape(escape: re.Match[str]) -> str:
        code = escape[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        if code in "\"'":
            return code
        if code not in _ESCAPED:
            raise error_at(
                text,
                start + 1 + escape.start(),
                f"unknown escape \\{code}",
                "write a backslash as \\\\",
            )
        return _ESCAPED[code]

    return _ESCAPE.sub(unescape, raw[1:-1])


def is_plain_name(name: str) -> bool:
    """Whether ``name`` needs no quotes as a field name."""
    return _PLAIN.match(name) is not None and name.lower() not in RESERVED_WORDS


def quote(value: str) -> str:
    """``value`` in double quotes, on one line, so that ``tokenize`` reads it back."""
    return f'"{"".join(map(_written, value))}"'


def _written(character: str) -> str:
    if character in _WRITTEN:
        return _WRITTEN[character]
    if character < " " or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
        return f"\\u{ord(character):04x}"
    return character


def error_at(text: str, position: int, problem: str, advice: str) -> InvalidQueryError:
    """The error of a place in the text: the problem, a caret under the place, the advice."""
    start = max(0, position - _WINDOW)
    end = min(len(text), position + _WINDOW)
    before = ("..." if start else "") + _one_line(text[start:position])
    after = _one_line(text[position:end]) + ("..." if end < len(text) else "")
    return InvalidQueryError(
        f"cannot read the filter at character {position + 1}: {problem}\n"
        f"    {before}{after}\n"
        f"    {' ' * _width(before)}^\n"
        f"{advice}"
    )


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _width(text: str) -> int:
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
