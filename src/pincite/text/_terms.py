"""From an item to the term that the index holds."""

from __future__ import annotations

from pincite.errors import InvalidArgument
from pincite.text._folding import casefold, fold_accents
from pincite.text.stemming import stem_function, stem_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
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
        heads = [word[:_LONGEST] for word in words]
        pairs = zip(stem_words(heads, code), heads, strict=True)
        terms = [stem or head for stem, head in pairs]
        if self.accents == "fold":
            return [t if t.isascii() else fold_accents(t) or t for t in terms]
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
