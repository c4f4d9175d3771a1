"""Reading points back: rows, vectors, whole documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import StoreCorrupt
from pincite.stores.points.backend import Backend, Held
from pincite.stores.points.records import Document, Head
from pincite.stores.points.rows import Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["held_rows", "stored_vector", "whole_rows"]


def held_rows(
    backend: Backend, head: Head, ids: Sequence[str], *, vectors: bool
) -> Iterator[tuple[Row, Held]]:
    """The points that are there, decoded, in the order of ``ids``."""
    for start in range(0, len(ids), backend.batch):
        some = ids[start : start + backend.batch]
        found = backend.get(head.space, some, vectors=vectors)
        for name in some:
            if name in found:
                yield Row.read(found[name].row, backend.place), found[name]


def whole_rows(backend: Backend, head: Head, document: Document) -> list[tuple[Row, Held]]:
    """Every point of a document with its vector, in chunk order; ``StoreCorrupt`` otherwise."""
    ids = document.points(head)
    found = list(held_rows(backend, head, ids, vectors=True))
    if len(found) < len(ids):
        raise StoreCorrupt(
            f"Chunks of document {document.document!r} are missing in {backend.place};"
            " run doctor with repair, and index it again."
        )
    return found


def stored_vector(held: Held) -> NDArray[np.float16]:
    """A vector as it was written: a database that keeps float32 may have added noise to it."""
    assert held.vector is not None
    return held.vector.astype(np.float16)
