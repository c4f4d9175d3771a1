"""Analysing many texts at once in native code, with the same terms as ``Analyzer``.

Native code splits the text and takes ASCII words and identifiers apart; each distinct word is
folded and stemmed once, here, many in one call, and what native code cannot split is analysed once,
by the analyser. A kernel remembers them from one call to the next.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pincite.text import unicode_table
from pincite.text._ranges import pairs
from pincite.text.analysis import Analyzer
from pincite.text.normalize import normalize_text
from pincite.text.stemming import (
    PORTER_LANGUAGE,
    STEMMED_LANGUAGES,
    language_code,
    stem_words,
)

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray

    from pincite.text.tokens import Token

__all__ = ["Inverted", "TextKernel", "TextRules"]

_MOST_BYTES: Final = 128 << 20
"""Bytes of distinct words from which a kernel starts afresh."""

_MOST_LANGUAGES: Final = 255
_CODE_POINTS: Final = 0x10000
_SPACE: Final = ord(" ")
_TRIED: Final = """
caresses ponies caress cats feed agreed plastered bled motoring sing conflated troubled sized
hopping tanned falling hissing fizzed failing filing happy sky relational conditional valenci
hesitanci digitizer conformabli radicalli differentli vileli analogousli vietnamization
predication operator feudalism decisiveness hopefulness callousness formaliti sensitiviti
sensibiliti triplicate formative formalize electriciti electrical hopeful goodness revival
allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment
dependent adoption homologou communism activate angulariti homologous effective bowdlerize
probate rate cease controll roll yes syzygy don't x1
"""

_PAIRED, _LETTER, _STANDING_MARK = 1, 2, 3


@dataclass(frozen=True, slots=True)
class TextRules:
    """What is done with the analyser's tokens: ``stops`` (lower case, as written) are left out
    unless a text has nothing else, and so are terms of fewer characters than ``shortest``.

    ``language``, when it is not None, is that of every text.
    """

    analyzer: Analyzer
    stops: frozenset[str] = frozenset()
    shortest: int = 1
    language: str | None = None


class Inverted(NamedTuple):
    """Postings by term: T terms in byte order, UTF-8, end to end in ``vocabulary``; the offsets of
    terms and of their postings (T + 1); ascending ``rows`` and ``tfs``; each text's length."""

    vocabulary: NDArray[np.uint8]
    vocabulary_offsets: NDArray[np.uint64]
    postings_offsets: NDArray[np.uint64]
    rows: NDArray[np.uint32]
    tfs: NDArray[Any]
    lengths: NDArray[np.uint32]


