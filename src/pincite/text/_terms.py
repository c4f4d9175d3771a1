"""From an item to the term that the index holds."""

from __future__ import annotations

from pincite.errors import InvalidArgument
from pincite.text._folding import casefold, fold_accents
from pincite.text.stemming import stem_function, stem_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final, Literal

    from pincite.text._items import Item

    Accents = Literal["fold", "keep"]

__all__ = ["Accents", "TermMaker"]

# Stemmers read the accents of their language, so accents are folded after them; but English words
# have none, and résumé must meet resume before the stemmer cuts one of them.
_FOLDED_FIRST: Final = frozenset({"en"})

# A longer word (a hash, base64, noise) is known by its first characters.
_LONGEST: Final = 256
_CACHED_WORDS: Final = 100_000
_PLAIN: Final = str.maketrans({"\u2010": "-", "’": "'"})


class TermMaker:
    """Casefolds, stems and folds; remembers each word's term for each language."""

    def __init__(self, *, accents: Accents = "fold") -> None:
        if accents not in ("fold", "keep"):
            raise InvalidArgument(f"accents is {accents!r}; use 'fold' or 'keep'.")
        self.accents: Accents = accents
        self._known: dict[str, dict[str, str]] = {}

    def term(self, item: Item, code: str) -> str:
        """The term of an item in a language; never empty."""
        if item.kind == "bigram":
            return item.text[:_LONGEST]  # these scripts have neither case nor accents
        return self.word_term(item.text, code if item.kind == "word" else "")

    def word_term(self, word: str, code: str) -> str:
        """The term of a word as written."""
        known = self._known.setdefault(code, {})
        term = known.get(word)
        if term is None:
            term = self._make(word[:_LONGEST], code)
            if len(known) >= _CACHED_WORDS:
                known.clear()
            if len(word) <= _LONGEST:
                known[word] = term
        return term

    def ascii_terms(self, words: Sequence[str], code: str) -> list[str]:
        """``word_term`` of many ASCII words in lower case, without remembering them."""
        return self._stemmed([word[:_LONGEST] for word in words], code)

    def word_terms(self, words: Sequence[str], code: str) -> list[str]:
        """``word_term`` of many words that are not ASCII, without remembering them."""
        heads = [word[:_LONGEST] for word in words]
        folded = _each(casefold, [head.translate(_PLAIN) for head in heads])
        if self.accents == "fold" and code in _FOLDED_FIRST:
            folded = _each(fold_accents, folded)
        return self._stemmed(folded, code)

    def _stemmed(self, words: list[str], code: str) -> list[str]:
        pairs = zip(stem_words(words, code), words, strict=True)
        terms = [stem or word for stem, word in pairs]
        if self.accents == "fold":
            places = [place for place, term in enumerate(terms) if not term.isascii()]
            plain = _each(fold_accents, [terms[place] for place in places])
            for place, term in zip(places, plain, strict=True):
                terms[place] = term
        return terms

    def _make(self, text: str, code: str) -> str:
        folded = text.lower() if text.isascii() else casefold(text.translate(_PLAIN))
        if self.accents == "fold" and code in _FOLDED_FIRST:
            folded = fold_accents(folded) or folded
        stem = stem_function(code)
        if stem is not None:
            folded = stem(folded) or folded
        if self.accents == "fold":
            folded = fold_accents(folded) or folded
        return folded


def _each(fold: Callable[[str], str], words: list[str]) -> list[str]:
    """``fold`` of each word, or the word where nothing is left, in one call: no folding reaches
    across a line end."""
    if not words:
        return []
    lines = fold("\n".join(words)).split("\n")
    return [line or word for line, word in zip(lines, words, strict=True)]
