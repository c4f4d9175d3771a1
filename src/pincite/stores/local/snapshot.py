"""One generation of a collection, as readers and the writer see it: segments, live rows, filters.

Segments never change, so that what was loaded for one generation serves the next.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.search import Searcher as KeywordSearcher
from pincite.bm25.segment import KeywordSegment
from pincite.dense.search import Searcher as VectorSearcher
from pincite.dense.vectors import Vectors
from pincite.errors import StoreCorrupt
from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter
from pincite.segments.columns import Columns
from pincite.segments.file import SegmentFile
from pincite.segments.manifest import PartKind, SegmentRecord
from pincite.segments.rows import RowTable
from pincite.segments.tombstones import unpack_live
from pincite.stores.aliases import resolve_filter
from pincite.stores.local.collection import (
    CollectionRecord,
    find_collection,
    read_aliases,
    read_languages,
    read_segments,
)
from pincite.stores.local.parts import keyword_part, open_part, rebuilt
from pincite.stores.local.texts import indexed_terms
from pincite.text.analysis import default_analyzer

__all__ = ["Mask", "Segment", "Session", "Snapshot", "load_snapshot"]

Mask = NDArray[np.bool_]

_FILTERS: Final = 64


class Segment:
    """One segment with the parts that were opened so far. Safe to share between threads."""

    def __init__(self, record: SegmentRecord, live: Mask | None) -> None:
        self.record = record
        self.live = live
        self._files: dict[PartKind, SegmentFile] = {}
        self._rows: RowTable | None = None
        self._keyword: KeywordSegment | None = None
        self._columns: Columns | None = None
        self._searched: Vectors | None = None
        self._lock = threading.RLock()

    @property
    def mask(self) -> Mask:
        """The live rows, one boolean each."""
        return np.ones(self.record.rows, dtype=np.bool_) if self.live is None else self.live

    def at(self, record: SegmentRecord, live: Mask | None) -> Segment:
        """The segment in a later generation, with what is loaded of the parts it kept."""
        later = Segment(record, live)
        with self._lock:
            same = {k for k in record.parts if record.parts[k] == self.record.parts.get(k)}
            later._files = {k: file for k, file in self._files.items() if k in same}
            later._rows = self._rows if PartKind.ROWS in same else None
            later._keyword = self._keyword if PartKind.KEYWORD in same else None
            later._columns = self._columns if PartKind.COLUMNS in same else None
            later._searched = self._searched if PartKind.VECTORS in same else None
        return later

    def file(self, kind: PartKind, session: Session) -> SegmentFile:
        """A part, opened at first use."""
        with self._lock:
            found = self._files.get(kind)
            if found is None:
                if kind not in self.record.parts:
                    raise StoreCorrupt(
                        f"Segment {self.record.number} has no {kind} part. Run doctor with repair,"
                        " or restore a backup."
                    )
                found = open_part(
                    session.connection, session.folder, self.record.number, self.record.parts[kind]
                )
                self._files[kind] = found
            return found

    def rows(self, session: Session) -> RowTable:
        """Which chunk each row is."""
        with self._lock:
            if self._rows is None:
                self._rows = RowTable(self.file(PartKind.ROWS, session))
                self._check_rows(len(self._rows), PartKind.ROWS)
            return self._rows

    def vectors(self, session: Session) -> Vectors:
        """The stored vectors with their codes."""
        with self._lock:
            if self._searched is None:
                file = self.file(PartKind.VECTORS, session)
                self._searched = Vectors(file, self.record.rows)
            return self._searched

    def keyword(self, session: Session) -> KeywordSegment:
        """The postings; built in memory where another version of the analyser wrote them."""
        with self._lock:
            if self._keyword is None:
                file = self.file(PartKind.KEYWORD, session)
                if file.meta.get("analyzer") != default_analyzer().fingerprint:
                    file = self._rebuilt_keyword(session)
                self._keyword = KeywordSegment(file)
                self._check_rows(self._keyword.rows, PartKind.KEYWORD)
            return self._keyword

    def bitmap(self, where: Filter, spec: FieldSpec, session: Session) -> Mask:
        """The rows that a checked, folded filter keeps."""
        return self.columns(session).bitmap(where, spec)

    def columns(self, session: Session) -> Columns:
        """The values that filters read; it remembers the bitmaps of the last filters."""
        with self._lock:
            if self._columns is None:
                self._columns = Columns(self.file(PartKind.COLUMNS, session), cached=_FILTERS)
                self._check_rows(self._columns.rows, PartKind.COLUMNS)
            return self._columns

    def _rebuilt_keyword(self, session: Session) -> SegmentFile:
        import logging  # a process that only searches seldom has something to say

        logging.getLogger(__name__).warning(
            "Segment %s was indexed by another version of the analyser; its keyword side is built "
            "in memory. Write to the store once, or run doctor with repair, to keep it.",
            self.record.number,
        )
        keys = self.rows(session).chunks.tolist()
        terms = indexed_terms(session.connection, keys)
        return rebuilt(PartKind.KEYWORD, keyword_part(terms), str(self.record.number))

    def _check_rows(self, found: int, kind: PartKind) -> None:
        if found != self.record.rows:
            raise StoreCorrupt(
                f"Segment {self.record.number} has {self.record.rows} rows and its {kind} part "
                f"{found}. Run doctor with repair, or restore a backup."
            )


@dataclass(frozen=True)
class Snapshot:
    """The segments of one generation of a collection."""

    collection: CollectionRecord
    segments: tuple[Segment, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    languages: Sequence[str] = ()
    _tables: list[RowTable] = field(default_factory=list)
    _keyword: list[KeywordSearcher] = field(default_factory=list)
    _vectors: list[VectorSearcher] = field(default_factory=list)

    @cached_property
    def live(self) -> list[Mask | None]:
        """A mask of live rows per segment, None for all."""
        return [segment.live for segment in self.segments]

    @property
    def chunks(self) -> int:
        """How many chunks are live."""
        return sum(segment.record.live for segment in self.segments)

    def tables(self, session: Session) -> list[RowTable]:
        """Which chunks the rows of each segment are, opened once."""
        if len(self._tables) < len(self.segments):
            self._tables[:] = [segment.rows(session) for segment in self.segments]
        return self._tables

    def keyword(self, session: Session) -> KeywordSearcher:
        """The keyword leg of every segment, made once."""
        if not self._keyword:
            keyword = [segment.keyword(session) for segment in self.segments]
            self._keyword.append(KeywordSearcher(keyword, self.live))
        return self._keyword[0]

    def vectors(self, session: Session) -> VectorSearcher:
        """The vector leg of every segment, made once."""
        if not self._vectors:
            parts = [segment.vectors(session) for segment in self.segments]
            normalized = self.collection.normalized
            self._vectors.append(VectorSearcher(parts, self.live, normalized=normalized))
        return self._vectors[0]


@dataclass(frozen=True, slots=True)
class Session:
    """A snapshot with the transaction that it belongs to: what a query works with."""

    connection: sqlite3.Connection
    folder: Path
    snapshot: Snapshot

    def keyword(self) -> KeywordSearcher:
        """The keyword leg of every segment."""
        return self.snapshot.keyword(self)

    def vectors(self) -> list[Vectors]:
        """The vectors of every segment."""
        return [segment.vectors(self) for segment in self.snapshot.segments]

    def searched(self) -> VectorSearcher:
        """The vector leg of every segment."""
        return self.snapshot.vectors(self)

    def allow(self, where: Filter | None) -> list[Mask | None]:
        """What a checked, folded filter keeps: a mask per segment, None for all."""
        if where is None:
            return [None] * len(self.snapshot.segments)
        resolved = resolve_filter(where, self.snapshot.aliases)
        assert resolved is not None
        spec = self.snapshot.collection.spec
        return [segment.bitmap(resolved, spec, self) for segment in self.snapshot.segments]

    def kept(self, where: Filter | None) -> list[Mask | None]:
        """The live rows that the filter keeps."""
        return [_both(*pair) for pair in zip(self.snapshot.live, self.allow(where), strict=True)]

    def find(
        self, first: int, count: int, live: Callable[[Segment], Mask]
    ) -> list[tuple[Segment, NDArray[np.intp]]]:
        """Where the live rows of chunk keys ``[first, first + count)`` are, in order of key."""
        found = []
        for segment in self.snapshot.segments:
            record = segment.record
            if record.first_chunk < first + count and first <= record.last_chunk:
                rows = segment.rows(self).find(first, count)
                rows = rows[live(segment)[rows]]
                if len(rows):
                    found.append((segment, rows))
        return found

    def row_id(self, segment: int, row: int) -> str:
        """The chunk id of a row."""
        return self.snapshot.tables(self)[segment].id(row)

    def chunk_keys(self, places: Iterable[tuple[int, int]]) -> list[int]:
        """The keys in the database of the chunks of (segment, row)."""
        tables = self.snapshot.tables(self)
        return [tables[segment].chunk(row) for segment, row in places]


def load_snapshot(
    connection: sqlite3.Connection, subject: str, name: str, known: Snapshot | None
) -> Snapshot:
    """The collection as the open transaction sees it; ``known`` itself when nothing changed."""
    if known is not None and known.collection.key is not None:
        row = connection.execute(
            "SELECT generation FROM collections WHERE id = ?", (known.collection.key,)
        ).fetchone()
        if row is not None and row[0] == known.collection.generation:
            return known
    collection = find_collection(connection, subject, name)
    if collection.key is None:
        return Snapshot(collection)
    same = known is not None and known.collection.key == collection.key
    loaded = {s.record.number: s for s in known.segments} if known is not None and same else {}
    segments = tuple(
        _segment(connection, record, loaded.get(record.number))
        for record in read_segments(connection, collection.key)
    )
    aliases = read_aliases(connection, collection.key)
    return Snapshot(collection, segments, aliases, read_languages(connection, collection.key))


def _segment(
    connection: sqlite3.Connection, record: SegmentRecord, known: Segment | None
) -> Segment:
    if known is not None and known.record == record:
        return known
    live = None
    if record.dead:
        (packed,) = connection.execute(
            "SELECT tombstones FROM segments WHERE number = ?", (record.number,)
        ).fetchone()
        live = unpack_live(packed, record.rows, dead=record.dead, name=str(record.number))
    return Segment(record, live) if known is None else known.at(record, live)


def _both(live: Mask | None, allow: Mask | None) -> Mask | None:
    if live is None or allow is None:
        return allow if live is None else live
    return live & allow
