"""The tables of ``store.sqlite3`` and the versions of the format.

``segments`` and ``parts`` are the manifest: a commit publishes rows and both legs at once, since
they change in one transaction. ``garbage`` names files that no manifest refers to any more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pincite.errors import StoreCorrupt

__all__ = ["APPLICATION_ID", "FORMAT", "MIGRATIONS", "check_format", "create_tables", "migrate"]

APPLICATION_ID: Final = 0x50_6E_43_74  # "PnCt"
FORMAT: Final = 1

MIGRATIONS: Final[Mapping[int, Callable[[sqlite3.Connection], None]]] = {}
"""From a format to the next one; the writer's first transaction runs them in order."""

_TABLES: Final = """
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters VALUES ('chunk', 1), ('segment', 1);

CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    subject TEXT NOT NULL,
    name TEXT NOT NULL,
    generation INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    model TEXT NOT NULL,
    alpha REAL,
    analyzer_version INTEGER NOT NULL,
    analyzer TEXT NOT NULL,
    fields TEXT NOT NULL,
    UNIQUE (subject, name)
) STRICT;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections (id),
    document TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    language TEXT NOT NULL,
    metadata TEXT NOT NULL,
    digest BLOB NOT NULL,
    seal INTEGER NOT NULL DEFAULT 0,
    first_chunk INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    UNIQUE (collection, document)
) STRICT;

CREATE TABLE languages (
    collection INTEGER NOT NULL,
    language TEXT NOT NULL,
    documents INTEGER NOT NULL,
    PRIMARY KEY (collection, language)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER document_in AFTER INSERT ON documents BEGIN
    INSERT INTO languages VALUES (new.collection, new.language, 1)
    ON CONFLICT DO UPDATE SET documents = documents + 1; END;
CREATE TRIGGER document_out AFTER DELETE ON documents BEGIN
    UPDATE languages SET documents = documents - 1
    WHERE collection = old.collection AND language = old.language; END;
CREATE TRIGGER language_out AFTER UPDATE OF language ON documents BEGIN
    UPDATE languages SET documents = documents - 1
    WHERE collection = old.collection AND language = old.language; END;
CREATE TRIGGER language_in AFTER UPDATE OF language ON documents BEGIN
    INSERT INTO languages VALUES (new.collection, new.language, 1)
    ON CONFLICT DO UPDATE SET documents = documents + 1; END;

CREATE TABLE geometry (
    document INTEGER PRIMARY KEY REFERENCES documents (id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT;

CREATE TABLE aliases (
    collection INTEGER NOT NULL REFERENCES collections (id),
    alias TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    PRIMARY KEY (collection, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_document ON aliases (document);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    chunk_index INTEGER NOT NULL,
    start_char INTEGER NOT NULL,
    end_char INTEGER NOT NULL,
    content TEXT NOT NULL,
    embed_text TEXT NOT NULL,
    context_header TEXT NOT NULL,
    extra TEXT NOT NULL
) STRICT;

CREATE TABLE segments (
    number INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections (id),
    rows INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    first_chunk INTEGER NOT NULL,
    last_chunk INTEGER NOT NULL,
    tombstones BLOB NOT NULL
) STRICT;
CREATE INDEX segments_collection ON segments (collection);

CREATE TABLE parts (
    segment INTEGER NOT NULL REFERENCES segments (number) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    stamp INTEGER NOT NULL,
    size INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    file TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (segment, kind)
) STRICT;

CREATE TABLE garbage (
    file TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
"""


def create_tables(connection: sqlite3.Connection) -> None:
    """Lay out an empty database, in the transaction that is open."""
    for statement in _TABLES.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def check_format(connection: sqlite3.Connection, path: Path) -> int:
    """The format of the database.

    Raises ``StoreCorrupt`` for an empty database, another program's, and for a newer format.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == 0 and version == 0 and not _has_tables(connection):
        raise StoreCorrupt(f"{path} is empty. Restore a backup, or remove it and index again.")
    if application != APPLICATION_ID:
        raise StoreCorrupt(f"{path} is no Pincite store; choose another folder.")
    if version > FORMAT:
        raise StoreCorrupt(
            f"{path} has format {version}, newer than {FORMAT}; open it with a newer Pincite."
        )
    return version


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Bring the database from ``version`` to ``FORMAT``, in the transaction that is open."""
    for step in range(version, FORMAT):
        if step not in MIGRATIONS:
            raise StoreCorrupt(
                f"There is no way from format {step} to {FORMAT}; restore a backup, or index the "
                "documents again in a new folder."
            )
        MIGRATIONS[step](connection)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
