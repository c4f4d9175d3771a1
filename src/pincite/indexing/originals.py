"""Copies of indexed files, content-addressed, for when the source is not a file that stays."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["Originals"]


class Originals:
    """A folder of files named by the SHA-256 hex of their bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, content_hash: str) -> Path:
        """Where the bytes of ``content_hash`` are, or would be."""
        return self._folder / content_hash[:2] / content_hash

    def keep(self, data: bytes) -> Path:
        """Store ``data`` unless it is there; the file appears whole or not at all."""
        path = self.path(hashlib.sha256(data).hexdigest())
        if path.exists():
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f"{path.name}.{os.getpid()}.part")
        with half.open("wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        half.replace(path)
        return path
