"""PyMuPDF (extra ``pdf``; AGPL or commercial)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pincite.errors import ParseError
from pincite.parsing.pdf.backends.missing import require
from pincite.parsing.pdf.page import Box, OutlineEntry, PdfPage, PdfText, is_mono_font
from pincite.parsing.pdf.words import Glyph, Style, flattened, is_bold_font, words_of

__all__ = ["PyMuPDFBackend"]

_BOLD_FLAG = 16
_THIN = 2.5


class PyMuPDFBackend:
    """Raises ``MissingExtra`` when the package is not installed."""

    name = "pymupdf"

    def __init__(self) -> None:
        self._pymupdf = require("pymupdf", extra="pdf")

    def read(self, data: bytes, *, filename: str = "", password: str | None = None) -> PdfText:
        """Raises ``ParseError`` when the file is damaged or needs a password."""
        name = filename or "The PDF"
        try:
            with self._pymupdf.open(stream=data, filetype="pdf") as document:
                if document.needs_pass and not document.authenticate(password or ""):
                    hint = "another password is needed" if password else "give its password"
                    raise ParseError(f"{name} is encrypted; {hint} (password= or --password).")
                return self._document(document)
        except RuntimeError as error:
            raise ParseError(
                f"{name} is not a readable PDF ({error}); open it in a viewer and save it again."
            ) from error

    def _document(self, document: Any) -> PdfText:
        pages = [self._page(page) for page in document]
        outline = [
            OutlineEntry(title.strip(), level, max(page, 0))
            for level, title, page in document.get_toc(simple=True)
            if title.strip()
        ]
        kept = ("title", "author", "subject", "keywords")
        found = {key: (document.metadata or {}).get(key) or "" for key in kept}
        return PdfText(pages, outline, {key: value for key, value in found.items() if value})

    def _page(self, page: Any) -> PdfPage:
        turn = page.rotation_matrix
        raw = page.get_text("rawdict", flags=self._flags())
        words = words_of(_glyphs(raw, turn, page.rotation))
        width, height = page.rect.width, page.rect.height
        kept = [w for w in words if 0 <= w.box.middle <= height and 0 <= w.box.x0 <= width]
        for word in kept:
            x0, y0, x1, y1 = word.box
            word.box = Box(max(x0, 0.0), max(y0, 0.0), min(x1, width), min(y1, height))
        rules = [_box(item, turn) for item in _drawn(page)]
        flat = [flattened(r) for r in rules if min(r.width, r.height) <= _THIN]
        return PdfPage(page.number + 1, width, height, kept, flat)

    def _flags(self) -> int:
        mupdf = self._pymupdf
        return int(mupdf.TEXT_PRESERVE_LIGATURES | mupdf.TEXT_PRESERVE_WHITESPACE)


def _glyphs(raw: dict[str, Any], turn: Any, rotation: int) -> Iterator[Glyph]:
    for block in raw["blocks"]:
        for line in block.get("lines", ()):
            cosine, sine = line["dir"]
            angle = round((math.degrees(math.atan2(sine, cosine)) + rotation) / 90) * 90 % 360
            for span in line["spans"]:
                bold = bool(span["flags"] & _BOLD_FLAG) or is_bold_font(span["font"])
                style = Style(
                    float(span["size"]), bold, span["font"], angle, is_mono_font(span["font"])
                )
                for char in span["chars"]:
                    yield Glyph(char["c"], _box(char["bbox"], turn), style)
            yield Glyph("\n", Box(0.0, 0.0, 0.0, 0.0), None)


def _box(corners: Any, turn: Any) -> Box:
    x0, y0, x1, y1 = corners
    ax, ay = _applied(turn, x0, y0)
    bx, by = _applied(turn, x1, y1)
    return Box(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))


def _applied(m: Any, x: float, y: float) -> tuple[float, float]:
    return m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f


def _drawn(page: Any) -> Iterator[tuple[float, float, float, float]]:
    """Lines, thin rectangles and the edges of the others."""
    for drawing in page.get_drawings():
        for item in drawing["items"]:
            if item[0] == "l":
                (ax, ay), (bx, by) = item[1], item[2]
                yield min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
            elif item[0] == "re":
                x0, y0, x1, y1 = item[1]
                if min(x1 - x0, y1 - y0) <= _THIN:
                    yield x0, y0, x1, y1
                else:
                    yield from ((x0, y0, x1, y0), (x0, y1, x1, y1))
                    yield from ((x0, y0, x0, y1), (x1, y0, x1, y1))
