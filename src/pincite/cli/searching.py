"""``pincite search``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pincite.cli.options import (
    DEFAULT_STORE,
    CollectionOption,
    EmbedderOption,
    JsonOption,
    Place,
    StoreOption,
    SubjectOption,
)
from pincite.cli.terminal import paint, warn, write, write_json

if TYPE_CHECKING:
    from pincite.model.hits import Results

__all__ = ["search"]

QueryArgument = Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")]
WhereOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILTER", help="Only passages that match, such as 'year >= 2020 and lang = \"en\"'."
    ),
]


def search(
    query: QueryArgument,
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many passages.")] = 10,
    offset: Annotated[int, typer.Option(metavar="N", help="Skip the first N passages.")] = 0,
    mode: Annotated[
        Literal["hybrid", "keyword", "vector"], typer.Option(help="Which legs to search.")
    ] = "hybrid",
    where: WhereOption = None,
    alpha: Annotated[
        float | None,
        typer.Option(metavar="0..1", help="Weight of the vector leg. [default: the collection's]"),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show how each leg scored.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Answer with a warning when one leg fails.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
    collection: CollectionOption = "default",
    subject: SubjectOption = "local",
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> int:
    """Find passages, best first, each with its file, page and rectangle."""
    from pincite.cli.passages import write_hit
    from pincite.cli.shapes import results_shape

    text = " ".join(query)
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
            write_json(results_shape(text, mode, results))
            return 0
        for hit in results:
            write_hit(lib, hit, explain=explain)
    _close(results)
    return 0


def _close(results: Results) -> None:
    from pincite.cli.terminal import escape

    for warning in results.warnings:
        warn(f"warning: {escape(warning)}")
    if not results.hits:
        warn("No passage found; try other words, --mode vector, or `pincite list`.")
        return
    many = "passage" if len(results) == 1 else "passages"
    write(paint(f"{len(results)} {many} in {results.took_ms:.0f} ms", "dim"))
