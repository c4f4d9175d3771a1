"""A document of Haystack as a passage of a store, and back."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from haystack.dataclasses import ByteStream, Document, SparseEmbedding

from pincite.errors import InvalidArgument
from pincite.integrations.collection import is_passage, passage, place_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.documents import EmbeddedDocument, ModelIdentity
    from pincite.model.hits import Chunk

__all__ = ["UNEMBEDDED", "to_document", "to_passage"]

UNEMBEDDED: Final = "_without_embedding"
"""The field that is true for a document that was written without an embedding."""

_KEPT: Final = "_haystack"


def to_passage(
    document: Document, *, dimension: int, endpoint: str, model: ModelIdentity | None
) -> EmbeddedDocument:
    """A document as a store takes it in; without an embedding its vector is zero.

    What a passage has no place for (bytes, a sparse embedding, the length of the embedding) is
    kept in its metadata. Raises ``InvalidArgument`` for an embedding of another length.
    """
    metadata: dict[str, Any] = dict(document.meta)
    kept = _kept(document)
    vector = np.zeros(dimension, dtype=np.float32)
    if document.embedding is None:
        metadata[UNEMBEDDED] = True
    else:
        vector = np.asarray(document.embedding, dtype=np.float32)
        if vector.shape != (dimension,):
            raise InvalidArgument(
                f"The embedding of document {document.id!r} has {vector.size} dimensions, the store"
                f" takes {dimension}; open it with embedding_dimension={vector.size}."
            )
        kept["length"] = float(np.linalg.norm(vector.astype(np.float64)))
    metadata[_KEPT] = kept
    text = document.content or ""
    return passage(document.id, text, metadata, vector, endpoint=endpoint, model=model)


def to_document(
    chunk: Chunk, *, vector: NDArray[np.float32] | None = None, score: float | None = None
) -> Document:
    """A chunk as a document; one that Haystack wrote comes back as it was given.

    Of others the id is the chunk's, and the meta also says where it stands: document, source,
    title, pages, headings, start_char, end_char.
    """
    if not is_passage(chunk):
        meta = {**place_of(chunk), **chunk.metadata}
        return Document(
            id=chunk.id, content=chunk.content, meta=meta, embedding=_listed(vector), score=score
        )
    meta = dict(chunk.metadata)
    kept = meta.pop(_KEPT, {})
    if meta.pop(UNEMBEDDED, False):
        vector = None
    elif vector is not None:
        vector = _lengthened(vector, kept.get("length"))
    return Document(
        id=chunk.document,
        content=chunk.content if kept.get("text", True) else None,
        blob=_blob_of(kept.get("blob")),
        meta=meta,
        score=score,
        embedding=_listed(vector),
        sparse_embedding=_sparse_of(kept.get("sparse")),
    )


def _kept(document: Document) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    if document.content is None:
        kept["text"] = False
    if document.blob is not None:
        data = base64.b64encode(document.blob.data).decode()
        kind = document.blob.mime_type
        kept["blob"] = {"data": data, "meta": dict(document.blob.meta), "mime_type": kind}
    if document.sparse_embedding is not None:
        kept["sparse"] = document.sparse_embedding.to_dict()
    return kept


def _blob_of(kept: Any) -> ByteStream | None:
    if kept is None:
        return None
    data = base64.b64decode(kept["data"])
    return ByteStream(data=data, meta=dict(kept["meta"]), mime_type=kept["mime_type"])


def _sparse_of(kept: Any) -> SparseEmbedding | None:
    return None if kept is None else SparseEmbedding.from_dict(dict(kept))


def _lengthened(vector: NDArray[np.float32], length: float | None) -> NDArray[np.float32]:
    """The embedding at the length that it had; a store of cosines keeps its direction only."""
    stored = float(np.linalg.norm(vector.astype(np.float64)))
    return vector * np.float32(length / stored) if length and stored else vector


def _listed(vector: NDArray[np.float32] | None) -> list[float] | None:
    return None if vector is None else [float(value) for value in vector]
