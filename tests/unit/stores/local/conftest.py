"""Documents of our own making, and stores in temporary folders."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, Geometry, ModelIdentity
from pincite.model.geometry import BboxRect
from pincite.stores.local.store import LocalStore

MakeDocument = Callable[..., EmbeddedDocument]


def text_vector(text: str, dimension: int) -> np.ndarray:
    """A vector that depends on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8])
    return np.random.default_rng(seed).normal(size=dimension).astype(np.float32)


def make_document(
    name: str,
    texts: Sequence[str],
    *,
    dimension: int = 8,
    endpoint: str = "test--hash",
    metadata: Mapping[str, Any] | None = None,
    **more: Any,
) -> EmbeddedDocument:
    """A document whose Markdown is its texts, one paragraph each."""
    markdown = "\n\n".join(texts)
    chunks, at = [], 0
    for index, text in enumerate(texts):
        start = markdown.index(text, at)
        at = start + len(text)
        chunks.append(
            ChunkResult(
                content=text,
                chunk_index=index,
                start_char=start,
                end_char=at,
                pages=[index + 1],
                bboxes=[BboxRect(index + 1, 10.5, 20.25, 100.0, 40.0)],
                context_header="A > B" if index else "",
            )
        )
    vectors = np.array([text_vector(text, dimension) for text in texts]).reshape(-1, dimension)
    given: dict[str, Any] = {
        "source": f"/files/{name}",
        "content_hash": hashlib.sha256(markdown.encode("utf-8", "surrogatepass")).hexdigest(),
        "fingerprint": "chunker 1",
        "geometry": Geometry(markdown, [(0, len(markdown), 1)], {"1": (595.0, 842.0)}),
        **more,
    }
    return EmbeddedDocument(
        document=name,
        title=f"Title of {name}",
        chunks=chunks,
        vectors=vectors,
        endpoint=endpoint,
        metadata=metadata or {},
        **given,
    )


@pytest.fixture(name="document")
def _document() -> MakeDocument:
    return make_document


@pytest.fixture
def as_before() -> Callable[..., np.ndarray]:
    """The model of ``make_document``'s vectors, as a repair calls it."""

    def embed(endpoint: str, model: ModelIdentity | None, texts: list[str]) -> np.ndarray:
        assert (endpoint, model) == ("test--hash", None)
        return np.array([text_vector(text, 8) for text in texts])

    return embed


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(path: Path) -> Iterator[LocalStore]:
    opened = LocalStore(path, lock_timeout=2.0)
    yield opened
    opened.close()
