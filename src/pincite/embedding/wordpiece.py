"""WordPiece: a word's pieces, as the uncased BERT models cut it.

The rules are those of BERT's own tokenizer (Devlin et al., "BERT: Pre-training of deep
bidirectional transformers", 2018) as the ``tokenizers`` package has them; tests compare the ids.
No piece crosses white space, so a word has the same pieces wherever it stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["WordPiece"]

_PLAIN: Final = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_WORD: Final = re.compile(r"[!-~]+")
_LONGEST: Final = 100
_INSIDE: Final = "##"
_HAN: Final = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """A vocabulary of pieces, in the order of their ids."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        self._unknown = self._ids["[UNK]"]

    def __call__(self, word: str) -> list[int]:
        """The ids of a word without white space."""
        if _WORD.fullmatch(word):
            parts: Iterable[str] = _PLAIN.findall(word.lower())
        else:
            parts = _parts(_cleaned(word))
        return [number for part in parts for number in self._pieces(part)]

    def _pieces(self, part: str) -> list[int]:
        """The longest piece that begins the part, then the longest that goes on, and so forth;
        the unknown piece for the whole part when one cannot go on."""
        ids = self._ids
        if (whole := ids.get(part)) is not None:
            return [whole]
        if len(part) > _LONGEST:
            return [self._unknown]
        found, start = [], 0
        while start < len(part):
            rest = part[start:] if start == 0 else _INSIDE + part[start:]
            least = 0 if start == 0 else len(_INSIDE)
            for end in range(len(rest), least, -1):
                if (number := ids.get(rest[:end])) is not None:
                    found.append(number)
                    start += end - least
                    break
            else:
                return [self._unknown]
        return found


def _cleaned(word: str) -> str:
    """Without control characters and accents, in lower case; marks of the kind Mn are accents."""
    kept = "".join(c for c in word if c != "\ufffd" and unicodedata.category(c)[0] != "C")
    bare = "".join(c for c in unicodedata.normalize("NFD", kept) if unicodedata.category(c) != "Mn")
    return "".join(c.lower() for c in bare)


def _parts(text: str) -> Iterator[str]:
    """Runs of characters; punctuation and Han characters stand alone."""
    start = 0
    for place, c in enumerate(text):
        if c.isspace() or _stands_alone(c):
            if start < place:
                yield text[start:place]
            if not c.isspace():
                yield c
            start = place + 1
    if start < len(text):
        yield text[start:]


def _stands_alone(c: str) -> bool:
    if c.isascii():
        return not c.isalnum()
    return unicodedata.category(c)[0] == "P" or any(a <= ord(c) <= b for a, b in _HAN)
