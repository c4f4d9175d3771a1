"""What holds for every chunk of every file, however it was parsed and cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite import AdaptiveChunker, MarkdownChunker
from pincite.demo import library_folder
from pincite.indexing.indexer import Chunker
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.registry import parse

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "parsing"
FILES = sorted(p for folder in (FIXTURES, library_folder()) for p in folder.iterdir())
CHUNKERS: list[Chunker] = [
    MarkdownChunker(),
    MarkdownChunker(size=80, overlap=20),
    AdaptiveChunker(),
    AdaptiveChunker(max_tokens=40),
]


def _parsed(path: Path) -> MarkdownParseResult:
    return parse(path.read_bytes(), path.name, password="sesame")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_chunks_are_slices_that_cover_the_markdown(path: Path) -> None:
    result = _parsed(path)
    for chunker in CHUNKERS:
        chunks = chunker.chunk(result)
        covered = bytearray(len(result.markdown))
        for index, chunk in enumerate(chunks):
            assert chunk.chunk_index == index
            assert chunk.content == result.markdown[chunk.start_char : chunk.end_char]
            assert chunk.content.strip()
            covered[chunk.start_char : chunk.end_char] = b"\1" * len(chunk.content)
        left = [c for c, seen in zip(result.markdown, covered, strict=True) if not seen]
        assert "".join(left).strip() == ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_blocks_tile_the_markdown_and_pages_are_those_of_the_document(path: Path) -> None:
    result = _parsed(path)
    places = [(b.start_char, b.end_char) for b in result.blocks]

    assert [start for start, _ in places] == [0, *[end for _, end in places[:-1]]] or not places
    assert not places or places[-1][1] == len(result.markdown)
    for chunk in AdaptiveChunker().chunk(result):
        assert all(1 <= page <= result.total_pages for page in chunk.pages)
        for box in chunk.bboxes:
            width, height = result.page_dimensions[str(box.page)]
            assert -1 <= box.x0 <= box.x1 <= width + 1
            assert -1 <= box.y0 <= box.y1 <= height + 1
