"""The names of the tables, quoted, for every statement of the store."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, LiteralString

from psycopg import sql

__all__ = ["TABLES", "Layout", "PgTable"]

TABLES: Final = (
    "meta",
    "collections",
    "documents",
    "aliases",
    "geometry",
    "chunks",
    "segments",
    "postings",
    "gone",
    "totals",
)


@dataclass(frozen=True, slots=True)
class PgTable:
    """The table of the chunks: its quoted name and its columns.

    ``metadata`` is a JSON object with text, title, pages, character offsets and rectangles;
    ``id`` is ``<document>-<chunk_index>``; ``vector`` is a ``halfvec``.
    """

    name: sql.Identifier
    id: str = "id"
    metadata: str = "metadata"
    fields: str = "fields"
    vector: str = "embedding"


@dataclass(frozen=True, slots=True)
class Layout:
    """The store's schema, and the schema that the pgvector extension lives in."""

    schema: str
    vectors: str = "public"

    def table(self, name: str) -> sql.Identifier:
        """The qualified, quoted name of a table."""
        return sql.Identifier(self.schema, name)

    def sql(self, template: LiteralString, **parts: Any) -> sql.Composed:
        """A statement: ``{chunks}`` and the other tables, ``{v}`` the schema of pgvector's types,
        ``{schema}``, and the ``parts`` given."""
        return sql.SQL(template).format(**_names(self), **parts)

    def lock(self, owner: bytes, purpose: str) -> int:
        """The number of an advisory lock of a collection, given its ``owner_key``."""
        held = b"\0".join([self.schema.encode(), owner, purpose.encode()])
        digest = hashlib.blake2b(held, digest_size=8).digest()
        return int.from_bytes(digest, "little", signed=True)

    def fixed(self, template: LiteralString) -> bytes:
        """``sql`` without parts, made once."""
        return _fixed(self, template)


@lru_cache(maxsize=64)
def _names(layout: Layout) -> dict[str, sql.SQL]:
    """The names as they are written, so that they are quoted once."""
    tables = {name: layout.table(name) for name in TABLES}
    names = {**tables, "v": sql.Identifier(layout.vectors), "schema": sql.Identifier(layout.schema)}
    return {name: sql.SQL(quoted.as_string()) for name, quoted in names.items()}


@lru_cache(maxsize=1024)
def _fixed(layout: Layout, template: LiteralString) -> bytes:
    return layout.sql(template).as_bytes()
