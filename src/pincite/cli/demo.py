"""``pincite demo``: the whole chain on a sample library that is part of the package."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, collection_option, common_options
from pincite.cli.terminal import escape, paint, write, write_json

if TYPE_CHECKING:
    from pincite.library.core import Library

__all__ = ["demo"]

_PASSAGES = 2  # for each question
_NEXT = (
    "pincite index PATH/TO/YOUR/FOLDER",
    'pincite search "what you want to know"',
)


# Not from PINCITE_STORE: samples must not end up among somebody's own documents.
@click.command()
@click.option("--store", metavar="URI", help="Keep the index here.  [default: a temporary folder]")
@collection_option("demo")
@common_options
@guarded
def demo(
    store: str | None,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Index a sample library and ask it three questions, offline."""
    from pincite.cli.indexing import write_report
    from pincite.cli.progress import ProgressBar
    from pincite.cli.shapes import report_shape
    from pincite.demo import QUESTIONS, library_folder

    folder = library_folder()
    with _place(store, collection, subject, embedder) as place, place.open(create=True) as lib:
        if not as_json:
            write(f"Indexing the sample library, the papers of a small ferry company:\n  {folder}")
        bar = ProgressBar()
        report = lib.add(folder, progress=bar)
        bar.clear()
        if as_json:
            answers = [_answer_shape(lib, question) for question in QUESTIONS]
            kept = place.store if store else None
            shape = {"store": kept, "report": report_shape(report), "questions": answers}
            write_json({**shape, "next": list(_NEXT)})
            return 1 if report.failed else 0
        status = write_report(report)
        write()
        for question in QUESTIONS:
            _answer(lib, question)
        _close(place if store else None)
    return status


@contextmanager
def _place(
    store: str | None, collection: str, subject: str, embedder: str | None
) -> Iterator[Place]:
    if store:
        yield Place(store, collection, subject, embedder)
        return
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as folder:
        yield Place(f"local:{folder}", collection, subject, embedder)


def _answer(lib: Library, question: str) -> None:
    from pincite.cli.passages import words_line, write_hit

    write(paint(f"> {question}", "bold"))
    for hit in lib.search(question, k=_PASSAGES):
        write_hit(lib, hit, tail=words_line(lib, hit))


def _answer_shape(lib: Library, question: str) -> dict[str, Any]:
    from pincite.cli.passages import word_rects
    from pincite.cli.shapes import results_shape

    results = lib.search(question, k=_PASSAGES)
    return results_shape(question, "hybrid", results, words=lambda hit: word_rects(lib, hit))


def _close(kept: Place | None) -> None:
    write(paint("Now with your own documents:", "bold"))
    for command in _NEXT:
        write(f"  {command}")
    if kept is None:
        write("The demo's index was temporary and is gone.")
    else:
        where = f"--store {escape(kept.store)} --collection {escape(kept.collection)}"
        write(f"The demo's index is kept; search it with {where}.")
