"""Merging segments, and building anew what is derived from the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pincite.bm25.segment import merge_arrays
from pincite.model.documents import Progress
from pincite.segments.columns import merge_columns
from pincite.segments.manifest import PartKind
from pincite.segments.rows import merge_rows
from pincite.stores.local.edit import Edit
from pincite.stores.local.parts import columns_part, keyword_part, vectors_part
from pincite.stores.local.snapshot import Segment
from pincite.stores.local.texts import columns_values, indexed_terms
from pincite.text.analysis import default_analyzer

__all__ = [
    "merge_segments",
    "rebuild_columns",
    "rebuild_keyword",
    "stale_collections",
    "stale_keyword",
]

Report = Callable[[Progress], None]


def merge_segments(edit: Edit, segments: Sequence[Segment]) -> None:
    """Write the live rows of some segments as one, in place of them."""
    session = edit.session
    keep = [edit.live(segment) for segment in segments]
    tables = [segment.rows(session) for segment in segments]
    pairs = list(zip(segments, keep, strict=True))
    keys = np.concatenate([t.chunks[mask] for t, mask in zip(tables, keep, strict=True)])
    if len(keys):
        edit.write_segment(
            {
                PartKind.ROWS: merge_rows(tables, keep),
                PartKind.VECTORS: vectors_part(
                    np.concatenate([s.vectors(session)[mask] for s, mask in pairs]), keys
                ),
                PartKind.KEYWORD: merge_arrays([s.keyword(session) for s in segments], keep),
                PartKind.COLUMNS: merge_columns([s.columns(session) for s in segments], keep),
            },
            keys=keys,
        )
    for segment in segments:
        edit.drop_segment(segment.record.number)


def stale_keyword(edit: Edit) -> bool:
    """Whether another version of the analyser wrote the collection's keyword side."""
    return bool(edit.record.analyzer) and edit.record.analyzer != default_analyzer().fingerprint


def stale_collections(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Subject and name of the collections that another version of the analyser indexed."""
    return connection.execute(
        "SELECT subject, name FROM collections WHERE analyzer NOT IN ('', ?)"
        " ORDER BY subject, name",
        (default_analyzer().fingerprint,),
    ).fetchall()


def rebuild_keyword(edit: Edit, report: Report | None) -> None:
    """Build the keyword side of every segment anew, from the stored texts."""
    segments = edit.session.snapshot.segments
    for done, segment in enumerate(segments, start=1):
        keys = segment.rows(edit.session).chunks.tolist()
        terms = indexed_terms(edit.connection, keys)
        edit.write_part(segment.record.number, PartKind.KEYWORD, keyword_part(terms))
        if report is not None:
            source = f"{edit.record.subject}/{edit.record.name}"
            report(Progress("rebuild", done, len(segments), source, len(keys)))
    edit.set_record(replace(edit.record, analyzer=default_analyzer().fingerprint))


def rebuild_columns(edit: Edit) -> None:
    """Build the columns of every segment anew, with the collection's fields."""
    record = edit.record
    for segment in edit.session.snapshot.segments:
        keys = segment.rows(edit.session).chunks.tolist()
        values = columns_values(
            edit.connection, keys, subject=record.subject, collection=record.name
        )
        edit.write_part(segment.record.number, PartKind.COLUMNS, columns_part(values, record.spec))
