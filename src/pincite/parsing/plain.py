"""Text, Markdown, reStructuredText and JSON as Markdown."""

from __future__ import annotations

import re

from pincite.model.layout import MarkdownParseResult
from pincite.parsing.decoding import decode
from pincite.parsing.scanner import scan_blocks

__all__ = ["TextProcessor", "fenced", "markdown_result"]

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([0-9a-fA-F]{4}))?|[^u])")
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*$")


class TextProcessor:
    """Reads text (Markdown stays verbatim but for its line ends), RST and JSON.

    A JSON file becomes a fenced ``json`` block in which escaped letters are readable; the titles
    of an RST file become ``#`` headings. One text file counts as one page without ranges.
    """

    def parse(self, data: bytes, filename: str) -> MarkdownParseResult:
        """Raises ``ParseError`` for binary data."""
        text = decode(data, filename=filename)
        extension = filename.lower().rpartition(".")[2]
        if extension in ("json", "jsonl", "ndjson"):
            text = fenced(_readable(text), "json")
        elif extension == "rst":
            text = _headings_of_rst(text)
        return markdown_result(text)


def markdown_result(
    markdown: str, *, total_pages: int = 1, metadata: dict[str, str] | None = None
) -> MarkdownParseResult:
    """A result without geometry: blocks scanned from ``markdown``, no page ranges."""
    return MarkdownParseResult(
        markdown=markdown,
        page_ranges=[],
        total_pages=total_pages,
        blocks=scan_blocks(markdown),
        metadata=metadata or {},
    )


def fenced(text: str, language: str) -> str:
    """``text`` in a code fence longer than any run of back-ticks in it; "" when it is blank."""
    if not text.strip():
        return ""
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    body = text.strip("\n")
    return f"{fence}{language}\n{body}\n{fence}\n"


def _readable(text: str) -> str:
    return _ESCAPE.sub(_unescaped, text) if "\\u" in text else text


def _unescaped(found: re.Match[str]) -> str:
    if not found[1]:
        return found[0]
    first, second = int(found[1], 16), int(found[2] or "0", 16)
    if 0xD800 <= first < 0xDC00 and 0xDC00 <= second < 0xE000:
        return chr(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    rest = _unescaped_one(second, f"\\u{found[2]}") if found[2] else ""
    return _unescaped_one(first, f"\\u{found[1]}") + rest


def _unescaped_one(code: int, written: str) -> str:
    return chr(code) if code >= 0xA0 and not 0xD800 <= code < 0xE000 else written


def _headings_of_rst(text: str) -> str:
    """Section titles (underlined, or with a line above and below) as ``#`` headings."""
    lines, out, styles, i = text.split("\n"), [], [], 0
    while i < len(lines):
        over = _is_adornment(lines, i) and _is_adorned(lines, i + 1, lines[i])
        title = i + 1 if over else i
        if over or _is_adorned(lines, title):
            style = (over, lines[title + 1].strip()[0])
            if style not in styles:
                styles.append(style)
            level = min(styles.index(style) + 1, 6)
            out.append(f"{'#' * level} {lines[title].strip()}")
            i = title + 2
        else:
            out.append(lines[i])
            i += 1
    return "\n".join(out)


def _is_adornment(lines: list[str], i: int) -> bool:
    return i < len(lines) and bool(_ADORNMENT.match(lines[i])) and len(lines[i].strip()) >= 3


def _is_adorned(lines: list[str], i: int, over: str = "") -> bool:
    """Whether line ``i`` is a title: text, with an adornment below that is long enough."""
    if i + 1 >= len(lines) or not lines[i].strip() or not _is_adornment(lines, i + 1):
        return False
    if _is_adornment(lines, i) or (over and over.strip() != lines[i + 1].strip()):
        return False
    blank_above = bool(over) or i == 0 or not lines[i - 1].strip()
    return blank_above and len(lines[i + 1].strip()) >= min(len(lines[i].strip()), 200)
