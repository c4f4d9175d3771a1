"""Documents as records of plain JSON values, for a file that any store writes and reads.

    {"pincite": "export", "version": 1, "subject", "collection", "endpoint", "model", "alpha",
     "fields": {name: [type, many, filterable]}, "documents", "dtype": "float16" | "float32"}
    {"document": id, "title", "source", ..., "metadata", "aliases", "geometry", "chunks": count}
    {"chunk": {...}, "metadata": {...}, "vector": row}        one for each chunk of the document
    {"end": {"documents": count, "chunks": count}}

A vector is a row of the header's dtype; the file's format says how it is written. Metadata that
holds dates has ``"tagged": true`` beside it (see ``codec.metadata_text``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pincite.errors import InvalidArgument
from pincite.model.documents import EmbeddedDocument, Geometry, ModelIdentity
from pincite.model.fields import FieldSpec
from pincite.stores.codec import metadata_text, model_of, model_text, spec_of, spec_text, value_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.chunks import ChunkResult

__all__ = [
    "VERSION",
    "Header",
    "Record",
    "chunk_records",
    "document_of",
    "document_record",
    "geometry_record",
    "header_of",
    "header_record",
]

Record = dict[str, Any]

VERSION: Final = 1
_KIND: Final = "export"
_TAG: Final = "\x01"
_DTYPES: Final = ("float16", "float32")
_ABOUT: Final = ("title", "source", "content_hash", "fingerprint", "language")


@dataclass(frozen=True, slots=True)
class Header:
    """What an export says of its collection; ``documents`` is how many were there to write."""

    subject: str
    collection: str
    endpoint: str
    model: ModelIdentity | None
    fields: FieldSpec
    documents: int
    alpha: float | None = None
    dtype: str = "float16"


def header_record(header: Header) -> Record:
    """The first record of a file."""
    return {
        "pincite": _KIND,
        "version": VERSION,
        "subject": header.subject,
        "collection": header.collection,
        "endpoint": header.endpoint,
        "model": json.loads(model_text(header.model) or "null"),
        "alpha": header.alpha,
        "fields": json.loads(spec_text(header.fields)),
        "documents": header.documents,
        "dtype": header.dtype,
    }


def header_of(record: Record) -> Header:
    """Read ``header_record``; ``InvalidArgument`` for another kind of record or a newer version.

    ``KeyError``, ``TypeError`` or ``ValueError`` say that it is damaged.
    """
    if record.get("pincite") != _KIND:
        raise InvalidArgument("it is no export of Pincite; name a file that `export` wrote")
    if record["version"] > VERSION:
        raise InvalidArgument(
            f"it has version {record['version']}, newer than {VERSION}; use a newer Pincite"
        )
    if record["dtype"] not in _DTYPES:
        raise ValueError(f"vectors of {record['dtype']!r}")
    model = record["model"]
    return Header(
        subject=record["subject"],
        collection=record["collection"],
        endpoint=record["endpoint"],
        model=None if model is None else model_of(json.dumps(model)),
        fields=spec_of(json.dumps(record["fields"])),
        documents=record["documents"],
        alpha=record["alpha"],
        dtype=record["dtype"],
    )


def document_record(document: EmbeddedDocument, aliases: Sequence[str]) -> Record:
    """The record of a document; those of its chunks follow it."""
    return {
        "document": document.document,
        **{name: getattr(document, name) for name in _ABOUT},
        **_metadata_record(document.metadata, document.document),
        "aliases": list(aliases),
        "geometry": geometry_record(document.geometry),
        "chunks": len(document.chunks),
    }


def chunk_records(document: EmbeddedDocument, dtype: str) -> Iterator[Record]:
    """The records of a document's chunks, in order."""
    own: Sequence[Mapping[str, Any]] = document.chunk_metadata or [{}] * len(document.chunks)
    rows = np.ascontiguousarray(document.vectors, dtype=np.dtype(dtype).newbyteorder("<"))
    for chunk, metadata, row in zip(document.chunks, own, rows, strict=True):
        values = chunk.model_dump(exclude_defaults=True)
        yield {
            "chunk": values,
            **_metadata_record(metadata, document.document),
            "vector": row,
        }


def document_of(
    record: Record, chunks: Iterable[Record], header: Header
) -> tuple[EmbeddedDocument, list[str]]:
    """A document of its record and those of its chunks, and its aliases.

    ``KeyError``, ``TypeError`` or ``ValueError`` (pydantic's are) say that a record is damaged.
    """
    held = list(chunks)
    aliases = [_text(alias) for alias in record["aliases"]]
    own = [_metadata_of(each) for each in held]
    document = EmbeddedDocument(
        document=_text(record["document"]),
        chunks=[_chunk_of(each) for each in held],
        vectors=_rows([each["vector"] for each in held], header),
        endpoint=header.endpoint,
        model=header.model,
        metadata=_metadata_of(record),
        chunk_metadata=own if any(own) else (),
        geometry=_geometry_of(record["geometry"]),
        **{name: _text(record[name]) for name in _ABOUT},
    )
    return document, aliases


def geometry_record(geometry: Geometry | None) -> Record | None:
    """Pages and words as JSON values."""
    if geometry is None:
        return None
    return {
        "markdown": geometry.markdown,
        "page_ranges": [[int(n) for n in span] for span in geometry.page_ranges],
        "page_dimensions": {page: list(size) for page, size in geometry.page_dimensions.items()},
        "words": base64.b64encode(geometry.words).decode(),
        "tables": dict(geometry.tables),
    }


def _geometry_of(record: Record | None) -> Geometry | None:
    if record is None:
        return None
    return Geometry(
        markdown=_text(record["markdown"]),
        page_ranges=[(int(a), int(b), int(c)) for a, b, c in record["page_ranges"]],
        page_dimensions={
            p: (float(w), float(h)) for p, (w, h) in record["page_dimensions"].items()
        },
        words=base64.b64decode(record["words"], validate=True),
        tables={_text(name): _text(html) for name, html in record["tables"].items()},
    )


def _chunk_of(record: Record) -> ChunkResult:
    from pincite.model.chunks import ChunkResult

    return ChunkResult.model_validate(record["chunk"])


def _rows(vectors: Sequence[NDArray[Any]], header: Header) -> NDArray[np.float32]:
    lengths = {len(row) for row in vectors}
    wanted = header.model.dimension if header.model is not None else None
    if len(lengths) > 1 or (lengths and wanted is not None and lengths != {wanted}):
        raise ValueError(f"vectors of {sorted(lengths)} values where {wanted or 'equal'} belong")
    rows: NDArray[np.float32] = np.array(vectors, dtype=header.dtype)
    if not np.isfinite(rows).all():
        raise ValueError("a vector that is not finite")
    return rows


def _metadata_record(metadata: Mapping[str, Any], owner: str) -> Record:
    text = metadata_text(metadata, f"document {owner!r}")
    tagged = text.startswith(_TAG)
    record: Record = {"metadata": json.loads(text.removeprefix(_TAG))}
    return {**record, "tagged": True} if tagged else record


def _metadata_of(record: Record) -> dict[str, Any]:
    metadata = record["metadata"]
    if not isinstance(metadata, dict):
        raise TypeError("metadata is no mapping")
    return value_of(_TAG + json.dumps(metadata)) if record.get("tagged") else metadata


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value
