"""Stop words by language: words so common that a query is better without them.

They are always indexed; a query drops them when other terms remain. Words that negate are never
among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

__all__ = ["STOPWORDS", "stop_words", "union"]

_ENGLISH: Final = """
    a about an and are as at be but by for from had has have he her his how i in into is it its of
    on or she such that the their then there these they this to was we were what when where which
    who will with you
"""

STOPWORDS: Final[frozenset[str]] = frozenset(_ENGLISH.split())

_LISTS: Final = {"en": STOPWORDS, "": STOPWORDS}


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language code, "" as English; empty when there is no list."""
    return _LISTS.get(language, frozenset())


def union(languages: Iterable[str]) -> frozenset[str]:
    """Words that are stop words in one of the languages."""
    return _union(tuple(languages))


@lru_cache(maxsize=64)
def _union(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*map(stop_words, languages))
