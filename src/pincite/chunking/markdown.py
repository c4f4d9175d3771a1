"""Chunks of fixed size: what the text is does not matter, only how long it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pincite.chunking._breaks import (
    LINE,
    PARAGRAPH,
    SENTENCE,
    WORD,
    content_end,
    content_start,
    first_ink,
    grapheme_break,
    last_break,
)
from pincite.chunking._places import Places
from pincite.errors import InvalidArgument
from pincite.model.chunks import ChunkResult
from pincite.model.layout import MarkdownParseResult

__all__ = ["MarkdownChunker"]

_PREFERENCE = (PARAGRAPH, LINE, SENTENCE, WORD)
_WORD_START = re.compile(r"(?<=\s)\S")
_CLAUSE_START = re.compile(r"(?<=[。！？｡、，；：])\S")
_VERSION = 1


class MarkdownChunker:
    """Cuts Markdown into passages of at most ``size`` characters.

    A cut falls on a paragraph, line, sentence or word end (in this order) in the second half of
    the passage, and on a grapheme boundary where there is none. Each passage repeats up to
    ``overlap`` characters of the one before it, from a word's start; text without spaces repeats
    from a clause's start, or not at all. ``content == markdown[start_char:end_char]``, every
    non-blank character is in a passage, and no passage is blank.

    Raises ``InvalidArgument`` when ``size`` < 1, ``overlap`` < 0 or ``overlap`` >= ``size``.
    """

    def __init__(self, size: int = 1200, overlap: int = 120) -> None:
        _check_integer("size", size, least=1)
        _check_integer("overlap", overlap, least=0)
        if overlap >= size:
            raise InvalidArgument(
                f"overlap={overlap} must be smaller than size={size}; give a smaller overlap."
            )
        self.size = size
        self.overlap = overlap

    @property
    def fingerprint(self) -> str:
        """Name, version and parameters: equal fingerprints cut equal text equally."""
        return f"markdown-{_VERSION}:size={self.size}:overlap={self.overlap}"

    def chunk(self, result: MarkdownParseResult) -> list[ChunkResult]:
        """The passages of ``result.markdown`` in order; [] when it is blank."""
        places = Places(result)
        spans = self._spans(result.markdown)
        return [places.chunk(index, start, end) for index, (start, end) in enumerate(spans)]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        start = content_start(text, 0, len(text), self.size // 4)
        covered = 0
        while start is not None:
            covered = content_end(text, start, self._cut(text, start, covered))
            yield start, covered
            start = self._resume(text, start, covered)

    def _cut(self, text: str, start: int, covered: int) -> int:
        high = start + self.size
        if high >= len(text):
            return len(text)
        fresh = first_ink(text, max(start, covered), len(text))
        low = max(start + max(1, self.size // 2), (fresh or 0) + 1)
        found = last_break(text, low, high, _PREFERENCE)
        return grapheme_break(text, low - 1, high) if found is None else found

    def _resume(self, text: str, start: int, end: int) -> int | None:
        """Where the passage after ``[start, end)`` begins, None after the last."""
        fresh = first_ink(text, end, len(text))
        if fresh is None:
            return None
        low = max(end - self.overlap, start + 1)
        for pattern in (_WORD_START, _CLAUSE_START):
            match = pattern.search(text, low, end)
            if match and fresh - match.start() < self.size:
                return match.start()
        return content_start(text, end, len(text), self.size // 4)


def _check_integer(name: str, value: int, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidArgument(f"{name}={value!r} must be a whole number of at least {least}.")
