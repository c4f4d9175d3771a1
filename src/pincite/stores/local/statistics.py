"""What a collection counts: documents, chunks, terms, bytes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from pincite.bm25.segment import KeywordSegment
from pincite.segments.kernels import kernels_in_use
from pincite.stores.local.snapshot import Mask, Session

__all__ = ["collection_stats"]


def collection_stats(session: Session) -> dict[str, Any]:
    """Counts of the live rows; ``vocabulary`` are the terms that a live row holds."""
    snapshot = session.snapshot
    record = snapshot.collection
    keyword = session.keyword()
    rows, total = keyword.statistics.rows, keyword.statistics.length
    parts = [part for s in snapshot.segments for part in s.record.parts.values()]
    return {
        "documents": _documents(session),
        "chunks": rows,
        "vocabulary": _vocabulary(keyword.segments, keyword.live),
        "total_tokens": total,
        "average_length": total / rows if rows else 0.0,
        "dimension": record.stored_dimension,
        "endpoint": record.endpoint or None,
        "languages": [code for code in snapshot.languages if code],
        "segments": len(snapshot.segments),
        "deleted_rows": sum(s.record.dead for s in snapshot.segments),
        "index_bytes": sum(part.size for part in parts),
        "store_bytes": _store_bytes(session),
        "generation": record.generation,
        "kernels": kernels_in_use(),
    }


def _documents(session: Session) -> int:
    key = session.snapshot.collection.key
    if key is None:
        return 0
    (count,) = session.connection.execute(
        "SELECT count(*) FROM documents WHERE collection = ?", (key,)
    ).fetchone()
    return int(count)


def _vocabulary(segments: Sequence[KeywordSegment], live: Sequence[Mask | None]) -> int:
    terms: set[str] = set()
    for segment, mask in zip(segments, live, strict=True):
        if mask is None:
            terms.update(segment.terms())
            continue
        numbers, rows, _ = segment.inverted()
        used = np.zeros(segment.vocabulary_size, dtype=np.bool_)
        used[numbers[mask[rows]]] = True
        terms.update(t for t, held in zip(segment.terms(), used.tolist(), strict=True) if held)
    return len(terms)


def _store_bytes(session: Session) -> int:
    folder = session.folder.parent
    if not folder.is_dir():
        return 0
    size = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # swept meanwhile
            size += path.stat().st_size if path.is_file() else 0
    return size
