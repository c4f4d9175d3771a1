"""Vectors that were lost: embedded again from the stored texts, or marked for the next indexing.

A document whose vectors are gone keeps zeros in their place, a digest that no document has, and no
content hash, so that nothing takes it for unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pincite.errors import EmbeddingError, PinciteError
from pincite.model.documents import ModelIdentity
from pincite.stores.findings import Finding
from pincite.stores.local.edit import Edit, NewRows
from pincite.stores.local.seals import seal
from pincite.stores.local.snapshot import Session
from pincite.stores.local.texts import chunks_by_key, indexed_terms, indexed_texts
from pincite.stores.prepare import stored_vectors

__all__ = ["LOST", "Embed", "append_anew", "check_lost", "revive"]

LOST: Final = b"\x00"
"""The digest of a document that has lost vectors."""

Embed = Callable[[str, ModelIdentity | None, list[str]], NDArray[np.float32]]
"""The vectors of passages, one row each, by the collection's endpoint and model.

Raises ``PinciteError`` when that model cannot be used.
"""

_NO_MODEL: Final = "index their documents again"
_BATCH: Final = 1024
_MARKED: Final = (
    "SELECT id, document, first_chunk, chunks FROM documents"
    " WHERE collection = ? AND digest = ? ORDER BY document"
)


def revive(
    edit: Edit, keys: Sequence[int], embed: Embed | None
) -> tuple[NDArray[np.float16], str, bool]:
    """Vectors for the chunks of the given keys, what was done about them, and whether they are
    whole again; without a model they are zeros, and their documents are marked."""
    vectors = np.zeros((len(keys), edit.record.dimension), dtype=np.float16)
    texts = indexed_texts(edit.connection, keys)
    problem = _NO_MODEL if embed is None else _fill(edit, vectors, texts, embed)
    if not problem:
        return vectors, f"{sum(t is not None for t in texts)} texts were embedded again", True
    _mark(edit, keys)
    return vectors, problem, False


def _fill(
    edit: Edit, vectors: NDArray[np.float16], texts: Sequence[str | None], embed: Embed
) -> str:
    """Embed the texts into their rows; what stood in the way."""
    record = edit.record
    places = [place for place, text in enumerate(texts) if text is not None]
    try:
        for start in range(0, len(places), _BATCH):
            batch = places[start : start + _BATCH]
            made = embed(record.endpoint, record.model, [texts[place] or "" for place in batch])
            if made.shape != (len(batch), record.dimension):
                raise EmbeddingError(
                    f"the model gave vectors of shape {made.shape}, not of "
                    f"{record.dimension} dimensions"
                )
            vectors[batch] = stored_vectors(made, normalized=record.normalized)
    except (PinciteError, OSError) as error:
        vectors[:] = 0
        return f"embedding them again failed ({error}); {_NO_MODEL}"
    return ""


def append_anew(edit: Edit, keys: Sequence[int], embed: Embed | None) -> tuple[str, bool]:
    """Write the rows of chunks that no segment holds; what was done about their vectors."""
    record = edit.record
    vectors, done, whole = revive(edit, keys, embed)
    chunks = chunks_by_key(edit.connection, keys, subject=record.subject, collection=record.name)
    edit.append(NewRows(chunks, keys, vectors, indexed_terms(edit.connection, keys)))
    return done, whole


def check_lost(session: Session, edit: Edit | None, embed: Embed | None) -> list[Finding]:
    """Documents that an earlier repair has left without vectors."""
    marked = session.connection.execute(_MARKED, (session.snapshot.collection.key, LOST)).fetchall()
    findings = []
    for key, name, first, count in marked:
        done, whole = _NO_MODEL, False
        if edit is not None:
            done, whole = _renew(edit, key, range(first, first + count), embed)
        problem = f"Some of its {count} chunks have lost their vectors; {done}."
        findings.append(Finding(f"document {name!r}", problem, whole))
    return findings


def _renew(edit: Edit, key: int, keys: range, embed: Embed | None) -> tuple[str, bool]:
    if embed is None:
        return _NO_MODEL, False
    edit.kill(keys.start, len(keys))
    done, whole = append_anew(edit, keys, embed)
    if whole:
        edit.connection.execute("UPDATE documents SET digest = x'' WHERE id = ?", (key,))
    return done, whole


def _mark(edit: Edit, keys: Sequence[int]) -> None:
    owners = {
        edit.connection.execute("SELECT document FROM chunks WHERE id = ?", (key,)).fetchone()
        for key in keys
    }
    for owner in sorted(owner[0] for owner in owners if owner is not None):
        edit.connection.execute(
            "UPDATE documents SET content_hash = '', digest = ? WHERE id = ?", (LOST, owner)
        )
        seal(edit.connection, owner)
