"""Files that are there whole or not at all, also after a loss of power."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["sync_folder", "write_file"]


def write_file(folder: Path, name: str, pieces: Sequence[bytes | memoryview]) -> None:
    """Write a file under another name, make it durable, and rename it.

    The new name is durable after ``sync_folder``, which serves any number of files.
    """
    folder.mkdir(exist_ok=True)
    draft = folder / f"{name}.tmp"
    try:
        with draft.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / name)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
