"""A collection's record and its manifest, read inside one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from pincite.model.documents import ModelIdentity
from pincite.model.fields import FieldSpec, full_spec
from pincite.segments.manifest import PartKind, PartRecord, SegmentRecord
from pincite.stores.codec import model_of, spec_of

__all__ = ["CollectionRecord", "find_collection", "read_aliases", "read_languages", "read_segments"]


@dataclass(frozen=True, slots=True)
class CollectionRecord:
    """One collection; ``key`` is None and everything is empty while nothing was written."""

    subject: str
    name: str
    key: int | None
    generation: int
    endpoint: str
    dimension: int
    model: ModelIdentity | None
    alpha: float | None
    analyzer: str
    spec: FieldSpec

    @property
    def stored_model(self) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity, None before the first write of vectors."""
        return (self.endpoint, self.model) if self.dimension else None

    @property
    def stored_dimension(self) -> int | None:
        """The length of the vectors, None while there are none."""
        return self.dimension or None

    @property
    def normalized(self) -> bool:
        """Whether vectors are of unit length and scores are cosines."""
        return self.model is None or self.model.normalized


def find_collection(connection: sqlite3.Connection, subject: str, name: str) -> CollectionRecord:
    """The record of a collection, an empty one when it is not there."""
    row = connection.execute(
        "SELECT id, generation, endpoint, dimension, model, alpha, analyzer, fields"
        " FROM collections WHERE subject = ? AND name = ?",
        (subject, name),
    ).fetchone()
    if row is None:
        return CollectionRecord(subject, name, None, 0, "", 0, None, None, "", full_spec({}))
    key, generation, endpoint, dimension, model, alpha, analyzer, fields = row
    return CollectionRecord(
        subject,
        name,
        key,
        generation,
        endpoint,
        dimension,
        model_of(model),
        alpha,
        analyzer,
        spec_of(fields),
    )


def read_segments(connection: sqlite3.Connection, collection: int) -> list[SegmentRecord]:
    """The segments of a collection by number."""
    parts: dict[int, dict[PartKind, PartRecord]] = {}
    for number, kind, stamp, size, checksum, file in connection.execute(
        "SELECT segment, kind, stamp, size, checksum, file FROM segments"
        " JOIN parts ON segment = number WHERE collection = ?",
        (collection,),
    ):
        record = PartRecord(PartKind(kind), stamp, size, checksum, file)
        parts.setdefault(number, {})[record.kind] = record
    return [
        SegmentRecord(number, rows, dead, first, last, parts.get(number, {}))
        for number, rows, dead, first, last in connection.execute(
            "SELECT number, rows, dead, first_chunk, last_chunk FROM segments"
            " WHERE collection = ? ORDER BY number",
            (collection,),
        )
    ]


def read_languages(connection: sqlite3.Connection, collection: int) -> list[str]:
    """The languages of the collection's documents, in order."""
    rows = connection.execute(
        "SELECT language FROM languages WHERE collection = ? AND documents > 0 ORDER BY language",
        (collection,),
    )
    return [language for (language,) in rows]


def read_aliases(connection: sqlite3.Connection, collection: int) -> Mapping[str, str]:
    """Old document ids and what they are called now."""
    return dict(
        connection.execute(
            "SELECT alias, documents.document FROM aliases"
            " JOIN documents ON documents.id = aliases.document WHERE aliases.collection = ?",
            (collection,),
        ).fetchall()
    )
