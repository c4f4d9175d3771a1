"""Passages for people: where each stands, and the part of its text that matched."""

from __future__ import annotations

import itertools
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from pincite.cli.terminal import escape, has_colour, paint, terminal_width, write

if TYPE_CHECKING:
    from pincite.model.geometry import BboxRect
    from pincite.model.hits import Explanation, Hit, Span

__all__ = ["excerpt", "format_rect", "hit_rect", "marked_lines", "matched_words", "write_hit"]

_LENGTH = 420  # characters of an excerpt
_LINES = 8  # and never more than this many lines of it
_INDENT = "    "
# Marks around a highlight while lines are wrapped; ``escape`` lets neither through.
_ON, _OFF = "\x01", "\x02"
_STRUCTURE = re.compile(r"\s|[|#>`~*+-]|\d+[.)] ")  # what a line of its own starts with
_WRAPPED = 50  # a line this long that is followed by plain text was broken for its width


class Locator(Protocol):
    """What tells the rectangles of a span; a library does."""

    def locate(self, document: str, start: int, end: int) -> list[BboxRect]: ...


def write_hit(lib: Locator, hit: Hit, *, how: Explanation | None = None, tail: str = "") -> None:
    """A hit: rank, score, file, page and rectangle, heading path, excerpt, ``tail``, and with
    ``how`` its legs and terms."""
    chunk = hit.chunk
    name = paint(escape(chunk.document), "bold cyan")
    rect = hit_rect(lib, hit)
    place = format_rect(rect) if rect else _pages(hit)
    score = paint(f"{hit.score:.4f}", "green")
    write(f"{hit.rank:>2}  {score}  {name}{'  ' if place else ''}{place}")
    if chunk.context_header:
        write(_INDENT + paint(escape(chunk.context_header), "dim"))
    width = terminal_width() - len(_INDENT)
    for line in _best_lines(list(marked_lines(hit, width))):
        write(_INDENT + line)
    for line in textwrap.wrap(tail, width, break_on_hyphens=False):
        write(_INDENT + paint(line, "dim"))
    if how is not None:
        _write_legs(hit)
        _write_terms(how)
    write()


def hit_rect(lib: Locator, hit: Hit) -> BboxRect | None:
    """The block (paragraph, table, ...) with most of the words that matched in the excerpt.

    The first block when no word stands in one; None when the format has no geometry.
    """
    blocks = hit.chunk.bboxes
    if not blocks:
        return None
    start, end = excerpt(hit.chunk.content, hit.highlights)
    pairs = zip(hit.highlights, hit.spans, strict=False)
    spans = [span for place, span in pairs if start <= place[0] < end]
    words = [rect for span in spans for rect in lib.locate(hit.chunk.document, *span)]
    return max(blocks, key=lambda block: sum(_holds(block, word) for word in words))


def _holds(block: BboxRect, word: BboxRect) -> bool:
    x, y = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2
    inside = block.x0 <= x <= block.x1 and block.y0 <= y <= block.y1
    return inside and block.page == word.page


def format_rect(rect: BboxRect) -> str:
    """``page 2 (309,475 - 546,545)``: left, top, right, bottom in points."""
    return f"page {rect.page} ({rect.x0:.0f},{rect.y0:.0f} - {rect.x1:.0f},{rect.y1:.0f})"


def _pages(hit: Hit) -> str:
    pages = hit.chunk.pages
    if not pages:
        return ""
    first, last = min(pages), max(pages)
    return f"page {first}" if first == last else f"pages {first}-{last}"


def _write_legs(hit: Hit) -> None:
    for name, leg in hit.legs.items():
        text = (
            f"{name:<8} raw {leg.raw:9.4f}  rank {leg.rank:>3}  weight {leg.weight:.2f}  "
            f"contribution {leg.contribution:.4f}"
        )
        write(_INDENT + paint(text, "dim"))


def matched_words(hit: Hit) -> dict[str, Span]:
    """The highlighted words, first spelling of each, with their span in the Markdown."""
    words: dict[str, tuple[str, Span]] = {}
    for (start, end), span in zip(hit.highlights, hit.spans, strict=False):
        word = hit.chunk.content[start:end]
        words.setdefault(word.casefold(), (word, span))
    return dict(words.values())


def excerpt(content: str, highlights: Sequence[Span], length: int = _LENGTH) -> Span:
    """The stretch of ``content`` of about ``length`` characters with most different matches."""
    if len(content) <= length:
        return 0, len(content)

    def worth(at: int) -> tuple[int, int, int]:
        inside = [content[s:e].casefold() for s, e in highlights if at <= s < at + length - 40]
        return len(set(inside)), len(inside), -at

    best = max((span[0] - 20 for span in highlights), key=worth, default=0)
    start = max(0, min(best, len(content) - length))
    return _at_words(content, start, start + length)


