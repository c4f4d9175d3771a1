"""Which format a file has: its content decides first, then its extension."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType

from pincite.parsing.archives import members, read_member
from pincite.parsing.decoding import looks_binary

__all__ = ["FORMAT_OF_EXTENSION", "detect_format", "extension_of", "is_jats"]

FORMAT_OF_EXTENSION: Mapping[str, str] = MappingProxyType(
    {
        "pdf": "pdf",
        **dict.fromkeys(("txt", "text", "log", "md", "markdown", "mdown", "mkd", "rst"), "text"),
        **dict.fromkeys(("json", "jsonl", "ndjson"), "text"),
        **dict.fromkeys(("tsv", "tab"), "tsv"),
        "csv": "csv",
        **dict.fromkeys(("docx", "docm"), "docx"),
        **dict.fromkeys(("xlsx", "xlsm"), "xlsx"),
        **dict.fromkeys(("pptx", "pptm"), "pptx"),
        "doc": "doc",
        "xls": "xls",
        "ppt": "ppt",
        "odt": "odt",
        "ods": "ods",
        "epub": "epub",
        **dict.fromkeys(("html", "htm", "xhtml"), "html"),
        "xml": "xml",
        "rtf": "rtf",
        "eml": "eml",
        "msg": "msg",
        "ipynb": "ipynb",
    }
)
"""Lower-case extension, without its dot, to the format that reads it."""

_ZIPPED_MIME = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
}
_ZIPPED_PART = {
    "word/document.xml": "docx",
    "xl/workbook.xml": "xlsx",
    "ppt/presentation.xml": "pptx",
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OTHER_SIGNATURES = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"II*\0",
    b"MM\0*",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"Rar!",
    b"\x7fELF",
    b"MZ",
    b"OggS",
    b"ID3",
    b"SQLite format 3",
    b"RIFF",
    b"BZh",
    b"\xfd7zXZ",
    b"wOFF",
)
_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])",
    re.IGNORECASE | re.DOTALL,
)
_JATS = re.compile(r"<!DOCTYPE\s+article|<article[\s>]")


def extension_of(filename: str) -> str:
    """The extension of the last path component, lower-case, without its dot."""
    name = filename.replace("\\", "/").rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return extension.lower() if dot and stem else ""


def detect_format(data: bytes, filename: str) -> str:
    """The format of ``data``, a value of ``FORMAT_OF_EXTENSION``; "" when none is known."""
    extension = extension_of(filename)
    return (
        _by_signature(data, extension) or _by_markup(data, extension) or _by_name(data, extension)
    )


def _by_signature(data: bytes, extension: str) -> str:
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        return _zipped(data) or FORMAT_OF_EXTENSION.get(extension, "")
    if data.startswith(_OLE):
        return FORMAT_OF_EXTENSION.get(extension, "doc")
    return "rtf" if data.startswith(b"{\\rtf") else ""


def _zipped(data: bytes) -> str:
    names = members(data)
    for part, name in _ZIPPED_PART.items():
        if part in names:
            return name
    mime = read_member(data, "mimetype", 100).strip() if "mimetype" in names else b""
    return _ZIPPED_MIME.get(mime, "")


def _by_markup(data: bytes, extension: str) -> str:
    if looks_binary(data):
        return ""
    head = _head(data)
    if _HTML.match(head):
        return "html"
    if extension == "xml" or (head.lstrip().startswith("<?xml") and _JATS.search(head)):
        return "xml"
    if head.lstrip()[:1] == "{" and '"cells"' in head and _is_notebook(data):
        return "ipynb"
    return ""


def is_jats(data: bytes) -> bool:
    """Whether an XML file is a journal article."""
    return bool(_JATS.search(_head(data)))


def _head(data: bytes) -> str:
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16" if wide and len(data) % 2 == 0 else "utf-8"
    return data[:8192].decode(encoding, "replace").lstrip("\ufeff")


def _is_notebook(data: bytes) -> bool:
    try:
        book = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(book, dict) and "nbformat" in book and isinstance(book.get("cells"), list)


def _by_name(data: bytes, extension: str) -> str:
    if data.startswith(_OTHER_SIGNATURES):
        return ""
    if extension:
        return FORMAT_OF_EXTENSION.get(extension, "")
    return "" if looks_binary(data) or not _is_utf8(data) else "text"


def _is_utf8(data: bytes) -> bool:
    try:
        return bool(data.decode("utf-8").strip())
    except UnicodeDecodeError:
        return False
