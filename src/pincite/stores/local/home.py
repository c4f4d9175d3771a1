"""A store's folder: its database, its lock, its segment files, and the snapshots read so far."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from pincite.errors import InvalidArgument, StoreNotFound, Unconfigured
from pincite.model.fields import full_spec
from pincite.stores.local.collection import CollectionRecord
from pincite.stores.local.database import Database, OutdatedStore, translated
from pincite.stores.local.filesystems import refuse_network
from pincite.stores.local.lock import WriterLock
from pincite.stores.local.parts import is_part_file
from pincite.stores.local.snapshot import Session, Snapshot, load_snapshot

__all__ = ["DATABASE", "LOCK", "SEGMENTS", "Home"]

DATABASE: Final = "store.sqlite3"
LOCK: Final = "writer.lock"
SEGMENTS: Final = "segments"

_SNAPSHOTS: Final = 256


class Home:
    """The folder of a store. Names of subjects and collections never become file names."""

    def __init__(self, path: Path, *, create: bool, read_only: bool, lock_timeout: float) -> None:
        self.path = path
        self.segments = path / SEGMENTS
        self.read_only = read_only
        self.database = Database(path / DATABASE)
        self._lock = WriterLock(path / LOCK, timeout=lock_timeout)
        self._snapshots: OrderedDict[tuple[str, str], Snapshot] = OrderedDict()
        self._guard = threading.Lock()
        self._current = False
        self._prepared = False
        self._swept = False
        with translated(path):
            there = path.exists() and not path.is_dir()
            has_database = self.database.exists()
        if there:
            raise InvalidArgument(f"{path} is a file; a local store is a folder. Name another one.")
        if not has_database and (read_only or not create):
            raise StoreNotFound(
                f"There is no store in {path}; index something there first, or check the path."
            )

    @contextmanager
    def session(self, subject: str, collection: str) -> Iterator[Session]:
        """A consistent view of a collection for the time of the block."""
        if not self.database.exists():
            with closing(sqlite3.connect(":memory:")) as nowhere:  # never asked anything
                yield Session(nowhere, self.segments, _empty(subject, collection))
            return
        with self.database.reading() as connection:
            snapshot = self._snapshot(connection, subject, collection)
            yield Session(connection, self.segments, snapshot)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A read transaction over the whole store, None while there is no database."""
        if not self.database.exists():
            yield None
            return
        with self.database.reading() as connection:
            yield connection

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the writer's lock; makes the folder and sweeps at the first time."""
        self.database.exists()  # refuses a folder that was taken away before it is made anew
        self._make_ready()
        with translated(self.path), self._lock.held():
            if not self.database.exists():
                self.database.create()
            self._sweep()
            try:
                yield
            except BaseException:
                self._swept = False  # a write that failed may have left files
                raise

    def bring_up_to_date(self) -> None:
        """Migrate a store of an older format, so that a writer may look before it locks."""
        if self._current or not self.database.exists():
            return
        try:
            with self.database.reading():
                pass
        except OutdatedStore:
            with self.locked():  # opening the writer's connection migrates
                pass
        self._current = True

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A write transaction under the lock."""
        with self.locked(), self.database.writing() as connection:
            yield connection

    @contextmanager
    def write_session(self, subject: str, collection: str) -> Iterator[Session]:
        """A write transaction over a collection, for the holder of the lock."""
        with self.database.writing() as connection:
            snapshot = self._snapshot(connection, subject, collection)
            yield Session(connection, self.segments, snapshot)

    @property
    def writable(self) -> bool:
        """Whether this process may write here."""
        return not self.read_only and os.access(self.path, os.W_OK)

    @contextmanager
    def untrusted(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A transaction that reads no manifest; to write, for the holder of the lock."""
        with self.database.writing() if write else self.database.reading() as connection:
            yield connection

    def shrink(self) -> None:
        """Give free space back to the disk, for the holder of the lock."""
        with self.database.held() as connection:
            connection.execute("VACUUM")
        self.database.fold_wal()

    def reload(self, session: Session) -> Session:
        """The session as its own transaction has changed the collection so far."""
        record = session.snapshot.collection
        fresh = load_snapshot(session.connection, record.subject, record.name, session.snapshot)
        return replace(session, snapshot=fresh)

    def forget(self, subject: str, collection: str) -> None:
        """Drop what is remembered of a collection."""
        with self._guard:
            self._snapshots.pop((subject, collection), None)

    def close(self) -> None:
        """Release connections and mapped files."""
        with self._guard:
            self._snapshots.clear()
        self.database.close()

    def _snapshot(self, connection: sqlite3.Connection, subject: str, collection: str) -> Snapshot:
        key = (subject, collection)
        with self._guard:
            known = self._snapshots.get(key)
        snapshot = load_snapshot(connection, subject, collection, known)
        if snapshot is not known and snapshot.collection.key is not None:
            with self._guard:
                self._snapshots[key] = snapshot
                self._snapshots.move_to_end(key)
                while len(self._snapshots) > _SNAPSHOTS:
                    self._snapshots.popitem(last=False)
        return snapshot

    def _make_ready(self) -> None:
        if self.read_only:
            raise Unconfigured(
                f"The store {self.path} was opened read-only; open it without read_only to write."
            )
        if self._prepared:
            return
        with translated(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            refuse_network(self.path)
        self._prepared = True

    def _sweep(self) -> None:
        """Remove files that no manifest names; only the holder of the lock may.

        What a merge left is removed by the next write, so that readers had a generation's time.
        """
        with self.database.held() as connection:
            garbage = {name for (name,) in connection.execute("SELECT file FROM garbage")}
            doomed = garbage if self._swept else garbage | self._strays(connection)
            self._swept = True
            gone = [(name,) for name in doomed if self._removed(name)]
            if gone:
                connection.executemany("DELETE FROM garbage WHERE file = ?", gone)

    def _removed(self, name: str) -> bool:
        # A database from elsewhere must not name files of others.
        if not is_part_file(name):
            return True
        try:
            (self.segments / name).unlink(missing_ok=True)
        except PermissionError:  # mapped by a reader, where the system minds
            return False
        return True

    def _strays(self, connection: sqlite3.Connection) -> set[str]:
        """Files of writes that never were committed."""
        if not self.segments.is_dir():
            return set()
        named = {name for (name,) in connection.execute("SELECT file FROM parts WHERE file != ''")}
        files = (entry.name for entry in os.scandir(self.segments) if entry.is_file())
        return {name for name in files if is_part_file(name) and name not in named}


def _empty(subject: str, collection: str) -> Snapshot:
    return Snapshot(
        CollectionRecord(subject, collection, None, 0, "", 0, None, None, "", full_spec({}))
    )
