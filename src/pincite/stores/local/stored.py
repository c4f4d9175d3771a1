"""Documents as they are stored, to be written elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreNotFound, StoreUnavailable
from pincite.model.documents import EmbeddedDocument
from pincite.stores.codec import geometry_of, given_chunk, value_of
from pincite.stores.local.home import Home
from pincite.stores.local.snapshot import Session

__all__ = ["stored_documents"]

_ATTEMPTS: Final = 8
_DOCUMENTS: Final = (
    "SELECT d.document, title, source, content_hash, fingerprint, language, metadata, first_chunk,"
    " chunks, data FROM documents d LEFT JOIN geometry g ON g.document = d.id"
    " WHERE collection = ? ORDER BY d.document"
)
_CHUNKS: Final = (
    "SELECT chunk_index, start_char, end_char, content, embed_text, context_header, extra"
    " FROM chunks WHERE id >= ? AND id < ? ORDER BY id"
)


def stored_documents(home: Home, subject: str, collection: str) -> Iterator[EmbeddedDocument]:
    """Every document of the collection in one committed state, ordered by id.

    Raises ``StoreCorrupt`` for rows and vectors that contradict each other.
    """
    for _ in range(_ATTEMPTS):
        with home.session(subject, collection) as session:
            if session.snapshot.collection.key is None:
                return
            try:
                # A merge may take a file away; one that is open stays.
                session.vectors()
                [segment.rows(session) for segment in session.snapshot.segments]
            except StoreNotFound:
                home.forget(subject, collection)
                continue
            yield from _documents(session)
            return
    raise StoreUnavailable(
        f"Files of {home.path} are missing; run `pincite doctor --repair`, then export again."
    )


def _documents(session: Session) -> Iterator[EmbeddedDocument]:
    record = session.snapshot.collection
    for name, *about, metadata, first, count, geometry in session.connection.execute(
        _DOCUMENTS, (record.key,)
    ):
        title, source, content_hash, fingerprint, language = about
        rows = session.connection.execute(_CHUNKS, (first, first + count))
        held = [given_chunk(row) for row in rows]
        own = [metadata_ for _, metadata_ in held]
        yield EmbeddedDocument(
            document=name,
            title=title,
            chunks=[chunk for chunk, _ in held],
            vectors=_vectors(session, first, count),
            endpoint=record.endpoint,
            source=source,
            content_hash=content_hash,
            fingerprint=fingerprint,
            language=language,
            model=record.model,
            metadata=value_of(metadata),
            chunk_metadata=own if any(own) else (),
            geometry=None if geometry is None else geometry_of(geometry, f"geometry of {name!r}"),
        )


def _vectors(session: Session, first: int, count: int) -> NDArray[Any]:
    parts = session.find(first, count, lambda segment: segment.mask)
    return np.concatenate([segment.vectors(session)[rows] for segment, rows in parts])
