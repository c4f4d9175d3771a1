"""The regular expressions that find words, identifiers and unspaced runs in normalised text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pincite.text import unicode_table as table
from pincite.text._ranges import character_class

__all__ = [
    "CAMEL",
    "CHUNK",
    "CONNECTOR",
    "blank",
    "characters",
    "items",
    "leading_marks",
    "unknown",
]

# No token crosses white space, so a text is read chunk by chunk and each chunk only once.
CHUNK: Final = re.compile(r"\S+")
CONNECTOR: Final = re.compile("[-.@&·\u2010]")
CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z][a-z])")


def items(text: str) -> re.Pattern[str]:
    """The pattern for ``text``: group ``run`` is an unspaced run, group ``core`` a word or words
    put together by connectors, ``tail`` its ``++``, ``#`` or English clitic (user's, don't)."""
    return _ascii_items() if text.isascii() else _unicode_items()


def _compile(inside: str, start: str, run: str) -> re.Pattern[str]:
    """``start`` is asserted before the first character of a word: a mark cannot be it."""
    tail = r"\+\+|#|['’](?:[sStTdDmM]|ll|LL|re|RE|ve|VE)"
    core = f"(?P<core>{start}{inside}+(?:{CONNECTOR.pattern}{start}{inside}+)*)"
    return re.compile(f"{run}{core}(?P<tail>(?:{tail})(?!{inside}))?")


@lru_cache(maxsize=1)
def _ascii_items() -> re.Pattern[str]:
    return _compile("[A-Za-z0-9_]", "", "(?P<run>(?!))|")


@lru_cache(maxsize=1)
def _unicode_items() -> re.Pattern[str]:
    inside = f"[{character_class(table.LETTERS, table.DIGITS, table.MARKS)}_]"
    start = f"(?![{character_class(table.MARKS)}])"
    return _compile(inside, start, f"(?P<run>[{character_class(table.BIGRAMS)}]+)|")


@lru_cache(maxsize=1)
def leading_marks() -> re.Pattern[str]:
    """Combining marks without a letter before them."""
    return re.compile(f"[{character_class(table.MARKS)}]*")


@lru_cache(maxsize=1)
def blank() -> re.Pattern[str]:
    """Nothing but underscores and combining marks: no word."""
    return re.compile(f"[_{character_class(table.MARKS)}]*")


@lru_cache(maxsize=1)
def characters() -> re.Pattern[str]:
    """One character of an unspaced run, with the marks that belong to it."""
    return re.compile(f"(?s:.)[{character_class(table.BIGRAM_MARKS)}]*")


@lru_cache(maxsize=1)
def unknown() -> re.Pattern[str]:
    """Code points that the table calls unassigned; they separate words."""
    return re.compile(f"[{character_class(table.UNASSIGNED)}]")
