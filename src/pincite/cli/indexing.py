"""``pincite index``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, place_options
from pincite.cli.progress import ProgressBar, ProgressLines
from pincite.cli.terminal import escape, is_terminal, paint, warn, write, write_json
from pincite.errors import InvalidArgument

if TYPE_CHECKING:
    from pincite.model.documents import Failure, IndexReport

__all__ = ["index", "merge_reports", "parse_metadata", "write_report"]

_STDIN = "-"


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--backend", metavar="NAME", help="The PDF reader.")
@click.option("--document", metavar="ID", help="The id of the one file given; with - its name too.")
@click.option(
    "--metadata",
    metavar="KEY=VALUE",
    multiple=True,
    help="Metadata of the documents; repeatable, also one JSON object.",
)
@click.option(
    "--metadata-map",
    type=click.Path(),
    metavar="FILE",
    help="Metadata by file and heading, as JSON.",
)
@click.option("--language", metavar="CODE", help="Language, such as de.  [default: detected]")
@click.option("--password", metavar="TEXT", help="Opens encrypted files.")
@place_options
@guarded
def index(
    paths: tuple[str, ...],
    backend: str | None,
    document: str | None,
    metadata: tuple[str, ...],
    metadata_map: str | None,
    language: str | None,
    password: str | None,
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Index files and folders; unchanged ones are left alone.

    A PATH - reads one document from standard input.
    """
    _check_paths(paths, document)
    values = parse_metadata(metadata)
    mapped = _read_map(metadata_map)
    progress = ProgressLines() if as_json else ProgressBar()
    reports = []
    with Place(store, collection, subject, embedder).open(create=True) as lib:
        try:
            for path in paths:
                report = lib.add(
                    _source(path),
                    filename=document if path == _STDIN else None,
                    document=document,
                    metadata=values or None,
                    metadata_map=mapped,
                    language=language,
                    password=password,
                    backend=backend,
                    progress=progress,
                )
                reports.append(report)
        except KeyboardInterrupt:
            progress.clear()
            warn("\nWhat was indexed so far is kept; run the same command again to go on.")
            raise
        finally:
            progress.clear()
    return write_report(merge_reports(reports), as_json=as_json)


def _check_paths(paths: Sequence[str], document: str | None) -> None:
    if _STDIN in paths and (len(paths) > 1 or not document):
        raise InvalidArgument(
            "Standard input is one document and needs a name: pincite index - --document NAME.md"
        )
    if document is not None and len(paths) > 1:
        raise InvalidArgument("--document names one file; give one path or leave it out.")
    for path in paths:
        if path != _STDIN and (not path.strip() or not Path(path).exists()):
            raise InvalidArgument(f"There is no file or folder {path!r}; check the path.")


def _read_map(path: str | None) -> dict[str, dict[str, Any]] | None:
    if path is None:
        return None
    from pincite.indexing.metadata_map import load_metadata_map

    return load_metadata_map(path)


def _source(path: str) -> str | bytes:
    if path != _STDIN:
        return path
    if is_terminal(sys.stdin):
        warn("Reading standard input; end it with Ctrl-D.")
    return sys.stdin.buffer.read()


def parse_metadata(entries: Iterable[str]) -> dict[str, Any]:
    """Metadata from ``KEY=VALUE`` pairs and JSON objects, later entries over earlier ones.

    A VALUE that is a JSON number, boolean, list or quoted string is that; anything else is text,
    so ``007`` stays text and ``zip='"12345"'`` makes text of a number.
    """
    values: dict[str, Any] = {}
    for entry in entries:
        if entry.lstrip().startswith("{"):
            values.update(_json_object(entry))
            continue
        key, equals, value = entry.partition("=")
        if not equals or not key.strip():
            raise InvalidArgument(
                f"--metadata {entry!r} is neither KEY=VALUE nor a JSON object; write year=2024."
            )
        values[key.strip()] = _json_or_text(value)
    return values


def _json_object(text: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise InvalidArgument(
            f"--metadata holds no valid JSON ({error}); check quotes and commas."
        ) from error
    return value


def _json_or_text(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    return text if value is None or isinstance(value, dict) else value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON value")


def merge_reports(reports: Sequence[IndexReport]) -> IndexReport:
    """The reports of several paths as one."""
    from pincite.model.documents import IndexReport

    return IndexReport(
        added=tuple(name for r in reports for name in r.added),
        updated=tuple(name for r in reports for name in r.updated),
        moved=tuple(name for r in reports for name in r.moved),
        unchanged=tuple(name for r in reports for name in r.unchanged),
        removed=tuple(name for r in reports for name in r.removed),
        skipped=tuple(failure for r in reports for failure in r.skipped),
        failed=tuple(failure for r in reports for failure in r.failed),
        warnings=tuple(dict.fromkeys(warning for r in reports for warning in r.warnings)),
        chunks=sum(r.chunks for r in reports),
        seconds=sum(r.seconds for r in reports),
    )


def write_report(report: IndexReport, *, as_json: bool = False) -> int:
    """Say what a run did; the exit status: 1 when a file failed."""
    from pincite.cli.shapes import report_shape

    status = 1 if report.failed else 0
    if as_json:
        write_json({"event": "report", **report_shape(report)}, indent=None)
        return status
    write(_summary(report))
    for warning in report.warnings:
        warn(f"{paint('warning:', 'yellow', sys.stderr)} {escape(warning)}")
    _list_failures("Skipped", report.skipped, "yellow")
    _list_failures("Failed", report.failed, "bold red")
    return status


def _summary(report: IndexReport) -> str:
    named = {
        "added": report.added,
        "updated": report.updated,
        "moved": report.moved,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "skipped": report.skipped,
        "failed": report.failed,
    }
    counts = ", ".join(f"{len(items)} {name}" for name, items in named.items() if items)
    chunks = f"{report.chunks} {'chunk' if report.chunks == 1 else 'chunks'}"
    return f"{counts or 'nothing to do'}; {chunks} written in {report.seconds:.1f} s"


def _list_failures(title: str, failures: Sequence[Failure], style: str) -> None:
    if failures:
        warn(paint(f"{title}:", style, sys.stderr))
    for failure in failures:
        warn(f"  {escape(failure.source)}: {escape(failure.reason)}")
