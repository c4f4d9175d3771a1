"""One analyser for index and query: normalise, casefold, split, stem.

A text is read in chunks between white space. A chunk holds words, identifiers and runs of scripts
without spaces; each chunk is analysed once and remembered. The language "" is not stemmed.
"""

from __future__ import annotations

import sys
from collections import Counter

from pincite.text._folding import casefold
from pincite.text._items import is_plain, read_items
from pincite.text._terms import TermMaker
from pincite.text.normalize import align, normalize_text
from pincite.text.stemming import language_code, stemmer_version
from pincite.text.stopwords import stop_words_of
from pincite.text.unicode_table import UNICODE_TABLE_VERSION, UNICODE_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Final, TypeVar

    from pincite.text._terms import Accents
    from pincite.text.tokens import Token

    _K = TypeVar("_K")
    _T = TypeVar("_T")

__all__ = ["ANALYZER_VERSION", "Analyzer", "default_analyzer"]

ANALYZER_VERSION: Final = 1
_PUNCTUATION: Final = ".,;:!?()[]{}<>\"'`*/=-"
_CACHED_LENGTH: Final = 64
_CACHED_CHUNKS: Final = 100_000


_Counts = tuple[tuple[str, ...], int]
_Codes = tuple[str, ...]
_Word = tuple[tuple[str, ...], bool, bool]
"""A word of a query: its terms, whether it is a stop word, and whether it is one in capitals."""


