"""``add(metadata_map=...)``: passages get it, edits embed nothing, other runs leave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pincite
from pincite import AsyncLibrary, F, HashEmbedder, InvalidArgument, Library

TEXT = "# Ropes\n\nA bowline holds.\n\n## Care\n\nDry it well.\n"
MAP: dict[str, Any] = {
    "*.md": {"DEFAULT": {"year": 2024, "title": "About rope"}, "Care": {"topic": "care"}}
}


@pytest.fixture
def client() -> HashEmbedder:
    return HashEmbedder(32)


@pytest.fixture(params=["memory", "local"])
def lib(request: pytest.FixtureRequest, tmp_path: Path, client: HashEmbedder) -> Any:
    uri = "memory:" if request.param == "memory" else f"local:{tmp_path}/store"
    with pincite.open(uri, embedder=pincite.Embedder(client, "test--hash")) as library:
        yield library


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ropes.md").write_text(TEXT)
    (tmp_path / "docs" / "tides.txt").write_text("High tide.")
    return tmp_path / "docs"


def given(lib: Library, document: str = "ropes.md") -> list[dict[str, Any]]:
    return [dict(chunk.metadata) for chunk in lib.chunks(document)]


def test_every_passage_gets_what_the_map_says(lib: Library, docs: Path) -> None:
    lib.add(docs, metadata_map=MAP, metadata={"kind": "note", "year": 1})

    assert given(lib) == [
        {"kind": "note", "year": 2024},
        {"kind": "note", "year": 2024, "topic": "care"},
    ]
    assert given(lib, "tides.txt") == [{"kind": "note", "year": 1}]
    assert lib.get("ropes.md").title == "About rope"
    assert [h.chunk.chunk_index for h in lib.search("dry", where=F("topic") == "care")] == [1]


def test_an_edit_of_the_map_embeds_nothing(lib: Library, docs: Path, client: HashEmbedder) -> None:
    lib.add(docs)
    before, calls = lib.search("bowline", mode="vector").hits[0].score, client.calls
    report = lib.add(docs, metadata_map=MAP)

    assert report.updated == ("ropes.md",)
    assert report.unchanged == ("tides.txt",)
    assert given(lib)[1] == {"year": 2024, "topic": "care"}
    assert lib.add(docs, metadata_map=MAP).unchanged == ("ropes.md", "tides.txt")
    lib.add(docs, metadata_map={"ropes.md": {"Care": {"topic": "drying"}}})
    assert given(lib) == [{}, {"topic": "drying"}]
    assert client.calls == calls
    assert lib.search("bowline", mode="vector").hits[0].score == pytest.approx(before, abs=1e-6)


def test_a_run_without_the_map_leaves_what_was_given(lib: Library, docs: Path) -> None:
    lib.add(docs, metadata_map=MAP)
    assert lib.add(docs).unchanged == ("ropes.md", "tides.txt")
    lib.add(docs, metadata={"kind": "note"})

    assert given(lib)[1] == {"kind": "note", "year": 2024, "topic": "care"}
    assert lib.add(docs, metadata_map={}).updated == ("ropes.md",)
    assert given(lib) == [{"kind": "note"}] * 2


def test_bytes_take_a_map_by_their_id(lib: Library, client: HashEmbedder) -> None:
    data = TEXT.encode()
    lib.add(data, filename="r.md", document="ropes.md", metadata_map=MAP)
    calls = client.calls

    assert given(lib)[1] == {"year": 2024, "topic": "care"}
    for options in ({}, {"metadata_map": MAP}):
        report = lib.add(data, filename="r.md", document="ropes.md", **options)
        assert report.unchanged == ("ropes.md",)
    assert client.calls == calls
    lib.add(data, filename="r.md", document="ropes.md", metadata_map={})
    assert client.calls == calls
    assert given(lib) == [{}, {}]


def test_a_map_of_the_wrong_shape_writes_nothing(lib: Library, docs: Path) -> None:
    with pytest.raises(InvalidArgument, match="the shape is"):
        lib.add(docs, metadata_map={"a.md": []})  # type: ignore[dict-item]
    assert lib.documents() == []


@pytest.mark.anyio
async def test_the_async_library_takes_it_too(docs: Path) -> None:
    made = await pincite.open_async("memory:", embedder="local--static")
    assert isinstance(made, AsyncLibrary)
    async with made as library:
        await library.add(docs / "ropes.md", metadata_map=MAP)
        chunks = await library.chunks("ropes.md")

    assert chunks[1].metadata["topic"] == "care"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
