"""Copies of indexed files, content-addressed, for when the source is not a file that stays."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from pincite.errors import StoreUnavailable

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
        try:
            self._write(path, data)
        except OSError as error:
            raise StoreUnavailable(
                f"{self._folder} cannot be written ({error.strerror}); check the folder."
            ) from error
        return path

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as half:
            half.write(data)
            half.flush()
            os.fsync(half.fileno())
        Path(half.name).replace(path)