class Analyzer:
    """Terms of documents and queries.

    ``accents`` says whether résumé and resume are one term ("fold", the default) or two ("keep").
    Safe to share between threads: its caches only ever gain equal values.
    """

    version: int = ANALYZER_VERSION

    def __init__(self, *, accents: Accents = "fold") -> None:
        self._maker = TermMaker(accents=accents)
        self._counts: dict[str, dict[str, _Counts]] = {}
        self._tokens: dict[str, dict[str, tuple[Token, ...]]] = {}
        self._codes: dict[tuple[str, ...], _Codes] = {}
        self._words: dict[_Codes, dict[str, tuple[_Word, ...]]] = {}

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text could give other terms."""
        parts = (
            f"analyzer {self.version}",
            f"unicode {UNICODE_VERSION}.{UNICODE_TABLE_VERSION}",
            f"stemmer {stemmer_version()}",
            f"accents {self._maker.accents}",
        )
        return _sha256("\n".join(parts).encode())[:16]

    def tokens(self, text: str, language: str = "") -> list[Token]:
        """Tokens in order of place, an identifier before its parts; offsets are those of ``text``.

        >>> [token.term for token in Analyzer().tokens("ERR-4021 again", "en")]
        ['err-4021', 'err', '4021', 'again']
        """
        from pincite.text._patterns import chunks
        from pincite.text.tokens import Token

        code = language_code(language)
        found: list[Token] = []
        for match in chunks().finditer(text):
            base = match.start()
            found += [
                Token(term, base + start, base + end, part)
                for term, start, end, part in self._chunk_tokens(match.group(), code)
            ]
        return found

    def document_terms(self, text: str, language: str = "") -> tuple[dict[str, int], int]:
        """Term frequencies, and the length |d| in tokens; parts of identifiers do not count in it.

        >>> Analyzer().document_terms("foo_bar foo_bar")
        ({'foo_bar': 2, 'foo': 2, 'bar': 2}, 2)
        """
        code = language_code(language)
        known = self._counts.setdefault(code, {})
        frequencies: dict[str, int] = {}
        length = 0
        for chunk, times in Counter(text.split()).items():
            terms, whole = known.get(chunk) or self._count(chunk, code, known)
            length += times * whole
            for term in terms:
                frequencies[term] = frequencies.get(term, 0) + times
        return frequencies, length

    def ascii_terms(self, words: Sequence[str], language: str = "") -> list[str]:
        """The terms of ASCII words in lower case, each one word without humps, in bulk.

        >>> Analyzer().ascii_terms(["running", "dogs"], "en")
        ['run', 'dog']
        """
        return self._maker.ascii_terms(words, language_code(language))

    def word_terms(self, words: Sequence[str], language: str = "") -> list[str]:
        """The terms of words that are not ASCII, normalised, of letters, digits and marks alone.

        >>> Analyzer().word_terms(["Häuser", "Straße"], "de")
        ['haus', 'strass']
        """
        return self._maker.word_terms(words, language_code(language))

    def query_groups(
        self, text: str, languages: Iterable[str] = (), *, repeats: bool = False
    ) -> tuple[tuple[str, ...], ...]:
        """A query's words as groups of synonyms: the word's terms in each of ``languages``.

        Groups stand in order of appearance, each once; with ``repeats`` as often as the query says
        it. Stop words of the languages are dropped when other terms remain, unless they stand out
        in capitals (WHO, IT). Without ``languages`` words are not stemmed and English stop words
        count.

        >>> Analyzer().query_groups("running of the Häuser", ["en", "de"])
        (('run', 'running'), ('hauser', 'haus'))
        """
        codes = self._query_codes(tuple(languages))
        known = self._words.setdefault(codes, {})
        words: list[_Word] = []
        for chunk in text.split():
            own = known.get(chunk)
            words += self._chunk_words(chunk, codes, known) if own is None else own
        if text == text.upper():
            kept = [group for group, _, shouted_stop in words if not shouted_stop]
        else:
            kept = [group for group, stop, _ in words if not stop]
        groups = kept or [group for group, _, _ in words]
        return tuple(groups if repeats else dict.fromkeys(groups))

    def highlights(
        self, text: str, groups: Iterable[Sequence[str]], language: str = ""
    ) -> list[tuple[int, int]]:
        """Raw spans of ``text`` whose terms are in a group, in order, overlaps joined."""
        code = language_code(language)
        wanted = {term for group in groups for term in group}
        known = self._counts.setdefault(code, {})
        # Most chunks hold none of the terms; each is looked at once, wherever it stands.
        hot = {
            chunk
            for chunk in set(text.split())
            if not wanted.isdisjoint((known.get(chunk) or self._count(chunk, code, known))[0])
        }
        found = [
            (at + start, at + end)
            for chunk in hot
            for term, start, end, _ in self._chunk_tokens(chunk, code)
            if term in wanted
            for at in _occurrences(chunk, text)
        ]
        return _joined(found)

    def _query_codes(self, languages: tuple[str, ...]) -> _Codes:
        codes = self._codes.get(languages)
        if codes is None:
            codes = tuple(dict.fromkeys(map(language_code, languages))) or ("",)
            _remember(self._codes, languages, codes)
        return codes

    def _chunk_words(
        self, chunk: str, codes: _Codes, known: dict[str, tuple[_Word, ...]]
    ) -> tuple[_Word, ...]:
        stops = stop_words_of(codes)
        words = tuple(
            (
                tuple(dict.fromkeys(self._maker.term(item, code) for code in codes)),
                _is_stop(item.text, stops, shouting=False),
                _is_stop(item.text, stops, shouting=True),
            )
            for item in read_items(normalize_text(chunk))
        )
        if len(chunk) <= _CACHED_LENGTH:
            _remember(known, chunk, words)
        return words

    def _chunk_tokens(self, chunk: str, code: str) -> tuple[Token, ...]:
        known = self._tokens.setdefault(code, {})
        tokens = known.get(chunk)
        if tokens is None:
            tokens = tuple(self._read(chunk, code))
            if len(chunk) <= _CACHED_LENGTH:
                _remember(known, chunk, tokens)
        return tokens

    def _read(self, chunk: str, code: str) -> Iterator[Token]:
        from pincite.text.tokens import Token

        word = chunk.strip(_PUNCTUATION)
        if is_plain(word):
            start = chunk.index(word)
            yield Token(self._maker.word_term(word, code), start, start + len(word), part=False)
            return
        aligned = align(chunk)
        for item in read_items(aligned.text):
            start, end = aligned.span(item.start, item.end)
            yield Token(self._maker.term(item, code), start, end, item.part)

    def _count(self, chunk: str, code: str, known: dict[str, _Counts]) -> _Counts:
        word = chunk.strip(_PUNCTUATION)
        if is_plain(word):
            counts: _Counts = (self._maker.word_term(word, code),), 1
        else:
            items = list(read_items(normalize_text(chunk)))
            terms = tuple(self._maker.term(item, code) for item in items)
            counts = terms, sum(not item.part for item in items)
        if len(chunk) <= _CACHED_LENGTH:
            _remember(known, chunk, counts)
        return counts


def _sha256(data: bytes) -> str:
    """As ``hashlib`` has it, without OpenSSL, which takes longer to load than a search."""
    try:
        lean = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:
        import hashlib as lean
    return str(lean.sha256(data).hexdigest())


def _occurrences(chunk: str, text: str) -> Iterator[int]:
    """Where a chunk stands in a text, between white space."""
    at = text.find(chunk)
    while at >= 0:
        end = at + len(chunk)
        whole = (at == 0 or text[at - 1].isspace()) and (end == len(text) or text[end].isspace())
        if whole:
            yield at
        at = text.find(chunk, end if whole else at + 1)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _is_stop(word: str, stops: frozenset[str], *, shouting: bool) -> bool:
    if len(word) > 1 and word.isupper() and not shouting:
        return False
    return casefold(word).replace("’", "'") in stops


def _remember(known: dict[_K, _T], key: _K, value: _T) -> None:
    if len(known) >= _CACHED_CHUNKS:
        known.clear()
    known[key] = value


_SHARED = Analyzer()


def default_analyzer() -> Analyzer:
    """The analyser of every store, one for the process so that its caches are shared."""
    return _SHARED
