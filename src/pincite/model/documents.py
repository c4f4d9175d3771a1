"""A document as a store takes it in and reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.model.chunks import ChunkResult

__all__ = [
    "Collection",
    "DocumentInfo",
    "EmbeddedDocument",
    "Failure",
    "Geometry",
    "IndexReport",
    "ModelIdentity",
    "Progress",
]


@dataclass(frozen=True, slots=True)
class Geometry:
    """The document's Markdown and where its pages and words are.

    ``words`` is ``WordBoxes.pack()``; ``page_ranges`` holds ``(start_char, end_char, page)``;
    ``page_dimensions`` maps a page number as a string to ``(width, height)`` in points.
    """

    markdown: str
    page_ranges: Sequence[tuple[int, int, int]] = ()
    page_dimensions: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    words: bytes = b""
    tables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What makes two embedding models the same: name, dimension, normalisation, prefixes and the
    vectors of three fixed sentences (``probe``, three rows of ``dimension`` floats)."""

    name: str
    dimension: int
    normalized: bool = True
    query_prefix: str = ""
    passage_prefix: str = ""
    probe: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """One document, parsed, chunked and embedded: what a stage computes and a store commits.

    ``vectors`` has one float32 row for each chunk. ``metadata`` belongs to the document,
    ``chunk_metadata`` (empty, or one mapping for each chunk) goes over it.
    """

    document: str
    title: str
    chunks: Sequence[ChunkResult]
    vectors: NDArray[np.float32]
    endpoint: str
    source: str = ""
    content_hash: str = ""
    fingerprint: str = ""
    language: str = ""
    model: ModelIdentity | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    chunk_metadata: Sequence[Mapping[str, Any]] = ()
    geometry: Geometry | None = None


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A stored document; ``content_hash`` is the SHA-256 hex of the file's bytes."""

    document: str
    title: str
    source: str
    content_hash: str
    chunks: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection of a subject, with its counts."""

    name: str
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A source that could not be indexed, or was skipped, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What a run did: document ids by what became of them, and what failed by name."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    skipped: tuple[Failure, ...] = ()
    failed: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    chunks: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of a long run, for the progress callback: ``done`` of ``total`` sources in this
    ``stage`` ("scan", "index", "rebuild"), the ``source`` just finished and the chunks so far."""

    stage: str
    done: int
    total: int
    source: str = ""
    chunks: int = 0
