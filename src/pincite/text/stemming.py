"""Snowball stemmers by ISO 639-1 code."""

from __future__ import annotations

from _thread import allocate_lock

import Stemmer

from pincite.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final

__all__ = [
    "PORTER_LANGUAGE", "STEMMED_LANGUAGES", "language_code", "stem_function", "stem_words",
    "stemmer_version",
]  # fmt: skip

# English takes Porter's first stemmer: on judged collections it ranks no worse than his second.
_SNOWBALL: Final = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "porter", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_BY_NAME: Final = {name: code for code, name in _SNOWBALL.items()} | {"english": "en"}
_SAME: Final = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi"}

STEMMED_LANGUAGES: Final[frozenset[str]] = frozenset(
    code for code, name in _SNOWBALL.items() if name in Stemmer.algorithms()
)

PORTER_LANGUAGE: Final = "en"
"""The language whose stemmer native code has too."""


def language_code(language: str) -> str:
    """The ISO 639-1 code in ``de``, ``DE``, ``de-AT``, ``de_AT.UTF-8`` or ``german``; "" stays.

    Raises InvalidArgument for what cannot be a language. A language without a stemmer is fine.
    """
    folded = language.strip().lower()
    primary = folded.replace("_", "-").partition("-")[0]
    if not folded:
        return ""
    if folded in _BY_NAME:
        return _BY_NAME[folded]
    if not (primary.isascii() and primary.isalpha() and 2 <= len(primary) <= 3):
        raise InvalidArgument(
            f"{language!r} is not a language; give an ISO 639-1 code such as 'en' or 'de'."
        )
    return _SAME.get(primary, primary)


_FUNCTIONS: Final[dict[str, Callable[[str], str]]] = {}


def stem_function(code: str) -> Callable[[str], str] | None:
    """Word in, stem out, from any thread; None when the language has no stemmer."""
    if code not in STEMMED_LANGUAGES:
        return None
    found = _FUNCTIONS.get(code)
    if found is None:
        found = _FUNCTIONS[code] = _stem_function(code)
    return found


def _stem_function(code: str) -> Callable[[str], str]:
    stemmer = Stemmer.Stemmer(_SNOWBALL[code], 0)
    lock = allocate_lock()

    def stem(word: str) -> str:
        with lock:  # a Stemmer keeps state while it works
            return str(stemmer.stemWord(word))

    return stem


def stem_words(words: Sequence[str], code: str) -> list[str]:
    """``stem_function`` of many words at once; the words themselves without a stemmer."""
    if code not in STEMMED_LANGUAGES:
        return list(words)
    stems: list[str] = Stemmer.Stemmer(_SNOWBALL[code], 0).stemWords(list(words))
    return stems


def stemmer_version() -> str:
    """PyStemmer's version: its algorithms change with it."""
    return str(Stemmer.version())
