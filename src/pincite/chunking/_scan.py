"""The block structure of Markdown: headings, tables, fences, list items, paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_SETEXT = re.compile(r" {0,3}(={2,}|-{3,})[ \t]*")
# What front matter begins with, so that a rule on the first line is not taken for its start.
_ENTRY = re.compile(r"#|\[|---$|\.\.\.$|\+\+\+$|[^\s:=][^:=]*[:=]")

Kind = Literal["prose", "heading", "table", "code"]


@dataclass(slots=True)
class Block:
    """A stretch of Markdown; blocks leave no gap, blank lines belong to the block before them.

    ``level`` is a heading's. ``body`` is where a table's rows begin after its header; it is
    ``start`` for a table without one. Front matter is code.
    """

    kind: Kind
    start: int
    end: int
    level: int = 0
    body: int = 0

    @property
    def by_line(self) -> bool:
        """Whether a line of it must stay whole."""
        return self.kind in ("table", "code")


def scan(text: str) -> list[Block]:
    """The blocks of the text in order, from its first character to its last."""
    return list(_Scanner(text).blocks())


def heading_title(text: str, block_start: int, block_end: int) -> str:
    """The words of a heading, without its marks."""
    line = text[block_start:block_end].strip()
    match = _ATX.match(line)
    if match:
        line = _without_closing_marks(line[match.end() :].strip())
    else:
        lines = line.splitlines()
        if len(lines) > 1 and _SETEXT.fullmatch(lines[-1]):
            line = " ".join(lines[:-1])
    return " ".join(line.split())


def _without_closing_marks(line: str) -> str:
    bare = line.rstrip("#")
    return bare.rstrip() if not bare or bare[-1].isspace() else line


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match.span() for match in _LINE.finditer(text)]
        self._at = 0
        self._start = 0

    def blocks(self) -> Iterator[Block]:
        self._front_matter()
        if self._at:
            yield self._close("code")
        self._skip_blank()
        while self._at < len(self._lines):
            kind, level, body = self._take()
            block = self._close(kind)
            block.level, block.body = level, body
            yield block

    def _take(self) -> tuple[Kind, int, int]:
        """Move past one block and say what it was."""
        line = self._line(self._at)
        if (fence := _FENCE.match(line)) and self._fence(line, fence):
            return "code", 0, 0
        if heading := _ATX.match(line):
            self._at += 1
            return "heading", len(heading[1]), 0
        body = self._table()
        if body is not None:
            return "table", 0, body
        return self._prose()

    def _close(self, kind: Kind) -> Block:
        self._skip_blank()
        end = self._lines[self._at - 1][1] if self._at else 0
        block = Block(kind, self._start, end)
        self._start = end
        return block

    def _line(self, at: int) -> str:
        if at >= len(self._lines):
            return ""
        start, end = self._lines[at]
        return self._text[start:end].rstrip("\r\n")

    def _skip_blank(self) -> None:
        while self._at < len(self._lines) and not self._line(self._at).strip():
            self._at += 1

    def _front_matter(self) -> None:
        opening = self._line(0).lstrip("\ufeff").rstrip()
        if opening not in ("---", "+++") or not _ENTRY.match(self._line(1)):
            return
        closing = ("---", "...") if opening == "---" else ("+++",)
        for at in range(1, len(self._lines)):
            if self._line(at).rstrip() in closing:
                self._at = at + 1
                return

    def _fence(self, line: str, opening: re.Match[str]) -> bool:
        """Move past a fenced block; an unclosed one reaches to the end. False if it is no fence."""
        mark = opening[1]
        if mark[0] == "`" and "`" in line[opening.end() :]:
            return False
        self._at += 1
        while self._at < len(self._lines):
            inner = self._line(self._at).strip()
            self._at += 1
            if len(inner) >= len(mark) and not inner.strip(mark[0]):
                break
        return True

    def _table(self) -> int | None:
        """Move past a table and return where its body begins; None when there is no table."""
        first = self._line(self._at)
        if "|" not in first:
            return None
        has_header = _is_delimiter(self._line(self._at + 1))
        if not has_header and not first.lstrip().startswith("|"):
            return None
        start = self._lines[self._at][0]
        self._at += 2 if has_header else 1
        body = self._lines[self._at - 1][1] if has_header else start
        while self._at < len(self._lines) and _is_row(self._line(self._at), has_header):
            self._at += 1
        return body

    def _prose(self) -> tuple[Kind, int, int]:
        first = self._at
        while True:
            self._at += 1
            line = self._line(self._at)
            if self._at == first + 1 and self._underlines(first, line):
                self._at += 1
                return "heading", 1 if line.lstrip()[0] == "=" else 2, 0
            if self._at >= len(self._lines) or self._interrupts(line):
                return "prose", 0, 0

    def _underlines(self, first: int, line: str) -> bool:
        title = self._line(first)
        return (
            bool(_SETEXT.fullmatch(line))
            and bool(title.strip("-=*_ \t"))
            and not title.startswith(("    ", "\t"))
            and not title.lstrip().startswith((">", "|"))
            and not _LIST_ITEM.match(title)
        )

    def _interrupts(self, line: str) -> bool:
        if not line.strip() or _ATX.match(line) or _LIST_ITEM.match(line) or _FENCE.match(line):
            return True
        return "|" in line and (line.lstrip()[0] == "|" or _is_delimiter(self._line(self._at + 1)))


def _is_delimiter(line: str) -> bool:
    marks = line.strip()
    return (
        "|" in marks and "-" in marks and not marks.strip("|-: \t") and set(marks) <= set("|-: \t")
    )


def _is_row(line: str, has_header: bool) -> bool:
    if not has_header:
        return line.lstrip().startswith("|")
    return "|" in line and not _ATX.match(line) and not _FENCE.match(line)
