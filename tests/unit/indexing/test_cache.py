"""Parsed files on disk: found again whole, refused when damaged, never in the way."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pincite.indexing.cache import CACHE_FOLDER, CachedFile, ChunkCache
from pincite.model.chunks import ChunkResult
from pincite.model.documents import Geometry
from pincite.model.geometry import BboxRect, TableSpan

ENTRY = CachedFile(
    title="T\u2028itle",
    chunks=[
        ChunkResult(
            content="Quartz\nglows.",
            chunk_index=0,
            start_char=3,
            end_char=16,
            pages=[1, 2],
            bboxes=[BboxRect(1, 0.1, 2.0, 3.0, 4.0)],
            tables=[TableSpan(0, 2, "t1")],
            context_header="A > B",
            embed_text="A > B\n\nQuartz\nglows.",
        ),
        ChunkResult(content="大阪", chunk_index=1),
    ],
    geometry=Geometry(
        markdown="## Quartz\nglows.",
        page_ranges=((0, 5, 1), (5, 16, 2)),
        page_dimensions={"1": (595.5, 842.0)},
        words=b"\x00\xffpacked",
        tables={"t1": "<table>"},
    ),
    info={"title": "T"},
    extracted={"authors": ["Ada Lovelace"], "year": 2020},
    pages_needing_ocr=(2,),
)


@pytest.fixture
def cache(tmp_path: Path) -> ChunkCache:
    return ChunkCache(tmp_path / CACHE_FOLDER, logging.getLogger("test"))


def entry_file(cache: ChunkCache) -> Path:
    (found,) = cache.folder.iterdir()
    return found


def test_an_entry_comes_back_as_it_was(cache: ChunkCache) -> None:
    assert CACHE_FOLDER == ".pincite-cache"
    cache.put("hash", "print", ENTRY)

    assert cache.get("hash", "print") == ENTRY
    assert [p.name for p in cache.folder.iterdir()] == ["hash-print.jsonl"]


def test_a_file_without_text_has_an_entry_too(cache: ChunkCache) -> None:
    cache.put("hash", "print", CachedFile("", [], pages_needing_ocr=(1,)))

    assert cache.get("hash", "print") == CachedFile("", [], pages_needing_ocr=(1,))


def test_another_content_or_pipeline_has_no_entry(cache: ChunkCache) -> None:
    assert cache.get("hash", "print") is None
    cache.put("hash", "print", ENTRY)

    assert cache.get("hash", "other") is None
    assert cache.get("other", "print") is None


def flip(data: bytes) -> bytes:
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flip, "its checksum is wrong"),
        (lambda data: data[:-30], "its checksum is wrong"),
        (lambda data: b"", "Expecting value"),
        (lambda data: b"\x80\x04pickle", "codec|Expecting"),
        (lambda data: b"{}\n", "format"),
        (lambda data: data.replace(b'"version":1', b'"version":9', 1), "it is pincite-cache 9"),
        (lambda data: data.replace(b'"chunks":2', b'"chunks":3', 1), "it has 2 chunks, not 3"),
    ],
)
def test_a_damaged_entry_is_a_warning_and_can_be_written_anew(
    cache: ChunkCache, damage, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    cache.put("hash", "print", ENTRY)
    file = entry_file(cache)
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert cache.get("hash", "print") is None
    assert "hash-print.jsonl cannot be read" in caplog.text
    assert "parsed again" in caplog.text
    assert any(part in caplog.text for part in said.split("|"))

    cache.put("hash", "print", ENTRY)
    assert cache.get("hash", "print") == ENTRY


def test_a_folder_that_cannot_be_written_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ChunkCache(tmp_path / "file", logging.getLogger("test"))
    with caplog.at_level(logging.WARNING):
        cache.put("hash", "print", ENTRY)
        cache.put("hash", "other", ENTRY)

    assert caplog.text.count("goes on without a cache") == 1


def test_an_entry_is_json_lines(cache: ChunkCache) -> None:
    cache.put("hash", "print", ENTRY)
    lines = entry_file(cache).read_bytes().split(b"\n")

    assert lines.pop() == b""
    assert [min(json.loads(line)) for line in lines[:2]] == ["chunks", "extracted"]
    assert [json.loads(line)["content"] for line in lines[2:]] == ["Quartz\nglows.", "大阪"]
