"""The analysis of ``BM25Retriever``: words, lower case, stop words dropped from both sides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from pincite.errors import InvalidArgument
from pincite.text.analysis import Analyzer, default_analyzer
from pincite.text.kernels import TextRules
from pincite.text.stemming import language_code
from pincite.text.stopwords import stop_words
from pincite.text.tokens import Token

__all__ = ["WordAnalysis"]

_VERSION: Final = 1


class WordAnalysis:
    """Tokens of the default analyser in one language, without stop words and short tokens.

    The same for texts and queries. A text of only stop words is kept whole. Without a language
    words are not stemmed and the stop words are English.
    """

    def __init__(
        self, *, language: str = "", remove_stopwords: bool = True, min_token_length: int = 1
    ) -> None:
        """Raises ``InvalidArgument`` for what is no language, or a length below 1."""
        if min_token_length < 1:
            raise InvalidArgument(f"min_token_length is {min_token_length}; pass 1 or more.")
        self.language = language_code(language)
        self.stops = stop_words(self.language) if remove_stopwords else frozenset()
        self.min_token_length = min_token_length
        self.analyzer: Analyzer = default_analyzer()

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same text could give other terms."""
        parts = (
            f"words {_VERSION}",
            self.analyzer.fingerprint,
            self.language,
            " ".join(sorted(self.stops)),
            str(self.min_token_length),
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    @property
    def rules(self) -> TextRules:
        """The same analysis for native code."""
        return TextRules(self.analyzer, self.stops, self.min_token_length, self.language)

    def document_terms(self, text: str, language: str = "") -> tuple[dict[str, int], int]:  # noqa: ARG002 - the language is the analysis's own
        """Term frequencies, and the length in tokens; parts of identifiers do not count in it.

        >>> WordAnalysis().document_terms("The error of the foo_bar")
        ({'error': 1, 'foo_bar': 1, 'foo': 1, 'bar': 1}, 2)
        """
        frequencies: dict[str, int] = {}
        length = 0
        for token in self._tokens(text):
            frequencies[token.term] = frequencies.get(token.term, 0) + 1
            length += not token.part
        return frequencies, length

    def query_groups(
        self,
        text: str,
        languages: Iterable[str] = (),  # noqa: ARG002 - as above
    ) -> tuple[tuple[str, ...], ...]:
        """Each distinct term of a query as a group of its own."""
        return tuple((term,) for term in dict.fromkeys(t.term for t in self._tokens(text)))

    def _tokens(self, text: str) -> list[Token]:
        tokens = [
            token
            for token in self.analyzer.tokens(text, self.language)
            if len(token.term) >= self.min_token_length
        ]
        if not self.stops:
            return tokens
        return [t for t in tokens if not self._is_stop(text[t.start : t.end])] or tokens

    def _is_stop(self, word: str) -> bool:
        return word.lower().replace("’", "'") in self.stops
