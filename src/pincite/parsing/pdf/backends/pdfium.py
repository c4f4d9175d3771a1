"""PDFium through pypdfium2: the core backend."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from pincite.errors import ParseError
from pincite.parsing.pdf.page import Box, OutlineEntry, PdfPage, PdfText, PdfWord, is_mono_font
from pincite.parsing.pdf.words import Glyph, Style, flattened, is_bold_font, words_of

__all__ = ["MAX_CHARS", "MAX_PAGES", "PDFIUM_LOCK", "PdfiumBackend"]

MAX_PAGES = 20_000
MAX_CHARS = 40_000_000
_MAX_OBJECTS = 30_000  # of a page: more are a drawing, whose lines are no table
_MAX_DEPTH = 4  # of forms within forms
_MAX_OUTLINE = 5_000
_MAX_ANNOTATIONS = 2_000  # of a page
_FIXED_PITCH = 1  # the flag of a font descriptor
_FREE_TEXT = 3  # the annotation that is text on the page
_UNKNOWN_SIZE = 8.0  # points: small, so that the text cannot pass for a heading
_PLACEHOLDERS = frozenset(
    {"", "untitled", "(anonymous)", "anonymous", "(unspecified)", "unspecified"}
)
_THIN = 2.5  # points: a filled rectangle not wider than this is a line

PDFIUM_LOCK: Final = threading.RLock()
"""PDFium is not thread-safe: whoever calls it holds this lock."""

_Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class PdfiumBackend:
    """Reads with PDFium. Documents beyond ``MAX_PAGES`` or ``MAX_CHARS`` are refused."""

    name = "pdfium"

    def read(self, data: bytes, *, filename: str = "", password: str | None = None) -> PdfText:
        """Raises ``ParseError`` when the file is damaged, too large or needs a password."""
        import pypdfium2

        with PDFIUM_LOCK:
            document = _opened(pypdfium2, data, filename or "The PDF", password)
            try:
                return _read(pypdfium2, document, filename or "The PDF")
            except pypdfium2.PdfiumError as error:
                raise ParseError(
                    f"{filename} is damaged ({error}); open it in a viewer and save it again."
                ) from error
            finally:
                document.close()


def _opened(pypdfium2: Any, data: bytes, filename: str, password: str | None) -> Any:
    try:
        document = pypdfium2.PdfDocument(data, password=password)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            hint = "another password is needed" if password else "give its password"
            raise ParseError(
                f"{filename} is encrypted; {hint} (password= or --password)."
            ) from error
        raise ParseError(
            f"{filename} is not a readable PDF ({error}); open it in a viewer and save it again."
        ) from error
    if not 0 < len(document) <= MAX_PAGES:
        count = len(document)
        document.close()
        raise ParseError(f"{filename} has {count} pages; a PDF must have 1 to {MAX_PAGES}.")
    return document


def _read(pypdfium2: Any, document: Any, filename: str) -> PdfText:
    pages: list[PdfPage] = []
    chars = 0
    for index in range(len(document)):
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            pages.append(PdfPage(index + 1, 612.0, 792.0))
            continue
        try:
            reader = _PageReader(pypdfium2.raw, page)
            chars += reader.count()
            if chars > MAX_CHARS:
                raise ParseError(f"{filename} has over {MAX_CHARS} characters; split it.")
            pages.append(reader.read(index + 1))
        finally:
            page.close()
    return PdfText(pages, _outline(document), _metadata(document))


def _outline(document: Any) -> list[OutlineEntry]:
    entries: list[OutlineEntry] = []
    for mark in document.get_toc(max_depth=6):
        if len(entries) >= _MAX_OUTLINE:
            break
        target = mark.get_dest()
        page = target.get_index() if target is not None else None
        title = _readable(mark.get_title).strip()
        if title:
            entries.append(OutlineEntry(title, mark.level + 1, 0 if page is None else page + 1))
    return entries


def _readable(read: Callable[[], str | None]) -> str:
    """What ``read`` returns, "" when the file's bytes for it are no UTF-16."""
    try:
        return read() or ""
    except UnicodeDecodeError:
        return ""


def _metadata(document: Any) -> dict[str, str]:
    kept = {
        key: _readable(partial(document.get_metadata_value, key.capitalize()))
        for key in ("title", "author", "subject", "keywords")
    }
    clean = {key: value.strip("\0 \t\r\n") for key, value in kept.items()}
    return {key: value for key, value in clean.items() if value.lower() not in _PLACEHOLDERS}


