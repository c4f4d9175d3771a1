"""Segments built from texts: native code and NumPy make the same arrays, byte for byte."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.bm25.builder import keyword_arrays
from pincite.bm25.packing import LONG, WINDOW, pack_arrays
from pincite.bm25.segment import KeywordSegment
from pincite.errors import InvalidArgument
from pincite.segments.kernels import native
from pincite.text.analysis import default_analyzer

pytestmark = pytest.mark.skipif(native() is None, reason="needs the native kernels")

WORDS = ["the", "The", "running", "foo_bar", "naïve", "日本語", "x1", "don't", "parseHTTP", "word"]


def both(monkeypatch, make):
    """What ``make`` gives in native code and in NumPy."""
    fast = make()
    monkeypatch.setenv("PINCITE_PURE", "1")
    pure = make()
    monkeypatch.delenv("PINCITE_PURE")
    return fast, pure


def assert_same(fast, pure):
    assert fast.keys() == pure.keys()
    for name, array in pure.items():
        assert fast[name].dtype == array.dtype, name
        assert fast[name].shape == array.shape, name
        np.testing.assert_array_equal(fast[name], array, err_msg=name)


@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join), max_size=8),
    language=st.sampled_from(["", "en", "de"]),
)
def test_texts_give_the_same_segment(texts, language):
    with pytest.MonkeyPatch.context() as monkeypatch:
        fast, pure = both(
            monkeypatch,
            lambda: keyword_arrays(default_analyzer(), texts, [language] * len(texts)),
        )

    assert_same(fast, pure)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_texts_give_the_same_segment(monkeypatch, threads):
    chance = random.Random(7)
    rare = [f"w{n}" for n in range(300)]
    texts = [
        " ".join(["common"] * chance.randint(1, 12) + chance.choices(rare, k=chance.randint(0, 9)))
        for _ in range(WINDOW + LONG)
    ]

    fast, pure = both(
        monkeypatch,
        lambda: keyword_arrays(default_analyzer(), texts, [""] * len(texts), threads=threads),
    )

    assert_same(fast, pure)
    assert len(fast["long_terms"]) == 1
    assert KeywordSegment.from_arrays(fast).rows == len(texts)


def _postings(seed: int, rows: int, terms: int, most: int):
    chance = np.random.default_rng(seed)
    lengths = chance.integers(0, 6_000, rows, dtype=np.uint32)
    parts = [np.flatnonzero(chance.random(rows) < chance.random() ** 3) for _ in range(terms)]
    parts = [part if len(part) else np.array([0]) for part in parts]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    joined = np.concatenate(parts).astype(np.uint32)
    tfs = chance.integers(1, most, len(joined), dtype=np.uint32)
    names = [b"%05d" % n for n in range(terms)]
    ends = np.arange(terms + 1) * 5
    return b"".join(names), ends, offsets, joined, tfs, lengths


@pytest.mark.parametrize("most", [2, 12, 200, 100_000])
@pytest.mark.parametrize("rows", [1, 5_000, 140_000])
def test_any_postings_are_packed_the_same(monkeypatch, rows, most):
    given_arrays = _postings(rows + most, rows, 12, most)

    fast, pure = both(monkeypatch, lambda: pack_arrays(*given_arrays))

    assert_same(fast, pure)
    assert_same(pack_arrays(*given_arrays, threads=3), pure)


def test_postings_that_make_no_sense_are_refused():
    names, ends, offsets, rows, tfs, lengths = _postings(1, 50, 3, 4)
    with pytest.raises((ValueError, IndexError)):
        pack_arrays(names, ends, offsets + 1, rows, tfs, lengths)
    with pytest.raises((ValueError, IndexError)):
        pack_arrays(names, ends, offsets, rows + 50, tfs, lengths)
    with pytest.raises((ValueError, IndexError)):
        pack_arrays(names, ends, offsets, rows, tfs * 0, lengths)


def test_a_custom_analysis_is_run_in_python():
    class Letters:
        fingerprint = "letters"

        def document_terms(self, text, language=""):
            return {letter: text.count(letter) for letter in text}, len(text)

        def query_groups(self, text, languages=()):
            return tuple((letter,) for letter in dict.fromkeys(text))

    segment = KeywordSegment.from_arrays(keyword_arrays(Letters(), ["aab", "b"], ["", ""]))

    assert list(segment.terms()) == ["a", "b"]


def test_a_text_that_is_no_string_is_refused():
    with pytest.raises((TypeError, ValueError, InvalidArgument)):
        keyword_arrays(default_analyzer(), ["a", None], ["", ""])
