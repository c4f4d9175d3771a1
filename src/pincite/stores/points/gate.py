"""Readers and writers of one store in this process: many readers at a time, or one writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Gate"]


class Gate:
    """``reading`` may be held by many threads, by one when not ``parallel``; ``writing`` by one
    alone. A waiting writer goes first. Neither can be entered twice by one thread."""

    def __init__(self, *, parallel: bool) -> None:
        self._parallel = parallel
        self._changed = threading.Condition()
        self._readers = 0
        self._waiting = 0
        self._writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold off writers."""
        with self._changed:
            self._changed.wait_for(self._may_read)
            self._readers += 1
        try:
            yield
        finally:
            with self._changed:
                self._readers -= 1
                self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold off everyone."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._writing and not self._readers)
            finally:
                self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._changed:
                self._writing = False
                self._changed.notify_all()

    def _may_read(self) -> bool:
        if self._writing or self._waiting:
            return False
        return self._parallel or not self._readers
