"""``pincite map-lint``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, place_options
from pincite.cli.terminal import escape, warn, write, write_json

if TYPE_CHECKING:
    from pincite.library.core import Library

__all__ = ["map_lint"]

_Chains = dict[str, list[tuple[str, ...]]]


@click.command("map-lint")
@click.argument("metadata_map", metavar="MAP", type=click.Path(path_type=Path))
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@place_options
@guarded
def map_lint(
    metadata_map: Path,
    folder: Path | None,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Find what is wrong with a metadata map.

    MAP is held against the files in FOLDER, or without one against the documents of the
    collection.
    """
    from pincite.indexing.map_lint import lint_metadata_map
    from pincite.indexing.metadata_map import load_metadata_map

    entries = load_metadata_map(metadata_map)
    if folder is not None:
        files = _of_folder(folder)
    else:
        with Place(store, collection, subject, embedder).open() as lib:
            files = _of_collection(lib)
    faults = lint_metadata_map(entries, files)
    if as_json:
        shapes = [
            {"kind": f.kind, "file": f.file, "heading": f.heading, "message": f.message}
            for f in faults
        ]
        write_json({"files": len(files), "faults": shapes})
        return int(bool(faults))
    for fault in faults:
        write(escape(str(fault)))
    many = "fault" if len(faults) == 1 else "faults"
    write(f"{len(faults) or 'no'} {many} in {len(entries)} entries for {len(files)} files")
    return int(bool(faults))


def _of_collection(lib: Library) -> _Chains:
    return {
        info.document: [_chain(chunk.context_header) for chunk in lib.chunks(info.document)]
        for info in lib.documents()
    }


def _of_folder(folder: Path) -> _Chains:
    """The heading chains of a folder's files; what cannot be read is named and left out."""
    from pincite.chunking.adaptive import AdaptiveChunker
    from pincite.errors import InvalidArgument, PinciteError
    from pincite.indexing.indexer import parse_and_chunk
    from pincite.indexing.roots import Roots, walk

    if not folder.is_dir():
        raise InvalidArgument(f"{folder} is no folder; pass the folder of the documents.")
    chunker, roots, root = AdaptiveChunker(), Roots(()), folder.resolve()
    found: _Chains = {}
    for file in walk(root):
        path, reason = file.path, file.reason
        try:
            chunks = (
                [] if reason else parse_and_chunk(path.read_bytes(), path.name, chunker=chunker)
            )
        except (PinciteError, OSError) as error:
            reason, chunks = str(error), []
        if reason:
            warn(f"warning: {escape(str(path))} is left out: {escape(reason)}")
            continue
        chains = [_chain(chunk.context_header) for chunk in chunks]
        found[roots.document_id(path, root)] = chains
    return found


def _chain(header: str) -> tuple[str, ...]:
    return tuple(header.split(" > ")) if header else ()
