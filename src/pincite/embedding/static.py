"""``local--static``: the mean of a table's word-piece vectors; offline and fast.

The table is our own, distilled from all-MiniLM-L6-v2: ``model/MODEL_CARD.md`` says how, from which
texts, and under which licences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from pincite.embedding.vectors import unit_rows
from pincite.text.normalize import normalize_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.embedding.pooling import Table

__all__ = ["Parts", "StaticModel", "Words"]

_FOLDER = Path(__file__).with_name("model")

_TEXTS_AT_ONCE = 256
_CACHED_WORDS = 50_000
_LONGEST_CACHED_WORD = 40
_BYTES = 2


class Parts(NamedTuple):
    """What a static model is made of: its table, and what gives a text's ids as 16-bit integers."""

    table: Table
    ids: Callable[[str], bytes]


class StaticModel:
    """Unit vectors from the mean of the vectors of a text's pieces, in which a piece that is more
    than ``share`` of them is damped.

    Case, accents, typographic forms and layout do not matter. A text of which the table knows less
    than half of the pieces (blank, or in another script than Latin) gets the zero vector. There is
    no limit of length and nothing is cut: ``max_tokens`` is None. Each vector depends on its own
    text alone, not on the batch. Safe to share between threads; the files load at the first use.
    """

    name = "pincite-static-256"
    dimension = 256
    max_tokens: int | None = None
    share = 0.03

    def __init__(self) -> None:
        self._lock = Lock()
        self._loaded: Parts | None = None

    def count_tokens(self, text: str) -> int:
        """The number of pieces that ``encode`` averages for this text."""
        return len(self._ids(text)) // _BYTES

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row of 256 for each text, shape (n, 256)."""
        import numpy as np

        from pincite.embedding.pooling import sums_of_rows

        table = self._load().table
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for first in range(0, len(texts), _TEXTS_AT_ONCE):
            batch = [self._ids(text) for text in texts[first : first + _TEXTS_AT_ONCE]]
            starts = np.cumsum([0, *(len(ids) // _BYTES for ids in batch)], dtype=np.int64)
            ids = np.frombuffer(b"".join(batch), dtype=np.uint16)
            sums = sums_of_rows(table, ids, starts, self.share)
            sums[_strange(table.scales[ids] > 0, starts)] = 0
            vectors[first : first + len(batch)] = sums
        return unit_rows(vectors)

    def _ids(self, text: str) -> bytes:
        return self._load().ids(normalize_text(text))

    def _load(self) -> Parts:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._open()
        return self._loaded

    def _open(self) -> Parts:
        return Parts(_open_table(_FOLDER / "static.safetensors"), _word_pieces())


class Words(dict[str, bytes]):
    """The ids of words that were met, for most words of a text were met before."""

    def __init__(self, ids_of_word: Callable[[str], list[int]]) -> None:
        super().__init__()
        self._ids_of_word = ids_of_word

    def __missing__(self, word: str) -> bytes:
        from array import array

        ids = array("H", self._ids_of_word(word)).tobytes()
        if len(self) >= _CACHED_WORDS:
            self.clear()
        if len(word) <= _LONGEST_CACHED_WORD:
            self[word] = ids
        return ids

    def ids(self, text: str) -> bytes:
        """The ids of a text's words, as 16-bit integers."""
        return b"".join(map(self.__getitem__, text.split()))


def _word_pieces() -> Callable[[str], bytes]:
    """Whole texts by the kernel where it runs, which asks Python for words beyond ASCII."""
    from pincite.embedding.wordpiece import WordPiece
    from pincite.segments.kernels import native

    lines = (_FOLDER / "vocabulary.txt").read_bytes()
    module = native()
    if module is None:
        return Words(WordPiece(lines.decode().split("\n")[:-1])).ids
    pieces = module.WordPieces(lines)
    others = cache(lambda: Words(WordPiece(lines.decode().split("\n")[:-1])))

    def ids(text: str) -> bytes:
        try:
            found: bytes = pieces.ids(text, lambda word: others().ids(word))
        except UnicodeEncodeError:  # lone surrogates, which are no part of any word
            return ids(text.encode("utf-8", "ignore").decode())
        return found

    return ids


def _strange(known: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which texts are made of unknown pieces for the most part: of those the few known ones, such
    as numbers, say little."""
    import numpy as np

    counts = np.concatenate([[0], np.cumsum(known)])[starts]
    return 2 * np.diff(counts) < np.diff(starts)


def _open_table(path: Path) -> Table:
    import numpy as np
    from safetensors import safe_open

    from pincite.embedding.pooling import Table

    with safe_open(str(path), framework="np") as file:
        return Table(file.get_tensor("rows"), file.get_tensor("scales").astype(np.float32))