class TextKernel:
    """Inverts texts under some rules. Safe to share; one thread at a time gets through."""

    def __init__(self, module: ModuleType, rules: TextRules) -> None:
        self._module = module
        self._rules = rules
        self._lock = threading.Lock()
        self._start_afresh()

    def inverted(
        self, texts: Sequence[str], languages: Sequence[str], *, threads: int = 1
    ) -> Inverted:
        """The postings of ``texts``, a row for each, analysed in ``languages`` (one for each)."""
        with self._lock:
            try:
                return self._inverted(texts, languages, threads)
            except BaseException:
                self._start_afresh()  # words may be known by half
                raise

    def _inverted(self, texts: Sequence[str], languages: Sequence[str], threads: int) -> Inverted:
        codes = self._numbers(languages)
        scan = self._lexicon.scan(texts, codes, threads)
        for code, number in self._languages.items():
            self._resolve(code, number)
        found = Inverted(*self._lexicon.inverted(scan))
        if self._lexicon.bytes > _MOST_BYTES:
            self._start_afresh()
        return found

    def _start_afresh(self) -> None:
        stops = sorted(self._rules.stops)
        # Whether a word of other letters is a stop word is for Python to say.
        marks = _marks(letters=all(map(str.isascii, stops)))
        self._lexicon = self._module.Lexicon(
            [word.encode() for word in stops], self._rules.shortest, marks
        )
        self._languages: dict[str, int] = {}

    def _numbers(self, languages: Sequence[str]) -> bytes:
        fixed = self._rules.language
        if fixed is not None:
            return bytes([self._number(language_code(fixed))])
        wanted = dict.fromkeys(languages)
        if len(self._languages) + len(wanted) > _MOST_LANGUAGES:
            self._start_afresh()
        numbers = {language: self._number(language_code(language)) for language in wanted}
        if len(numbers) == 1:
            return bytes(numbers.values())
        return bytes([numbers[language] for language in languages])

    def _number(self, code: str) -> int:
        known = self._languages.get(code)
        if known is None:
            porter = code == PORTER_LANGUAGE and _stems_alike(self._module)
            known = self._lexicon.add_language(code in STEMMED_LANGUAGES, porter)
            self._languages[code] = known
        return known

    def _resolve(self, code: str, number: int) -> None:
        words = self._lexicon.unstemmed(number)
        if words:
            self._lexicon.set_stems(number, self._rules.analyzer.ascii_terms(words, code))
        words = self._lexicon.unfolded(number)
        if words:
            self._lexicon.set_folded(number, self._rules.analyzer.word_terms(words, code))
        chunks = self._lexicon.unread(number)
        if chunks:
            self._lexicon.set_chunks(number, [self._read(chunk, code) for chunk in chunks])

    def _read(self, chunk: str, code: str) -> list[tuple[str, bool, bool]]:
        if not self._rules.stops:
            return _counted(*self._rules.analyzer.document_terms(chunk, code))
        tokens = self._rules.analyzer.tokens(chunk, code)
        return [(token.term, token.part, self._is_stop(chunk, token)) for token in tokens]

    def _is_stop(self, chunk: str, token: Token) -> bool:
        if not self._rules.stops:
            return False
        return chunk[token.start : token.end].lower().replace("’", "'") in self._rules.stops


def _counted(frequencies: Mapping[str, int], length: int) -> list[tuple[str, bool, bool]]:
    """Terms as often as they occur; which of them are parts is of no matter, only how many."""
    terms = [term for term, times in frequencies.items() for _ in range(times)]
    return [(term, place >= length, False) for place, term in enumerate(terms)]


@functools.cache
def _stems_alike(module: ModuleType) -> bool:
    """Whether native code stems like the installed stemmer, tried on a word for each rule."""
    words = _TRIED.split()
    return [module.porter_stem(word) for word in words] == stem_words(words, PORTER_LANGUAGE)


@functools.cache
def _marks(*, letters: bool = True) -> bytes:
    """For each code point below 65,536 the ASCII character that means as much to the analyser.

    What is no part of a word and is not changed by normalising separates words, as a space does.
    1 is a character of a script that is read in pairs; with ``letters`` 2 is a letter or digit and
    3 a mark, when normalising changes them nowhere. 0 needs the analyser.
    """
    table = bytearray(map(_mark, range(_CODE_POINTS)))
    kinds = dict.fromkeys(_codes("LETTERS", "DIGITS"), _LETTER) | dict.fromkeys(
        _codes("MARKS"), _STANDING_MARK
    )
    paired, joining = set(_codes("BIGRAMS")), set(_codes("JOINING"))
    for code, kind in kinds.items():
        stable = letters and table[code] == _SPACE and code not in paired and code not in joining
        table[code] = kind if stable else 0
    for code in joining - kinds.keys():
        table[code] = 0
    for code in paired - kinds.keys():
        table[code] = _PAIRED if table[code] == _SPACE else 0
    table[ord("·")] = table[ord("\u2010")] = 0
    table[ord("’")] = ord("'")
    return bytes(table)


def _codes(*names: str) -> Iterator[int]:
    """The code points below 65,536 in some tables, ASCII left out."""
    for name in names:
        for first, last in pairs(getattr(unicode_table, name)):
            yield from range(max(first, 0x80), min(last + 1, _CODE_POINTS))


def _mark(code: int) -> int:
    normal = normalize_text(chr(code))
    if normal == chr(code):
        return _SPACE
    if set(normal) == {"."} and len(normal) > 1:
        return _SPACE  # no word is put together by several dots
    return ord(normal) if len(normal) == 1 and normal.isascii() else 0
