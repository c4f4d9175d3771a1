"""``pincite search``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, place_options
from pincite.cli.terminal import escape, paint, warn, write, write_json

if TYPE_CHECKING:
    from pincite.model.hits import Results

__all__ = ["search"]


@click.command()
@click.argument("query", metavar="QUERY...", nargs=-1, required=True)
@click.option("-k", metavar="N", default=10, show_default=True, help="How many passages.")
@click.option("--offset", metavar="N", default=0, help="Skip the first N passages.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "keyword", "vector"]),
    default="hybrid",
    show_default=True,
    help="Which legs to search.",
)
@click.option(
    "--where",
    metavar="FILTER",
    help="Only passages that match, such as 'year >= 2020 and lang = \"en\"'.",
)
@click.option(
    "--alpha",
    type=float,
    metavar="0..1",
    help="Weight of the vector leg.  [default: the collection's]",
)
@click.option("--explain", is_flag=True, help="Show how each leg and each word scored.")
@click.option("--words", is_flag=True, help="Show where each matched word stands.")
@click.option("--partial", is_flag=True, help="Answer with a warning when one leg fails.")
@click.option("--domain", metavar="NAME", help="Search all stores of a domain at once.")
@click.option(
    "--domains-config",
    metavar="FILE",
    envvar="PINCITE_DOMAINS",
    show_envvar=True,
    help="The stores of each domain, as TOML, JSON or YAML.",
)
@place_options
@guarded
def search(
    query: tuple[str, ...],
    k: int,
    offset: int,
    mode: Literal["hybrid", "keyword", "vector"],
    where: str | None,
    alpha: float | None,
    explain: bool,
    words: bool,
    partial: bool,
    domain: str | None,
    domains_config: str | None,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Find passages, best first, each with its file, page and rectangle."""
    from pincite.cli.passages import word_rects, words_line, write_hit
    from pincite.cli.shapes import results_shape

    text = " ".join(query)
    if domain is not None:
        from pincite.cli.domains import search_domain

        return search_domain(
            text,
            domain=domain,
            config=domains_config,
            k=k,
            offset=offset,
            mode=mode,
            explain=explain,
            partial=partial,
            embedder=embedder,
            as_json=as_json,
        )
    condition = None
    if where is not None:
        from pincite.model.where import parse_where

        condition = parse_where(where)
    with Place(store, collection, subject, embedder).open() as lib:
        results = lib.search(
            text,
            k=k,
            offset=offset,
            mode=mode,
            where=condition,
            alpha=alpha,
            explain=explain,
            partial=partial,
        )
        if as_json:
            places = (lambda hit: word_rects(lib, hit)) if words else None
            write_json(results_shape(text, mode, results, words=places))
            return 0
        for hit in results:
            how = results.explanations.get(hit.chunk.id)
            write_hit(lib, hit, how=how, tail=words_line(lib, hit) if words else "")
        lost = not results.hits and bool(lib.stats()["documents"])
        advice = _advice(filtered=condition is not None) if lost else ""
    _close(results, advice)
    return 0


def _advice(*, filtered: bool) -> str:
    """What to do when nothing was found among documents."""
    if filtered:
        return "No passage found that matches the filter; widen --where, or try other words."
    return "No passage found; try other words, --mode vector, or `pincite list`."


def _close(results: Results, advice: str) -> None:
    for warning in results.warnings:
        warn(f"warning: {escape(warning)}")
    if not results.hits:
        if advice:
            warn(escape(advice))
        return
    many = "passage" if len(results) == 1 else "passages"
    write(paint(f"{len(results)} {many} in {results.took_ms:.0f} ms", "dim"))
