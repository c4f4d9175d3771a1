"""Checking a store against itself, and mending what can be derived.

The rows in the database and the vectors are the truth; a part that is derived from them is built
anew. Lost vectors are embedded again where the collection's model is at hand; else their chunks
stay searchable by keyword and their documents are embedded by the next indexing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.segment import KeywordSegment
from pincite.errors import PinciteError, StoreCorrupt
from pincite.model.documents import Progress
from pincite.segments.columns import Columns
from pincite.segments.file import SegmentFile
from pincite.segments.manifest import PartKind, SegmentRecord
from pincite.segments.rows import RowTable, build_rows
from pincite.segments.tombstones import unpack_live
from pincite.stores.codec import geometry_of
from pincite.stores.findings import Finding
from pincite.stores.local.collection import read_segments
from pincite.stores.local.database import OutdatedStore
from pincite.stores.local.edit import Edit
from pincite.stores.local.home import Home
from pincite.stores.local.lost import LOST, Embed, append_anew, check_lost, revive
from pincite.stores.local.merging import stale_collections
from pincite.stores.local.parts import columns_part, keyword_part, open_part, vectors_part
from pincite.stores.local.seals import is_sealed, seal
from pincite.stores.local.snapshot import Session
from pincite.stores.local.texts import chunk_ids, columns_values, indexed_terms

__all__ = ["examine", "outdated"]

Open = Callable[[str, str], AbstractContextManager[Session]]
Keys = NDArray[np.int64]

_HALF_DOCUMENTS = (
    "SELECT id, document, first_chunk, chunks FROM documents d WHERE collection = ? AND chunks !="
    " (SELECT count(*) FROM chunks c WHERE c.id >= d.first_chunk"
    " AND c.id < d.first_chunk + d.chunks AND c.document = d.id)"
)
_CHUNK_KEYS = (
    "SELECT c.id FROM documents d JOIN chunks c ON c.id >= d.first_chunk"
    " AND c.id < d.first_chunk + d.chunks WHERE d.collection = ?"
)


def examine(
    home: Home,
    *,
    repair: bool = False,
    embed: Embed | None = None,
    report: Callable[[Progress], None] | None = None,
) -> list[Finding]:
    """Check the whole store; with ``repair`` mend what can be mended, under the writer's lock.

    ``embed`` makes vectors of the texts whose own are lost.
    """
    try:
        if not repair:
            return _examine(home, home.session, False, None, report)
        with home.locked():
            return _examine(home, home.write_session, True, embed, report)
    except StoreCorrupt as error:
        return [Finding(str(home.path), str(error))]


def _examine(
    home: Home,
    opened: Open,
    repair: bool,
    embed: Embed | None,
    report: Callable[[Progress], None] | None,
) -> list[Finding]:
    with home.reading() as connection:
        if connection is None:
            return []
        broken = _check_database(connection, home)
        names = connection.execute("SELECT subject, name FROM collections").fetchall()
    if broken:
        return broken
    findings = outdated(home)
    for done, (subject, name) in enumerate(names, start=1):
        findings += _check_collection(home, opened, subject, name, repair, embed)
        if report is not None:
            report(Progress("check", done, len(names), f"{subject}/{name}"))
    return findings


def _check_collection(
    home: Home, opened: Open, subject: str, name: str, repair: bool, embed: Embed | None
) -> list[Finding]:
    with home.untrusted(write=repair) as connection:
        findings = _check_tombstones(connection, subject, name, repair=repair)
    if findings and not repair:
        return findings  # no manifest to check the rest against
    for check in (
        partial(_check_parts, embed=embed),
        _check_documents,
        partial(_check_ids, embed=embed),
        partial(check_lost, embed=embed),
    ):
        if repair and not all(finding.repaired for finding in findings):
            break  # what is marked now was named just before
        with opened(subject, name) as session:
            edit = Edit(session) if repair else None
            found = check(session, edit)
            if edit is not None and found:
                edit.finish()
        findings += found
    return findings


def _check_database(connection: sqlite3.Connection, home: Home) -> list[Finding]:
    lines = [line for (line,) in connection.execute("PRAGMA integrity_check(20)")]
    place = str(home.database.path)
    return [
        Finding(place, f"{line}. Restore a backup, or index the documents again.")
        for line in lines
        if line != "ok"
    ]


def outdated(home: Home) -> list[Finding]:
    """What an older version wrote, and what another version of the analyser derived: the store's
    ``setup`` renews both."""
    try:
        with home.reading() as connection:
            stale = [] if connection is None else stale_collections(connection)
    except OutdatedStore as error:
        return [Finding(str(home.database.path), str(error))]
    problem = "Another version of the analyser indexed it; its keyword side is to be built anew."
    return [Finding(f"collection {subject}/{name}", problem) for subject, name in stale]


def _check_tombstones(
    connection: sqlite3.Connection, subject: str, name: str, *, repair: bool
) -> list[Finding]:
    findings = []
    for number, rows, dead, packed in connection.execute(
        "SELECT number, rows, dead, tombstones FROM segments JOIN collections"
        " ON collections.id = collection WHERE subject = ? AND name = ?",
        (subject, name),
    ).fetchall():
        try:
            if dead:
                unpack_live(packed, rows, dead=dead, name=str(number))
        except StoreCorrupt as error:
            findings.append(Finding(f"segment {number}", str(error), repair))
            if repair:  # the check of ids finds out which rows are dead
                connection.execute(
                    "UPDATE segments SET dead = 0, tombstones = x'' WHERE number = ?", (number,)
                )
    return findings


class _Parts:
    """The parts of one segment that can be read, and what is wrong with the others."""

    def __init__(self, session: Session, record: SegmentRecord) -> None:
        self.record = record
        self.problems: dict[PartKind, str] = {}
        self.files: dict[PartKind, SegmentFile] = {}
        for kind in PartKind:
            try:
                self.files[kind] = self._verified(session, kind)
            except (PinciteError, OSError) as error:
                self.problems[kind] = str(error)

    def keys(self) -> Keys | None:
        """The chunk key of each row, None when both parts that hold them are lost."""
        if PartKind.VECTORS in self.files:
            keys: Keys = self.files[PartKind.VECTORS].array("chunks")
            return keys
        rows = self.files.get(PartKind.ROWS)
        return None if rows is None else RowTable(rows).chunks

    def _verified(self, session: Session, kind: PartKind) -> SegmentFile:
        part = self.record.parts.get(kind)
        if part is None:
            raise StoreCorrupt(f"The {kind} part of segment {self.record.number} is missing.")
        file = open_part(session.connection, session.folder, self.record.number, part)
        file.verify()
        if _rows_in(kind, file) != self.record.rows:
            raise StoreCorrupt(
                f"The {kind} part of segment {self.record.number} has another number of rows."
            )
        return file


def _rows_in(kind: PartKind, file: SegmentFile) -> int:
    if kind is PartKind.ROWS:
        table = RowTable(file)
        table.check()
        return len(table)
    if kind is PartKind.VECTORS:
        return min(len(file.array("vectors")), len(file.array("chunks")))
    if kind is PartKind.COLUMNS:
        return Columns(file).rows
    keyword = KeywordSegment(file)
    keyword.inverted()
    return keyword.rows


def _check_parts(session: Session, edit: Edit | None, embed: Embed | None) -> list[Finding]:
    record = session.snapshot.collection
    assert record.key is not None
    findings = []
    for segment in read_segments(session.connection, record.key):
        parts = _Parts(session, segment)
        done, whole = "", edit is not None
        if edit is not None and parts.problems:
            done, whole = _mend_parts(edit, parts, embed)
        for kind, problem in parts.problems.items():
            place = f"segment {segment.number} ({kind}) of {record.subject}/{record.name}"
            if kind is PartKind.VECTORS and done:
                findings.append(Finding(place, f"{problem} {done}", whole))
            else:
                findings.append(Finding(place, problem, edit is not None))
    return findings


def _mend_parts(edit: Edit, parts: _Parts, embed: Embed | None) -> tuple[str, bool]:
    """What was done about lost vectors, and whether they are whole again."""
    number, keys = parts.record.number, parts.keys()
    if keys is None:  # the check of ids writes its chunks anew
        edit.drop_segment(number)
        return "", True
    plain = keys.tolist()
    done = ("", True)
    if PartKind.ROWS in parts.problems:
        owners = chunk_ids(edit.connection, plain)
        documents = [owner for owner, _ in owners]
        edit.write_part(number, PartKind.ROWS, build_rows(plain, documents, [i for _, i in owners]))
    if PartKind.VECTORS in parts.problems:
        vectors, said, whole = revive(edit, plain, embed)
        done = (f"{said[:1].upper()}{said[1:]}.", whole)
        edit.write_part(number, PartKind.VECTORS, vectors_part(vectors, keys))
    if PartKind.KEYWORD in parts.problems:
        terms = indexed_terms(edit.connection, plain)
        edit.write_part(number, PartKind.KEYWORD, keyword_part(terms))
    if PartKind.COLUMNS in parts.problems:
        values = columns_values(
            edit.connection, plain, subject=edit.record.subject, collection=edit.record.name
        )
        edit.write_part(number, PartKind.COLUMNS, columns_part(values, edit.record.spec))
    return done


def _check_documents(session: Session, edit: Edit | None) -> list[Finding]:
    key = session.snapshot.collection.key
    findings = []
    for document, name, first, count in session.connection.execute(
        _HALF_DOCUMENTS, (key,)
    ).fetchall():
        problem = "Some of its chunks are missing; index it again."
        findings.append(Finding(f"document {name!r}", problem, edit is not None))
        if edit is not None:
            edit.kill(first, count)
            run = edit.connection.execute
            run("DELETE FROM chunks WHERE id >= ? AND id < ?", (first, first + count))
            run("DELETE FROM documents WHERE id = ?", (document,))
    return findings + _check_seals(session, edit) + _check_geometry(session, edit)


def _check_seals(session: Session, edit: Edit | None) -> list[Finding]:
    """Rows whose values are not those that were written, which SQLite does not notice."""
    findings = []
    for document, name in _documents(session):
        if not is_sealed(session.connection, document):
            problem = "Its rows fail their checksum; index it again."
            findings.append(Finding(f"document {name!r}", problem, edit is not None))
            if edit is not None:
                _forget_hashes(edit, [document])
    return findings


def _documents(session: Session) -> list[tuple[int, str]]:
    key = session.snapshot.collection.key
    return session.connection.execute(
        "SELECT id, document FROM documents WHERE collection = ? ORDER BY document", (key,)
    ).fetchall()


def _check_geometry(session: Session, edit: Edit | None) -> list[Finding]:
    findings = []
    for document, name in _documents(session):
        row = session.connection.execute(
            "SELECT data FROM geometry WHERE document = ?", (document,)
        ).fetchone()
        try:
            if row is not None:
                geometry_of(row[0], f"geometry of {name!r}")
        except StoreCorrupt as error:
            findings.append(Finding(f"document {name!r}", str(error), edit is not None))
            if edit is not None:
                edit.connection.execute("DELETE FROM geometry WHERE document = ?", (document,))
                _forget_hashes(edit, [document])
    return findings


def _check_ids(session: Session, edit: Edit | None, embed: Embed | None) -> list[Finding]:
    """The chunks of the rows against those of the segments, both ways."""
    record = session.snapshot.collection
    stored = {key for (key,) in session.connection.execute(_CHUNK_KEYS, (record.key,))}
    seen: set[int] = set()
    findings: list[Finding] = []
    # A chunk that was written anew is live in the newest segment only.
    for segment in reversed(session.snapshot.segments):
        try:
            keys = segment.rows(session).chunks[segment.mask]
        except PinciteError:
            return findings  # reported with the parts; without it nothing can be said of the rest
        ghosts = [key for key in keys.tolist() if key not in stored or key in seen]
        seen.update(keys.tolist())
        if ghosts:
            place = f"segment {segment.record.number}"
            problem = f"{len(ghosts)} of its rows belong to no chunk."
            findings.append(Finding(place, problem, edit is not None))
            if edit is not None:
                edit.kill_rows(segment, np.isin(segment.rows(session).chunks, ghosts))
    missing = sorted(stored - seen)
    if missing:
        done, whole = "index their documents again", False
        if edit is not None:
            done, whole = append_anew(edit, missing, embed)
        place = f"collection {record.subject}/{record.name}"
        findings.append(Finding(place, f"{len(missing)} chunks are in no segment; {done}.", whole))
    return findings


def _forget_hashes(edit: Edit, documents: Sequence[int]) -> None:
    """Nothing takes a document without hashes for unchanged."""
    for document in documents:
        edit.connection.execute(
            "UPDATE documents SET content_hash = '',"
            " digest = CASE digest WHEN ? THEN digest ELSE x'' END WHERE id = ?",
            (LOST, document),
        )
        seal(edit.connection, document)
