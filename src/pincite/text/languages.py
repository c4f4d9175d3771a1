"""Which language a text is in: by script, and within a script by its most frequent words.

Offline, deterministic, and "" when unsure. Two hundred characters of running text are enough for
the languages that have a stop list; a title or a table of numbers is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from pincite.text._folding import casefold
from pincite.text._markers import MARKERS
from pincite.text.normalize import normalize_text
from pincite.text.stopwords import stop_words, stopped_languages

__all__ = ["detect_language"]

_WINDOW: Final = 3_000
_WORD: Final = re.compile(r"[^\W\d_]+")
_ENOUGH_LETTERS: Final = 12
# A language wins with so much evidence, with so much of the words known, so far before the next.
_EVIDENCE: Final = 1.5
_COVERAGE: Final = 0.06
_MARGIN: Final = 1.12

_LATIN: Final = "a-zß-öø-ɏḀ-ỿ"
_SHARED_SCRIPTS: Final = {"latin": _LATIN, "cyrillic": "Ѐ-ӿ", "arabic": "ء-ي٠-ۿ", "indic": "ऀ-ॿ"}
_OWN_SCRIPTS: Final = {
    "zh": "㐀-䶿一-鿿", "ja": "ぁ-ヿ", "ko": "가-힣", "th": "ก-๛", "lo": "ກ-ໟ", "km": "ក-៿",
    "my": "က-႟", "el": "Ͱ-Ͽἀ-῿", "he": "א-ת", "hy": "Ա-֏", "ka": "ა-ჿ", "ta": "஀-௿",
    "bn": "ঀ-৿", "te": "ఀ-౿", "kn": "ಀ-೿", "ml": "ഀ-ൿ", "gu": "઀-૿", "pa": "਀-੿", "am": "ሀ-፿",
}  # fmt: skip
# One Han character or syllable says as much as some letters.
_DENSE: Final = {"zh": 3, "ja": 3, "ko": 2, "th": 2, "lo": 2, "km": 2, "my": 2}

# Letters that few languages of the script write; each occurrence counts like part of a word.
_LETTERS: Final = {
    "ä": "de fi sv et sk", "ö": "de fi sv hu tr et is", "ü": "de hu tr et es",
    "å": "sv da no", "æ": "da no is", "ø": "da no", "ñ": "es gl eu", "¿": "es", "ã": "pt vi",
    "õ": "pt et vi", "ç": "fr pt tr ca sq", "œ": "fr", "è": "fr it ca", "ê": "fr pt vi af",
    "ù": "fr it", "ò": "it ca vi", "ì": "it vi", "ł": "pl", "ż": "pl", "ś": "pl", "ź": "pl",
    "ą": "pl lt", "ę": "pl lt", "ń": "pl", "ć": "pl hr sr", "ř": "cs", "ě": "cs", "ů": "cs",
    "ľ": "sk", "ĺ": "sk", "ŕ": "sk", "ô": "sk fr vi pt", "č": "cs sk hr sl sr lt lv",
    "š": "cs sk hr sl sr lt lv et", "ž": "cs sk hr sl sr lt lv et", "đ": "hr sr vi", "ő": "hu",
    "ű": "hu", "ă": "ro vi", "ș": "ro", "ț": "ro", "ş": "tr ro", "ţ": "ro", "ğ": "tr", "ı": "tr",
    "ð": "is", "þ": "is", "ė": "lt", "ų": "lt", "į": "lt", "ū": "lt lv", "ķ": "lv", "ļ": "lv",
    "ņ": "lv", "ģ": "lv", "ā": "lv", "ē": "lv", "ī": "lv", "ŭ": "eo", "ĉ": "eo", "ŝ": "eo",
    "ơ": "vi", "ư": "vi", "ạ": "vi", "ế": "vi", "ộ": "vi", "ы": "ru be", "э": "ru be", "ё": "ru be",
    "ъ": "bg ru", "і": "uk be", "ї": "uk", "є": "uk", "ґ": "uk", "ў": "be", "ј": "sr mk",
    "љ": "sr mk", "њ": "sr mk", "ћ": "sr", "ђ": "sr", "ѓ": "mk", "ќ": "mk", "ѕ": "mk",
    "پ": "fa ur", "چ": "fa ur", "ژ": "fa ur", "گ": "fa ur", "ک": "fa ur", "ی": "fa ur",
    "ٹ": "ur", "ڈ": "ur", "ڑ": "ur", "ں": "ur", "ے": "ur", "ہ": "ur", "ة": "ar", "ي": "ar",
    "ك": "ar", "أ": "ar", "إ": "ar", "ى": "ar",
}  # fmt: skip
_LETTER_WEIGHT: Final = 0.35
_ONE_LETTER: Final = 0.3  # may also be a variable, an initial, a list item


def detect_language(text: str) -> str:
    """The ISO 639-1 code of the text's language, "" when unsure.

    Reads three windows of a long text, so that a preface in another language does not decide.

    >>> detect_language("Der Hund ist nicht in dem Haus, denn er war gestern auf der Straße.")
    'de'
    >>> detect_language("Table 7")
    ''
    """
    sample = casefold(normalize_text(_sample(text)))
    script = _script(sample)
    if script not in _SHARED_SCRIPTS:
        return script
    words = _WORD.findall(sample)
    ranked = sorted(_scores(words, sample).items(), key=lambda item: (-item[1], item[0]))
    if not ranked:
        return ""
    language, best = ranked[0]
    second = ranked[1][1] if len(ranked) > 1 else 0.0
    sure = best >= max(_EVIDENCE, _COVERAGE * len(set(words))) and best >= _MARGIN * second
    return language if sure else ""


def _sample(text: str) -> str:
    if len(text) <= 3 * _WINDOW:
        return text
    middle = (len(text) - _WINDOW) // 2
    return " ".join((text[:_WINDOW], text[middle : middle + _WINDOW], text[-_WINDOW:]))


def _script(sample: str) -> str:
    """The script, or the language that has it to itself; "" when letters are few."""
    counts = {
        name: len(pattern.findall(sample)) * _DENSE.get(name, 1)
        for name, pattern in _script_patterns().items()
    }
    if counts["ja"] > 0.1 * counts["zh"]:
        counts["ja"] += counts.pop("zh")  # kana between Han is Japanese
    name = max(counts, key=lambda key: counts[key])
    if counts[name] < _ENOUGH_LETTERS:
        return ""
    if name == "he" and _scores(_WORD.findall(sample), "").get("yi", 0) >= _EVIDENCE:
        return "yi"
    return name


@lru_cache(maxsize=1)
def _script_patterns() -> Mapping[str, re.Pattern[str]]:
    scripts = {**_SHARED_SCRIPTS, **_OWN_SCRIPTS}
    return {name: re.compile(f"[{letters}]") for name, letters in scripts.items()}


def _scores(words: Iterable[str], sample: str) -> dict[str, float]:
    """Evidence for each language. A word counts the root of its frequency, so that a name full of
    Los does not decide, shared among the languages that have it."""
    scores: dict[str, float] = {}
    known = _known_words()
    for word, times in Counter(words).items():
        languages = known.get(word, ())
        for language in languages:
            weight = times**0.5 * (1.0 if len(word) > 1 else _ONE_LETTER) / len(languages)
            scores[language] = scores.get(language, 0.0) + weight
    for letter, codes in _LETTERS.items():
        count = sample.count(letter)
        for language in codes.split() if count else ():
            weight = _LETTER_WEIGHT / (1 + codes.count(" "))
            scores[language] = scores.get(language, 0.0) + weight * count**0.5
    return scores


@lru_cache(maxsize=1)
def _known_words() -> dict[str, tuple[str, ...]]:
    languages: dict[str, list[str]] = {}
    for code in sorted({*stopped_languages(), *MARKERS}):
        for word in stop_words(code).union(casefold(MARKERS.get(code, "")).split()):
            languages.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in languages.items()}
