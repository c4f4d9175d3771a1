"""Changes to one collection inside a write transaction: rows, tombstones and new segments."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pincite.model.fields import FieldSpec, chunk_values
from pincite.model.hits import Chunk
from pincite.segments.durable import sync_folder, write_file
from pincite.segments.file import SegmentFile
from pincite.segments.manifest import PartKind
from pincite.segments.tombstones import pack_live
from pincite.stores.codec import model_text, spec_text
from pincite.stores.local.collection import CollectionRecord, find_collection
from pincite.stores.local.parts import (
    LARGE,
    Arrays,
    IndexedText,
    columns_part,
    encode_part,
    keyword_part,
    part_file,
    rows_part,
    vectors_part,
)
from pincite.stores.local.snapshot import Segment, Session
from pincite.text.analysis import default_analyzer

__all__ = ["Edit", "NewRows", "next_numbers"]


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows to append, all lists of one length and order."""

    chunks: Sequence[Chunk]
    keys: Sequence[int]
    vectors: NDArray[np.float16]
    texts: Sequence[IndexedText]


class Edit:
    """Collects what changes in a collection; ``finish`` publishes it as one generation."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.connection: sqlite3.Connection = session.connection
        self.record: CollectionRecord = session.snapshot.collection
        self.stamp = self.record.generation + 1
        self._live: dict[int, NDArray[np.bool_]] = {}
        self._abandoned = False
        self._wrote_files = False

    @property
    def key(self) -> int:
        """The collection's key; it is written first when it is new."""
        if self.record.key is None:
            self._create()
        assert self.record.key is not None
        return self.record.key

    def set_record(self, record: CollectionRecord) -> None:
        """Change model, fields or dimension; ``finish`` writes them."""
        self.record = replace(record, key=self.record.key)

    def set_spec(self, spec: FieldSpec) -> None:
        """Change the fields; ``finish`` writes them."""
        self.record = replace(self.record, spec=spec)

    def kill(self, first: int, count: int) -> None:
        """Mark the live rows of chunk keys ``[first, first + count)`` as dead."""
        for segment, rows in self._find(first, count):
            self._mask(segment)[rows] = False

    def kill_rows(self, segment: Segment, rows: NDArray[np.bool_]) -> None:
        """Mark the rows of a mask as dead."""
        self._mask(segment)[rows] = False

    def vectors(self, first: int, count: int) -> NDArray[np.float16]:
        """The vectors of those chunks, in the order of their keys."""
        found = [segment.vectors(self.session)[rows] for segment, rows in self._find(first, count)]
        return np.concatenate(found)

    def append(self, new: NewRows) -> None:
        """Write a segment of new rows."""
        values = [chunk_values(chunk) for chunk in new.chunks]
        keys = np.array(new.keys, dtype=np.int64)
        self.write_segment(
            {
                PartKind.ROWS: rows_part(new.chunks, new.keys),
                PartKind.VECTORS: vectors_part(new.vectors, keys),
                PartKind.KEYWORD: keyword_part(new.texts),
                PartKind.COLUMNS: columns_part(values, self.record.spec),
            },
            keys=keys,
        )

    def write_segment(self, parts: Mapping[PartKind, Arrays], *, keys: NDArray[np.int64]) -> None:
        """Write a segment of the given parts."""
        number = next_numbers(self.connection, "segment", 1)
        self.connection.execute(
            "INSERT INTO segments VALUES (?, ?, ?, 0, ?, ?, ?)",
            (
                number,
                self.key,
                len(keys),
                int(keys.min()),
                int(keys.max()),
                b"",
            ),
        )
        for kind, arrays in parts.items():
            self.write_part(number, kind, arrays)

    def write_part(self, number: int, kind: PartKind, arrays: Arrays) -> None:
        """Write a part, in place of the one that the segment had."""
        self.discard_files(number, kind)
        pieces = encode_part(kind, arrays)
        size = sum(len(piece) for piece in pieces)
        # The first piece is the header, whose checksum covers everything.
        checksum = SegmentFile.checksum_in(pieces[0])
        file, data = "", b""
        if size < LARGE:
            data = b"".join(pieces)
        else:
            file = part_file(number, kind, self.stamp)
            write_file(self.session.folder, file, pieces)
            self._wrote_files = True
        self.connection.execute(
            "INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?, ?)",
            (number, str(kind), self.stamp, size, checksum, file, data),
        )

    def discard_files(self, number: int, kind: PartKind | None = None) -> None:
        """Hand the files of a segment (or of one part) to the sweep."""
        self.connection.execute(
            "INSERT OR IGNORE INTO garbage SELECT file FROM parts"
            " WHERE segment = ? AND file != '' AND (? IS NULL OR kind = ?)",
            (number, kind and str(kind), kind and str(kind)),
        )

    def drop_segment(self, number: int) -> None:
        """Take a segment out of the manifest."""
        self.discard_files(number)
        self.connection.execute("DELETE FROM segments WHERE number = ?", (number,))
        self._live.pop(number, None)

    def live(self, segment: Segment) -> NDArray[np.bool_]:
        """The live rows of a segment, as this edit leaves them."""
        changed = self._live.get(segment.record.number)
        return segment.mask if changed is None else changed

    def abandon(self) -> None:
        """Publish nothing: there was nothing to change."""
        self._abandoned = True

    def finish(self) -> None:
        """Write the tombstones and the collection's record, as the next generation."""
        if self._abandoned:
            return
        for number, live in list(self._live.items()):
            dead = len(live) - int(np.count_nonzero(live))
            if dead == len(live):
                self.drop_segment(number)
                continue
            self.connection.execute(
                "UPDATE segments SET dead = ?, tombstones = ? WHERE number = ?",
                (dead, pack_live(live), number),
            )
        self._write_record()
        if self._wrote_files:
            sync_folder(self.session.folder)

    def _find(self, first: int, count: int) -> list[tuple[Segment, NDArray[np.intp]]]:
        return self.session.find(first, count, self.live)

    def _mask(self, segment: Segment) -> NDArray[np.bool_]:
        number = segment.record.number
        if number not in self._live:
            self._live[number] = self.live(segment).copy()
        return self._live[number]

    def _create(self) -> None:
        analyzer = default_analyzer()
        record = self.record
        self.connection.execute(
            "INSERT INTO collections (subject, name, generation, endpoint, dimension, model, alpha,"
            " analyzer_version, analyzer, fields) VALUES (?, ?, 0, '', 0, '', NULL, ?, ?, '{}')",
            (record.subject, record.name, analyzer.version, analyzer.fingerprint),
        )
        key = find_collection(self.connection, record.subject, record.name).key
        self.record = replace(record, key=key, analyzer=analyzer.fingerprint)

    def _write_record(self) -> None:
        key = self.key
        record = self.record
        self.connection.execute(
            "UPDATE collections SET generation = ?, endpoint = ?, dimension = ?, model = ?,"
            " alpha = ?, analyzer = ?, fields = ? WHERE id = ?",
            (
                self.stamp,
                record.endpoint,
                record.dimension,
                model_text(record.model),
                record.alpha,
                record.analyzer,
                spec_text(record.spec),
                key,
            ),
        )


def next_numbers(connection: sqlite3.Connection, counter: str, count: int) -> int:
    """The first of ``count`` numbers that were never given out before."""
    (after,) = connection.execute(
        "UPDATE counters SET value = value + ? WHERE name = ? RETURNING value", (count, counter)
    ).fetchone()
    return int(after) - count
