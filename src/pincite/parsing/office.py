"""Office files, HTML, EPUB, e-mail, notebooks and JATS articles as Markdown, and CSV.

kreuzberg reads them, always without OCR, cache and downloads.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pincite.errors import ParseError, UnsupportedFormat
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.archives import check_inflated
from pincite.parsing.decoding import decode
from pincite.parsing.detection import detect_format, is_jats
from pincite.parsing.jats import jats_metadata
from pincite.parsing.plain import fenced, markdown_result
from pincite.parsing.sheets import check_extent
from pincite.parsing.tabular import parse_csv

__all__ = ["OFFICE_FORMATS", "OfficeProcessor"]

_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_MIME: Mapping[str, str] = MappingProxyType(
    {
        "docx": _OPEN_XML + "wordprocessingml.document",
        "xlsx": _OPEN_XML + "spreadsheetml.sheet",
        "pptx": _OPEN_XML + "presentationml.presentation",
        "doc": "application/msword",
        "xls": "application/vnd.ms-excel",
        "ppt": "application/vnd.ms-powerpoint",
        "odt": "application/vnd.oasis.opendocument.text",
        "ods": "application/vnd.oasis.opendocument.spreadsheet",
        "epub": "application/epub+zip",
        "html": "text/html",
        "xml": "application/x-jats+xml",
        "rtf": "application/rtf",
        "eml": "message/rfc822",
        "msg": "application/vnd.ms-outlook",
        "ipynb": "application/x-ipynb+json",
    }
)
OFFICE_FORMATS = frozenset({"csv", *_MIME})
"""The formats that ``OfficeProcessor`` reads."""

_ZIPPED = frozenset({"docx", "xlsx", "pptx", "odt", "ods", "epub"})
_INLINE_TAGS = ["a", "b", "strong", "i", "em"]  # their marks and targets part words from words
_TIMEOUT_SECONDS = 120
_CHARSET = re.compile(
    r"""(<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*["']?)[\w.:-]+""", re.IGNORECASE
)
_HTML_OPTIONS: Any = {"extract_metadata": False, "wrap": False, "strip_tags": _INLINE_TAGS}
_HEAD = re.compile(rb"<head\b[^>]*>.*?</head\s*>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(rb"<title\b[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_HEAD_BYTES = 262_144
_PADDING = re.compile(r"(?<=\S) {2,}(?=\|)|(?<=---)-+(?=[ :|])")
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_NOTHING_BUT_PICTURES = re.compile(r"(?:!\[\]\([^)\s]*\)\s*)+$")


_GROUPING = re.compile(
    rb"<(/?)(?:div|span|section|article|main|center|font|b|i|u|em|strong|small|big)\b[^<>]*>",
    re.IGNORECASE,
)
_MAX_NESTING = 40


class OfficeProcessor:
    """Reads CSV, Office files and the other formats of ``OFFICE_FORMATS``.

    XML that is no JATS article becomes a fenced ``xml`` block: its tags are no headings.
    ``page_ranges`` stays empty: these formats flow. ``total_pages`` is the number of slides of a
    presentation and 1 for anything else.
    """

    def parse(self, data: bytes, filename: str) -> MarkdownParseResult:
        """Raises ``ParseError`` for what cannot be read, ``UnsupportedFormat`` for other kinds."""
        kind = detect_format(data, filename)
        if kind not in OFFICE_FORMATS:
            known = ", ".join(sorted(OFFICE_FORMATS))
            raise UnsupportedFormat(f"{filename} is none of {known}; convert it to one of them.")
        if kind == "csv":
            return parse_csv(data, filename)
        if kind == "xml" and not is_jats(data):
            return markdown_result(fenced(decode(data, filename=filename, markup=True), "xml"))
        return _extracted(data, kind, filename)


def _extracted(data: bytes, kind: str, filename: str) -> MarkdownParseResult:
    if _ENCRYPTED in data[:65_536]:
        raise ParseError(f"{filename} is encrypted; save a copy without a password.")
    if kind in _ZIPPED:
        check_inflated(data, filename)
        if kind in ("xlsx", "ods"):
            check_extent(data, filename)
    elif kind in ("html", "xml"):
        data = _as_utf8(data, filename)
    title = _title(data) if kind == "html" else ""
    result = _kreuzberg(_flattened(_without_head(data)) if kind == "html" else data, kind, filename)
    metadata = dict(result.metadata or {})
    own = jats_metadata(data.decode("utf-8", "replace")) if kind == "xml" else {}
    return markdown_result(
        _cleaned(result.content),
        total_pages=_slides(metadata),
        metadata=_metadata(metadata) | ({"title": title} if title else {}) | own,
    )


def _as_utf8(data: bytes, filename: str) -> bytes:
    text = decode(data, filename=filename, markup=True)
    head = _CHARSET.sub(r"\1utf-8", text[:4096])
    return (head + text[4096:]).encode("utf-8", "replace")


def _without_head(data: bytes) -> bytes:
    """HTML without its head, which would come out as front matter."""
    return _HEAD.sub(b"", data, count=1)


def _flattened(page: bytes) -> bytes:
    """HTML without the tags that only group, where they nest deeper than the reader goes down."""
    depth = deepest = 0
    for tag in _GROUPING.finditer(page):
        depth = max(depth - 1, 0) if tag[1] else depth + 1
        deepest = max(deepest, depth)
    return _GROUPING.sub(b" ", page) if deepest > _MAX_NESTING else page


def _title(data: bytes) -> str:
    found = _TITLE.search(data[:_HEAD_BYTES])
    return " ".join(html.unescape(found[1].decode("utf-8", "replace")).split()) if found else ""


def _kreuzberg(data: bytes, kind: str, filename: str) -> Any:
    import kreuzberg

    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        ocr=None,
        output_format="markdown",
        html_options=_HTML_OPTIONS,
        extraction_timeout_secs=_TIMEOUT_SECONDS,
    )
    try:
        return kreuzberg.extract_bytes_sync(data, _MIME[kind], config)
    except (kreuzberg.KreuzbergError, RuntimeError, ValueError, OSError) as error:
        raise ParseError(
            f"{filename} cannot be read as {kind} ({error}); "
            "open it in its program and save it again."
        ) from error


def _cleaned(markdown: str) -> str:
    markdown = markdown.replace("\ufeff", "")
    if _NOTHING_BUT_PICTURES.match(markdown.strip()):
        return ""
    lines = [_PADDING.sub(_unpadded, x) if x.startswith("|") else x for x in markdown.split("\n")]
    return "\n".join(lines).strip("\n") + "\n" if markdown.strip() else ""


def _unpadded(found: re.Match[str]) -> str:
    """One space for many before a cell's end, three dashes for more."""
    return " " if found[0][0] == " " else ""


def _slides(metadata: Mapping[str, Any]) -> int:
    pages = metadata.get("pages") or {}
    return max(int(pages.get("total_count") or 1), 1) if isinstance(pages, Mapping) else 1


def _metadata(metadata: Mapping[str, Any]) -> dict[str, str]:
    found = {
        "title": _joined(metadata.get("title")),
        "author": _joined(metadata.get("authors")),
        "subject": _joined(metadata.get("subject")),
        "keywords": _joined(metadata.get("keywords")),
    }
    return {key: value.strip() for key, value in found.items() if value.strip()}


def _joined(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")
