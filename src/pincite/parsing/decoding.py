"""From bytes of unknown encoding to text, without a byte-order mark."""

from __future__ import annotations

import codecs
import re
import unicodedata

from pincite.errors import ParseError

__all__ = ["decode", "looks_binary", "normalize_newlines"]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z][\w.:-]{1,30})""", re.IGNORECASE
)
_WESTERN = frozenset(
    "àâäáãåæçèéêëìíîïñòóôõöøœùúûüýÿßÀÂÄÁÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒÙÚÛÜÝŸšžŠŽðþÐÞ"
    "‘’‚“”„«»‹›–—…•·€£¥¢§°±²³µ¶©®™ªº¿¡¼½¾×÷†‡\u00a0\u00ad´¨¸"
)
_DETECTION_BYTES = 262_144


def decode(data: bytes, *, filename: str = "The file", markup: bool = False) -> str:
    """The text of ``data`` with ``\\n`` line ends; raises ``ParseError`` when it is no text.

    In this order: byte-order mark, UTF-16 without one, UTF-8, the charset that ``markup``
    declares, Windows-1252 where it reads as a Western text, and what charset-normalizer finds.
    """
    if looks_binary(data):
        raise ParseError(
            f"{filename} holds binary data, not text; give the file its true extension."
        )
    return normalize_newlines(_decoded(data, markup=markup)).removeprefix("\ufeff")


def normalize_newlines(text: str) -> str:
    """``text`` with ``\\r\\n`` and ``\\r`` replaced by ``\\n``."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def looks_binary(data: bytes) -> bool:
    """Whether ``data`` is no text in any encoding: NUL bytes outside UTF-16 and UTF-32."""
    head = data[:4096]
    if b"\0" not in head or any(head.startswith(bom) for bom, _ in _BOMS):
        return False
    return not _utf16_without_bom(head)


def _decoded(data: bytes, *, markup: bool) -> str:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, "replace")
    wide = _utf16_without_bom(data[:4096]) if b"\0" in data[:4096] else ""
    if wide:
        return data.decode(wide, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _declared(data, markup=markup) or _western(data) or _detected(data)


def _utf16_without_bom(head: bytes) -> str:
    pairs = len(head) // 2
    if pairs < 2:
        return ""
    even, odd = head[: 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if odd > 0.4 * pairs and even < 0.05 * pairs:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * pairs and odd < 0.05 * pairs else ""


def _declared(data: bytes, *, markup: bool) -> str:
    found = _DECLARED.search(data[:4096]) if markup else None
    if found is None:
        return ""
    try:
        return data.decode(codecs.lookup(found[1].decode("ascii")).name)
    except (LookupError, UnicodeDecodeError):
        return ""


def _western(data: bytes) -> str:
    """``data`` as Windows-1252 (Latin-1 where that has holes), "" when it does not read so.

    A text in a Western language has few letters beyond ASCII, and no signs inside its words.
    """
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        if any("\x80" <= char <= "\x9f" for char in text):
            return ""
    beyond = [i for i, char in enumerate(text) if char > "\x7f"]
    letters = sum(char.isalpha() for char in text)
    odd = sum(text[i] not in _WESTERN or _sign_inside_word(text, i) for i in beyond)
    return text if len(beyond) <= 0.35 * max(letters, 1) and odd <= 0.05 * len(beyond) else ""


def _sign_inside_word(text: str, i: int) -> bool:
    if unicodedata.category(text[i])[0] == "L" or text[i] in "’‘·\u00ad–—":
        return False
    return 0 < i < len(text) - 1 and text[i - 1].isalpha() and text[i + 1].isalpha()


def _detected(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_DETECTION_BYTES]).best()
    return data.decode(best.encoding if best is not None else "cp1252", "replace")
