"""Drafts to Markdown, with the offsets of every block, page and word."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.model.geometry import BboxRect, LayoutBlock, Word
from pincite.parsing.pdf.draft import Draft
from pincite.parsing.pdf.lines import Line, joined
from pincite.parsing.pdf.page import Box, PdfWord
from pincite.parsing.pdf.tables import Table

__all__ = ["MarkdownBuilder"]

_STRUCTURAL = re.compile(r"(?:#{1,6}(?:\s|$)|>|[-+*]\s|```|~~~|[-=*_]{3,}$)")
_HYPHENS = ("-", "\u2010", "\u00ad")
_NO_SPACE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_INDENT = "    "
_MOST_INDENT = 40


class MarkdownBuilder:
    """Collects Markdown; ``blocks`` cover it in order and without gaps.

    ``vocabulary`` (casefolded words of the document) decides whether a hyphen at a line's end
    belongs to the word.
    """

    def __init__(self, vocabulary: frozenset[str] = frozenset()) -> None:
        self._vocabulary = vocabulary
        self._parts: list[str] = []
        self._length = 0
        self._last: Draft | None = None
        self._starts: list[tuple[int, Draft]] = []
        self.words: list[Word] = []

    def add(self, draft: Draft) -> None:
        """Write one block."""
        if self._last is not None:
            self._separate(self._last, draft)
        self._starts.append((self._length, draft))
        if draft.table is not None:
            self._table(draft.table, draft.page)
        elif draft.kind == "code":
            self._code(draft)
        else:
            self._text(draft)
        self._last = draft

    def finish(self) -> str:
        """The Markdown; ends with a line end unless it is empty."""
        if self._length:
            self._write("\n")
        return "".join(self._parts)

    @property
    def blocks(self) -> list[LayoutBlock]:
        """The blocks; each reaches to the start of the next."""
        ends = [*[start for start, _ in self._starts[1:]], self._length]
        return [
            LayoutBlock(d.kind, start, end, d.page, _rect(d.box, d.page), d.level)
            for (start, d), end in zip(self._starts, ends, strict=False)
        ]

    @property
    def page_ranges(self) -> list[tuple[int, int, int]]:
        """``(start, end, page)`` of every page that has text; each reaches to the next one."""
        ranges: list[tuple[int, int, int]] = []
        for block in self.blocks:
            if ranges and ranges[-1][2] == block.page:
                ranges[-1] = (ranges[-1][0], block.end_char, block.page)
            else:
                ranges.append((block.start_char, block.end_char, block.page))
        return ranges

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    def _word(self, text: str, word: PdfWord, page: int) -> None:
        start = self._length
        self._write(text)
        self.words.append(Word(start, self._length, _rect(word.shown or word.box, page)))

    def _separate(self, before: Draft, draft: Draft) -> None:
        if draft.continues:
            self._join_lines(before.lines[-1], draft.lines[0])
        elif before.marker and draft.marker:
            self._write("\n")
        else:
            self._write("\n\n")

    def _text(self, draft: Draft) -> None:
        if draft.kind == "heading":
            self._write("#" * draft.level + " ")
        elif draft.marker:
            self._write(_INDENT * draft.depth)
        elif not draft.continues and _STRUCTURAL.match(draft.lines[0].text):
            self._write("\\")
        for i, line in enumerate(draft.lines):
            if i:
                self._join_lines(draft.lines[i - 1], line)
            self._line(line, draft.page, marker=draft.marker if i == 0 else "")

    def _line(self, line: Line, page: int, *, marker: str = "") -> None:
        for i, (text, word) in enumerate(joined(line.words)):
            if i == 0 and marker and word is not None:
                self._word(marker if marker[0].isdigit() else "-", word, page)
                if not self._followed_by_space(line):
                    self._write(" ")
            elif word is None:
                self._write(text)
            else:
                self._word(text, word, page)

    @staticmethod
    def _followed_by_space(line: Line) -> bool:
        pieces = joined(line.words[:2])
        return len(pieces) > 1 and pieces[1][1] is None

    def _join_lines(self, before: Line, line: Line) -> None:
        last, first = before.words[-1].text, line.words[0].text
        if self._hyphen_goes(last, first):
            self._drop_hyphen()
        elif not (_ends_in_hyphen(last) and first[0].isalnum()) and not (
            _NO_SPACE.match(last[-1]) and _NO_SPACE.match(first[0])
        ):
            self._write(" ")

    def _hyphen_goes(self, last: str, first: str) -> bool:
        if not _ends_in_hyphen(last) or not first[0].islower():
            return False
        stem = last[:-1].casefold()
        follow = re.match(r"[^\W\d_]+(?:-\w+)*", first.casefold())
        rest = follow[0] if follow else first.casefold()
        stem = re.split(r"[^\w-]", stem)[-1]
        if stem + rest in self._vocabulary:
            return True
        return f"{stem}-{rest}" not in self._vocabulary and "-" not in stem

    def _drop_hyphen(self) -> None:
        """Take back the hyphen just written; its word ends one character earlier."""
        self._parts[-1] = self._parts[-1][:-1]
        self._length -= 1
        word = self.words[-1]
        self.words[-1] = Word(word.start_char, self._length, word.bbox)

    def _code(self, draft: Draft) -> None:
        self._write("```\n")
        left = min(line.box.x0 for line in draft.lines)
        for line in draft.lines:
            columns = (line.box.x0 - left) / max(0.6 * line.size, 1.0)
            self._write(" " * min(round(columns), _MOST_INDENT))
            self._line(line, draft.page)
            self._write("\n")
        self._write("```")

    def _table(self, table: Table, page: int) -> None:
        for i, row in enumerate(table.rows):
            if i:
                self._write("\n")
            self._write("|")
            for cell in row:
                self._cell(cell, page)
            if i == 0:
                self._write("\n|" + " --- |" * len(row))

    def _cell(self, cell: Sequence[tuple[PdfWord, ...]], page: int) -> None:
        self._write(" ")
        for i, words in enumerate(cell):
            if i:
                self._join_lines(Line(cell[i - 1]), Line(words))
            for text, word in joined(words):
                if word is None:
                    self._write(text)
                else:
                    self._word(text.replace("|", "\\|"), word, page)
        self._write(" |")


def _ends_in_hyphen(text: str) -> bool:
    return len(text) > 1 and text.endswith(_HYPHENS) and text[-2].isalpha()


def _rect(box: Box, page: int) -> BboxRect:
    return BboxRect(page, *box)
