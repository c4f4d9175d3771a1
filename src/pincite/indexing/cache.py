"""Parsed and chunked files, kept by content and pipeline, so that a second run parses nothing.

One file of JSON Lines for each entry: a head with a checksum, the document, and a line for each
chunk. Nothing in it runs code when it is read. The folder may be deleted at any time.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from logging import Logger
from pathlib import Path
from typing import Any, Final

from pincite.model.chunks import ChunkResult
from pincite.model.documents import Geometry

__all__ = ["CACHE_FOLDER", "CachedFile", "ChunkCache"]

CACHE_FOLDER: Final = ".pincite-cache"
"""The folder that is made in the source folder."""

_FORMAT = "pincite-cache"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class CachedFile:
    """What parsing and chunking made of a file's bytes, whatever its name is.

    ``info`` is what the file says of itself, ``extracted`` its bibliographic values.
    """

    title: str
    chunks: Sequence[ChunkResult]
    geometry: Geometry | None = None
    info: Mapping[str, str] = field(default_factory=dict)
    extracted: Mapping[str, Any] = field(default_factory=dict)
    pages_needing_ocr: Sequence[int] = ()


class ChunkCache:
    """Entries in a folder, by the hash of the content and the fingerprint of the pipeline.

    An entry that cannot be read is removed with a warning, and the file is parsed again. A folder
    that cannot be written is a warning, once.
    """

    def __init__(self, folder: Path, logger: Logger) -> None:
        self.folder = folder
        self._logger = logger
        self._writable = True

    def get(self, content_hash: str, fingerprint: str) -> CachedFile | None:
        """The entry, None when there is none that can be read."""
        path = self._path(content_hash, fingerprint)
        try:
            return _decode(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self._logger.warning(
                "The cache entry %s cannot be read (%s); the file is parsed again.", path, error
            )
            return None

    def put(self, content_hash: str, fingerprint: str, entry: CachedFile) -> None:
        """Keep an entry; it appears whole or not at all."""
        if not self._writable:
            return
        path = self._path(content_hash, fingerprint)
        half = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            half.write_bytes(_encode(entry))
            half.replace(path)
        except OSError as error:
            self._writable = False
            self._logger.warning(
                "%s cannot be written (%s); this run goes on without a cache.",
                self.folder,
                error.strerror or error,
            )

    def _path(self, content_hash: str, fingerprint: str) -> Path:
        return self.folder / f"{content_hash}-{fingerprint}.jsonl"


def _encode(entry: CachedFile) -> bytes:
    geometry = entry.geometry
    document = {
        "title": entry.title,
        "info": dict(entry.info),
        "extracted": dict(entry.extracted),
        "pages_needing_ocr": list(entry.pages_needing_ocr),
        "geometry": None if geometry is None else _geometry_record(geometry),
    }
    lines = [_line(document), *(_line(chunk.model_dump()) for chunk in entry.chunks)]
    body = b"".join(lines)
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "chunks": len(entry.chunks),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    return _line(head) + body


def _decode(data: bytes) -> CachedFile:
    first, _, body = data.partition(b"\n")
    head = json.loads(first)
    if (head["format"], head["version"]) != (_FORMAT, _VERSION):
        raise ValueError(f"it is {head['format']} {head['version']}, not {_FORMAT} {_VERSION}")
    if head["sha256"] != hashlib.sha256(body).hexdigest():
        raise ValueError("its checksum is wrong")
    document, *chunks = (json.loads(line) for line in body.splitlines())
    if len(chunks) != head["chunks"]:
        raise ValueError(f"it has {len(chunks)} chunks, not {head['chunks']}")
    geometry = document["geometry"]
    return CachedFile(
        title=document["title"],
        chunks=[ChunkResult.model_validate(chunk) for chunk in chunks],
        geometry=None if geometry is None else _geometry(geometry),
        info=document["info"],
        extracted=document["extracted"],
        pages_needing_ocr=tuple(document["pages_needing_ocr"]),
    )


def _geometry_record(geometry: Geometry) -> dict[str, Any]:
    return {
        "markdown": geometry.markdown,
        "page_ranges": [list(page) for page in geometry.page_ranges],
        "page_dimensions": {key: list(size) for key, size in geometry.page_dimensions.items()},
        "words": base64.b64encode(geometry.words).decode("ascii"),
        "tables": dict(geometry.tables),
    }


def _geometry(record: Mapping[str, Any]) -> Geometry:
    return Geometry(
        markdown=record["markdown"],
        page_ranges=tuple((start, end, page) for start, end, page in record["page_ranges"]),
        page_dimensions={
            key: (width, height) for key, (width, height) in record["page_dimensions"].items()
        },
        words=base64.b64decode(record["words"], validate=True),
        tables=record["tables"],
    )


def _line(value: Mapping[str, Any]) -> bytes:
    # Escapes keep lone surrogates and line separators, so that a line is a line.
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"
