"""``pincite doctor``, ``compact``, ``backup``, ``export`` and ``import``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, place_options
from pincite.cli.progress import ProgressBar, ProgressLines
from pincite.cli.terminal import escape, paint, write, write_json

if TYPE_CHECKING:
    from pincite.stores.findings import Finding

__all__ = ["backup", "compact", "doctor", "export_file", "import_file"]


@contextmanager
def _told(as_json: bool) -> Iterator[ProgressLines | ProgressBar]:
    """A progress callback that leaves a clean line."""
    progress = ProgressLines() if as_json else ProgressBar()
    try:
        yield progress
    finally:
        progress.clear()


def _report(shape: dict[str, Any], text: str, *, as_json: bool) -> None:
    if as_json:
        write_json({"event": "report", **shape}, indent=None)
    else:
        write(text)


@click.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended.")
@place_options
@guarded
def doctor(
    repair: bool,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Check the whole store against itself; --repair mends it."""
    with (
        Place(store, collection, subject, embedder).open() as lib,
        _told(as_json) as progress,
    ):
        findings = lib.doctor(repair=repair, progress=progress)
    left = sum(not finding.repaired for finding in findings)
    if as_json:
        shapes = [_finding_shape(finding) for finding in findings]
        write_json({"event": "report", "findings": shapes, "left": left}, indent=None)
    else:
        _write_findings(findings, left, repair=repair)
    return 1 if left else 0


def _finding_shape(finding: Finding) -> dict[str, Any]:
    return {"place": finding.place, "problem": finding.problem, "repaired": finding.repaired}


def _write_findings(findings: Sequence[Finding], left: int, *, repair: bool) -> None:
    for finding in findings:
        mark = paint("repaired", "green") if finding.repaired else paint("found", "yellow")
        write(f"{mark}: {escape(finding.place)}: {escape(finding.problem)}")
    if not findings:
        write("Nothing is wrong.")
    elif left and not repair:
        found = "finding" if left == 1 else "findings"
        write(f"{left} {found}; `pincite doctor --repair` mends what can be mended.")
    elif left:
        write(f"{len(findings) - left} repaired, {left} left; each says what to do.")
    else:
        write(f"{len(findings)} repaired, nothing left.")


@click.command()
@place_options
@guarded
def compact(
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Rewrite the store without what was deleted."""
    with (
        Place(store, collection, subject, embedder).open() as lib,
        _told(as_json) as progress,
    ):
        before = lib.stats().get("store_bytes", 0)
        lib.compact(progress=progress)
        after = lib.stats().get("store_bytes", 0)
    shape = {"bytes_before": before, "bytes_after": after}
    _report(shape, f"{before:,} bytes before, {after:,} now", as_json=as_json)
    return 0


@click.command()
@click.argument("path", metavar="FOLDER")
@place_options
@guarded
def backup(
    path: str,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Copy the whole store to a new FOLDER, while others use it."""
    with (
        Place(store, collection, subject, embedder).open() as lib,
        _told(as_json) as progress,
    ):
        lib.backup(path, progress=progress)
    _report({"path": path}, f"copied to {escape(path)}", as_json=as_json)
    return 0


@click.command("export")
@click.argument("path", metavar="FILE")
@place_options
@guarded
def export_file(
    path: str,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Write the collection, vectors included, to a new FILE."""
    with (
        Place(store, collection, subject, embedder).open() as lib,
        _told(as_json) as progress,
    ):
        done = lib.export(path, progress=progress)
    shape = {
        "path": done.path,
        "documents": done.documents,
        "chunks": done.chunks,
        "bytes": done.bytes,
        "seconds": round(done.seconds, 3),
    }
    text = f"{done.documents} documents, {done.chunks} chunks in {escape(done.path)}"
    _report(shape, f"{text} ({done.bytes:,} bytes)", as_json=as_json)
    return 0


@click.command("import")
@click.argument("path", metavar="FILE")
@place_options
@guarded
def import_file(
    path: str,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Take in a FILE of export; nothing is embedded anew."""
    from pincite.cli.indexing import write_report

    with (
        Place(store, collection, subject, embedder).open(create=True) as lib,
        _told(as_json) as progress,
    ):
        report = lib.import_from(path, progress=progress)
    return write_report(report, as_json=as_json)
