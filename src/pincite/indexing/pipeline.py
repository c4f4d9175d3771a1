"""The stage from a file's bytes to an embedded document: pure, so that it may run anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pincite.indexing.indexer import Chunker, file_name
from pincite.indexing.metadata_map import FileRules, MetadataMap
from pincite.model.documents import DocumentInfo, EmbeddedDocument, Geometry, ModelIdentity
from pincite.parsing.registry import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from pincite.model.chunks import ChunkResult
    from pincite.model.layout import MarkdownParseResult

__all__ = [
    "PIPELINE_VERSION",
    "FileInput",
    "NoText",
    "Pipeline",
    "ReadFile",
    "SourceOptions",
    "base_fingerprint",
]

PIPELINE_VERSION = 1
"""Part of every fingerprint: raise it when the same bytes give other chunks."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What the caller says of a source: nothing here is read from the file."""

    title: str = ""
    language: str = ""
    password: str | None = None
    metadata: Mapping[str, Any] | None = None
    metadata_map: MetadataMap | None = None

    def rules(self, document: str) -> FileRules:
        """What the metadata map says of a document."""
        found = self.metadata_map or MetadataMap({})
        return found.rules(document)

    def over(self, stored: DocumentInfo | None) -> SourceOptions:
        """These options, with the metadata that is stored where none was given."""
        if stored is None or self.metadata is not None:
            return self
        return replace(self, metadata=stored.metadata)


@dataclass(frozen=True, slots=True)
class FileInput:
    """One file as the stage takes it in; ``source`` is where it was read from."""

    document: str
    data: bytes
    filename: str
    source: str = ""
    options: SourceOptions = SourceOptions()


@dataclass(frozen=True, slots=True)
class NoText:
    """A file that was read and holds no text; ``images`` of its pages are pictures of text."""

    images: int = 0

    @property
    def reason(self) -> str:
        """For the report of a run."""
        if not self.images:
            return "no text"
        pages = "its page is a picture" if self.images == 1 else f"{self.images} pages are pictures"
        return f"no text ({pages}; run it through OCR first)"


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was parsed and cut into chunks, at least one."""

    file: FileInput
    parsed: MarkdownParseResult
    chunks: list[ChunkResult]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Parser backend, chunker and embedding of a run.

    ``embed`` takes the texts to index and returns one float32 row for each.
    """

    chunker: Chunker
    embed: Callable[[list[str]], NDArray[np.float32]]
    model: ModelIdentity
    endpoint: str
    backend: str = "pdfium"

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same bytes would be parsed, chunked or embedded otherwise."""
        parts = (PIPELINE_VERSION, self.backend, self.chunker.fingerprint, self.model.name)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def reusing(self, vectors: NDArray[np.float32]) -> Pipeline:
        """The pipeline that takes these vectors for a file of as many passages."""
        embed = self.embed
        return replace(
            self, embed=lambda texts: vectors if len(vectors) == len(texts) else embed(texts)
        )

    def run(self, file: FileInput) -> EmbeddedDocument | NoText:
        """The document of a file, or why there is none."""
        read = self.read(file)
        return read if isinstance(read, NoText) else self.embedded(read)

    def read(self, file: FileInput) -> ReadFile | NoText:
        """The first half, which only the file can make fail: parse and chunk."""
        password = file.options.password
        parsed = parse(file.data, file.filename, backend=self.backend, password=password)
        chunks = self.chunker.chunk(parsed)
        return ReadFile(file, parsed, chunks) if chunks else NoText(len(parsed.pages_needing_ocr))

    def embedded(self, read: ReadFile) -> EmbeddedDocument:
        """The second half: embed, and put together what is stored."""
        file, parsed, chunks = read.file, read.parsed, read.chunks
        options = file.options
        rules = options.rules(file.document)
        own = [rules.for_header(chunk.context_header) for chunk in chunks]
        title = options.title or rules.title or parsed.metadata.get("title")
        return EmbeddedDocument(
            document=file.document,
            title=title or file_name(file.filename),
            chunks=chunks,
            vectors=self.embed([chunk.indexed_text for chunk in chunks]),
            endpoint=self.endpoint,
            source=file.source or file.filename,
            content_hash=hashlib.sha256(file.data).hexdigest(),
            fingerprint=self.fingerprint + rules.mark,
            language=options.language,
            model=self.model,
            metadata=dict(options.metadata or {}),
            chunk_metadata=own if any(own) else (),
            geometry=_geometry(parsed),
        )


def base_fingerprint(fingerprint: str) -> str:
    """The part of a document's fingerprint that its vectors depend on; metadata is behind it."""
    return fingerprint.partition("+")[0]


def _geometry(parsed: MarkdownParseResult) -> Geometry:
    return Geometry(
        markdown=parsed.markdown,
        page_ranges=tuple(parsed.page_ranges),
        page_dimensions=parsed.page_dimensions,
        words=parsed.words,
        tables=parsed.tables,
    )
