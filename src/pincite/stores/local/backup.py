"""A copy of a store that is whole while others write."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

from pincite.errors import InvalidArgument, StoreCorrupt, StoreNotFound
from pincite.model.documents import Progress
from pincite.stores.local.database import translated
from pincite.stores.local.home import DATABASE, SEGMENTS, Home
from pincite.stores.local.parts import is_part_file

__all__ = ["copy_store"]


def copy_store(home: Home, target: Path, report: Callable[[Progress], None] | None = None) -> None:
    """Copy the store to a folder that is absent or empty.

    The database goes through SQLite's backup, segment files are linked where the file system
    allows it (they never change) and copied elsewhere. Writers wait meanwhile.
    """
    if not home.database.exists():
        raise StoreNotFound(f"There is no store in {home.path}; nothing to back up.")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidArgument(f"{target} is not an empty folder; name another one for the backup.")
    lock = home.locked() if home.writable else nullcontext()
    with lock, translated(target):
        (target / SEGMENTS).mkdir(parents=True, exist_ok=True)
        names = _copy_database(home, target / DATABASE)
        for done, name in enumerate(names, start=1):
            if not is_part_file(name):
                raise StoreCorrupt(f"{home.path} names the file {name!r}; run doctor.")
            _link(home.segments / name, target / SEGMENTS / name)
            if report is not None:
                report(Progress("backup", done, len(names), name))


def _copy_database(home: Home, target: Path) -> list[str]:
    """The names of the segment files that the copy refers to."""
    with home.reading() as source, closing(sqlite3.connect(target)) as copy:
        assert source is not None
        source.backup(copy)
        # A folder that is only read needs no WAL.
        copy.execute("PRAGMA journal_mode = DELETE")
        rows = copy.execute("SELECT file FROM parts WHERE file != ''").fetchall()
    return [name for (name,) in rows]


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
