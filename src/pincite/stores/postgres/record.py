"""A collection's record, as one statement reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection

from pincite.model.documents import ModelIdentity
from pincite.model.fields import FieldSpec, full_spec
from pincite.stores.codec import model_of, spec_of
from pincite.stores.postgres.layout import Layout
from pincite.stores.postgres.packing import owner_key

__all__ = ["Record", "Totals", "index_name", "read_aliases", "read_record", "read_totals"]

_COLUMNS: Final[LiteralString] = (
    "SELECT key, endpoint, dimension, model, alpha, analyzer, fields FROM {collections}"
    " WHERE owner = %s"
)

_LOCKED: Final[LiteralString] = _COLUMNS + " FOR UPDATE"

# Compiling a plan would take longer than running it, so a search does without.
# The distinct languages by their index, one step for each, however many documents there are.
_TOTALS: Final[LiteralString] = """
WITH RECURSIVE spoken AS (
    (SELECT language FROM {documents} WHERE collection = %(c)s ORDER BY language LIMIT 1)
    UNION ALL
    SELECT (SELECT d.language FROM {documents} d
        WHERE d.collection = %(c)s AND d.language > s.language ORDER BY d.language LIMIT 1)
    FROM spoken s WHERE s.language IS NOT NULL)
SELECT coalesce(sum(chunks), 0)::bigint, coalesce(sum(tokens), 0)::bigint,
    ARRAY(SELECT language FROM spoken WHERE language IS NOT NULL),
    EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(%(index)s) AND indisvalid),
    set_config('jit', 'off', true)
FROM {totals} WHERE collection = %(c)s"""


@dataclass(frozen=True, slots=True)
class Record:
    """One collection; ``key`` is None and everything is empty while nothing was written."""

    subject: str
    name: str
    key: int | None = None
    endpoint: str = ""
    dimension: int | None = None
    model: ModelIdentity | None = None
    alpha: float | None = None
    analyzer: str = ""
    spec: FieldSpec = field(default_factory=lambda: full_spec({}))

    @property
    def stored_model(self) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity, None before the first write of vectors."""
        return (self.endpoint, self.model) if self.dimension else None

    @property
    def normalized(self) -> bool:
        """Whether vectors are of unit length and scores are cosines."""
        return self.model is None or self.model.normalized


@dataclass(frozen=True, slots=True)
class Totals:
    """What a search must know of a collection beside its record: chunks and their length in
    terms, languages, and whether an index on the vectors is ready."""

    chunks: int = 0
    tokens: int = 0
    languages: Sequence[str] = ()
    indexed: bool = False

    @property
    def average(self) -> float:
        """The mean length of a chunk; 1 when every length is 0, so that it can divide."""
        return self.tokens / self.chunks if self.tokens else 1.0


async def read_record(
    connection: AsyncConnection[Any],
    layout: Layout,
    subject: str,
    collection: str,
    *,
    lock: bool = False,
) -> Record:
    """The record of a collection, an empty one when it is not there; ``lock`` keeps others from
    changing it until the transaction ends."""
    query = layout.fixed(_LOCKED if lock else _COLUMNS)
    cursor = await connection.execute(query, [owner_key(subject, collection)])
    row = await cursor.fetchone()
    if row is None:
        return Record(subject, collection)
    key, endpoint, dimension, model, alpha, analyzer, fields = row
    return Record(
        subject,
        collection,
        key,
        endpoint,
        dimension or None,
        model_of(model),
        alpha,
        analyzer,
        spec_of(fields),
    )


async def read_totals(connection: AsyncConnection[Any], layout: Layout, record: Record) -> Totals:
    """The counts of a collection; zeros when it is not there."""
    if record.key is None:
        return Totals()
    index = layout.table(index_name(record.key)).as_string(connection)
    cursor = await connection.execute(layout.fixed(_TOTALS), {"c": record.key, "index": index})
    row = await cursor.fetchone()
    assert row is not None  # an aggregate always has a row
    return Totals(*row[:-1])


async def read_aliases(
    connection: AsyncConnection[Any], layout: Layout, record: Record
) -> dict[str, str]:
    """Old document ids and what they are called now, both packed."""
    cursor = await connection.execute(
        layout.sql(
            "SELECT a.alias, d.document FROM {aliases} a JOIN {documents} d ON d.key = a.document"
            " WHERE a.collection = %s"
        ),
        [record.key],
    )
    return dict(await cursor.fetchall())


def index_name(key: int) -> str:
    """The index on the vectors of a collection that is large enough to have one."""
    return f"chunks_vectors_{key}"
