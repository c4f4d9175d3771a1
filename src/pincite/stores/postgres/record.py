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

__all__ = ["Record", "Totals", "index_name", "read_aliases", "read_record", "read_view"]

_COLUMNS: Final[LiteralString] = (
    "SELECT key, endpoint, dimension, model, alpha, analyzer, fields FROM {collections}"
    " WHERE owner = %s"
)

_LOCKED: Final[LiteralString] = _COLUMNS + " FOR UPDATE"

# One statement, since each costs a round trip. The distinct languages are found by their index,
# one step for each, however many documents there are. Compiling a plan would take longer than
# running it, so what follows does without.
_VIEW: Final[LiteralString] = """
WITH RECURSIVE own AS MATERIALIZED (
    SELECT key, endpoint, dimension, model, alpha, analyzer, fields FROM {collections}
    WHERE owner = %(owner)s),
spoken AS (
    (SELECT language FROM {documents} WHERE collection = (SELECT key FROM own)
        ORDER BY language LIMIT 1)
    UNION ALL
    SELECT (SELECT d.language FROM {documents} d WHERE d.collection = (SELECT key FROM own)
        AND d.language > s.language ORDER BY d.language LIMIT 1)
    FROM spoken s WHERE s.language IS NOT NULL)
SELECT set_config('jit', 'off', true), t.chunks, t.tokens,
    ARRAY(SELECT language FROM spoken WHERE language IS NOT NULL),
    EXISTS (SELECT FROM pg_index WHERE indisvalid
        AND indexrelid = to_regclass(%(index)s || own.key || '"')),
    own.*
FROM own CROSS JOIN LATERAL (
    SELECT coalesce(sum(chunks), 0)::bigint AS chunks, coalesce(sum(tokens), 0)::bigint AS tokens
    FROM {totals} WHERE collection = own.key) t"""


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
    return Record(subject, collection) if row is None else _record(subject, collection, row)


async def read_view(
    connection: AsyncConnection[Any], layout: Layout, subject: str, collection: str
) -> tuple[Record, Totals]:
    """The record of a collection and its counts; empty and zeros when it is not there."""
    index = layout.table(index_name("")).as_string(connection)[:-1]
    cursor = await connection.execute(
        layout.fixed(_VIEW), {"owner": owner_key(subject, collection), "index": index}
    )
    row = await cursor.fetchone()
    if row is None:
        return Record(subject, collection), Totals()
    _, chunks, tokens, languages, indexed, *columns = row
    totals = Totals(chunks, tokens, languages, indexed)
    return _record(subject, collection, columns), totals


def _record(subject: str, collection: str, row: Sequence[Any]) -> Record:
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


def index_name(key: int | str) -> str:
    """The index on the vectors of a collection that is large enough to have one."""
    return f"chunks_vectors_{key}"
