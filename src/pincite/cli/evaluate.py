"""``pincite eval``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, place_options
from pincite.cli.progress import ProgressBar
from pincite.cli.terminal import escape, warn, write, write_json

if TYPE_CHECKING:
    from pincite.evaluation.compare import Comparison
    from pincite.evaluation.qrels import JudgedSet
    from pincite.evaluation.report import Evaluation
    from pincite.library.core import Library

__all__ = ["evaluate"]

_METRICS = ("nDCG@10", "R@100", "MRR@10")
_WORST = 5


@click.command("eval")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--metric", "metrics", metavar="NAME", multiple=True, help="What to measure, again.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "keyword", "vector"]),
    default="hybrid",
    show_default=True,
    help="Which legs to search.",
)
@click.option("--alpha", type=float, metavar="0..1", help="Weight of the vector leg.")
@click.option(
    "--depth", default=100, metavar="N", show_default=True, help="Passages for each query."
)
@click.option(
    "--index", "fill", is_flag=True, help="First index the corpus.jsonl of the judged set."
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE", help="Write the run.")
@click.option(
    "--compare", type=click.Path(path_type=Path), metavar="FILE", help="Compare with a saved run."
)
@click.option(
    "--fail-under", "bars", metavar="NAME=VALUE", multiple=True, help="Exit 1 below it, again."
)
@place_options
@guarded
def evaluate(
    folder: Path,
    metrics: tuple[str, ...],
    mode: Literal["hybrid", "keyword", "vector"],
    alpha: float | None,
    depth: int,
    fill: bool,
    save: Path | None,
    compare: Path | None,
    bars: tuple[str, ...],
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Measure the ranking with judged queries."""
    from pincite.evaluation.qrels import load_beir
    from pincite.evaluation.report import Evaluation, parse_bars, run_queries

    least = parse_bars(bars)
    before = Evaluation.load(compare) if compare is not None else None
    judged = load_beir(folder)
    with Place(store, collection, subject, embedder).open(create=fill) as lib:
        if fill:
            _index_corpus(lib, judged, folder)
        made = run_queries(
            judged,
            lambda query: lib.search(query, k=depth, mode=mode, alpha=alpha).hits,
            metrics=list(dict.fromkeys((*(metrics or _METRICS), *least))),
            settings={"mode": mode, "alpha": alpha, "depth": depth, "collection": collection},
            progress=_bar("query"),
        )
    if save is not None:
        made.save(save)
    compared = made.against(before) if before is not None else {}
    if before is not None and not compared:
        both = f"{compare} holds {', '.join(before.scores)}; measure one of them with --metric"
        warn(f"warning: nothing to compare: {escape(both)}.")
    failed = made.below(least)
    if as_json:
        write_json(_shape(made, compared, failed))
    else:
        _write(made, compared, failed)
    return 1 if failed else 0


def _index_corpus(lib: Library, judged: JudgedSet, folder: Path) -> None:
    from pincite.errors import StoreNotFound
    from pincite.evaluation.qrels import read_corpus

    if judged.corpus is None:
        raise StoreNotFound(f"{folder / 'corpus.jsonl'} is not there; leave --index out.")
    records = [record for record in read_corpus(judged.corpus) if record.content.strip()]
    told = _bar("index")
    for number, record in enumerate(records, 1):
        text = record.content.encode("utf-8", "replace")
        lib.add(text, filename="record.txt", document=record.id, title=record.title or None)
        told(number, len(records))


def _bar(stage: str) -> Callable[[int, int], None]:
    """A progress bar on standard error that wipes itself at the end."""
    from pincite.model.documents import Progress

    bar = ProgressBar()

    def tell(done: int, total: int) -> None:
        bar(Progress(stage, done, total))
        if done == total:
            bar.clear()

    return tell


def _write(made: Evaluation, compared: Mapping[str, Comparison], failed: Sequence[str]) -> None:
    from pincite.cli.tables import write_table

    rows = [(name, f"{s.mean:.4f}", str(len(s.per_query))) for name, s in made.scores.items()]
    write_table(("METRIC", "MEAN", "QUERIES"), rows, right=frozenset({"MEAN", "QUERIES"}))
    for name, row in compared.items():
        write("")
        write(
            f"{name}: {row.before:.4f} before, {row.difference:+.4f} "
            f"(95 % {row.low:+.4f} to {row.high:+.4f}, p {row.p_value:.3f}); "
            f"{row.wins} better, {row.losses} worse, {row.ties} equal"
        )
        for query, difference in row.changed[:_WORST]:
            if difference < 0:
                write(f"  {difference:+.4f}  query {escape(query)}")
    for line in failed:
        warn(line)


def _shape(
    made: Evaluation, compared: Mapping[str, Comparison], failed: Sequence[str]
) -> dict[str, Any]:
    return {
        "settings": dict(made.settings),
        "metrics": {
            name: {"mean": scores.mean, "queries": dict(scores.per_query)}
            for name, scores in made.scores.items()
        },
        "compared": {
            name: {
                "before": row.before,
                "difference": row.difference,
                "low": row.low,
                "high": row.high,
                "p_value": row.p_value,
                "wins": row.wins,
                "losses": row.losses,
                "ties": row.ties,
                "changed": dict(row.changed),
            }
            for name, row in compared.items()
        },
        "failed": list(failed),
    }
