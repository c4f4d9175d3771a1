"""What a chunker returns, and the same with its vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from pincite.model.geometry import BboxRect, TableSpan

__all__ = ["ChunkResult", "EmbeddedChunk"]


class ChunkResult(BaseModel):
    """One passage of a document; ``content == markdown[start_char:end_char]``, always.

    ``embed_text`` is what both legs index where it differs from ``content`` (a repeated table
    header, the heading path); empty means ``content``. ``bboxes`` are the rectangles of the
    layout blocks that the passage overlaps. ``tables`` are ranges in ``content``.
    """

    model_config = ConfigDict(frozen=True)

    content: str
    chunk_index: int
    start_char: int = 0
    end_char: int = 0
    pages: list[int] = []
    bboxes: list[BboxRect] = []
    tables: list[TableSpan] = []
    context_header: str = ""
    unit_id: str = ""
    unit_chunk_index: int = 0
    unit_refs: list[str] = []
    embed_text: str = ""

    @property
    def indexed_text(self) -> str:
        """The text that both legs index: ``embed_text or content``."""
        return self.embed_text or self.content


@dataclass(frozen=True, slots=True)
class EmbeddedChunk:
    """A chunk with its embedding vector (finite values), ready for a sink.

    ``metadata`` belongs to this chunk alone and goes over the document's.
    """

    chunk: ChunkResult
    vector: tuple[float, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict)
