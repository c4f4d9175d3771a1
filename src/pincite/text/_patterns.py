"""The regular expressions that find words, identifiers and unspaced runs in normalised text.

Imported when text that is not ASCII, or its highlights, first need them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pincite.text import unicode_table as table
from pincite.text._items import CONNECTORS
from pincite.text._ranges import character_class
from pincite.text.normalize import DROPPED

__all__ = [
    "blank",
    "characters",
    "chunks",
    "items",
    "leading_marks",
    "units",
    "unknown",
]


@lru_cache(maxsize=1)
def chunks() -> re.Pattern[str]:
    """What stands between white space. No token crosses it, so a text is read chunk by chunk and
    each chunk only once."""
    return re.compile(r"\S+")


@lru_cache(maxsize=1)
def items() -> re.Pattern[str]:
    """Group ``run`` is an unspaced run, group ``core`` a word or words put together by connectors,
    ``tail`` its ``++``, ``#`` or English clitic (user's, don't)."""
    inside = f"[{character_class(table.LETTERS, table.DIGITS, table.MARKS)}_]"
    start = f"(?![{character_class(table.MARKS)}])"  # a mark cannot be a word's first character
    tail = r"\+\+|#|['’](?:[sStTdDmM]|ll|LL|re|RE|ve|VE)"
    core = f"(?P<core>{start}{inside}+(?:[{CONNECTORS}]{start}{inside}+)*)"
    run = f"(?P<run>[{character_class(table.BIGRAMS)}]+)"
    return re.compile(f"{run}|{core}(?P<tail>(?:{tail})(?!{inside}))?")


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


@lru_cache(maxsize=1)
def units() -> re.Pattern[str]:
    """One character with all that normalisation may merge into it: NFKC of a text is the NFKC of
    its units, put together."""
    joining = character_class(table.JOINING) + DROPPED
    return re.compile(f"(?s:.)[{joining}]*")
