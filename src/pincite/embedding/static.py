"""``local--static``: the mean of a table of token vectors; offline, fast, no neural network.

The table and its tokenizer are files of the ``wordllama`` package (MIT; the table is derived from
the token table of a Llama 2 model). Only the files are read; the package is never imported.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pincite.embedding.vectors import unit_rows
from pincite.errors import MissingExtra
from pincite.text.normalize import normalize_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    _Files = tuple[Tokenizer, NDArray[np.float32], bytes]

__all__ = ["StaticModel"]

_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_INSTALL = "pip install 'wordllama>=0.4.0.post1,<0.5'"

_TEXTS_AT_ONCE = 256
_TOKENS_AT_ONCE = 8192
_CACHED_WORDS = 100_000
_LONGEST_CACHED_WORD = 40
_WORDS_AT_ONCE = 64
_SPACE_MARK = "▁"


class StaticModel:
    """Unit vectors from the mean of the vectors of a text's tokens.

    Text is normalised and lower-cased first, since the table knows capitals badly, and blanks and
    line ends only separate words. A text without tokens (blank, or only zero-width characters)
    gets the zero vector. There is no limit of length and nothing is cut: ``max_tokens`` is None.
    Each vector depends on its own text alone, not on the batch. Safe to share between threads;
    the files load at the first use (about 0.3 s).

    Raises ``MissingExtra`` at first use when the ``wordllama`` files are not installed.
    """

    name = "wordllama-l2-supercat-256"
    dimension = 256
    max_tokens: int | None = None

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: _Files | None = None
        self._cache: dict[str, list[int]] = {}

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, without padding or truncation. It counts blanks, which ``encode`` and
        ``count_tokens`` do not, so its counts are never smaller than theirs for prepared text."""
        return self._load()[0]

    def count_tokens(self, text: str) -> int:
        """The number of tokens that ``encode`` averages for this text."""
        words = _words(text)
        known = self._tokens(set(words))
        return sum(len(known[word]) for word in words)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row of 256 for each text, shape (n, 256)."""
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        table = self._load()[1]
        for first in range(0, len(texts), _TEXTS_AT_ONCE):
            batch = [_words(text) for text in texts[first : first + _TEXTS_AT_ONCE]]
            known = self._tokens(set(chain.from_iterable(batch)))
            for at, words in enumerate(batch, start=first):
                ids = list(chain.from_iterable(map(known.__getitem__, words)))
                vectors[at] = _sum_of_rows(table, ids)
        return unit_rows(vectors)

    def _tokens(self, words: set[str]) -> dict[str, list[int]]:
        """The tokens of each word. No entry of the vocabulary crosses from a word to the next, so
        that a word has the same tokens wherever it stands, and a cache replaces most tokenising."""
        cache = self._cache
        known = {word: ids for word in words if (ids := cache.get(word)) is not None}
        missing = [word for word in words if word not in known]
        if not missing:
            return known
        fresh = dict(zip(missing, self._tokenise(missing), strict=True))
        if len(cache) > _CACHED_WORDS:
            cache = self._cache = {}
        cache.update(
            (word, ids) for word, ids in fresh.items() if len(word) <= _LONGEST_CACHED_WORD
        )
        return known | fresh

    def _tokenise(self, words: list[str]) -> Iterator[list[int]]:
        """The tokens of each word, many words to a call: calls cost more than words."""
        tokenizer, _, opens = self._load()
        plain = [word for word in words if _SPACE_MARK not in word]
        lines = [
            " ".join(plain[first : first + _WORDS_AT_ONCE])
            for first in range(0, len(plain), _WORDS_AT_ONCE)
        ]
        encodings = tokenizer.encode_batch_fast(lines, add_special_tokens=False)
        parts = chain.from_iterable(_parts(encoding.ids, opens) for encoding in encodings)
        for word in words:
            if _SPACE_MARK in word:
                yield tokenizer.encode(word, add_special_tokens=False).ids
            else:
                yield next(parts)

    def _load(self) -> _Files:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    root = _package_folder()
                    tokenizer = _open_tokenizer(root)
                    self._loaded = tokenizer, _open_table(root), _opening(tokenizer)
        return self._loaded


def _words(text: str) -> list[str]:
    if text.isascii():
        return text.lower().split()
    # Lone surrogates cannot be tokenised.
    return normalize_text(text).lower().encode("utf-8", "replace").decode().split()


def _package_folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        if all((Path(folder) / file).is_file() for file in (_WEIGHTS, _TOKENIZER)):
            return Path(folder)
    raise MissingExtra(f"The table of local--static is not installed; run: {_INSTALL}")


def _open_tokenizer(root: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(root / _TOKENIZER))
    # A text that spells "<s>" is text.
    tokenizer.encode_special_tokens = True
    return tokenizer


def _opening(tokenizer: Tokenizer) -> bytes:
    """For each token 1 when it begins a word, as the mark of the space before it says."""
    flags = bytearray(tokenizer.get_vocab_size())
    for token, number in tokenizer.get_vocab().items():
        flags[number] = token.startswith(_SPACE_MARK)
    return bytes(flags)


def _parts(ids: list[int], opens: bytes) -> list[list[int]]:
    """The tokens of a line word by word."""
    found: list[list[int]] = []
    for token in ids:
        if opens[token]:
            found.append([token])
        else:
            found[-1].append(token)
    return found


def _open_table(root: Path) -> NDArray[np.float32]:
    import numpy as np
    from safetensors import safe_open

    with safe_open(str(root / _WEIGHTS), framework="np") as file:
        table: Any = file.get_tensor("embedding.weight")
    return np.ascontiguousarray(table, dtype=np.float32)


def _sum_of_rows(table: NDArray[np.float32], ids: list[int]) -> NDArray[np.float32]:
    """The sum of the table's rows, in memory bounded by the table whatever the text's length."""
    import numpy as np

    if len(ids) <= _TOKENS_AT_ONCE:
        return np.asarray(np.add.reduce(table[np.array(ids, dtype=np.intp)], axis=0))
    distinct, counts = np.unique(np.array(ids, dtype=np.intp), return_counts=True)
    return np.asarray(counts.astype(np.float32) @ table[distinct], dtype=np.float32)
