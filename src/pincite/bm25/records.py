"""Chunks as bytes, to be kept in an index."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import date, datetime
from typing import Any

from pincite.errors import InvalidArgument, StoreCorrupt
from pincite.model.geometry import BboxRect, TableSpan
from pincite.model.hits import Chunk

__all__ = ["decode_chunk", "encode_chunk"]

_DATE, _DATETIME = "$date", "$datetime"
_ENCODING, _LONE_SURROGATES = "utf-8", "surrogatepass"


def encode_chunk(chunk: Chunk) -> bytes:
    """A chunk as JSON, its empty fields left out; ``InvalidArgument`` for metadata that is not."""
    found = {field.name: getattr(chunk, field.name) for field in fields(chunk)}
    found["bboxes"] = [_listed(box) for box in chunk.bboxes]
    found["tables"] = [_listed(table) for table in chunk.tables]
    try:
        text = json.dumps(
            {name: value for name, value in found.items() if value},
            default=_encode,
            ensure_ascii=False,
            separators=(",", ":"),
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"Chunk {chunk.id!r} cannot be saved: {error}; keep to numbers, strings, dates, lists "
            "and mappings in its metadata."
        ) from error
    return text.encode(_ENCODING, _LONE_SURROGATES)


def decode_chunk(record: bytes, *, name: str) -> Chunk:
    """The chunk of a record; ``StoreCorrupt`` naming the id when there is none in it."""
    try:
        found = json.loads(record.decode(_ENCODING, _LONE_SURROGATES), object_hook=_decode)
        found["bboxes"] = tuple(BboxRect(*box) for box in found.get("bboxes", ()))
        found["tables"] = tuple(TableSpan(*table) for table in found.get("tables", ()))
        found["pages"] = tuple(found.get("pages", ()))
        found.setdefault("content", "")
        return Chunk(**found)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise StoreCorrupt(
            f"The record of chunk {name!r} cannot be read ({error}). Restore a backup, or index "
            "the chunks anew."
        ) from error


def _listed(value: Any) -> list[Any]:
    return [getattr(value, field.name) for field in fields(value)]


def _encode(value: Any) -> Any:
    if isinstance(value, datetime):
        return {_DATETIME: value.isoformat()}
    if isinstance(value, date):
        return {_DATE: value.isoformat()}
    if hasattr(value, "items"):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON")


def _decode(found: dict[str, Any]) -> Any:
    if len(found) == 1:
        if _DATETIME in found:
            return datetime.fromisoformat(found[_DATETIME])
        if _DATE in found:
            return date.fromisoformat(found[_DATE])
    return found
