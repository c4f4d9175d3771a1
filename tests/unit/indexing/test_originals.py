from __future__ import annotations

import hashlib
from pathlib import Path

from pincite.indexing.originals import Originals


def test_bytes_are_kept_once_under_their_hash(tmp_path: Path) -> None:
    originals = Originals(tmp_path / "originals")
    path = originals.keep(b"bytes")

    assert path.name == hashlib.sha256(b"bytes").hexdigest()
    assert path.read_bytes() == b"bytes"
    assert originals.keep(b"bytes") == path
    assert [p for p in (tmp_path / "originals").rglob("*") if p.is_file()] == [path]
