"""Case and accents, from the checked-in table alone."""

from __future__ import annotations

from functools import lru_cache

from pincite.text import unicode_table as table
from pincite.text._ranges import pairs

__all__ = ["casefold", "fold_accents"]


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
    kept: list[str] = []
    base = ""
    for character in word:
        if 0x300 <= ord(character) < 0x370:
            if _is_latin_or_greek(base):
                continue
        else:
            base = character
        kept.append(character)
    return "".join(kept)


def _is_latin_or_greek(character: str) -> bool:
    return "a" <= character <= "z" or "\u0250" > character > "\u00be" or "Ͱ" <= character <= "Ͽ"


@lru_cache(maxsize=1)
def _case_table() -> dict[int, int | str]:
    rows = table.CASE_RANGES
    folds: dict[int, int | str] = {}
    for i in range(0, len(rows), 4):
        first, last, step, delta = rows[i : i + 4]
        folds.update((code, code + delta) for code in range(first, last + 1, step))
    folds.update(table.CASE_FOLDS)
    for zero in table.DIGIT_ZEROS:
        folds.update((zero + value, 0x30 + value) for value in range(10))
    return folds


@lru_cache(maxsize=1)
def _accent_table() -> dict[int, str | None]:
    folds: dict[int, str | None] = dict(table.ACCENT_FOLDS)
    for first, last in pairs(table.OPTIONAL_MARKS):
        folds.update(dict.fromkeys(range(first, last + 1)))
    return folds
