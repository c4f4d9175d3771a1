"""The regular expressions that find words, identifiers and unspaced runs in normalised text.

Each is compiled, and their module imported, when text that is not ASCII first needs it.
"""

from __future__ import annotations

from functools import lru_cache

from pincite.text import unicode_table as table
from pincite.text._ranges import character_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Final

__all__ = [
    "CONNECTORS",
    "blank",
    "characters",
    "chunks",
    "items",
    "leading_marks",
    "unknown",
]

CONNECTORS: Final = "-.@&·\u2010"


def _compile(pattern: str) -> re.Pattern[str]:
    import re

    return re.compile(pattern)


@lru_cache(maxsize=1)
def chunks() -> re.Pattern[str]:
    """What stands between white space. No token crosses it, so a text is read chunk by chunk and
    each chunk only once."""
    return _compile(r"\S+")


@lru_cache(maxsize=1)
def items() -> re.Pattern[str]:
    """Group ``run`` is an unspaced run, group ``core`` a word or words put together by connectors,
    ``tail`` its ``++``, ``#`` or English clitic (user's, don't)."""
    inside = f"[{character_class(table.LETTERS, table.DIGITS, table.MARKS)}_]"
    start = f"(?![{character_class(table.MARKS)}])"  # a mark cannot be a word's first character
    tail = r"\+\+|#|['’](?:[sStTdDmM]|ll|LL|re|RE|ve|VE)"
    core = f"(?P<core>{start}{inside}+(?:[{CONNECTORS}]{start}{inside}+)*)"
    run = f"(?P<run>[{character_class(table.BIGRAMS)}]+)"
    return _compile(f"{run}|{core}(?P<tail>(?:{tail})(?!{inside}))?")


@lru_cache(maxsize=1)
def leading_marks() -> re.Pattern[str]:
    """Combining marks without a letter before them."""
    return _compile(f"[{character_class(table.MARKS)}]*")


@lru_cache(maxsize=1)
def blank() -> re.Pattern[str]:
    """Nothing but underscores and combining marks: no word."""
    return _compile(f"[_{character_class(table.MARKS)}]*")


@lru_cache(maxsize=1)
def characters() -> re.Pattern[str]:
    """One character of an unspaced run, with the marks that belong to it."""
    return _compile(f"(?s:.)[{character_class(table.BIGRAM_MARKS)}]*")


@lru_cache(maxsize=1)
def unknown() -> re.Pattern[str]:
    """Code points that the table calls unassigned; they separate words."""
    return _compile(f"[{character_class(table.UNASSIGNED)}]")
