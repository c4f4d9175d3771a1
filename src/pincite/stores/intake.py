"""From what a sink is given to what a store keeps."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from pincite.errors import EmbeddingError, InvalidArgument
from pincite.model.documents import EmbeddedDocument
from pincite.model.fields import FieldSpec, misfits
from pincite.model.hits import Chunk, chunk_id
from pincite.text.languages import detect_language

if TYPE_CHECKING:
    from pincite.model.chunks import EmbeddedChunk
    from pincite.model.documents import Geometry, ModelIdentity

__all__ = ["document_language", "gather", "plain_metadata", "refuse_misfits", "stored_chunks"]

_SAMPLE = 20_000


def gather(
    *,
    document: str,
    title: str,
    chunks: Sequence[EmbeddedChunk],
    endpoint: str,
    source: str = "",
    content_hash: str = "",
    fingerprint: str = "",
    language: str = "",
    model: ModelIdentity | None = None,
    metadata: Mapping[str, Any] | None = None,
    geometry: Geometry | None = None,
) -> EmbeddedDocument:
    """What ``upsert`` was given as one document; ``EmbeddingError`` for uneven vectors."""
    lengths = {len(chunk.vector) for chunk in chunks}
    if len(lengths) > 1:
        raise EmbeddingError(
            f"The vectors of document {document!r} have {sorted(lengths)} dimensions;"
            " embed every chunk with one model."
        )
    rows = np.array([chunk.vector for chunk in chunks], dtype=np.float32)
    own = tuple(chunk.metadata for chunk in chunks)
    return EmbeddedDocument(
        document=document,
        title=title,
        chunks=tuple(chunk.chunk for chunk in chunks),
        vectors=rows,
        endpoint=endpoint,
        source=source,
        content_hash=content_hash,
        fingerprint=fingerprint,
        language=language,
        model=model,
        metadata=dict(metadata or {}),
        chunk_metadata=own if any(own) else (),
        geometry=geometry,
    )


def document_language(document: EmbeddedDocument) -> str:
    """The language given, else the one that the document's first pages are in, "" when unsure."""
    if document.language:
        return document.language
    return detect_language("\n".join(chunk.content for chunk in document.chunks)[:_SAMPLE])


def plain_metadata(metadata: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """A copy of metadata of strings, finite numbers, booleans, None, dates, lists and mappings.

    Tuples become lists. Raises ``InvalidArgument`` naming ``owner`` for any other value.
    """
    try:
        return {_key(name): _plain(value) for name, value in metadata.items()}
    except (TypeError, RecursionError) as error:
        raise InvalidArgument(
            f"The metadata of {owner} cannot be stored ({error}); use strings, finite numbers,"
            " booleans, dates, lists and mappings of them."
        ) from error


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | date):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__float__(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {_key(name): _plain(item) for name, item in value.items()}
    raise TypeError(f"a value of type {type(value).__name__}: {value!r:.60}")


def _key(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the key {name!r:.60} is no string")
    return name


def refuse_misfits(document: EmbeddedDocument, spec: FieldSpec) -> None:
    """Raise ``InvalidArgument`` when a value does not fit its field, naming document and field."""
    for metadata in (document.metadata, *document.chunk_metadata):
        for misfit in misfits(metadata, spec):
            raise InvalidArgument(f"Document {document.document!r}: {misfit}.")


def stored_chunks(subject: str, collection: str, document: EmbeddedDocument) -> list[Chunk]:
    """The document's chunks as a store returns them; chunk metadata goes over the document's.

    Metadata is copied whole, so that what the caller changes later stays the caller's.
    """
    own: Sequence[Mapping[str, Any]] = document.chunk_metadata or [{}] * len(document.chunks)
    return [
        Chunk(
            content=chunk.content,
            id=chunk_id(document.document, chunk.chunk_index),
            document=document.document,
            collection=collection,
            subject=subject,
            title=document.title,
            source=document.source,
            context_header=chunk.context_header,
            chunk_index=chunk.chunk_index,
            start_char=chunk.start_char,
            end_char=chunk.end_char,
            pages=tuple(chunk.pages),
            bboxes=tuple(chunk.bboxes),
            tables=tuple(chunk.tables),
            language=document.language,
            metadata=copy.deepcopy({**document.metadata, **metadata}),
        )
        for chunk, metadata in zip(document.chunks, own, strict=True)
    ]
