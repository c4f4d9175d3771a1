"""Rank metrics of one query, and their means over a judged set.

A ranking is a sequence of document ids, best first; a document counts at its first place.
Definitions are those of trec_eval: gains are linear, a grade of 1 or more is relevant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pincite.errors import InvalidArgument
from pincite.evaluation.qrels import Qrels
from pincite.model.hits import Hit

__all__ = [
    "Scores",
    "average_precision",
    "evaluate",
    "max_p",
    "ndcg",
    "parse_metric",
    "recall",
    "reciprocal_rank",
    "success",
]

Judged = Mapping[str, int]
Metric = Callable[[Sequence[str], Judged], float]


def ndcg(ranking: Sequence[str], judged: Judged, k: int = 10) -> float:
    """nDCG@k with linear gains and log2 discounts (Järvelin and Kekäläinen, TOIS 20(4), 2002)."""
    ideal = _dcg(sorted((grade for grade in judged.values() if grade > 0), reverse=True)[:k])
    gains = [max(judged.get(name, 0), 0) for name in _unique(ranking)[:k]]
    return _dcg(gains) / ideal if ideal else 0.0


def recall(ranking: Sequence[str], judged: Judged, k: int = 100) -> float:
    """The share of the relevant documents that stand in the first k."""
    relevant = _relevant(judged)
    return len(relevant.intersection(_unique(ranking)[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[str], judged: Judged, k: int | None = None) -> float:
    """One over the rank of the first relevant document, 0 when none is in the first k."""
    relevant = _relevant(judged)
    ranks = (i for i, name in enumerate(_unique(ranking)[:k], 1) if name in relevant)
    first = next(ranks, None)
    return 1.0 / first if first else 0.0


def average_precision(ranking: Sequence[str], judged: Judged, k: int | None = None) -> float:
    """The mean, over all relevant documents, of the precision at each one's rank."""
    relevant = _relevant(judged)
    found, total = 0, 0.0
    for rank, name in enumerate(_unique(ranking)[:k], 1):
        if name in relevant:
            found += 1
            total += found / rank
    return total / len(relevant) if relevant else 0.0


def success(ranking: Sequence[str], judged: Judged, k: int = 10) -> float:
    """1 when a relevant document stands in the first k, else 0."""
    return float(not _relevant(judged).isdisjoint(_unique(ranking)[:k]))


def max_p(hits: Iterable[Hit]) -> list[str]:
    """Document ids ranked by their best chunk (MaxP; Dai and Callan, SIGIR 2019)."""
    return _unique([hit.chunk.document or hit.chunk.id for hit in hits])


@dataclass(frozen=True, slots=True)
class Scores:
    """One metric over a judged set: the value of each query, and their mean."""

    metric: str
    per_query: Mapping[str, float]

    @property
    def mean(self) -> float:
        """The mean over all judged queries; 0.0 without any."""
        values = self.per_query.values()
        return math.fsum(values) / len(values) if values else 0.0


def evaluate(
    run: Mapping[str, Sequence[str]], qrels: Qrels, metrics: Sequence[str] = ("nDCG@10",)
) -> dict[str, Scores]:
    """Each metric over every judged query; a query without a ranking counts 0."""
    scores = {}
    for name in metrics:
        metric = parse_metric(name)
        per_query = {query: metric(run.get(query, ()), judged) for query, judged in qrels.items()}
        scores[name] = Scores(name, per_query)
    return scores


def parse_metric(name: str) -> Metric:
    """The metric of a name: ``nDCG@k``, ``R@k``, ``MRR``, ``MRR@k``, ``MAP``, ``Success@k``."""
    match = re.fullmatch(r"(nDCG|R|MRR|MAP|Success)(?:@([1-9][0-9]*))?", name, re.IGNORECASE)
    if match is None:
        raise InvalidArgument(
            f"Unknown metric {name!r}; use nDCG@k, R@k, MRR, MRR@k, MAP, MAP@k or Success@k."
        )
    kind, depth = match[1].lower(), int(match[2]) if match[2] else None
    if kind == "mrr":
        return lambda ranking, judged: reciprocal_rank(ranking, judged, depth)
    if kind == "map":
        return lambda ranking, judged: average_precision(ranking, judged, depth)
    function, default = {"ndcg": (ndcg, 10), "r": (recall, 100), "success": (success, 10)}[kind]
    return lambda ranking, judged: function(ranking, judged, depth or default)


def _dcg(gains: Sequence[int]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _relevant(judged: Judged) -> set[str]:
    return {name for name, grade in judged.items() if grade > 0}


def _unique(ranking: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ranking))
