"""``pincite get``, ``list`` and ``rm``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, place_options
from pincite.cli.terminal import escape, is_terminal, paint, warn, write, write_json, write_raw

if TYPE_CHECKING:
    from pincite.model.hits import Chunk

__all__ = ["get", "list_documents", "rm"]


@click.command()
@click.argument("document")
@click.option("--chunks", is_flag=True, help="Print its chunks instead.")
@place_options
@guarded
def get(
    document: str,
    chunks: bool,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Print a document's Markdown, or its chunks."""
    from pincite.cli.shapes import chunk_shape, document_shape

    with Place(store, collection, subject, embedder).open() as lib:
        info = lib.get(document)
        parts = lib.chunks(info.document) if chunks else []
        markdown = "" if chunks else lib.markdown(info.document)
    if as_json:
        rest: dict[str, Any] = {"markdown": markdown}
        if chunks:
            rest = {"passages": [chunk_shape(part) for part in parts]}
        write_json({**document_shape(info), **rest})
    elif chunks:
        for part in parts:
            _write_chunk(part)
    elif is_terminal(sys.stdout):
        write(escape(markdown, block=True))
    else:
        write_raw(markdown if markdown.endswith("\n") else markdown + "\n")
    return 0


def _write_chunk(chunk: Chunk) -> None:
    pages = ", ".join(str(page) for page in chunk.pages)
    place = f"  page {pages}" if pages else ""
    span = f"characters {chunk.start_char}-{chunk.end_char}"
    write(paint(f"[{chunk.chunk_index}]  {span}{place}", "bold cyan"))
    if chunk.context_header:
        write(paint(escape(chunk.context_header), "dim"))
    write(escape(chunk.content, block=True).rstrip("\n") + "\n")


@click.command("list")
@place_options
@guarded
def list_documents(
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """List the documents with their titles, chunks and sources."""
    from pincite.cli.shapes import document_shape
    from pincite.cli.tables import write_table

    with Place(store, collection, subject, embedder).open() as lib:
        infos = lib.documents()
    if as_json:
        write_json([document_shape(info) for info in infos])
        return 0
    if not infos:
        warn(f"No documents in collection {collection!r}; add some with `pincite index FOLDER`.")
        return 0
    rows = [(info.document, info.title, str(info.chunks), info.source) for info in infos]
    write_table(("DOCUMENT", "TITLE", "CHUNKS", "SOURCE"), rows, right=frozenset({"CHUNKS"}))
    return 0


@click.command()
@click.argument("documents", metavar="DOCUMENT...", nargs=-1, required=True)
@place_options
@guarded
def rm(
    documents: tuple[str, ...],
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Remove documents from the index; their files stay."""
    with Place(store, collection, subject, embedder).open() as lib:
        gone = {document: lib.remove(document) for document in documents}
    unknown = [document for document, chunks in gone.items() if not chunks]
    if as_json:
        removed = {document: chunks for document, chunks in gone.items() if chunks}
        write_json({"removed": removed, "unknown": unknown})
    else:
        for document, chunks in gone.items():
            _tell_removed(document, chunks)
    return 1 if unknown else 0


def _tell_removed(document: str, chunks: int) -> None:
    if chunks:
        write(f"removed {escape(document)} ({chunks} {'chunk' if chunks == 1 else 'chunks'})")
    else:
        warn(f"pincite: no document {escape(document)!r} here; `pincite list` shows the ids.")
