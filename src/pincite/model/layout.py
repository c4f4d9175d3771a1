"""What a parser returns."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from pincite.model.geometry import LayoutBlock

__all__ = ["MarkdownParseResult"]


class MarkdownParseResult(BaseModel):
    """Result of parsing a document into Markdown.

    ``page_ranges`` holds ``(start_char, end_char, page)``; ``blocks`` cover ``markdown`` in order
    and without gaps; ``page_dimensions`` maps the page number as a string to ``(width, height)``
    in points; ``tables`` maps a table's id to its HTML while the table itself stays inline in
    ``markdown``; ``words`` is ``WordBoxes.pack()`` of every word with its rectangle, b"" when the
    format has no geometry; ``metadata`` is what the file says of itself (``title``, ``author``,
    ``subject``, ``keywords``; of an article in JATS also ``journal``, ``doi`` and ``date``).
    """

    model_config = ConfigDict(frozen=True, ser_json_bytes="base64", val_json_bytes="base64")

    markdown: str
    page_ranges: list[tuple[int, int, int]]
    total_pages: int
    pages_needing_ocr: list[int] = []
    tables: dict[str, str] = {}
    blocks: list[LayoutBlock] = []
    page_dimensions: dict[str, tuple[float, float]] = {}
    words: bytes = b""
    metadata: dict[str, str] = {}