def _at_words(content: str, start: int, end: int) -> Span:
    """The span, moved to a line's or else a word's border where one is near."""
    line = content.rfind("\n", max(0, start - 60), start + 1) + 1
    if line or start < 60:
        start = line
    elif start > 0 and (gap := re.compile(r"\s").search(content, start, start + 20)):
        start = gap.end()
    if end < len(content):
        near = content.rfind(" ", end - 30, end)
        line = content.find("\n", end - 40, end + 60)
        end = line if line > 0 else max(near, end - 30) if near > 0 else end
    return start, end


def marked_lines(hit: Hit, width: int) -> Iterator[tuple[str, bool]]:
    """The excerpt, wrapped to ``width`` columns, its highlights painted; whether a line has one."""
    content = hit.chunk.content
    start, end = excerpt(content, hit.highlights)
    text = _marked(content, start, end, hit.highlights)
    text = ("\u2026 " if start else "") + text.strip() + (" \u2026" if end < len(content) else "")
    lit = False
    paragraphs = _paragraphs(text)
    if hit.chunk.context_header:  # shown above: its own heading lines would say it twice
        bodies = list(itertools.dropwhile(lambda p: not p or p.startswith("#"), paragraphs))
        paragraphs = bodies or paragraphs
    for paragraph in paragraphs:
        for line in textwrap.wrap(paragraph, width, break_on_hyphens=False):
            marked = lit or _ON in line
            painted, lit = _painted(line, lit)
            yield painted, marked


def _best_lines(lines: Sequence[tuple[str, bool]]) -> list[str]:
    """At most ``_LINES`` lines: those around the most highlights, the first line before them."""
    if len(lines) <= _LINES:
        return [line for line, _ in lines]
    room = _LINES - 1
    starts = range(len(lines) - room + 1)
    start = max(starts, key=lambda at: (sum(lit for _, lit in lines[at : at + room]), -at))
    if start:
        # The first line, often the header of a table, then the best of the rest.
        start = min(start + 1, len(lines) - room + 1)
        return [lines[0][0], "\u2026", *(line for line, _ in lines[start : start + room - 1])]
    return [*(line for line, _ in lines[:room]), "\u2026"]


def words_line(lib: Locator, hit: Hit) -> str:
    """The matched words, each with its first rectangle where the format has geometry."""
    found = []
    for word, span in matched_words(hit).items():
        rects = lib.locate(hit.chunk.document, *span)
        found.append(escape(word) + (f" at {format_rect(rects[0])}" if rects else ""))
    return "matched: " + "; ".join(found) if found else "matched by meaning alone"


def word_rects(lib: Locator, hit: Hit) -> dict[str, list[BboxRect]]:
    """The matched words with their rectangles, line by line."""
    return {
        word: lib.locate(hit.chunk.document, *span) for word, span in matched_words(hit).items()
    }


def _paragraphs(text: str) -> list[str]:
    """The lines of ``text``, those that only continue a wrapped line joined to it."""
    joined = [""]
    last = 0
    for line in text.split("\n"):
        bare = line.replace(_ON, "").replace(_OFF, "")
        if last >= _WRAPPED and bare and not _STRUCTURE.match(bare):
            joined[-1] += f" {line}"
        else:
            joined.append(line)
        last = 0 if _STRUCTURE.match(bare) else len(bare)
    return joined


def _marked(content: str, start: int, end: int, highlights: Sequence[Span]) -> str:
    parts, at = [], start
    for first, last in sorted(highlights):
        first, last = max(first, at), min(last, end)
        if first < last:
            word = escape(content[first:last], block=True)
            parts += [escape(content[at:first], block=True), _ON, word, _OFF]
            at = last
    return "".join([*parts, escape(content[at:end], block=True)])


def _painted(line: str, lit: bool) -> tuple[str, bool]:
    """A line with its marks made colours; whether a highlight goes on in the next line."""
    if not has_colour(sys.stdout):
        return line.replace(_ON, "").replace(_OFF, ""), False
    on, off = "\x1b[1;33m", "\x1b[0m"
    still = line.rfind(_ON) > line.rfind(_OFF) or (lit and _OFF not in line)
    text = (on if lit else "") + line.replace(_ON, on).replace(_OFF, off)
    return text + (off if still else ""), still


def _write_terms(how: Explanation) -> None:
    for term in how.terms:
        if term.tf:
            times = f" x{term.count}" if term.count > 1 else ""
            write(
                f"{_INDENT}  {escape('/'.join(term.terms))}{times}: {term.contribution:.4f}"
                f" (tf {term.tf}, in {term.df:,} of {how.rows:,} passages, idf {term.idf:.3f},"
                f" length {term.length} of {how.average_length:.0f})"
            )
