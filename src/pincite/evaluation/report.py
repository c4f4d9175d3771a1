"""An evaluation that can be saved, read again, compared and held to a bar."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.errors import InvalidArgument, StoreNotFound
from pincite.evaluation.compare import Comparison, compare
from pincite.evaluation.metrics import Scores, evaluate, max_p, parse_metric
from pincite.evaluation.qrels import JudgedSet
from pincite.model.hits import Hit

__all__ = ["Evaluation", "parse_bars", "run_queries"]

_FORMAT = "pincite-evaluation-1"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The scores of one run over a judged set, by metric, and what was run."""

    scores: Mapping[str, Scores]
    settings: Mapping[str, Any]

    def below(self, bars: Mapping[str, float]) -> list[str]:
        """A line for each metric whose mean is under its bar."""
        missing = sorted(set(bars) - set(self.scores))
        if missing:
            raise InvalidArgument(f"{missing[0]} was not measured; add it with --metric.")
        return [
            f"{metric} is {self.scores[metric].mean:.4f}, under {bar:g}"
            for metric, bar in bars.items()
            if self.scores[metric].mean < bar
        ]

    def against(self, before: Evaluation) -> dict[str, Comparison]:
        """Compare with an earlier run, for each metric of both."""
        return {
            metric: compare(before.scores[metric].per_query, scores.per_query)
            for metric, scores in self.scores.items()
            if metric in before.scores
        }

    def save(self, path: Path | str) -> None:
        """Write the run as JSON; it replaces the file only when it is whole."""
        path = Path(path)
        body = {
            "format": _FORMAT,
            "settings": dict(self.settings),
            "metrics": {
                m: {"mean": s.mean, "queries": dict(s.per_query)} for m, s in self.scores.items()
            },
        }
        half = path.with_name(path.name + ".part")
        half.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        half.replace(path)

    @classmethod
    def load(cls, path: Path | str) -> Evaluation:
        """Read what ``save`` wrote."""
        path = Path(path)
        if not path.is_file():
            raise StoreNotFound(f"{path} is not there; write it with --save first.")
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            if body["format"] != _FORMAT:
                raise ValueError(body["format"])
            scores = {
                metric: Scores(metric, {str(q): float(v) for q, v in row["queries"].items()})
                for metric, row in body["metrics"].items()
            }
            return cls(scores, body["settings"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidArgument(
                f"{path} is no saved evaluation; write one with `pincite eval --save`."
            ) from error


def run_queries(
    judged: JudgedSet,
    search: Callable[[str], Sequence[Hit]],
    *,
    metrics: Sequence[str],
    settings: Mapping[str, Any],
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Search every judged query and score the documents by their best chunk."""
    for name in metrics:
        parse_metric(name)
    run = {}
    for number, (query, text) in enumerate(judged.queries.items(), 1):
        run[query] = max_p(search(text))
        if progress is not None:
            progress(number, len(judged.queries))
    return Evaluation(evaluate(run, judged.qrels, metrics), settings)


def parse_bars(bars: Sequence[str]) -> dict[str, float]:
    """``METRIC=VALUE`` texts, such as ``nDCG@10=0.45``, as a mapping."""
    parsed = {}
    for text in bars:
        metric, equals, value = text.partition("=")
        parse_metric(metric)
        try:
            parsed[metric] = float(value)
        except ValueError as error:
            raise InvalidArgument(f"{text!r} is no bar; write it as nDCG@10=0.45.") from error
        if not equals:
            raise InvalidArgument(f"{text!r} is no bar; write it as nDCG@10=0.45.")
    return parsed
