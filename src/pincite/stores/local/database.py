"""Connections to ``store.sqlite3``: one for the writer, a pool for readers, errors translated."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pincite.errors import InvalidArgument, StoreCorrupt, StoreLocked, StoreUnavailable
from pincite.segments.durable import sync_folder
from pincite.stores.local.schema import FORMAT, check_format, create_tables, migrate

__all__ = ["Database", "OutdatedStore", "translated"]

_BUSY_MS: Final = 30_000
_PATIENCE_MS: Final = 1_000
_WAL_BYTES: Final = 64 << 20
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise SQLite's and the operating system's errors as ours, naming ``path``."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreCorrupt(
            f"{path} holds text that is damaged ({error}); run `pincite doctor --repair`."
        ) from error
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"{error.object!r} holds half of a surrogate pair, which no stored name does; "
            "pass whole characters."
        ) from error
    except OSError as error:
        if error.errno in _FULL:
            raise _full(path) from error
        if error.errno in (errno.ENAMETOOLONG, errno.ENOTDIR):
            raise InvalidArgument(
                f"{path} cannot be a folder ({error.strerror}); choose another place."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StoreUnavailable(
                f"{path} cannot be used: {error}. Check the permissions of the folder."
            ) from error
        raise


def _translate(error: sqlite3.Error, path: Path) -> Exception:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLocked(
            f"{path} is held by another program; close it, or try again in a moment."
        )
    if name.startswith("SQLITE_FULL"):
        return _full(path)
    if name.startswith("SQLITE_TOOBIG") or isinstance(error, sqlite3.DataError):
        return InvalidArgument(f"A value is too large for {path}: {error}. Split the document.")
    if name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_NOMEM")):
        return StoreUnavailable(
            f"{path} cannot be used: {error}. Check the disk and the permissions of the folder."
        )
    if str(error).startswith(("no such column", "no such table", "table ")):
        return StoreCorrupt(
            f"{path} was laid out by another version of Pincite ({error}); export it with that "
            "version and import it here, or index the documents again in a new folder."
        )
    return StoreCorrupt(
        f"{path} is damaged: {error}. Restore a backup, or index the documents again in a new "
        "folder."
    )


def _full(path: Path) -> StoreUnavailable:
    return StoreUnavailable(
        f"The disk of {path} is full; nothing of this write was kept and the last version is "
        "intact. Free some space and write again."
    )


class OutdatedStore(StoreCorrupt):
    """The database has an older format, which a writer brings up to date."""


class Database:
    """The SQLite file of a store.

    ``reading`` gives a connection inside one read transaction, so that all its statements see one
    version; ``writing`` one inside a write transaction, for the holder of the writer's lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._identity: tuple[int, int] | None = None
        self._idle: list[sqlite3.Connection] = []
        self._writer: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._process = os.getpid()

    def exists(self) -> bool:
        """Whether the file is there.

        Raises ``StoreUnavailable`` when it was there and is no more, or is another one: what was
        written to the connections that are open would be lost.
        """
        try:
            found = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            seen = None
        else:
            seen = (found.st_dev, found.st_ino)
        if self._identity is not None and seen != self._identity:
            raise StoreUnavailable(
                f"{self.path.parent} was moved, deleted or replaced while it was open; "
                "open the store again where it is now."
            )
        self._identity = seen
        return seen is not None

    def create(self) -> None:
        """Lay out an empty database, for the holder of the lock; others see it whole or not at
        all."""
        draft = self.path.with_name(self.path.name + ".new")
        with translated(self.path):
            for stale in (draft, draft.with_name(draft.name + "-journal")):
                stale.unlink(missing_ok=True)
            with closing(_connect(draft, "mode=rwc")) as connection:
                connection.execute("BEGIN")
                create_tables(connection)
                connection.execute("COMMIT")
                connection.execute("PRAGMA journal_mode = WAL")
            draft.replace(self.path)
            sync_folder(self.path.parent)
            sync_folder(self.path.parent.parent)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that reads one version; nothing is ever written through it."""
        with translated(self.path):
            connection = self._take()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                self._give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction: committed at the end, rolled back on an error."""
        with translated(self.path):
            connection = self._writing_connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def held(self) -> Iterator[sqlite3.Connection]:
        """The writer's connection outside of a transaction."""
        with translated(self.path):
            yield self._writing_connection()

    def fold_wal(self) -> None:
        """Empty the WAL into the database, unless readers need it for more than a second."""
        with self.held() as connection:
            connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")

    def close(self) -> None:
        """Close every connection; the last one folds the WAL into the database."""
        with self._lock:
            own = self._process == os.getpid()
            connections = [*self._idle, *([self._writer] if self._writer else [])]
            self._idle, self._writer = [], None
        for connection in connections if own else []:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            self._after_fork()
            if self._idle:
                return self._idle.pop()
        return self._open_reader()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def _after_fork(self) -> None:
        """A child must not use its parent's connections, nor close them."""
        if self._process != os.getpid():
            _ABANDONED.extend([*self._idle, *([self._writer] if self._writer else [])])
            self._idle, self._writer, self._process = [], None, os.getpid()

    def _open_reader(self) -> sqlite3.Connection:
        try:
            return self._reader("mode=ro")
        except sqlite3.OperationalError:
            if os.access(self.path.parent, os.W_OK):
                raise
        wal = self.path.with_name(self.path.name + "-wal")
        if wal.exists() and wal.stat().st_size:
            raise StoreUnavailable(
                f"{self.path.parent} is not writable and its last commits are still in "
                f"{wal.name}; open it once where it is writable, then copy it again."
            )
        return self._reader("immutable=1")

    def _reader(self, mode: str) -> sqlite3.Connection:
        connection = _connect(self.path, mode)
        try:
            connection.execute("PRAGMA query_only = 1")
            version = check_format(connection, self.path)
            if version != FORMAT:
                raise OutdatedStore(
                    f"{self.path} has format {version}, older than {FORMAT}; reading never changes "
                    "a store. Run `pincite doctor --repair`, or write to it once, to bring it up "
                    "to date."
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _writing_connection(self) -> sqlite3.Connection:
        with self._lock:
            self._after_fork()
            if self._writer is None:
                self._writer = self._open_writer()
            return self._writer

    def _open_writer(self) -> sqlite3.Connection:
        connection = _connect(self.path, "mode=rw")
        try:
            version = check_format(connection, self.path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
            if version != FORMAT:
                _bring_up_to_date(connection, version)
        except BaseException:
            connection.close()
            raise
        return connection


def _bring_up_to_date(connection: sqlite3.Connection, version: int) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        migrate(connection, version)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


_ABANDONED: list[sqlite3.Connection] = []
"""Connections of a parent process: closing them here would drop the parent's file locks."""


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?{mode}",
        uri=True,
        timeout=_BUSY_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    # Nothing that a database from elsewhere brings along may call functions.
    connection.execute("PRAGMA trusted_schema = 0")
    return connection
