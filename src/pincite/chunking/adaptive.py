"""Chunks that follow the document's structure and keep within a limit of tokens."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, NamedTuple

from pincite.chunking._breaks import (
    CELL,
    LINE,
    SENTENCE,
    WORD,
    content_end,
    content_start,
    first_ink,
    grapheme_break,
    last_break,
    line_end,
)
from pincite.chunking._places import Places
from pincite.chunking._scan import Block
from pincite.chunking._sections import Outline, Section, outline
from pincite.chunking.tokens import TokenCounter, token_counter
from pincite.errors import InvalidArgument
from pincite.model.chunks import ChunkResult
from pincite.model.geometry import TableSpan
from pincite.model.layout import MarkdownParseResult

if TYPE_CHECKING:
    from pincite.chunking.tokens import TokenizerLike

__all__ = ["AdaptiveChunker"]

_VERSION = 1
_SEPARATOR = " > "
_LEAST_LIMIT = 8
# A tokenizer may take a long word or a run of blanks for one token: a chunk stays readable.
_CHARACTERS_PER_TOKEN = 16
_INDENT = 64
# Cut off from its neighbours, a piece may take a token more than its part of the whole text.
_SEAM = 1


class AdaptiveChunker:
    """Cuts Markdown where its structure says, into passages of at most ``max_tokens`` tokens.

    A passage stays in one section and takes as many whole blocks as fit. A block that does not fit
    is cut between table rows, between lines of code, or at a sentence's end; a row, line or word
    longer than the limit is cut at a cell, a word, or between graphemes. ``context_header`` is the
    chain of headings, ``A > B > C``; a heading without text of its own stays with the section
    below it. ``embed_text`` is the chain, the header of a table that began in an earlier passage,
    and ``content``; it is "" when there is neither. ``embed_text or content`` never exceeds the
    limit: the chain loses its outermost headings, or the header is left out, where they would take
    more than half of it or would split a row. ``content == markdown[start_char:end_char]`` and
    every non-blank character is in exactly one passage.

    ``tokenizer`` is a ``tokenizers.Tokenizer`` (special tokens count, its truncation does not), a
    function from text to a count, or None for ``pincite.chunking.tokens.approximate_tokens``.
    Passages are also at most 16 characters per token of the limit long.
    ``merge_peers=False`` gives every block a passage of its own, a heading with the one below it.
    ``fill_tables=True`` puts the ranges of tables into ``tables``. Their ids are the keys of the
    parser's ``tables`` where it names as many as there are, else ``table-<n>``, counted from 1.

    Raises ``InvalidArgument`` when ``max_tokens`` < 8, and from ``chunk`` when the tokenizer finds
    more than the limit in a single character.
    """

    def __init__(
        self,
        max_tokens: int = 450,
        tokenizer: TokenizerLike = None,
        *,
        merge_peers: bool = True,
        fill_tables: bool = False,
    ) -> None:
        if not isinstance(max_tokens, int) or max_tokens < _LEAST_LIMIT:
            raise InvalidArgument(
                f"max_tokens={max_tokens!r} must be a whole number of at least {_LEAST_LIMIT}."
            )
        self.max_tokens = max_tokens
        self.merge_peers = merge_peers
        self.fill_tables = fill_tables
        self._counter = token_counter(tokenizer)

    @property
    def fingerprint(self) -> str:
        """Name, version, parameters and tokenizer: equal ones cut equal text equally."""
        return (
            f"adaptive-{_VERSION}:max_tokens={self.max_tokens}:fill_tables={self.fill_tables}"
            f"{'' if self.merge_peers else ':merge_peers=False'}:{self._counter.fingerprint}"
        )

    def chunk(self, result: MarkdownParseResult) -> list[ChunkResult]:
        """The passages of ``result.markdown`` in order; [] when it is blank."""
        text = result.markdown
        places, document = Places(result), outline(result)
        cutter = _Cutter(text, document, self._counter, self.max_tokens, self.merge_peers)
        tables = [block for block in document.blocks if block.kind == "table"]
        spans = _TableSpans(text, tables if self.fill_tables else [], list(result.tables))
        return [
            places.chunk(
                index,
                piece.start,
                piece.end,
                context_header=_SEPARATOR.join(section.titles),
                embed_text=piece.prefix and piece.prefix + text[piece.start : piece.end],
                tables=spans.within(piece.start, piece.end),
            )
            for index, (section, piece) in enumerate(cutter.pieces())
        ]


class _Piece(NamedTuple):
    start: int
    end: int
    prefix: str


class _Cutter:
    """Cuts one document. Estimates come from one pass of the tokenizer over the whole text; each
    piece is then counted exactly, and shortened where the estimate was too low."""

    def __init__(
        self, text: str, document: Outline, counter: TokenCounter, limit: int, merge: bool
    ) -> None:
        self._text = text
        self._merge = merge
        self._sections = document.sections
        self._blocks = document.blocks
        self._block_starts = [block.start for block in document.blocks]
        self._counter = counter
        self._limit = limit
        self._tokens = counter.starts(text)
        self._count = lru_cache(maxsize=256)(counter.count)

    def pieces(self) -> Iterator[tuple[Section, _Piece]]:
        for section in self._sections:
            for first, last in pairwise(self._bounds(section)):
                stop = content_end(self._text, first, last)
                start = content_start(self._text, first, stop, _INDENT)
                while start is not None:
                    piece = self._piece(section.titles, start, stop)
                    yield section, piece
                    start = content_start(self._text, piece.end, stop, _INDENT)

    def _bounds(self, section: Section) -> list[int]:
        """Where passages of a section must not reach across."""
        if self._merge:
            return [section.start, section.end]
        first = max(1, bisect_right(self._block_starts, section.body))
        last = bisect_left(self._block_starts, section.end)
        inside = [
            self._block_starts[at]
            for at in range(first, last)
            if self._blocks[at - 1].kind != "heading"
        ]
        return [section.start, *inside, section.end]

    def _piece(self, titles: tuple[str, ...], start: int, stop: int) -> _Piece:
        """The longest piece from ``start`` that fits, with what goes before it."""
        prefixes = self._prefixes(titles, start)
        line = self._whole_line(start, stop)
        for prefix in prefixes if line else ():
            if self._excess(prefix, start, line) <= 0:
                return _Piece(start, self._fill(prefix, start, line, stop), prefix)
        ink = first_ink(self._text, start, stop) or start
        for prefix, at in product((prefixes[0], ""), (start, ink)):
            if (end := self._fill(prefix, at, at, stop)) > at:
                return _Piece(at, end, prefix)
        raise InvalidArgument(
            f"The tokenizer counts more than max_tokens={self._limit} tokens in the character at "
            f"offset {ink}; raise max_tokens."
        )

    def _fill(self, prefix: str, start: int, least: int, stop: int) -> int:
        """The end of a piece of at least ``[start, least)``, which is known to fit; ``start`` when
        not even one character does."""
        high = self._reach(start, self._limit - self._count(prefix) - _SEAM)
        while True:
            end = stop if high >= stop else self._cut(start, high)
            end = content_end(self._text, start, end)
            if end <= least:
                return least
            excess = self._excess(prefix, start, end)
            if excess <= 0:
                return end
            if end - start == 1:
                return start
            high = self._shorter(start, end, excess)

    def _shorter(self, start: int, end: int, excess: int) -> int:
        """A lower bound for the next try; it falls by a twentieth at least: tries are few."""
        high = self._reach(start, self._estimate(start, end) - excess)
        return max(start + 1, min(high, end - 1, start + (end - start) * 19 // 20))

    def _excess(self, prefix: str, start: int, end: int) -> int:
        """By how many tokens the piece is too long, at most 0 when it fits."""
        over = end - start - self._limit * _CHARACTERS_PER_TOKEN
        if over > 0:
            return over
        content = self._text[start:end]
        if self._surely_fits(prefix, start, end) and content.isascii():
            return 0
        return self._counter.count(prefix + content) - self._limit

    def _surely_fits(self, prefix: str, start: int, end: int) -> bool:
        """Whether the estimate is so far below the limit that an exact count can be saved."""
        return 2 * self._estimate(start, end) + self._count(prefix) + 16 <= self._limit

    def _estimate(self, start: int, end: int) -> int:
        return bisect_left(self._tokens, end) - bisect_left(self._tokens, start)

    def _reach(self, start: int, room: int) -> int:
        """The end of the ``room`` tokens that begin at ``start``, as estimated."""
        last = bisect_left(self._tokens, start) + max(1, room)
        end = self._tokens[last] if last < len(self._tokens) else len(self._text)
        return max(start + 1, min(end, start + self._limit * _CHARACTERS_PER_TOKEN))

    def _block(self, at: int) -> Block:
        return self._blocks[max(0, bisect_right(self._block_starts, at) - 1)]

    def _whole_line(self, start: int, stop: int) -> int:
        """The end of the table row or line of code that begins at ``start``; 0 without one."""
        block = self._block(start)
        at_line_start = start == 0 or self._text[start - 1] in "\r\n"
        if not block.by_line or not at_line_start:
            return 0
        return line_end(self._text, start, min(block.end, stop))

    def _prefixes(self, titles: tuple[str, ...], start: int) -> list[str]:
        """What may go before the content, the best first, each within half of the limit."""
        header = self._table_header(start)
        found = [
            prefix
            for drop in range(len(titles) + 1)
            for prefix in [_prefix(titles[drop:], header)]
            if prefix and self._small(prefix)
        ][:1]
        if header:
            found += [prefix for prefix in [_prefix((), header)] if self._small(prefix)]
            found += [
                prefix
                for drop in range(len(titles))
                for prefix in [_prefix(titles[drop:], "")]
                if self._small(prefix)
            ][:1]
        return [*dict.fromkeys(found), ""]

    def _small(self, prefix: str) -> bool:
        if len(prefix) > self._limit * _CHARACTERS_PER_TOKEN:
            return False
        return 2 * self._count(prefix) <= self._limit

    def _table_header(self, start: int) -> str:
        """The header row of the table whose body ``start`` lies in, "" without one."""
        block = self._block(start)
        if block.kind != "table" or start < block.body or block.body <= block.start:
            return ""
        return self._text[block.start : line_end(self._text, block.start, block.body)] + "\n"

    def _cut(self, start: int, high: int) -> int:
        """Where to end a piece that begins at ``start`` and must not reach past ``high``."""
        block = self._block(high)
        low = start + max(1, (high - start) // 4)
        if block.start >= low:
            return block.start
        if block.by_line:
            return self._cut_lines(block, start, high)
        found = last_break(self._text, low, high, (SENTENCE, LINE, WORD))
        if found is None and block.start > start:
            return block.start
        return self._cut_anywhere(start, high) if found is None else found

    def _cut_lines(self, block: Block, start: int, high: int) -> int:
        line = self._line_start(start, high)
        if block.kind == "table" and line <= block.body and start < block.start:
            return block.start
        if line > start:
            return line
        cell = last_break(self._text, start + 1, high, (CELL,)) if block.kind == "table" else None
        return self._cut_anywhere(start, high) if cell is None else cell

    def _line_start(self, start: int, high: int) -> int:
        """The start of the line that holds ``high``, ``high`` itself at a line's end."""
        if self._text[high] in "\r\n":
            return high
        breaks = self._text.rfind("\n", start, high), self._text.rfind("\r", start, high)
        return max(breaks) + 1

    def _cut_anywhere(self, start: int, high: int) -> int:
        found = last_break(self._text, start + 1, high, (WORD,))
        return grapheme_break(self._text, start, high) if found is None else found


class _TableSpans:
    def __init__(self, text: str, tables: list[Block], names: list[str]) -> None:
        if len(names) != len(tables):
            names = [f"table-{number}" for number in range(1, len(tables) + 1)]
        self._tables = [
            (table.start, content_end(text, table.start, table.end), name)
            for table, name in zip(tables, names, strict=True)
        ]
        self._ends = [end for _, end, _ in self._tables]

    def within(self, start: int, end: int) -> Iterator[TableSpan]:
        for at, stop, name in self._tables[bisect_right(self._ends, start) :]:
            if at >= end:
                return
            yield TableSpan(max(at, start) - start, min(stop, end) - start, name)


def _prefix(titles: tuple[str, ...], header: str) -> str:
    chain = _SEPARATOR.join(titles)
    return f"{chain}\n\n{header}" if chain else header
