"""How good are the vector side and hybrid search, and which weight should the vector side have?

    python benchmarks/quality_hybrid.py --data FOLDER [--json OUT] [--model local--static ...]

FOLDER and protocol are those of benchmarks/quality.py: a row is one whole record, and its vector is
that of the whole text. Both sides are ranked to the depth that the stores fuse and fused by the
stores' own function at each weight of a grid. "left out" is each set with the weight that is best
in the mean of the other sets; the six XQuAD languages take no part in choosing. Takes about three
minutes for each model; needs no network.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from quality import BARS, Index, language_of, records
from report import require_kernels, write_report

from pincite.bm25.search import search_segments
from pincite.embedding.client import DEFAULT_ENDPOINT, InferenceClient
from pincite.embedding.embedder import Embedder
from pincite.evaluation.metrics import evaluate
from pincite.evaluation.qrels import JudgedSet, load_beir
from pincite.stores.hybrid import DEFAULT_ALPHA, fuse_scored, leg_depth
from pincite.text.analysis import Analyzer

GIVEN = [name for name in BARS if not name.startswith("xquad/")]
XQUAD = [name for name in BARS if name.startswith("xquad/")]
WEIGHTS = [round(0.05 * step, 2) for step in range(11)]
WIDTHS = (64, 128)
K = 10
DEPTH = leg_depth(K)

Scored = list[tuple[str, float]]
Rows = NDArray[np.float32]


def keyword_side(data: Path, name: str, judged: JudgedSet) -> dict[str, Scored]:
    """Each query's keyword hits, as the stores rank them."""
    language, analyzer = language_of(name), Analyzer()
    index = Index(records(data / name, language), analyzer)
    found = {}
    for query, text in judged.queries.items():
        groups = analyzer.query_groups(text, [language], repeats=True)
        hits = search_segments(
            [index.segment], [None], [None], groups, DEPTH, k1=1.2, b=0.75,
            row_id=lambda _, row: index.ids[row],
        )  # fmt: skip
        found[query] = [(index.ids[row], float(score)) for _, row, score in hits]
    return found


def vectors_of(
    data: Path, name: str, judged: JudgedSet, endpoint: str
) -> tuple[list[str], Rows, Rows]:
    """Record ids, their vectors, and those of the queries, in float32."""
    embedder = Embedder(InferenceClient(), endpoint)
    rows = records(data / name, "")
    passages = embedder.encode_texts([text for _, text, _ in rows])
    queries = np.stack([embedder.encode_query(text) for text in judged.queries.values()])
    return [row_id for row_id, _, _ in rows], passages, queries


def vector_side(
    ids: Sequence[str], passages: Rows, queries: Rows, judged: JudgedSet, width: int | None = None
) -> dict[str, Scored]:
    """Each query's nearest records by cosine of the first ``width`` dimensions."""
    passages, queries = (_unit(rows[:, :width]) for rows in (passages, queries))
    found = {}
    for query, vector in zip(judged.queries, queries, strict=True):
        scores = passages @ vector
        best = np.argsort(-scores, kind="stable")[:DEPTH] if vector.any() else ()
        found[query] = [(ids[row], float(scores[row])) for row in best]
    return found


def _unit(rows: Rows) -> Rows:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths, lengths, 1)


def ndcg(judged: JudgedSet, side: Mapping[str, Scored]) -> float:
    run = {query: [name for name, _ in hits] for query, hits in side.items()}
    return evaluate(run, judged.qrels)["nDCG@10"].mean


def fused(one: Mapping[str, Scored], two: Mapping[str, Scored], weight: float) -> dict[str, Scored]:
    return {
        query: [
            (row.key, row.score)
            for row in fuse_scored(hits, two[query], alpha=weight, limit=K)
        ]
        for query, hits in one.items()
    }  # fmt: skip


def measure(data: Path, name: str, endpoint: str, keyword: Mapping[str, Scored]) -> dict:
    judged = load_beir(data / name)
    ids, passages, queries = vectors_of(data, name, judged, endpoint)
    near = vector_side(ids, passages, queries, judged)
    narrow = {
        str(width): round(ndcg(judged, vector_side(ids, passages, queries, judged, width)), 4)
        for width in WIDTHS
    }
    by_weight = {
        str(weight): round(ndcg(judged, fused(keyword, near, weight)), 4) for weight in WEIGHTS
    }
    return {
        "name": name,
        "keyword": round(ndcg(judged, keyword), 4),
        "vector": round(ndcg(judged, near), 4),
        "vector_cut": narrow,
        "hybrid": by_weight,
        "no_vector": round(float((~queries.any(axis=1)).mean()), 4),
    }


def chosen(rows: Sequence[dict], left_out: str | None = None) -> float:
    """The weight that is best in the mean, without one set."""
    kept = [row for row in rows if row["name"] != left_out]
    return max(WEIGHTS, key=lambda weight: fmean(row["hybrid"][str(weight)] for row in kept))


def summary(rows: list[dict]) -> dict:
    given = [row for row in rows if row["name"] in GIVEN]
    best, shipped = chosen(given), str(DEFAULT_ALPHA)
    for row in rows:
        weight = chosen(given, row["name"])
        row["left_out"] = {"weight": weight, "hybrid": row["hybrid"][str(weight)]}
        row["shipped"] = row["hybrid"][shipped]
    keyword, vector = (fmean(row[side] for row in given) for side in ("keyword", "vector"))
    left_out = fmean(row["left_out"]["hybrid"] for row in given)
    return {
        "keyword": round(keyword, 4),
        "vector": round(vector, 4),
        "vector_cut": {
            str(width): round(fmean(row["vector_cut"][str(width)] for row in given), 4)
            for width in WIDTHS
        },
        "best_weight": best,
        "shipped_weight": DEFAULT_ALPHA,
        "hybrid_shipped": round(fmean(row["shipped"] for row in given), 4),
        "hybrid_left_out": round(left_out, 4),
        "times_better_side": round(left_out / max(keyword, vector), 4),
        "worst_against_keyword": min(
            (round(row["shipped"] - row["keyword"], 4), row["name"]) for row in rows
        ),
    }


def main() -> None:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the judged sets")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--model", action="append", help="default: local--static")
    arguments = parser.parse_args()
    missing = [name for name in BARS if not (arguments.data / name / "qrels.tsv").is_file()]
    if missing:
        sys.exit(
            f"{arguments.data} lacks {', '.join(missing)}; give --data the folder of the sets."
        )
    started = time.perf_counter()
    sides = {
        name: keyword_side(arguments.data, name, load_beir(arguments.data / name))
        for name in BARS
    }  # fmt: skip
    models = {}
    for endpoint in arguments.model or [DEFAULT_ENDPOINT]:
        rows = []
        for name in BARS:
            rows.append(row := measure(arguments.data, name, endpoint, sides[name]))
            print(f"{endpoint} {json.dumps(row)}", flush=True)
        models[endpoint] = {"mean_of_given": summary(rows), "sets": rows}
        print(json.dumps(models[endpoint]["mean_of_given"], indent=1))
    result = {
        "what": "nDCG@10 of the vector side and of hybrid, whole records, linear gains",
        "models": models,
        "seconds": round(time.perf_counter() - started, 1),
    }
    write_report(arguments.json, result, packages=["PyStemmer", "tokenizers", "wordllama"])


if __name__ == "__main__":
    main()
