"""The keyword side: weights of stored terms, and exact scores of what they find.

Stored weights are term factors of BM25 made with a mean length that is pinned for a target, so
that a commit need not write every point anew. They find candidates; the scores that are returned
are computed from the candidates' texts with the target's counts of this moment, as on every store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np

from pincite.bm25.formulas import idf, length_norm, okapi_factor
from pincite.bm25.search import in_order
from pincite.model.hits import Explanation, TermScore
from pincite.stores.points.backend import Scored, Space
from pincite.stores.points.counts import Counts, TermCounts, term_number

__all__ = [
    "DRIFT",
    "Groups",
    "KeywordIndex",
    "Query",
    "Text",
    "by_number",
    "drifted",
    "slack",
    "weights_of",
]

Groups = Sequence[tuple[str, ...]]
Text = tuple[str, str, str]
"""A chunk's id, the text that is indexed, and its language."""

DRIFT: Final = 0.1
"""How far, as a share, a pinned mean length may be off before every weight is made anew."""

_K1: Final = 1.2
_B: Final = 0.75


class KeywordIndex(Protocol):
    """A keyword index of our own beside a database that has none, in step with it by ``stamp``."""

    def update(self, space: Space, stamp: str, drop: Collection[str], add: Iterable[Text]) -> None:
        """Remove chunk ids, then add texts; durable on return."""
        ...

    def rebuild(self, space: Space, stamp: str, texts: Iterable[Text]) -> None:
        """Index these texts and nothing else."""
        ...

    def search(
        self, space: Space, stamp: str, query: str, limit: int, allow: Collection[str] | None
    ) -> list[Scored]:
        """The best chunk ids (of those allowed), best first, ties by id."""
        ...

    def ids(self, space: Space) -> set[str]:
        """Every chunk id that is indexed."""
        ...


def weights_of(counted: TermCounts, average: float) -> dict[int, float]:
    """The term factors of a text by the numbers of its terms."""
    terms, length = counted
    norm = length_norm(float(length), average, _K1, _B)
    found: dict[int, float] = {}
    for term, tf in terms.items():
        number = term_number(term)
        found[number] = found.get(number, 0.0) + okapi_factor(float(tf), norm, _K1)
    return found


def drifted(pinned: float, average: float) -> bool:
    """Whether weights made with ``pinned`` are too far from those of ``average``."""
    return pinned <= 0.0 or abs(average - pinned) > DRIFT * pinned


class _Group(NamedTuple):
    """A query's term or synonyms: how often the query says it, rows that have it, its idf."""

    terms: tuple[str, ...]
    times: int
    df: int
    idf: float


@dataclass(frozen=True, slots=True)
class Query:
    """A query's groups of terms, and a target's counts of this moment."""

    groups: tuple[_Group, ...]
    rows: int
    average: float

    @classmethod
    def of(cls, groups: Groups, counts: Counts, union: Callable[[Sequence[str]], int]) -> Query:
        """``union`` counts the rows that have any of several terms."""
        found = []
        for terms, count in in_order(groups):
            known = [term for term in terms if counts.matching(term) > 0]
            df = counts.matching(known[0]) if len(known) == 1 else union(known) if known else 0
            df = min(df, counts.rows)
            found.append(_Group(terms, count, df, idf(counts.rows, df)))
        return cls(tuple(found), counts.rows, counts.average)

    def weights(self) -> dict[int, float]:
        """What the stored terms are multiplied with."""
        found: dict[int, float] = {}
        for group in self.groups:
            for number in {term_number(term) for term in group.terms} if group.df else ():
                found[number] = found.get(number, 0.0) + group.times * group.idf
        return found

    def score(self, counted: TermCounts) -> float:
        """The exact BM25 score of a text, rounded to float32; 0 when no term is in it."""
        return self.explain(counted).score

    def explain(self, counted: TermCounts) -> Explanation:
        """How a text's score comes about."""
        frequencies, length = counted
        norm = length_norm(float(length), self.average, _K1, _B)
        terms, total = [], 0.0
        for group in self.groups:
            tf = sum(frequencies.get(term, 0) for term in group.terms)
            part = group.times * group.idf * okapi_factor(float(tf), norm, _K1) if tf else 0.0
            total += part
            terms.append(TermScore(group.terms, tf, group.df, group.idf, length, part, group.times))
        return Explanation(float(np.float32(total)), tuple(terms), self.rows, self.average)

    def nothing(self) -> Explanation:
        """The explanation of a chunk that is gone."""
        return Explanation(0.0, (), self.rows, self.average)


def slack(pinned: float, average: float) -> float:
    """How many times higher a score can be than the stored weights say.

    ``(tf + norm) / (tf + norm')`` is at most the ratio of the norms, which is at most that of the
    mean lengths.
    """
    return max(pinned / average, average / pinned, 1.0) if pinned > 0.0 else 1.0


def by_number(terms: Iterable[str]) -> Mapping[int, float]:
    """Weights that match any of the terms."""
    return {term_number(term): 1.0 for term in terms}
