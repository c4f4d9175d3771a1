"""A folder of chunks, found by keyword."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite.bm25.chunk_store import ChunkStore, write_chunk_store
from pincite.errors import InvalidArgument, StoreNotFound
from pincite.model.geometry import BboxRect
from pincite.model.hits import Chunk


def test_what_is_written_is_found_whole(tmp_path: Path) -> None:
    box = BboxRect(1, 1.0, 2.0, 3.0, 4.0)
    chunks = [
        Chunk(
            "Quartz glows.",
            document="a.md",
            bboxes=(box,),
            pages=(1,),
            language="en",
            metadata={"year": 1},
        ),
        Chunk("Nothing.", document="b.md"),
    ]
    write_chunk_store(tmp_path / "kw", chunks, ["Minerals\n\nQuartz glows.", "Nothing."])
    store = ChunkStore.open(tmp_path / "kw")
    ((found, score),) = store.search("mineral", 5)

    assert len(store) == 2
    assert found == chunks[0]
    assert score > 0
    assert [c.id for c, _ in store.search("glowing", 5)] == ["a.md-0"]  # stemmed, as in stores


def test_a_second_write_replaces_the_first(tmp_path: Path) -> None:
    write_chunk_store(tmp_path, [Chunk("old words", id="1")], ["old words"])
    write_chunk_store(tmp_path, [Chunk("new words", id="2")], ["new words"])

    assert [c.id for c, _ in ChunkStore.open(tmp_path).search("words", 5)] == ["2"]


def test_an_empty_store_finds_nothing(tmp_path: Path) -> None:
    write_chunk_store(tmp_path, [], [])

    assert ChunkStore.open(tmp_path).search("words", 5) == []


def test_two_chunks_of_one_id_and_uneven_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="one id"):
        write_chunk_store(tmp_path, [Chunk("a", id="1"), Chunk("b", id="1")], ["a", "b"])
    with pytest.raises(InvalidArgument, match="1 texts for 0 chunks"):
        write_chunk_store(tmp_path, [], ["a"])


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match="gone"):
        ChunkStore.open(tmp_path / "gone")
