"""Chunks, documents and their geometry as table values, and back.

Text is stored as UTF-8: half of a surrogate pair, which is no character, becomes U+FFFD, in the
Markdown and in the contents alike, so that offsets stay true. Document ids must be whole text.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from pincite.errors import InvalidArgument, StoreCorrupt
from pincite.model.documents import Geometry, ModelIdentity
from pincite.model.fields import RESERVED_FIELDS, Field, FieldSpec, FieldType, full_spec
from pincite.model.geometry import BboxRect, TableSpan
from pincite.model.hits import Chunk
from pincite.segments.file import SegmentFile, write_segment

if TYPE_CHECKING:
    from pincite.model.chunks import ChunkResult

__all__ = [
    "ChunkRow",
    "chunk_of",
    "chunk_row",
    "clean_text",
    "geometry_bytes",
    "geometry_of",
    "given_chunk",
    "is_text",
    "key_text",
    "metadata_text",
    "model_of",
    "model_text",
    "spec_of",
    "spec_text",
    "value_of",
]

T = TypeVar("T")

ChunkRow = tuple[int, int, int, str, str, str, str]
"""chunk_index, start_char, end_char, content, embed_text, context_header, extra."""

_LAST_INDEX: Final = (1 << 32) - 1
_LAST_OFFSET: Final = (1 << 53) - 1
_DECODER: Final = json.JSONDecoder()
_TAGGED: Final = "\x01"
_DATETIME: Final = "$datetime"
_DATE: Final = "$date"
_GEOMETRY: Final = ("geometry", 1)


def clean_text(text: str) -> str:
    """``text`` as UTF-8 can hold it, of the same length."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def is_text(text: str) -> bool:
    """Whether UTF-8 can hold ``text``: nothing else is ever a stored name."""
    return clean_text(text) is text


def key_text(text: str, what: str) -> str:
    """``text`` itself; ``InvalidArgument`` when UTF-8 cannot hold it."""
    if not is_text(text):
        raise InvalidArgument(
            f"The {what} {text!r} holds half of a surrogate pair and cannot be stored; "
            "rename the file, or pass an id of whole characters."
        )
    return text


def metadata_text(metadata: Mapping[str, Any], owner: str) -> str:
    """Metadata as JSON; dates and datetimes come back as such, tuples as lists.

    Raises ``InvalidArgument`` naming ``owner`` for any other value.
    """
    tagged = False

    def tag(value: object) -> dict[str, str]:
        nonlocal tagged
        tagged = True
        if isinstance(value, datetime):
            return {_DATETIME: value.isoformat()}
        if isinstance(value, date):
            return {_DATE: value.isoformat()}
        raise TypeError(f"a value of type {type(value).__name__}")

    try:
        text = json.dumps(
            metadata, default=tag, allow_nan=False, ensure_ascii=True, separators=(",", ":")
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"The metadata of {owner} cannot be stored ({error}); use strings, finite numbers, "
            "booleans, dates, lists and mappings of them."
        ) from error
    return _TAGGED + text if tagged else text


def value_of(text: str) -> dict[str, Any]:
    """What ``metadata_text`` wrote."""
    found: dict[str, Any]
    if text.startswith(_TAGGED):
        found = json.loads(text[1:], object_hook=_untag)
        return found
    found, end = _DECODER.raw_decode(text)  # half the time of ``json.loads``
    return found if end == len(text) else json.loads(text)


def _untag(mapping: dict[str, Any]) -> Any:
    if len(mapping) == 1:
        if _DATETIME in mapping:
            return datetime.fromisoformat(mapping[_DATETIME])
        if _DATE in mapping:
            return date.fromisoformat(mapping[_DATE])
    return mapping


def chunk_row(chunk: ChunkResult, metadata: Mapping[str, Any], owner: str) -> ChunkRow:
    """The columns of a chunk; ``metadata`` is the chunk's own."""
    if not 0 <= chunk.chunk_index <= _LAST_INDEX or not (
        0 <= chunk.start_char <= chunk.end_char <= _LAST_OFFSET
    ):
        raise InvalidArgument(
            f"A chunk of {owner} has index {chunk.chunk_index} and place {chunk.start_char} to "
            f"{chunk.end_char}; count from 0, in order."
        )
    content = clean_text(chunk.content)
    embedded = clean_text(chunk.embed_text)
    return (
        chunk.chunk_index,
        chunk.start_char,
        chunk.end_char,
        content,
        "" if embedded == content else embedded,
        clean_text(chunk.context_header),
        _extra(chunk, metadata, owner),
    )


