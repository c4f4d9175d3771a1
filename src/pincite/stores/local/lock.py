"""One writer at a time, across threads and processes.

The lock is the operating system's, on ``writer.lock``: it is free when its holder dies. The file's
text names the last holder.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pincite.errors import InvalidArgument, StoreLocked

__all__ = ["WriterLock", "lock_patience"]

_PATIENCE: Final = 10.0
_VARIABLE: Final = "PINCITE_LOCK_TIMEOUT"
_SHORTEST_WAIT: Final = 0.002
_LONGEST_WAIT: Final = 0.05


def lock_patience(seconds: float | None = None) -> float:
    """How long a writer waits for another one: ``seconds``, else the environment, else 10."""
    given = seconds if seconds is not None else os.environ.get(_VARIABLE, _PATIENCE)
    try:
        patience = float(given)
    except (TypeError, ValueError):
        patience = -1.0
    if not 0 <= patience < threading.TIMEOUT_MAX:
        raise InvalidArgument(
            f"{given!r} is no time to wait for another writer; give seconds, 0 or more "
            f"(lock_timeout, {_VARIABLE})."
        )
    return patience


class WriterLock:
    """The writer's lock of one store; waits up to ``timeout`` seconds for another writer."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._threads = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock; ``StoreLocked`` names the holder when the wait was in vain."""
        deadline = time.monotonic() + self._timeout
        if not self._threads.acquire(timeout=self._timeout):
            raise self._locked()
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self._wait(descriptor, deadline)
                _sign(descriptor)
                yield
            finally:
                os.close(descriptor)
        finally:
            self._threads.release()

    def _wait(self, descriptor: int, deadline: float) -> None:
        pause = _SHORTEST_WAIT
        while not _try_lock(descriptor):
            if time.monotonic() + pause > deadline:
                raise self._locked()
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)

    def _locked(self) -> StoreLocked:
        return StoreLocked(
            f"The store {self._path.parent} is being written by {_holder(self._path)}; waited "
            f"{self._timeout:g} s. Wait for it to finish, or set {_VARIABLE} to more seconds."
        )


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        return _try_lock_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import importlib

    msvcrt = importlib.import_module("msvcrt")
    try:
        # A byte far behind the text, so that others can read who holds the lock.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def _sign(descriptor: int) -> None:
    import socket  # only writers pay for it

    since = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"pid": os.getpid(), "host": socket.gethostname(), "since": since}
    text = json.dumps(record).encode()
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text)
    os.ftruncate(descriptor, len(text))


def _holder(path: Path) -> str:
    try:
        record = json.loads(path.read_text("utf-8"))
        return f"process {record['pid']} on {record['host']} since {record['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
