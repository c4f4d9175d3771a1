"""Sections: stretches of Markdown under one chain of headings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pincite.chunking._breaks import first_ink
from pincite.chunking._scan import Block, heading_title, scan
from pincite.model.layout import MarkdownParseResult

_LONGEST_TITLE = 200
_LOWEST_LEVEL = 6


@dataclass(slots=True)
class Section:
    """A stretch that no heading interrupts. ``path`` holds (level, title), outermost first;
    ``body`` is where the text after its own heading begins."""

    start: int
    end: int
    body: int
    path: tuple[tuple[int, str], ...]

    @property
    def titles(self) -> tuple[str, ...]:
        """The headings that are not blank."""
        return tuple(title for _, title in self.path if title)


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a document and its blocks, both in order and without gaps."""

    sections: list[Section]
    blocks: list[Block]


def outline(result: MarkdownParseResult) -> Outline:
    """The outline by the parser's layout blocks where it has told kinds apart, else by the text."""
    text = result.markdown
    blocks = scan(text)
    if any(block.kind != "other" for block in result.blocks):
        headings = [
            (block.start_char, block.end_char, block.level or _LOWEST_LEVEL)
            for block in result.blocks
            if block.kind == "heading"
        ]
    else:
        headings = [(block.start, block.end, block.level) for block in blocks if block.level]
    return Outline(list(_joined(text, _sections(text, headings))), blocks)


def _sections(text: str, headings: list[tuple[int, int, int]]) -> Iterator[Section]:
    path: list[tuple[int, str]] = []
    start, body = 0, 0
    for at, end, level in headings:
        if at > start:
            yield Section(start, at, body, tuple(path))
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, heading_title(text, at, end)[:_LONGEST_TITLE]))
        start, body = at, end
    if start < len(text):
        yield Section(start, len(text), body, tuple(path))


def _joined(text: str, sections: Iterator[Section]) -> Iterator[Section]:
    """A heading with no text of its own goes to the first section below it."""
    waiting: Section | None = None
    for section in sections:
        if waiting is not None:
            if section.path[: len(waiting.path)] == waiting.path:
                section.start = waiting.start
            else:
                yield waiting
        waiting = None
        if section.path and first_ink(text, section.body, section.end) is None:
            waiting = section
        else:
            yield section
    if waiting is not None:
        yield waiting
