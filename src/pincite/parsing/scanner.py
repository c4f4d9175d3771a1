"""A light scanner that cuts Markdown into blocks without gaps."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pincite.model.geometry import BlockKind, LayoutBlock

__all__ = ["scan_blocks"]

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+\S|[ \t]*$)")
_SETEXT = re.compile(r" {0,3}(?:={2,}|-{2,})[ \t]*$")
_SETEXT_LINES = 2  # a longer paragraph over a line of dashes is text, not a title
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_IMAGE = re.compile(r"\s*!\[[^\]\n]*\]\([^)\n]*\)\s*$")
_INDENTED = re.compile(r"(?: {4}|\t)")

_Piece = tuple[BlockKind, int, int]  # kind, level, index of the line after it


def scan_blocks(markdown: str, *, page: int = 1) -> list[LayoutBlock]:
    """The blocks of ``markdown``, in order; each takes the blank lines that follow it.

    ``blocks[0].start_char == 0``, each block starts where the one before ends, and the last ends
    at ``len(markdown)``. A heading keeps its level; front matter is "other".
    """
    lines = markdown.splitlines(keepends=True) if "\r" in markdown else _lines(markdown)
    blocks: list[LayoutBlock] = []
    at = start = 0
    while at < len(lines):
        kind, level, following = _piece(lines, at)
        while following < len(lines) and not lines[following].strip():
            following += 1
        end = start + sum(map(len, lines[at:following]))
        blocks.append(LayoutBlock(kind, start, end, page, level=level))
        at, start = following, end
    return blocks


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _piece(lines: list[str], at: int) -> _Piece:
    for read in (_front_matter, _blank, _fence, _heading, _table, _indented, _single):
        found = read(lines, at)
        if found is not None:
            return found
    if _ITEM.match(lines[at]):
        return "list_item", 0, _end_of_item(lines, at)
    return _paragraph(lines, at)


def _front_matter(lines: list[str], at: int) -> _Piece | None:
    if at or lines[0].rstrip() != "---" or len(lines) < 2 or not lines[1].strip():
        return None
    for i in range(1, min(len(lines), 400)):
        if lines[i].rstrip() in ("---", "..."):
            return "other", 0, i + 1
    return None


def _blank(lines: list[str], at: int) -> _Piece | None:
    return None if lines[at].strip() else ("other", 0, at + 1)


def _fence(lines: list[str], at: int) -> _Piece | None:
    opening = _FENCE.match(lines[at])
    if opening is None or (opening[1][0] == "`" and "`" in opening[2]):
        return None
    closing = re.compile(rf" {{0,3}}{re.escape(opening[1][0])}{{{len(opening[1])},}}[ \t]*$")
    for i in range(at + 1, len(lines)):
        if closing.match(lines[i].rstrip("\n")):
            return "code", 0, i + 1
    return "code", 0, len(lines)


def _heading(lines: list[str], at: int) -> _Piece | None:
    found = _HEADING.match(lines[at].rstrip("\n"))
    return ("heading", len(found[1]), at + 1) if found else None


def _table(lines: list[str], at: int) -> _Piece | None:
    if at + 1 >= len(lines) or "|" not in lines[at] or not _is_delimiter(lines[at + 1]):
        return None
    end = at + 2
    while end < len(lines) and "|" in lines[end] and lines[end].strip():
        end += 1
    return "table", 0, end


def _is_delimiter(line: str) -> bool:
    return "-" in line and len(line) < 100_000 and set(line) <= set("|-: \t\n")


def _indented(lines: list[str], at: int) -> _Piece | None:
    if not _INDENTED.match(lines[at]) or _ITEM.match(lines[at]):
        return None
    end = at + 1
    while end < len(lines) and _INDENTED.match(lines[end]):
        end += 1
    return "code", 0, end


def _single(lines: list[str], at: int) -> _Piece | None:
    line = lines[at].rstrip("\n")
    if len(line) < 200 and _RULE.match(line):
        return "other", 0, at + 1
    return ("image", 0, at + 1) if len(line) < 4000 and _IMAGE.match(line) else None


def _end_of_item(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _starts_block(lines, end):
        end += 1
    return end


def _paragraph(lines: list[str], at: int) -> _Piece:
    end = at + 1
    while end < len(lines) and lines[end].strip():
        if len(lines[end]) < 1000 and _SETEXT.match(lines[end].rstrip("\n")):
            if end - at > _SETEXT_LINES:
                break
            return "heading", 1 if "=" in lines[end] else 2, end + 1
        if _starts_block(lines, end):
            break
        end += 1
    return "paragraph", 0, end


def _starts_block(lines: list[str], at: int) -> bool:
    probes: Iterator[object] = (read(lines, at) for read in (_heading, _table))
    return any(probes) or bool(_FENCE.match(lines[at])) or bool(_ITEM.match(lines[at]))
