"""Case and accents, from the checked-in table alone."""

from __future__ import annotations

from pincite.text import unicode_table as table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_CASES: Final[dict[int, int | str]] = {}
_ACCENTS: Final[dict[int, str | None]] = {}

__all__ = ["casefold", "fold_accents"]

_LATIN_MARKS: Final = frozenset(map(chr, range(0x300, 0x370)))
_MARKED: Final = "([a-z\u00bf-\u024f\u0370-\u03ff])[\u0300-\u036f]+"
"""A Latin or Greek letter and its marks."""


def casefold(word: str) -> str:
    """Unicode full case folding and ASCII decimal digits, composed (NFC) again."""
    if word.isascii():
        return word.lower()
    import unicodedata

    return unicodedata.normalize("NFC", word.translate(_case_table()))


def fold_accents(word: str) -> str:
    """Latin and Greek letters without marks, and without the marks that writers leave out.

    Vowel signs of Indic scripts and Cyrillic letters such as й are letters of their own: they
    stay.
    """
    if word.isascii():
        return word
    return _drop_latin_marks(word.translate(_accent_table()))


def _drop_latin_marks(word: str) -> str:
    """Also where no composed character exists, as in j + caron."""
    if _LATIN_MARKS.isdisjoint(word):
        return word
    import re

    return re.sub(_MARKED, r"\1", word)


def _case_table() -> dict[int, int | str]:
    if _CASES:
        return _CASES
    rows = table.CASE_RANGES
    folds: dict[int, int | str] = {}
    for i in range(0, len(rows), 4):
        first, last, step, delta = rows[i : i + 4]
        folds.update((code, code + delta) for code in range(first, last + 1, step))
    folds.update(table.CASE_FOLDS)
    for zero in table.DIGIT_ZEROS:
        folds.update((zero + value, 0x30 + value) for value in range(10))
    _CASES.update(folds)
    return _CASES


def _accent_table() -> dict[int, str | None]:
    if _ACCENTS:
        return _ACCENTS
    from pincite.text._ranges import pairs

    folds: dict[int, str | None] = dict(table.ACCENT_FOLDS)
    for first, last in pairs(table.OPTIONAL_MARKS):
        folds.update(dict.fromkeys(range(first, last + 1)))
    _ACCENTS.update(folds)
    return _ACCENTS
