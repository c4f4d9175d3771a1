"""A document made ready for the tables before the writer's lock is taken."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pincite.dense.search import normalize_rows
from pincite.errors import EmbeddingError
from pincite.stores.checks import check_document
from pincite.stores.codec import (
    ChunkRow,
    chunk_row,
    clean_text,
    geometry_bytes,
    key_text,
    metadata_text,
)
from pincite.stores.intake import document_language
from pincite.text.analysis import default_analyzer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.documents import EmbeddedDocument

__all__ = ["Prepared", "is_unit", "prepare", "stored_vectors"]

_HALF_MAX: Final = 65_504.0
_HALF_STEP: Final = 2.0**-10


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked document, its rows, and a digest of all that is stored of it."""

    given: EmbeddedDocument
    rows: list[ChunkRow]
    metadata: str
    geometry: bytes
    digest: bytes

    def texts(self) -> list[tuple[str, str]]:
        """Each chunk's indexed text, with the document's language."""
        return [(row[4] or row[3], self.given.language) for row in self.rows]

    def terms(self) -> list[tuple[Mapping[str, int], int]]:
        """Terms and length of each chunk's indexed text."""
        analyzer = default_analyzer()
        return [analyzer.document_terms(text, language) for text, language in self.texts()]


def prepare(document: EmbeddedDocument) -> Prepared:
    """Check and encode a document; its language is detected when it is not given.

    Raises ``InvalidArgument`` and ``EmbeddingError`` as ``check_document`` does, and
    ``InvalidArgument`` for an id or metadata that cannot be stored.
    """
    check_document(document)
    name = key_text(document.document, "document id")
    owner = f"document {name!r}"
    metadata = metadata_text(document.metadata, owner)
    own = document.chunk_metadata or [{}] * len(document.chunks)
    rows = [chunk_row(c, m, owner) for c, m in zip(document.chunks, own, strict=True)]
    geometry = b"" if document.geometry is None else geometry_bytes(document.geometry)
    given = replace(
        document,
        title=clean_text(document.title),
        source=clean_text(document.source),
        content_hash=clean_text(document.content_hash),
        fingerprint=clean_text(document.fingerprint),
        language=clean_text(document_language(document)),
        endpoint=clean_text(document.endpoint),
    )
    return Prepared(given, rows, metadata, geometry, _digest(given, rows, metadata, geometry))


def stored_vectors(vectors: NDArray[Any], *, normalized: bool) -> NDArray[np.float16]:
    """Vectors as the store keeps them: float16, of unit length when ``normalized``.

    Rows of float16 that have that length already are those of a store and stay bit for bit.
    Raises ``EmbeddingError`` for a raw value beyond float16's range.
    """
    given = np.asarray(vectors)
    if given.dtype == np.float16 and (not normalized or is_unit(given)):
        return given
    wide = normalize_rows(vectors) if normalized else np.asarray(vectors, dtype=np.float32)
    if wide.size and float(np.abs(wide).max()) > _HALF_MAX:
        raise EmbeddingError(
            "A vector holds a value beyond 65504; scale the vectors, or declare the model "
            "normalized."
        )
    return wide.astype(np.float16)


def is_unit(rows: NDArray[np.float16]) -> bool:
    """Whether each row has unit length as exactly as float16 allows, or is zero."""
    wide = rows.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=1))
    return bool((np.abs(lengths - (lengths > 0)) < _HALF_STEP).all())


def _digest(given: EmbeddedDocument, rows: list[ChunkRow], metadata: str, geometry: bytes) -> bytes:
    hasher = hashlib.blake2b(digest_size=16)
    about = (
        given.title,
        given.source,
        given.content_hash,
        given.fingerprint,
        given.language,
        metadata,
        rows,
    )
    hasher.update(repr(about).encode())
    hasher.update(geometry)
    hasher.update(np.ascontiguousarray(given.vectors, dtype=np.float32).tobytes())
    return hasher.digest()