class _PageReader:
    """Reads one page; coordinates are turned, moved and flipped here and nowhere else."""

    def __init__(self, raw: Any, page: Any) -> None:
        self._raw, self._page = raw, page
        self._left, self._bottom, self._right, self._top = page.get_bbox()
        self._rotation = page.get_rotation() % 360
        self._text = page.get_textpage()
        self._styles: dict[int, Style] = {}
        wide, high = self._right - self._left, self._top - self._bottom
        self._width, self._height = (high, wide) if self._rotation in (90, 270) else (wide, high)

    def count(self) -> int:
        return max(int(self._raw.FPDFText_CountChars(self._text.raw)), 0)

    def read(self, number: int) -> PdfPage:
        try:
            words = [*words_of(self._glyphs()), *self._free_text()]
        finally:
            self._text.close()
        inside = []
        for word in words:
            x, y = (word.box.x0 + word.box.x1) / 2, word.box.middle
            if 0 <= x <= self._width and 0 <= y <= self._height:
                word.box = self._clamped(word.box)
                inside.append(word)
        return PdfPage(number, self._width, self._height, inside, self._rules())

    def _clamped(self, box: Box) -> Box:
        w, h = self._width, self._height
        return Box(max(box.x0, 0.0), max(box.y0, 0.0), min(box.x1, w), min(box.y1, h))

    def _glyphs(self) -> Iterator[Glyph]:
        raw, text = self._raw, self._text.raw
        rect = raw.FS_RECTF()
        unicode_of, box_of, object_of = (
            raw.FPDFText_GetUnicode,
            raw.FPDFText_GetLooseCharBox,
            raw.FPDFText_GetTextObject,
        )
        for i in range(self.count()):
            code = unicode_of(text, i)
            char = "-" if code == 2 else chr(code) if code < 0x110000 else "\ufffd"
            if 0xD800 <= code < 0xE000:
                char = "\ufffd"
            box_of(text, i, rect)
            box = self._box(rect.left, rect.bottom, rect.right, rect.top)
            yield Glyph(char, box, self._style(i, object_of(text, i)))

    def _free_text(self) -> Iterator[PdfWord]:
        """The words of free-text annotations, which stand on the page but in no text layer."""
        raw, page = self._raw, self._page.raw
        for i in range(min(raw.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
            annotation = raw.FPDFPage_GetAnnot(page, i)
            if not annotation:
                continue
            try:
                if raw.FPDFAnnot_GetSubtype(annotation) == _FREE_TEXT:
                    rect = raw.FS_RECTF()
                    raw.FPDFAnnot_GetRect(annotation, rect)
                    box = self._box(rect.left, rect.bottom, rect.right, rect.top)
                    yield from _spread(self._contents(annotation), box)
            finally:
                raw.FPDFPage_CloseAnnot(annotation)

    def _contents(self, annotation: Any) -> str:
        raw = self._raw
        size = min(raw.FPDFAnnot_GetStringValue(annotation, b"Contents", None, 0), 200_000)
        buffer = ctypes.create_string_buffer(size + 2)
        pointer = ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR))
        raw.FPDFAnnot_GetStringValue(annotation, b"Contents", pointer, size)
        return buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")

    def _box(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        if not self._rotation:
            return Box(x0 - self._left, self._top - y1, x1 - self._left, self._top - y0)
        ax, ay = self._point(x0, y0)
        bx, by = self._point(x1, y1)
        return Box(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))

    def _point(self, x: float, y: float) -> tuple[float, float]:
        if self._rotation == 90:
            return y - self._bottom, x - self._left
        if self._rotation == 180:
            return self._right - x, y - self._bottom
        if self._rotation == 270:
            return self._top - y, self._right - x
        return x - self._left, self._top - y

    def _style(self, index: int, pointer: Any) -> Style | None:
        key = ctypes.c_void_p.from_buffer(pointer).value
        if key is None:
            return None
        if key not in self._styles:
            self._styles[key] = self._read_style(index)
        return self._styles[key]

    def _read_style(self, index: int) -> Style:
        raw, text = self._raw, self._text.raw
        matrix, flags = raw.FS_MATRIX(), ctypes.c_int()
        buffer = ctypes.create_string_buffer(256)
        raw.FPDFText_GetFontInfo(text, index, buffer, 256, flags)
        font = buffer.value.decode("utf-8", "replace")
        size = float(raw.FPDFText_GetFontSize(text, index))
        angle = 0.0
        if raw.FPDFText_GetMatrix(text, index, matrix):
            size *= math.hypot(matrix.c, matrix.d) or 1.0
            angle = -math.degrees(math.atan2(matrix.b, matrix.a))
        turned = round((angle + self._rotation) / 90) * 90 % 360
        weight = raw.FPDFText_GetFontWeight(text, index)
        bold = weight >= 600 or is_bold_font(font)
        mono = bool(flags.value & _FIXED_PITCH) or is_mono_font(font)
        return Style(abs(size), bold, font, turned, mono)

    def _rules(self) -> list[Box]:
        found: list[Box] = []
        raw, page = self._raw, self._page.raw
        count = raw.FPDFPage_CountObjects(page)
        if count > _MAX_OBJECTS:
            return []
        budget = [_MAX_OBJECTS]
        for i in range(count):
            self._rules_of(raw.FPDFPage_GetObject(page, i), _IDENTITY, 0, budget, found)
        return found if budget[0] > 0 else []

    def _rules_of(
        self, item: Any, outer: _Matrix, depth: int, budget: list[int], found: list[Box]
    ) -> None:
        raw = self._raw
        kind = raw.FPDFPageObj_GetType(item)
        budget[0] -= 1
        if budget[0] <= 0 or kind not in (raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_FORM):
            return
        matrix = _times(self._matrix(item), outer)
        if kind == raw.FPDF_PAGEOBJ_PATH:
            self._rules_of_path(item, matrix, budget, found)
        elif depth < _MAX_DEPTH:
            for i in range(raw.FPDFFormObj_CountObjects(item)):
                self._rules_of(raw.FPDFFormObj_GetObject(item, i), matrix, depth + 1, budget, found)
                if budget[0] <= 0:
                    return

    def _matrix(self, item: Any) -> _Matrix:
        m = self._raw.FS_MATRIX()
        if not self._raw.FPDFPageObj_GetMatrix(item, m):
            return _IDENTITY
        return (m.a, m.b, m.c, m.d, m.e, m.f)

    def _rules_of_path(
        self, item: Any, matrix: _Matrix, budget: list[int], found: list[Box]
    ) -> None:
        points = self._segments(item, matrix, budget)
        if not points:
            return
        xs = [p[0] for pair in points for p in pair]
        ys = [p[1] for pair in points for p in pair]
        whole = Box(min(xs), min(ys), max(xs), max(ys))
        if min(whole.width, whole.height) <= _THIN:
            found.append(flattened(whole))
            return
        for (ax, ay), (bx, by) in points:
            edge = Box(min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
            if min(edge.width, edge.height) <= 0.5 < max(edge.width, edge.height):
                found.append(flattened(edge))

    def _segments(
        self, item: Any, matrix: _Matrix, budget: list[int]
    ) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        raw = self._raw
        x, y = ctypes.c_float(), ctypes.c_float()
        count = raw.FPDFPath_CountSegments(item)
        budget[0] -= max(count, 0)
        if not 2 <= count <= 2000 or budget[0] <= 0:
            return []
        lines = []
        start = here = (0.0, 0.0)
        for i in range(count):
            segment = raw.FPDFPath_GetPathSegment(item, i)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            point = self._point(*_applied(matrix, x.value, y.value))
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_MOVETO:
                start = point
            elif kind == raw.FPDF_SEGMENT_LINETO:
                lines.append((here, point))
            here = point
            if raw.FPDFPathSegment_GetClose(segment):
                lines.append((here, start))
                here = start
        return lines


def _spread(text: str, box: Box) -> Iterator[PdfWord]:
    """The words of ``text`` over ``box``, line by line, as wide as their letters ask."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for i, line in enumerate(lines):
        step = box.height / len(lines)
        per_letter = box.width / max(sum(map(len, line)) + len(line) - 1, 1)
        x, y = box.x0, box.y0 + i * step
        for word in line:
            wide = len(word) * per_letter
            yield PdfWord(word, Box(x, y, x + wide, y + step), min(step / 1.2, _UNKNOWN_SIZE))
            x += wide + per_letter


def _times(m: _Matrix, n: _Matrix) -> _Matrix:
    """``m`` first, then ``n``."""
    a, b, c, d, e, f = m
    p, q, r, s, x, y = n
    turned = (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s)
    return (*turned, e * p + f * r + x, e * q + f * s + y)


def _applied(m: _Matrix, x: float, y: float) -> tuple[float, float]:
    return m[0] * x + m[2] * y + m[4], m[1] * x + m[3] * y + m[5]
