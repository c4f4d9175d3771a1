"""What the keyword side counts of a target: rows, lengths, languages, and rows with each term.

Every commit leaves a small change behind; a target's counts are the sum of its changes, so that a
reader adds only those that it has not seen.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pincite.segments.file import SegmentFile, write_segment

__all__ = ["Counts", "TermCounts", "term_hash", "term_number"]

TermCounts = tuple[Mapping[str, int], int]
"""How often each term occurs in a text, and the text's length."""

_KIND: Final = ("statistics", 1)
_NUMBERS: Final = 2**32 - 1


@lru_cache(maxsize=1 << 17)
def term_hash(term: str) -> int:
    """64 bits that stand for a term in counts."""
    return int.from_bytes(
        hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


def term_number(term: str) -> int:
    """The dimension of a term in sparse vectors, below 2**32 - 1; two terms can share one."""
    return term_hash(term) % _NUMBERS


@dataclass(frozen=True, slots=True)
class Counts:
    """Live rows, the sum of their lengths, rows by language, and how many rows have each term."""

    rows: int = 0
    length: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    hashes: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    df: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def average(self) -> float:
        """The mean length; 1 when every length is 0, so that it can divide."""
        return self.length / self.rows if self.length > 0 and self.rows > 0 else 1.0

    @property
    def spoken(self) -> list[str]:
        """The languages of live rows, sorted."""
        return sorted(language for language, rows in self.languages.items() if rows > 0)

    def matching(self, term: str) -> int:
        """How many rows have the term."""
        wanted = np.uint64(term_hash(term))
        place = int(np.searchsorted(self.hashes, wanted))
        found = place < len(self.hashes) and self.hashes[place] == wanted
        return int(self.df[place]) if found else 0

    @classmethod
    def of(cls, texts: Iterable[tuple[TermCounts, str]]) -> Counts:
        """Counted over texts and their languages."""
        rows, length = 0, 0
        df: Counter[int] = Counter()
        languages: Counter[str] = Counter()
        for (terms, size), language in texts:
            rows, length = rows + 1, length + size
            languages[language] += 1
            df.update(map(term_hash, terms))
        hashes = np.fromiter(df, dtype=np.uint64, count=len(df))
        counted = np.fromiter(df.values(), dtype=np.int64, count=len(df))
        order = np.argsort(hashes)
        return cls(rows, length, dict(languages), hashes[order], counted[order])

    def minus(self, other: Counts) -> Counts:
        """What is left when ``other``'s rows are gone."""
        gone = {language: -rows for language, rows in other.languages.items()}
        return Counts.sum([self, Counts(-other.rows, -other.length, gone, other.hashes, -other.df)])

    @classmethod
    def sum(cls, parts: Sequence[Counts]) -> Counts:
        """All changes together; terms without a row go."""
        languages: Counter[str] = Counter()
        for part in parts:
            languages.update(part.languages)
        kept = {language: rows for language, rows in languages.items() if rows}
        every = np.concatenate([part.hashes for part in parts])
        hashes, place = np.unique(every, return_inverse=True)
        df = np.zeros(len(hashes), dtype=np.int64)
        np.add.at(df, place, np.concatenate([part.df for part in parts]))
        live = df != 0
        rows = sum(part.rows for part in parts)
        length = sum(part.length for part in parts)
        return cls(rows, length, kept, hashes[live], df[live])

    def text(self) -> str:
        """As ASCII, checksummed."""
        meta = {"rows": self.rows, "length": self.length, "languages": dict(self.languages)}
        data = write_segment(*_KIND, {"hashes": self.hashes, "df": self.df}, meta)
        return base64.b64encode(data).decode("ascii")

    @classmethod
    def read(cls, text: str, name: str) -> Counts:
        """What ``text`` wrote; ``StoreCorrupt`` naming ``name`` when it is damaged."""
        held = SegmentFile.open(base64.b64decode(text), name=name)
        meta = held.meta
        hashes, df = held.array("hashes").copy(), held.array("df").copy()
        return cls(meta["rows"], meta["length"], meta["languages"], hashes, df)
