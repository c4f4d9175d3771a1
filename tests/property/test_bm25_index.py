"""A BM25 index under any sequence of changes equals brute force over what it holds."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pincite.bm25.index import Allowed, BM25Index

WORDS = ["a1", "b2", "c3", "d4", "é5", "日本", "foo_bar", "foo"]
IDS = [f"id {n}" for n in range(9)]

texts = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
documents = st.dictionaries(st.sampled_from(IDS), texts, min_size=1, max_size=9)
queries = st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=3).map(" ".join)


def terms_of(text: str) -> tuple[dict[str, int], int]:
    """The words above, by hand: an identifier and its parts; a run of Han as bigrams."""
    counts: dict[str, int] = {}
    for word in text.split():
        for term in {"foo_bar": ["foo_bar", "foo", "bar"], "é5": ["e5"]}.get(word, [word]):
            counts[term] = counts.get(term, 0) + 1
    return counts, len(text.split())


def brute_force(held: dict[str, str], query: str, k1: float, b: float) -> dict[str, float]:
    """Every match and its okapi score, in Python floats."""
    analysed = {name: terms_of(text) for name, text in held.items()}
    average = sum(length for _, length in analysed.values()) / len(held) if held else 0
    scores: dict[str, float] = {}
    for term in sorted(terms_of(query)[0]):
        df = sum(term in counts for counts, _ in analysed.values())
        idf = math.log(1 + (len(held) - df + 0.5) / (df + 0.5))
        for name, (counts, length) in analysed.items():
            if tf := counts.get(term):
                norm = k1 * (1 - b + b * length / average)
                scores[name] = scores.get(name, 0) + idf * tf * (k1 + 1) / (tf + norm)
    return scores


class IndexMachine(RuleBasedStateMachine):
    """Add, replace, remove, merge, save and open in any order."""

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.index = BM25Index()
        self.held: dict[str, str] = {}

    @rule(given=documents)
    def add(self, given):
        assert self.index.add(list(given), list(given.values())) == len(given)
        self.held |= given

    @rule(names=st.lists(st.sampled_from(IDS), max_size=4))
    def remove(self, names):
        there = set(names) & set(self.held)

        assert self.index.remove(names) == len(there)
        self.held = {name: text for name, text in self.held.items() if name not in there}

    @rule()
    def merge(self):
        self.index.merge()
        assert self.index.stats()["deleted"] == 0
        assert self.index.stats()["segments"] <= 1

    @rule()
    def clear(self):
        self.index.clear()
        self.held = {}

    @rule(k1=st.floats(0, 3), b=st.floats(0, 1))
    def tune(self, k1, b):
        self.index.k1, self.index.b = k1, b

    @rule()
    def save_and_open(self):
        path = Path(self.folder.name) / "index"
        self.index.save(path)
        self.index = BM25Index.open(path)

    @rule(query=queries, k=st.integers(1, 10), allow=st.none() | st.sets(st.sampled_from(IDS)))
    def search(self, query, k, allow):
        wanted = brute_force(self.held, query, self.index.k1, self.index.b)
        kept = {n: s for n, s in wanted.items() if allow is None or n in allow}

        ids, scores = self.index.search(query, k, allow)

        assert len(ids) == min(k, len(kept))
        assert list(scores) == pytest.approx([kept[name] for name in ids], rel=1e-6)
        best = sorted(kept.values(), reverse=True)[:k]
        assert list(scores) == pytest.approx(best, rel=1e-6)
        assert ids == [n for _, n in sorted(zip((-s for s in scores), ids, strict=True))]
        again = self.index.search(query, k, None if allow is None else Allowed(allow))
        assert again == (ids, scores)

    @rule(query=queries)
    def explained(self, query):
        for name, score in zip(*self.index.search(query, 10), strict=True):
            explanation = self.index.explain(query, name)
            assert explanation.score == score
            assert sum(t.contribution for t in explanation.terms) == pytest.approx(score, rel=1e-6)

    @invariant()
    @precondition(lambda self: hasattr(self, "index"))
    def statistics_are_exact(self):
        analysed = [terms_of(text) for text in self.held.values()]
        stats = self.index.stats()
        total = sum(length for _, length in analysed)

        assert len(self.index) == stats["documents"] == len(self.held)
        assert stats["total_tokens"] == total
        assert stats["average_length"] == (total / len(self.held) if self.held else 0)
        assert stats["vocabulary"] == len({term for counts, _ in analysed for term in counts})
        assert sorted(self.index.ids()) == sorted(self.held)

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestIndex = IndexMachine.TestCase
TestIndex.settings = settings(stateful_step_count=25)
