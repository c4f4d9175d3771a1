"""From a file's bytes to what the cache keeps: the pipeline's own stages, without vectors."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.indexing.bibliographic import DoiLookup, extract_metadata, plain_values
from pincite.indexing.cache import CachedFile, ChunkCache
from pincite.indexing.indexer import Chunker
from pincite.indexing.pipeline import FileInput, Pipeline
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, ModelIdentity
from pincite.model.layout import MarkdownParseResult

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

__all__ = ["Converter", "local_tokenizer"]


@dataclass
class _Noting:
    """A chunker that remembers what it was given."""

    chunker: Chunker
    seen: MarkdownParseResult | None = None

    @property
    def fingerprint(self) -> str:
        return self.chunker.fingerprint

    def chunk(self, result: MarkdownParseResult) -> list[ChunkResult]:
        self.seen = result
        return self.chunker.chunk(result)


@dataclass(frozen=True)
class Converter:
    """Parses and chunks files, or takes them from a cache."""

    chunker: Chunker
    model_name: str
    endpoint: str
    lookup: DoiLookup | None = None

    @property
    def fingerprint(self) -> str:
        """That of the pipeline."""
        return self._pipeline(self.chunker).fingerprint

    def convert(
        self, path: Path, cache: ChunkCache | None, *, force: bool
    ) -> tuple[str, CachedFile]:
        """The SHA-256 hex of a file's bytes and what was made of them.

        Errors as in ``parsing.registry.parse``, and ``OSError``.
        """
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        # The extension too decides how the same bytes are parsed.
        key = f"{self.fingerprint}{path.suffix.lower()[:16]}"
        known = None if cache is None or force else cache.get(digest, key)
        if known is not None:
            return digest, known
        made = self._run(data, path.name)
        if cache is not None:
            cache.put(digest, key, made)
        return digest, made

    def _run(self, data: bytes, filename: str) -> CachedFile:
        noting = _Noting(self.chunker)
        made = self._pipeline(noting).run(FileInput("", data, filename))
        parsed = noting.seen
        if parsed is None:
            return CachedFile("", [])
        whole = made if isinstance(made, EmbeddedDocument) else None
        return CachedFile(
            title=parsed.metadata.get("title", ""),
            chunks=[] if whole is None else whole.chunks,
            geometry=None if whole is None else whole.geometry,
            info=parsed.metadata,
            extracted=plain_values(extract_metadata(parsed, lookup=self.lookup)),
            pages_needing_ocr=parsed.pages_needing_ocr,
        )

    def _pipeline(self, chunker: Chunker) -> Pipeline:
        model = ModelIdentity(self.model_name, 0)
        return Pipeline(chunker=chunker, embed=_no_vectors, model=model, endpoint=self.endpoint)


def _no_vectors(texts: list[str]) -> NDArray[np.float32]:
    import numpy as np

    return np.zeros((len(texts), 0), dtype=np.float32)


def local_tokenizer(name: str, logger: Logger) -> Tokenizer | None:
    """A tokenizer from the local cache of the Hugging Face hub, or from a ``tokenizer.json``.

    None with one warning when it is not there: nothing is downloaded.
    """
    for file in _candidates(name):
        try:
            return _read(file)
        except Exception as error:  # noqa: BLE001 - the library raises plain Exception
            logger.warning("The tokenizer %s cannot be read (%s).", file, error)
    logger.warning(
        "The tokenizer %s is not in the local cache; the embedding model's own counts tokens.", name
    )
    return None


def _read(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer as Reader

    found: Tokenizer = Reader.from_file(str(file))
    return found


def _candidates(name: str) -> list[Path]:
    given = Path(name)
    if given.is_file():
        return [given]
    environment = os.environ
    home = Path(environment.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(environment.get("HF_HUB_CACHE") or home / "hub")
    folder = hub / f"models--{name.replace('/', '--')}" / "snapshots"
    return sorted(folder.glob("*/tokenizer.json"), reverse=True)
