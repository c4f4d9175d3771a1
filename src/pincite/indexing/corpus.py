"""Between what a builder hands out, a list of documents for each file, and what stores take in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.errors import InvalidArgument
from pincite.indexing.cache import CachedFile
from pincite.indexing.metadata_map import DEFAULT_KEY, FileRules
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, Geometry
from pincite.model.hits import Chunk
from pincite.model.views import own_metadata, with_view_keys
from pincite.stores.intake import document_language

__all__ = [
    "FILE_HASH_KEY",
    "chunks_of",
    "document_of",
    "template_of",
    "texts_of",
]

FILE_HASH_KEY: Final = "file_hash"
"""Metadata key of the hash of the file that a chunk comes from."""

_HEADINGS = " > "


def chunks_of(
    entry: CachedFile, *, document: str, path: Path, file_hash: str, rules: FileRules | None
) -> list[Chunk]:
    """The chunks of a file, with the metadata that a map's rules give each."""
    title = (rules.title if rules is not None else "") or entry.title or path.name
    whole = EmbeddedDocument(document, title, entry.chunks, _no_vectors(len(entry.chunks)), "")
    language = document_language(whole)
    return [
        with_view_keys(
            Chunk(
                content=chunk.content,
                document=document,
                title=title,
                source=str(path),
                context_header=chunk.context_header,
                chunk_index=chunk.chunk_index,
                start_char=chunk.start_char,
                end_char=chunk.end_char,
                pages=tuple(chunk.pages),
                bboxes=tuple(chunk.bboxes),
                tables=tuple(chunk.tables),
                language=language,
                metadata={
                    **(rules.for_header(chunk.context_header) if rules is not None else {}),
                    FILE_HASH_KEY: file_hash,
                },
            )
        )
        for chunk in entry.chunks
    ]


def document_of(
    file_hash: str,
    docs: Sequence[Any],
    path: Path,
    *,
    endpoint: str,
    fingerprint: str,
    entry: CachedFile | None,
) -> EmbeddedDocument:
    """The docs of one file as a document without vectors yet.

    ``docs`` are chunks, or documents of another library with ``page_content`` and ``metadata``.
    ``entry`` is what the file was converted to, where that is still known: it has the texts to
    index and the geometry. Raises ``InvalidArgument`` for docs of several files, or none.
    """
    chunks = [_as_chunk(doc, number, path) for number, doc in enumerate(docs)]
    names = {chunk.document for chunk in chunks}
    if len(names) != 1:
        raise InvalidArgument(
            f"The documents of {path} name {len(names)} files; pass the result of one file each."
        )
    whole = _placed(chunks, entry)
    metadata, own = _shared([own_metadata(chunk) for chunk in chunks])
    first = chunks[0]
    return EmbeddedDocument(
        document=first.document,
        title=first.title or path.name,
        chunks=whole.chunks,
        vectors=_no_vectors(len(chunks)),
        endpoint=endpoint,
        source=first.source or str(path),
        content_hash=file_hash,
        fingerprint=f"{fingerprint}{_digest(own)}",
        language=first.language,
        metadata={**metadata, FILE_HASH_KEY: file_hash},
        chunk_metadata=own if any(own) else (),
        geometry=whole.geometry,
    )


def texts_of(docs: Sequence[Any], document: EmbeddedDocument) -> list[tuple[Chunk, str]]:
    """Each doc as a chunk in the document's language, with the text that finds it."""
    language = document_language(document)
    path = Path(document.source)
    chunks = [_as_chunk(doc, number, path) for number, doc in enumerate(docs)]
    texts = [chunk.indexed_text for chunk in document.chunks]
    return list(zip([replace(c, language=language) for c in chunks], texts, strict=True))


def _no_vectors(count: int) -> NDArray[np.float32]:
    return np.zeros((count, 0), dtype=np.float32)


def _as_chunk(doc: Any, number: int, path: Path) -> Chunk:
    if isinstance(doc, Chunk):
        return doc
    metadata: Mapping[str, Any] = doc.metadata
    headings = metadata.get("headings") or []
    titles = [headings] if isinstance(headings, str) else list(headings)
    return Chunk(
        content=doc.page_content,
        document=path.name,
        title=str(metadata.get("title") or ""),
        source=str(metadata.get("source") or path),
        context_header=_HEADINGS.join(map(str, titles)),
        chunk_index=number,
        metadata=dict(metadata),
    )


def _placed(chunks: Sequence[Chunk], entry: CachedFile | None) -> CachedFile:
    """The chunks as a parser's results; without an entry their texts in order are the document."""
    if entry is not None and [c.content for c in entry.chunks] == [c.content for c in chunks]:
        return entry
    at, made = 0, []
    for number, chunk in enumerate(chunks):
        header = f"{chunk.context_header}\n\n{chunk.content}" if chunk.context_header else ""
        made.append(
            ChunkResult(
                content=chunk.content,
                chunk_index=number,
                start_char=at,
                end_char=at + len(chunk.content),
                pages=list(chunk.pages),
                bboxes=list(chunk.bboxes),
                tables=list(chunk.tables),
                context_header=chunk.context_header,
                embed_text=header,
            )
        )
        at += len(chunk.content) + 2
    markdown = "\n\n".join(chunk.content for chunk in chunks)
    return CachedFile("", made, geometry=Geometry(markdown))


def _shared(
    metadata: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What all have alike belongs to the document, the rest to each chunk."""
    first = metadata[0]
    alike = {
        key: value
        for key, value in first.items()
        if all(key in other and _same(other[key], value) for other in metadata)
    }
    return alike, [{k: v for k, v in own.items() if k not in alike} for own in metadata]


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _digest(own: Sequence[Mapping[str, Any]]) -> str:
    """ "" for chunks without metadata of their own."""
    if not any(own):
        return ""
    text = json.dumps(list(own), sort_keys=True, default=str)
    return f"+{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def template_of(entry: CachedFile) -> dict[str, Any]:
    """The template of one file: what was extracted, and a place for each chain of headings."""
    headers = (chunk.context_header for chunk in entry.chunks)
    return {DEFAULT_KEY: dict(entry.extracted), **{header: {} for header in headers if header}}
