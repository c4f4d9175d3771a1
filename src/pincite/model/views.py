"""Chunks with the metadata keys that retrieval pipelines read: headings, file name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from pincite.model.fields import RESERVED_FIELDS, chunk_values
from pincite.model.hits import Chunk

__all__ = ["VIEW_KEYS", "own_metadata", "with_view_keys"]

VIEW_KEYS: Final = ("headings", "file_name")
"""Keys that ``with_view_keys`` adds; a store derives them from the chunk itself."""


def with_view_keys(chunk: Chunk) -> Chunk:
    """The chunk, its metadata with ``headings`` (outermost first) and ``file_name``."""
    values = chunk_values(chunk)
    view: dict[str, Any] = {key: values[key] for key in VIEW_KEYS if key in values}
    return replace(chunk, metadata={**own_metadata(chunk), **view})


def own_metadata(chunk: Chunk) -> dict[str, Any]:
    """The chunk's metadata without the names that a store fills itself."""
    return {key: value for key, value in chunk.metadata.items() if key not in RESERVED_FIELDS}
