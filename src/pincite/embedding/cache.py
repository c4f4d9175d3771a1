"""Vectors that endpoints gave before, in a file: by model and by the hash of the text."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from pincite.embedding.identity import PROBES, model_identity, same_model
from pincite.embedding.vectors import check_vectors
from pincite.model.documents import ModelIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.embedding.vectors import Vectors

__all__ = ["MOST_BYTES", "CachedModel", "VectorCache"]

MOST_BYTES: Final = 2**30
"""How large the file grows: 250,000 vectors of 1,024 dimensions."""

_APPLICATION_ID: Final = 0x50435645
_FORMAT: Final = 1
_ID_PLACE: Final = slice(68, 72)
_MAGIC: Final = b"SQLite format 3\0"
_KEYS_AT_ONCE: Final = 500
_WAIT_SECONDS: Final = 2.0
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_DAY: Final = 86_400
_TABLES: Final = """
CREATE TABLE models (id INTEGER PRIMARY KEY, identity TEXT NOT NULL);
CREATE TABLE vectors (model INTEGER NOT NULL, text BLOB NOT NULL, day INTEGER NOT NULL,
    checksum INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE UNIQUE INDEX by_text ON vectors (model, text);
"""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class VectorCache:
    """Vectors in a SQLite file that any number of processes share.

    A cache answers or it does not: a file that cannot be read or written is a warning, once, and
    its vectors are computed again. Damage in a file of ours starts it anew; a file that is not ours
    is left alone. Past ``most_bytes`` the vectors go that were not used for longest. It holds
    hashes and vectors, no text. Safe to share between threads.
    """

    def __init__(self, path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> None:
        self.path = Path(os.path.expanduser(path))
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._off = False

    def model(self, identity: ModelIdentity) -> int | None:
        """The number of a model here, None where the cache cannot serve; models are one where
        ``same_model`` says so."""

        def find(connection: sqlite3.Connection) -> int | None:
            for number, held in connection.execute("SELECT id, identity FROM models"):
                if same_model(_identity(held), identity):
                    return int(number)
            # By chance, so that a file that begins anew gives no number a second time.
            number = int.from_bytes(os.urandom(7), "big")
            record = json.dumps(asdict(identity))
            connection.execute("INSERT INTO models (id, identity) VALUES (?, ?)", [number, record])
            return number

        return self._ask(find, None)

    def get(self, model: int, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
        """The vectors that are there, by text."""
        names = {_key(text): text for text in texts}

        def find(connection: sqlite3.Connection) -> dict[str, NDArray[np.float32]]:
            found: dict[str, NDArray[np.float32]] = {}
            keys, today = list(names), _today()
            for first in range(0, len(keys), _KEYS_AT_ONCE):
                some = keys[first : first + _KEYS_AT_ONCE]
                where = f"model = ? AND text IN ({','.join('?' * len(some))})"
                rows = connection.execute(
                    f"SELECT text, day, checksum, vector FROM vectors WHERE {where}",  # noqa: S608 - question marks
                    [model, *some],
                ).fetchall()
                for key, _, checksum, vector in rows:
                    if _checksum(model, key, vector) == checksum:
                        found[names[key]] = _row(vector)
                if any(day != today for _, day, _, _ in rows):
                    connection.execute(
                        f"UPDATE vectors SET day = ? WHERE {where}",  # noqa: S608 - as above
                        [today, model, *some],
                    )
            return found

        return self._ask(find, {})

    def put(self, model: int, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Keep the vectors of texts; all of them are there when it returns, or none."""
        rows = [
            (model, key, _today(), _checksum(model, key, vector), vector)
            for key, vector in zip(
                map(_key, texts), (row.tobytes() for row in vectors), strict=True
            )
        ]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany(
                "INSERT OR REPLACE INTO vectors (model, text, day, checksum, vector)"
                " VALUES (?, ?, ?, ?, ?)",
                rows,
            )
            while _bytes(connection) > self._most_bytes:
                gone = connection.execute(
                    "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors"
                    " ORDER BY day, rowid LIMIT (SELECT count(*) / 10 + 1 FROM vectors))"
                )
                if not gone.rowcount:
                    break

        self._ask(write, None)

    def close(self) -> None:
        """Close the file; a later call opens it again."""
        with self._lock:
            self._close()

    def _ask(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """What a transaction gives; ``otherwise`` where the file cannot serve it."""
        with self._lock:
            for attempt in (1, 2):
                if self._off:
                    break
                try:
                    connection = self._open()
                    with connection:
                        connection.execute("BEGIN IMMEDIATE")
                        return work(connection)
                except (sqlite3.Error, OSError, ValueError, TypeError, KeyError) as error:
                    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY:
                        break  # another process writes: this time without
                    self._failed(error, anew=attempt == 1)
        return otherwise

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    _create(connection)
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _is_ours(self) -> bool:
        """Whether the head of a file that cannot be read says that it was a cache."""
        with self.path.open("rb") as file:
            head = file.read(_ID_PLACE.stop)
        return head.startswith(_MAGIC) and head[_ID_PLACE] == _APPLICATION_ID.to_bytes(4, "big")

    def _failed(self, error: Exception, *, anew: bool) -> None:
        """Begin a damaged file anew, once; else go on without."""
        self._close()
        if anew and not isinstance(error, sqlite3.OperationalError | OSError):
            with suppress(OSError):
                if self._is_ours():
                    for end in ("", "-wal", "-shm"):
                        Path(f"{self.path}{end}").unlink(missing_ok=True)
                    _log.warning(
                        "The cache of embeddings %s cannot be read (%s); it begins anew.",
                        self.path,
                        error,
                    )
                    return
        self._off = True
        _log.warning(
            "The cache of embeddings %s cannot be used (%s); this process goes on without it."
            " Check the file, or name another.",
            self.path,
            error,
        )

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None


class CachedModel:
    """An endpoint's vectors through a cache, without saying how the endpoint is called.

    The first step of a process asks the endpoint for the vectors of three fixed sentences, which
    tell its model: an endpoint that has got another one finds nothing of before.
    """

    def __init__(
        self, cache: VectorCache, name: str, prefixes: tuple[str, str], *, batch: int
    ) -> None:
        self._cache = cache
        self._name = name
        self._prefixes = prefixes
        self._batch = batch
        self._model: int | None = None
        self._probed: NDArray[np.float32] | None = None

    def vectors(
        self, texts: Sequence[str]
    ) -> Generator[list[str], NDArray[np.float32], NDArray[np.float32]]:
        """Yields texts, is sent their vectors, and returns those of ``texts``, a row for each.

        What an endpoint was asked for is kept batch by batch, before the next is asked for.
        """
        probes = [self._prefixes[1] + probe for probe in PROBES]
        if self._probed is None:
            self._probed = yield probes
        if list(texts) == probes:
            return self._probed
        if self._model is None:
            identity = model_identity(self._name, self._prefixes, self._probed)
            self._model = self._cache.model(identity)
        wanted = list(dict.fromkeys(texts))
        found = {} if self._model is None else self._cache.get(self._model, wanted)
        missing = [text for text in wanted if text not in found]
        for first in range(0, len(missing), self._batch):
            some = missing[first : first + self._batch]
            rows = yield some
            if self._model is not None:
                self._cache.put(self._model, some, rows)
            found.update(zip(some, rows, strict=True))
        return check_vectors(cast("Vectors", [found[text] for text in texts]), len(texts))


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file; refuse one that is not ours."""
    tables, owner, version = (
        int(connection.execute(question).fetchone()[0])
        for question in (
            "SELECT count(*) FROM sqlite_master",
            "PRAGMA application_id",
            "PRAGMA user_version",
        )
    )
    if (owner or tables) and owner != _APPLICATION_ID:
        raise OSError("it is no cache of embeddings")
    if owner and version != _FORMAT:
        raise sqlite3.DatabaseError(f"its format is {version}, not {_FORMAT}")
    if not owner:
        for statement in _TABLES.split(";")[:-1]:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {_FORMAT}")


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _checksum(model: int, key: bytes, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(key, model & 0xFFFFFFFF))


def _row(vector: bytes) -> NDArray[np.float32]:
    import numpy as np

    return np.frombuffer(vector, dtype=np.float32)


def _identity(held: str) -> ModelIdentity:
    record = json.loads(held)
    return ModelIdentity(**{**record, "probe": tuple(map(tuple, record["probe"]))})


def _today() -> int:
    return int(time.time()) // _DAY


def _bytes(connection: sqlite3.Connection) -> int:
    """How large the file is, without what is free in it."""
    size, pages, free = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count")
    )
    return size * (pages - free)
