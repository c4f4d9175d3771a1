"""Write ``src/pincite/text/unicode_table.py`` from this interpreter's Unicode database.

Run it by hand with the oldest supported Python: ``python tools/make_unicode_table.py``. Later
Pythons know more characters; because the checked-in table decides, all of them split alike.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path

TARGET = Path(__file__).parents[1] / "src" / "pincite" / "text" / "unicode_table.py"
TABLE_REVISION = 1
BIGRAM_NAMES = ("HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR")
HAN_NAMES = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "IDEOGRAPHIC")
# Letters that people type without their stroke or as two letters, though Unicode gives them no
# decomposition; and the one Cyrillic letter that Russian itself writes both ways.
EXTRA_FOLDS = {
    "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "þ": "th", "ð": "d",
    "ı": "i", "ё": "е",
}  # fmt: skip
TATWEEL = "\u0640"  # stretches the letter before it; by Unicode a letter, for words a mark
# Marks that writers of these scripts leave out: Arabic vowel signs, Hebrew points; the stretching
# tatweel; variation selectors, the grapheme joiner.
OPTIONAL_MARKS = [
    *range(0x0591, 0x05BE), 0x05BF, 0x05C1, 0x05C2, 0x05C4, 0x05C5, 0x05C7,
    0x0640, *range(0x064B, 0x0653), 0x0670, 0x034F, *range(0xFE00, 0xFE10),
    *range(0xE0100, 0xE01F0),
]  # fmt: skip

HEADER = '''"""Character classes and case folding of Unicode {version}.

Written by tools/make_unicode_table.py; do not edit. Ranges are flat (first, last, first, last, ...)
tuples of code points, both ends included. A table is read when it is first asked for: a query in
ASCII needs none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

__all__ = [
    "ACCENT_FOLDS",
    "BIGRAMS",
    "BIGRAM_MARKS",
    "CASE_FOLDS",
    "CASE_RANGES",
    "DIGITS",
    "DIGIT_ZEROS",
    "JOINING",
    "LETTERS",
    "MARKS",
    "OPTIONAL_MARKS",
    "UNASSIGNED",
    "UNICODE_TABLE_VERSION",
    "UNICODE_VERSION",
]


def _ranges(text: str) -> tuple[int, ...]:
    flat: list[int] = []
    for item in text.split():
        first, _, last = item.partition("-")
        flat += int(first, 16), int(last or first, 16)
    return tuple(flat)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(item, 16) for item in text.split())


def _folds(text: str) -> dict[int, str]:
    pairs = (item.split(":") for item in text.split())
    return {{int(code, 16): _characters(to) for code, to in pairs}}


def _characters(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split(","))


UNICODE_VERSION: Final = "{version}"
UNICODE_TABLE_VERSION: Final = {revision}

_WRITTEN: dict[str, str] = {{}}
_READ: dict[str, Callable[[str], Any]] = {{}}


def __getattr__(name: str) -> Any:
    if name not in _WRITTEN:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    value = globals()[name] = _READ[name](_WRITTEN[name])
    return value