def _extra(chunk: ChunkResult, metadata: Mapping[str, Any], owner: str) -> str:
    extra: dict[str, Any] = {
        "pages": chunk.pages,
        "bboxes": [[b.page, b.x0, b.y0, b.x1, b.y1] for b in chunk.bboxes],
        "tables": [[t.start_char, t.end_char, t.table_id] for t in chunk.tables],
        "unit_id": chunk.unit_id,
        "unit_chunk_index": chunk.unit_chunk_index,
        "unit_refs": chunk.unit_refs,
        "metadata": metadata,
    }
    return metadata_text({name: value for name, value in extra.items() if value}, owner)


def given_chunk(row: ChunkRow) -> tuple[ChunkResult, dict[str, Any]]:
    """The chunk and its own metadata, as ``chunk_row`` was given them."""
    from pincite.model.chunks import ChunkResult

    index, start, end, content, embedded, header, extra_text = row
    extra = value_of(extra_text)
    chunk = ChunkResult(
        content=content,
        chunk_index=index,
        start_char=start,
        end_char=end,
        pages=extra.get("pages", []),
        bboxes=[BboxRect(*values) for values in extra.get("bboxes", ())],
        tables=[TableSpan(*values) for values in extra.get("tables", ())],
        context_header=header,
        unit_id=extra.get("unit_id", ""),
        unit_chunk_index=extra.get("unit_chunk_index", 0),
        unit_refs=extra.get("unit_refs", []),
        embed_text=embedded,
    )
    return chunk, extra.get("metadata", {})


def chunk_of(
    row: Sequence[Any], *, subject: str, collection: str, metadata: Mapping[str, Any]
) -> Chunk:
    """A chunk from (document, title, source, language, *``ChunkRow``), the document's metadata
    below its own."""
    document, title, source, language, index, start, end, content, _, header, extra_text = row
    extra = value_of(extra_text)
    return Chunk(
        content=content,
        document=document,
        collection=collection,
        subject=subject,
        title=title,
        source=source,
        context_header=header,
        chunk_index=index,
        start_char=start,
        end_char=end,
        pages=tuple(extra.get("pages", ())),
        bboxes=_every(BboxRect, extra.get("bboxes")),
        tables=_every(TableSpan, extra.get("tables")),
        language=language,
        metadata={**metadata, **extra.get("metadata", {})},
    )


def _every(kind: Callable[..., T], rows: Sequence[Sequence[Any]] | None) -> tuple[T, ...]:
    return tuple([kind(*row) for row in rows]) if rows else ()


def geometry_bytes(geometry: Geometry) -> bytes:
    """A checksummed container of the document's Markdown, pages and words."""
    ranges = np.array([tuple(r) for r in geometry.page_ranges], dtype=np.int64).reshape(-1, 3)
    tables = json.dumps(dict(geometry.tables)).encode()
    return write_segment(
        *_GEOMETRY,
        {
            "markdown": zlib.compress(clean_text(geometry.markdown).encode(), 3),
            "words": geometry.words,
            "page_ranges": ranges,
            "tables": zlib.compress(tables, 3),
        },
        {"page_dimensions": {k: list(v) for k, v in geometry.page_dimensions.items()}},
    )


def geometry_of(data: bytes, name: str) -> Geometry:
    """What ``geometry_bytes`` wrote; ``StoreCorrupt`` names the document."""
    held = SegmentFile.open(data, name=name)
    try:
        return Geometry(
            markdown=zlib.decompress(held.blob("markdown")).decode(),
            page_ranges=[(int(a), int(b), int(c)) for a, b, c in held.array("page_ranges")],
            page_dimensions={
                page: (float(w), float(h)) for page, (w, h) in held.meta["page_dimensions"].items()
            },
            words=bytes(held.blob("words")),
            tables=json.loads(zlib.decompress(held.blob("tables"))),
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise StoreCorrupt(f"{name} cannot be read ({error}); index the document again.") from error


def model_text(model: ModelIdentity | None) -> str:
    """A model identity as JSON, "" for none."""
    if model is None:
        return ""
    return json.dumps(
        {
            "name": model.name,
            "dimension": model.dimension,
            "normalized": model.normalized,
            "query_prefix": model.query_prefix,
            "passage_prefix": model.passage_prefix,
            "probe": [[float(x) for x in row] for row in model.probe],
        }
    )


def model_of(text: str) -> ModelIdentity | None:
    """What ``model_text`` wrote."""
    if not text:
        return None
    held = json.loads(text)
    held["probe"] = tuple(tuple(row) for row in held["probe"])
    return ModelIdentity(**held)


def spec_text(spec: FieldSpec) -> str:
    """The fields that are not reserved, as JSON."""
    return json.dumps(
        {
            name: [str(field.type), field.many, field.filterable]
            for name, field in spec.fields.items()
            if name not in RESERVED_FIELDS
        }
    )


def spec_of(text: str) -> FieldSpec:
    """The full spec of what ``spec_text`` wrote."""
    return full_spec(
        {
            name: Field(FieldType(kind), many, filterable)
            for name, (kind, many, filterable) in json.loads(text).items()
        }
    )
