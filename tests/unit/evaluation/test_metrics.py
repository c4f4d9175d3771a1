from __future__ import annotations

import pytest

from pincite.errors import InvalidArgument
from pincite.evaluation.metrics import evaluate, max_p, ndcg, parse_metric, recall
from pincite.model.hits import Chunk, Hit


def test_ndcg_uses_linear_gains() -> None:
    value = ndcg(["b", "a"], {"a": 3, "b": 1}, 10)

    assert value == pytest.approx((1 + 3 / 1.5849625) / (3 + 1 / 1.5849625))


def test_a_document_counts_at_its_first_place() -> None:
    assert recall(["a", "a", "b"], {"a": 1, "b": 1}, 2) == 1.0


def test_a_query_without_a_ranking_counts_zero() -> None:
    scores = evaluate({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"a": 1}}, ["MRR"])["MRR"]

    assert scores.mean == 0.5


def test_documents_are_ranked_by_their_best_chunk() -> None:
    hits = [Hit(Chunk("x", document=d), 1.0) for d in ("a", "b", "a", "c")]

    assert max_p(hits) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["nDCG@0", "P@10", "", "MRR@", "nDCG@10x"])
def test_an_unknown_metric_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidArgument, match="nDCG@k"):
        parse_metric(name)