'''


def every_character() -> Iterable[str]:
    return (chr(code) for code in range(sys.maxunicode + 1))


def ranges(chosen: Callable[[str], bool]) -> str:
    found: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        if not chosen(chr(code)):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return " ".join(f"{a:x}" if a == b else f"{a:x}-{b:x}" for a, b in found)


def is_bigram(character: str) -> bool:
    if not unicodedata.category(character).startswith(("L", "M", "Nl")):
        return False
    name = unicodedata.name(character, "")
    return name.startswith(HAN_NAMES) or any(word in name for word in BIGRAM_NAMES)


def is_bigram_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M") and is_bigram(character)


def is_letter(character: str) -> bool:
    category = unicodedata.category(character)
    return (category.startswith("L") or category == "Nl") and not (
        is_bigram(character) or character == TATWEEL
    )


def is_mark(character: str) -> bool:
    if character == TATWEEL:
        return True
    return unicodedata.category(character).startswith("M") and not is_bigram(character)


def composing_seconds() -> set[str]:
    seconds = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    for character in every_character():
        decomposed = unicodedata.decomposition(character)
        if decomposed and not decomposed.startswith("<") and " " in decomposed:
            seconds.add(chr(int(decomposed.split()[1], 16)))
    return seconds


def joins(character: str, seconds: set[str]) -> bool:
    """Whether normalisation may merge or reorder the character with what stands before it."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.combining(first) != 0 or first in seconds


def case_rows() -> tuple[str, dict[str, str]]:
    """Runs of equal distance as first-last:step:delta, and the folds that runs cannot say."""
    single: dict[int, int] = {}
    others: dict[str, str] = {}
    for character in every_character():
        folded = character.casefold()
        if len(folded) == 1 and folded != character:
            single[ord(character)] = ord(folded)
        elif folded != character:
            others[character] = folded
    rows: list[list[int]] = []
    for code, to in single.items():
        row = rows[-1] if rows else None
        if row and to - code == row[3] and code - row[1] in ((row[2],) if row[2] else (1, 2)):
            row[2], row[1] = code - row[1], code
        else:
            rows.append([code, code, 0, to - code])
    flat = " ".join(
        f"{first:x} {last:x} {step or 1:x} {delta:x}" for first, last, step, delta in rows
    )
    return flat, others


def accent_folds() -> dict[str, str]:
    """Latin and Greek letters without their marks; only lower-case keys, as folding comes last."""
    folds = dict(EXTRA_FOLDS)
    for character in every_character():
        name = unicodedata.name(character, "")
        if character != character.casefold() or not name.startswith(("LATIN", "GREEK")):
            continue
        bare = "".join(
            c for c in unicodedata.normalize("NFD", character) if not unicodedata.combining(c)
        )
        bare = "".join(EXTRA_FOLDS.get(c, c) for c in bare)
        if bare and bare != character:
            folds[character] = bare
    return folds


def fold_text(folds: dict[str, str]) -> str:
    return " ".join(
        f"{ord(key):x}:{','.join(f'{ord(c):x}' for c in to)}" for key, to in sorted(folds.items())
    )


def block(name: str, kind: str, maker: str, text: str) -> str:
    lines, line = [], ""
    for item in text.split():
        if len(line) + len(item) > 95:
            lines.append(line.rstrip())
            line = ""
        line += item + " "
    body = "\n".join([*lines, line.rstrip()])
    written = f'_WRITTEN["{name}"] = """\n{body}\n"""'
    return f'\n{name}: {kind}\n_READ["{name}"] = {maker}\n{written}\n'


def render() -> str:
    """The module's text for this interpreter's Unicode version."""
    pairs = "tuple[int, ...]"
    seconds = composing_seconds()
    case_runs, case_others = case_rows()
    optional = {chr(code) for code in OPTIONAL_MARKS}
    zeros = [c for c in every_character() if unicodedata.decimal(c, None) == 0]
    category = unicodedata.category
    parts = [
        HEADER.format(version=unicodedata.unidata_version, revision=TABLE_REVISION),
        block("LETTERS", pairs, "_ranges", ranges(is_letter)),
        block("DIGITS", pairs, "_ranges", ranges(lambda c: category(c) in ("Nd", "No"))),
        block("MARKS", pairs, "_ranges", ranges(is_mark)),
        "\n# Han, Kana, Hangul, Thai, Lao, Khmer and Burmese: written without spaces.",
        block("BIGRAMS", pairs, "_ranges", ranges(is_bigram)),
        "\n# Those of them that belong to the character before: Thai vowels above, tones.",
        block("BIGRAM_MARKS", pairs, "_ranges", ranges(is_bigram_mark)),
        "\n# Characters that normalisation may merge or reorder with what stands before them.",
        block("JOINING", pairs, "_ranges", ranges(lambda c: joins(c, seconds))),
        "\n# Not characters yet: they separate words, also under a Python that knows them.",
        block("UNASSIGNED", pairs, "_ranges", ranges(lambda c: category(c) == "Cn")),
        "\n# The zero of each run of ten decimal digits.",
        block("DIGIT_ZEROS", pairs, "_numbers", " ".join(f"{ord(c):x}" for c in zeros)),
        "\n# Flat (first, last, step, delta) rows: every step-th code folds to itself + delta.",
        block("CASE_RANGES", pairs, "_numbers", case_runs),
        block("CASE_FOLDS", "dict[int, str]", "_folds", fold_text(case_others)),
        "\n# Latin and Greek letters without marks, and a few that have no decomposition.",
        block("ACCENT_FOLDS", "dict[int, str]", "_folds", fold_text(accent_folds())),
        "\n# Marks that writers leave out: they are dropped from terms.",
        block("OPTIONAL_MARKS", pairs, "_ranges", ranges(lambda c: c in optional)),
    ]
    return "".join(parts)


def main() -> None:
    TARGET.write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    main()
