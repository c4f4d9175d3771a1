"""The flow of the page on each kind of store, from a folder of files to text for a prompt."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.embedding.blocking import BlockingEmbedder
from pincite.embedding.embedder import Embedder
from pincite.indexing.builder import StoresBuilder
from pincite.indexing.cache import CACHE_FOLDER
from pincite.retrieval.domains import RetrieverConfig
from pincite.retrieval.managers import BM25RetrieverManager, VSRetriever
from pincite.retrieval.merge import SOURCE_SCORES_KEY
from pincite.retrieval.orchestrator import Orchestrator
from pincite.retrieval.serialize import serialize_vs_retrieval
from pincite.testing import HashEmbedder

LOGGER = logging.getLogger("test")
FILES = {
    "ropes.md": "# Ropes\n\nA bowline knot holds.\n\n## Care\n\nDry it well, or it rots.\n",
    "sub/tides.md": "# Tides\n\nThe ferry sails at high tide.\n",
}

Fixture = pytest.FixtureRequest


def _postgres(request: Fixture, _: Path) -> str:
    pytest.importorskip("psycopg")
    uri: str = request.getfixturevalue("postgres_store_uri")
    return f"pgvector:{uri}"


def _in_folder(scheme: str, module: str) -> Callable[[Fixture, Path], str]:
    def make(_: Fixture, folder: Path) -> str:
        if module:
            pytest.importorskip(module)
        return f"{scheme}:{folder / 'vectors'}"

    return make


STORES: dict[str, Callable[[Fixture, Path], str]] = {
    "local": _in_folder("local", ""),
    "chroma": _in_folder("Chroma", "chromadb"),
    "qdrant": _in_folder("qdrant", "qdrant_client"),
    "postgresql": _postgres,
}


@pytest.mark.parametrize("kind", STORES)
def test_the_flow_of_the_page(kind: str, request: Fixture, tmp_path: Path) -> None:
    uri, corpus = STORES[kind](request, tmp_path), str(tmp_path / "kw")
    docs, entries = tmp_path / "docs", {"ropes.md": {"Care": {"url": "https://care"}}}
    for name, text in FILES.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text)
    (tmp_path / "map.json").write_text(json.dumps(entries))
    client = HashEmbedder(32)

    def build(year: int) -> None:
        made = StoresBuilder("local--static", LOGGER)
        made.embedder = BlockingEmbedder(Embedder(client, "test--hash"))
        entries["*.md"] = {"DEFAULT": {"year": year}}
        (tmp_path / "map.json").write_text(json.dumps(entries))
        made.build(str(docs), uri, "ships", False, str(tmp_path / "map.json"), corpus)
        made.close()

    build(2023)
    asked = client.texts
    build(2024)  # an edit of the map

    assert (asked, client.texts) == (3 + 3, 6)
    shutil.rmtree(docs / CACHE_FOLDER)
    config = RetrieverConfig.model_validate(
        {
            "domains": {
                "sea": {
                    "vector_stores": [{"name": "ships", "path": uri}],
                    "bm25_stores": [{"name": "ships", "path": corpus}],
                }
            }
        }
    )
    vectors, keywords = (
        VSRetriever(config, LOGGER, "local--static"),
        BM25RetrieverManager(config, LOGGER),
    )
    vectors._embedder = BlockingEmbedder(Embedder(client, "test--hash"))
    try:
        found = Orchestrator([vectors, keywords]).retrieve("sea", "dry it or it rots", k=3)
        only = vectors.retrieve("sea", "dry it or it rots", k=1)
    finally:
        vectors.close()

    best, score = found.results[0]
    assert (best.id, best.document) == ("ropes.md-1", "ropes.md")
    assert score == pytest.approx(2 / 61)
    assert best.metadata["year"] == 2024
    assert best.metadata["url"] == "https://care"
    assert best.metadata["headings"] == ["Ropes", "Care"]
    assert list(best.metadata[SOURCE_SCORES_KEY]) == ["vector store", "BM25"]
    assert [chunk.id for chunk, _ in only] == ["ropes.md-1"]
    assert sorted(chunk.id for chunk, _ in found.results) == [
        "ropes.md-0",
        "ropes.md-1",
        "sub/tides.md-0",
    ]
    assert serialize_vs_retrieval({"sea": found.results}).startswith(
        "## sea\n\n[1] ropes.md | Ropes > Care | score 0.0328 (vector store "
    )
