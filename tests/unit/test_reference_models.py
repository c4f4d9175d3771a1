"""The fields and defaults of the models that parsers and chunkers return."""

from __future__ import annotations

import dataclasses
from typing import Any

import pydantic
import pytest

from pincite import (
    BboxRect,
    ChunkResult,
    EmbeddedChunk,
    LayoutBlock,
    MarkdownParseResult,
    TableSpan,
)

CHUNK_DEFAULTS: dict[str, Any] = {
    "start_char": 0,
    "end_char": 0,
    "pages": [],
    "bboxes": [],
    "tables": [],
    "context_header": "",
    "unit_id": "",
    "unit_chunk_index": 0,
    "unit_refs": [],
    "embed_text": "",
}
PARSE_DEFAULTS: dict[str, Any] = {
    "pages_needing_ocr": [],
    "tables": {},
    "blocks": [],
    "page_dimensions": {},
    "words": b"",
    "metadata": {},
}


@pytest.mark.parametrize(
    ("model", "required", "defaults"),
    [
        (ChunkResult, ["content", "chunk_index"], CHUNK_DEFAULTS),
        (MarkdownParseResult, ["markdown", "page_ranges", "total_pages"], PARSE_DEFAULTS),
    ],
)
def test_fields_and_defaults_are_those_of_the_page(
    model: type[pydantic.BaseModel], required: list[str], defaults: dict[str, Any]
) -> None:
    fields = model.model_fields

    assert [name for name, field in fields.items() if field.is_required()] == required
    assert {n: f.get_default() for n, f in fields.items() if not f.is_required()} == defaults


def test_results_are_frozen_and_dump_to_plain_values() -> None:
    chunk = ChunkResult(content="a", chunk_index=0, bboxes=[BboxRect(1, 0, 0, 5, 5)])

    with pytest.raises(pydantic.ValidationError, match="frozen"):
        chunk.content = "b"  # type: ignore[misc]
    dumped = chunk.model_dump()
    assert dumped["bboxes"] == [{"page": 1, "x0": 0, "y0": 0, "x1": 5, "y1": 5}]
    assert ChunkResult.model_validate(dumped) == chunk


def test_defaults_are_not_shared() -> None:
    one = ChunkResult(content="a", chunk_index=0)
    one.pages.append(1)

    assert ChunkResult(content="b", chunk_index=0).pages == []


@pytest.mark.parametrize(
    ("noun", "names"),
    [
        (BboxRect, ["page", "x0", "y0", "x1", "y1"]),
        (LayoutBlock, ["kind", "start_char", "end_char", "page", "bbox", "level"]),
        (TableSpan, ["start_char", "end_char", "table_id"]),
        (EmbeddedChunk, ["chunk", "vector", "metadata"]),
    ],
)
def test_the_nouns_have_the_fields_of_the_page(noun: type[Any], names: list[str]) -> None:
    assert [field.name for field in dataclasses.fields(noun)] == names
