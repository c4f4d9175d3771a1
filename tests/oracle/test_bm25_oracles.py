"""Scores against independent implementations, on five short texts.

``LUCENE`` was printed by bm25s 0.3.16 (method "lucene", float64), ``PLUS`` and ``OKAPI`` by
rank_bm25 0.2.2 (BM25Plus with delta 1, BM25Okapi), all with k1 1.2 and b 0.75. rank_bm25 has
another idf, so its values are divided by it: they are term factors. Beside them stands the formula
written out by hand.
"""

from __future__ import annotations

import math

import pytest

from pincite.bm25.index import BM25Index
from pincite.bm25.search import search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays

TEXTS = [
    "the quick brown fox jumps over the lazy dog",
    "the lazy dog sleeps all day in the sun",
    "quick quick quick foxes and one brown bear",
    "sun and moon",
    "a brown study of the brown fox by the lazy brown dog in the sun",
]

LUCENE = {
    "brown": [0.242741515171, 0.0, 0.254461867299, 0.0, 0.334497123163],
    "quick": [0.3942745593, 0.0, 0.637758682841, 0.0, 0.0],
    "lazy sun": [0.242741515171, 0.485483030343, 0.0, 0.335443366793, 0.380366415914],
    "brown fox moon": [0.637016074471, 0.0, 0.254461867299, 0.862757452465, 0.643403494001],
}

# rank_bm25 adds delta to texts without the term as well; those entries are 0 here.
PLUS = {
    "brown": [1.99078812692, 0.0, 2.03862660944, 0.0, 2.36530324401],
    "quick": [1.99078812692, 0.0, 2.60264900662, 0.0, 0.0],
    "sun": [0.0, 1.99078812692, 0.0, 2.36916548798, 1.77626303128],
}

OKAPI = {
    "moon": [0.0, 0.0, 0.0, 1.36916548798, 0.0],
    "quick": [0.990788126919, 0.0, 1.60264900662, 0.0, 0.0],
}


def _scores(query: str, method: str, k1: float = 1.2, b: float = 0.75) -> list[float]:
    documents = [
        ({word: text.split().count(word) for word in text.split()}, len(text.split()))
        for text in TEXTS
    ]
    segment = KeywordSegment.from_arrays(build_arrays(documents))
    hits = search_segments(
        [segment],
        [None],
        [None],
        [(word,) for word in query.split()],
        len(TEXTS),
        k1=k1,
        b=b,
        method=method,
        row_id=lambda _, row: str(row),
    )
    found = {row: score for _, row, score in hits}
    return [found.get(row, 0.0) for row in range(len(TEXTS))]


def _idf(word: str) -> float:
    matching = sum(word in text.split() for text in TEXTS)
    return math.log(1 + (len(TEXTS) - matching + 0.5) / (matching + 0.5))


@pytest.mark.parametrize("query", LUCENE)
def test_lucene_equals_bm25s(query):
    assert _scores(query, "lucene") == pytest.approx(LUCENE[query], rel=1e-6)


@pytest.mark.parametrize("query", LUCENE)
def test_okapi_is_bm25s_lucene_times_k1_plus_1(query):
    assert _scores(query, "okapi") == pytest.approx([2.2 * s for s in LUCENE[query]], rel=1e-6)


@pytest.mark.parametrize("query", OKAPI)
def test_the_okapi_factor_equals_rank_bm25(query):
    wanted = [_idf(query) * factor for factor in OKAPI[query]]

    assert _scores(query, "okapi") == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("query", PLUS)
def test_the_bm25_plus_factor_equals_rank_bm25(query):
    wanted = [_idf(query) * factor for factor in PLUS[query]]

    assert _scores(query, "bm25+") == pytest.approx(wanted, rel=1e-6)


def test_the_formula_by_hand():
    # "fox" stands in texts 0 (9 words) and 4 (15 words); the five have 44 words.
    idf = math.log(1 + (5 - 2 + 0.5) / (2 + 0.5))
    short = idf * 1 * (1.5 + 1) / (1 + 1.5 * (1 - 0.6 + 0.6 * 9 / 8.8))
    long = idf * 1 * (1.5 + 1) / (1 + 1.5 * (1 - 0.6 + 0.6 * 15 / 8.8))

    wanted = pytest.approx([short, 0, 0, 0, long], rel=1e-6)
    assert _scores("fox", "okapi", k1=1.5, b=0.6) == wanted


def _index(method: str) -> BM25Index:
    """The same texts in an index: its words are those of ``str.split``, in two segments."""
    index = BM25Index(method=method)
    index.add(["0", "1"], TEXTS[:2])
    index.add(["gone", "2", "3", "4"], ["brown quick lazy sun", *TEXTS[2:]])
    index.remove(["gone"])
    return index


@pytest.mark.parametrize("query", LUCENE)
def test_an_index_with_a_deleted_text_equals_bm25s(query):
    ids, scores = _index("lucene").search(query, 5)
    found = dict(zip(ids, scores, strict=True))

    wanted = {str(row): score for row, score in enumerate(LUCENE[query]) if score}
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("method", ["okapi", "lucene", "bm25+"])
@pytest.mark.parametrize("query", LUCENE)
def test_explanations_sum_to_the_score_of_every_hit(query, method):
    index = _index(method)
    ids, scores = index.search(query, 5)

    assert ids
    for name, score in zip(ids, scores, strict=True):
        explanation = index.explain(query, name)
        assert explanation.score == score
        total = math.fsum(term.contribution for term in explanation.terms)
        assert total == pytest.approx(score, rel=1e-6)


@pytest.mark.parametrize("method", ["okapi", "lucene", "bm25+"])
def test_the_properties_that_lucene_publishes(method):
    """Finite and above zero; no less with a higher frequency, a shorter text or a rarer term."""
    index = BM25Index(method=method)
    texts = {
        "one": "word pad pad pad",
        "two": "word word pad pad",
        "short": "word pad",
        "long": "word pad pad pad pad pad",
        "rare": "zinc pad pad pad",
    }
    index.add(list(texts), list(texts.values()))
    score = dict(zip(*index.search("word zinc", 9), strict=True))

    assert all(math.isfinite(value) and value > 0 for value in score.values())
    assert score["two"] >= score["one"]
    assert score["short"] >= score["one"] >= score["long"]
    assert score["rare"] >= score["one"]
