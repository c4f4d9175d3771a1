"""Chunks as rows of the table, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from psycopg import sql

from pincite.model.geometry import BboxRect, TableSpan
from pincite.model.hits import Chunk
from pincite.stores.codec import ChunkRow, clean_text, metadata_text, value_of
from pincite.stores.postgres.packing import unpack

__all__ = ["CHUNK_COLUMNS", "chunk_from_row", "halfvec_bytes", "halfvec_rows", "row_texts"]

CHUNK_COLUMNS: Final = sql.SQL(
    "d.document, d.title, d.source, d.language, d.metadata, c.chunk_index, c.metadata, c.own"
)
"""What ``chunk_from_row`` reads, of chunks ``c`` joined with documents ``d``."""


def row_texts(row: ChunkRow, title: str, owner: str) -> tuple[str, str]:
    """The columns ``metadata`` (JSON, as the page says, and what else a chunk holds) and ``own``
    (the metadata of this chunk alone)."""
    _, start, end, content, embedded, header, extra_text = row
    extra = value_of(extra_text)
    own = extra.pop("metadata", {})
    held = {
        "text": content,
        "title": clean_text(title),
        "pages": [],
        "start_char": start,
        "end_char": end,
        "bboxes": [],
        **extra,
    }
    if embedded:
        held["embed_text"] = embedded
    if header:
        held["context_header"] = header
    return json.dumps(held), metadata_text(own, owner) if own else ""


def chunk_from_row(row: Sequence[Any], *, subject: str, collection: str) -> Chunk:
    """A chunk from ``CHUNK_COLUMNS``; every call gives mappings and lists of its own."""
    document, title, source, language, metadata, index, held, own = row
    return Chunk(
        content=held["text"],
        document=unpack(document),
        collection=collection,
        subject=subject,
        title=unpack(title),
        source=unpack(source),
        context_header=held.get("context_header", ""),
        chunk_index=index,
        start_char=held["start_char"],
        end_char=held["end_char"],
        pages=tuple(held["pages"]),
        bboxes=tuple(BboxRect(*values) for values in held["bboxes"]),
        tables=tuple(TableSpan(*values) for values in held.get("tables", ())),
        language=language,
        metadata={**value_of(metadata), **(value_of(own) if own else {})},
    )


def halfvec_bytes(vectors: NDArray[np.float16]) -> list[bytes]:
    """Rows (n, d) in the binary form of pgvector's ``halfvec``."""
    dimension = vectors.shape[1]
    head = np.array([dimension, 0], dtype=">u2").tobytes()
    return [head + row.tobytes() for row in vectors.astype(">f2")]


def halfvec_rows(values: Sequence[bytes]) -> NDArray[Any]:
    """What ``halfvec_bytes`` wrote, float16 of shape (n, d)."""
    rows = [np.frombuffer(value, dtype=">f2", offset=4) for value in values]
    return np.array(rows, dtype=np.float16)
