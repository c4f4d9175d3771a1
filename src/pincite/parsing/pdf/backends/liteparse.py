"""liteparse (extra ``liteparse``), always without OCR."""

from __future__ import annotations

from typing import Any

from pincite.errors import ParseError
from pincite.parsing.pdf.backends.missing import require
from pincite.parsing.pdf.page import Box, PdfPage, PdfText, PdfWord, is_mono_font
from pincite.parsing.pdf.words import flattened, is_bold_font

__all__ = ["LiteParseBackend"]

_THIN = 2.5
_BOLD_WEIGHT = 600
_NO_GAP = 0.1  # of the size: words that close are one word that was cut at a sign


class LiteParseBackend:
    """Raises ``MissingExtra`` when the package is not installed. It gives no outline."""

    name = "liteparse"

    def __init__(self) -> None:
        self._liteparse = require("liteparse", extra="liteparse")

    def read(self, data: bytes, *, filename: str = "", password: str | None = None) -> PdfText:
        """Raises ``ParseError`` when the file is damaged or needs a password."""
        reader = self._liteparse.LiteParse(
            ocr_enabled=False,
            quiet=True,
            emit_word_boxes=True,
            extract_text_metadata=True,
            extract_vector_graphics=True,
            password=password,
        )
        try:
            result = reader.parse(data)
        except self._liteparse.ParseError as error:
            name = filename or "The PDF"
            if "password" in str(error).lower():
                hint = "another password is needed" if password else "give its password"
                raise ParseError(
                    f"{name} is encrypted; {hint} (password= or --password)."
                ) from error
            raise ParseError(
                f"{name} is not a readable PDF ({error}); open it in a viewer and save it again."
            ) from error
        return PdfText([_page(page) for page in result.pages])


def _page(page: Any) -> PdfPage:
    width, height = float(page.width), float(page.height)
    words: list[PdfWord] = []
    for item in page.text_items:
        words += _words(item, width, height)
    return PdfPage(int(page.page_num), width, height, words, _rules(page.vector_graphics))


def _words(item: Any, width: float, height: float) -> list[PdfWord]:
    size = float(item.font_height or item.height)
    font = item.font_name or ""
    bold = (item.font_weight or 0) >= _BOLD_WEIGHT or is_bold_font(font)
    angle = round(float(item.rotation or 0.0) / 90) * 90 % 360
    words: list[PdfWord] = []
    for part in item.words or [item]:
        box = Box(
            max(float(part.x), 0.0),
            max(float(part.y), 0.0),
            min(float(part.x + part.width), width),
            min(float(part.y + part.height), height),
        )
        spaced = not words or box.x0 - words[-1].box.x1 > _NO_GAP * size
        for text in part.text.split():
            words.append(
                PdfWord(text, box, size, bold, font, angle, is_mono_font(font), spaced=spaced)
            )
            spaced = True
    return words


def _rules(graphics: Any) -> list[Box]:
    if graphics is None:
        return []
    shapes = (Box(x, y, x + w, y + h) for x, y, w, h in (tuple(s.bbox) for s in graphics.shapes))
    return [flattened(box) for box in shapes if min(box.width, box.height) <= _THIN]
