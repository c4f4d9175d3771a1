"""Passages for people: where each stands, and the part of its text that matched."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pincite.cli.terminal import escape, has_colour, paint, terminal_width, write

if TYPE_CHECKING:
    from pincite.library import Library
    from pincite.model.geometry import BboxRect
    from pincite.model.hits import Hit, Span

__all__ = ["excerpt", "format_rect", "hit_rects", "marked_lines", "matched_words", "write_hit"]

_LENGTH = 420  # characters of an excerpt
_INDENT = "    "
# Marks around a highlight while lines are wrapped; ``escape`` lets neither through.
_ON, _OFF = "\x01", "\x02"


def write_hit(lib: Library, hit: Hit, *, explain: bool = False, tail: str = "") -> None:
    """A hit: rank, score, file, page and rectangle, heading path, excerpt, ``tail``, its legs."""
    chunk = hit.chunk
    name = paint(escape(chunk.document), "bold cyan")
    place = ", ".join(format_rect(rect) for rect in hit_rects(lib, hit)[:2]) or _pages(hit)
    score = paint(f"{hit.score:.4f}", "green")
    write(f"{hit.rank:>2}  {score}  {name}{'  ' if place else ''}{place}")
    if chunk.context_header:
        write(_INDENT + paint(escape(chunk.context_header), "dim"))
    for line in marked_lines(hit, terminal_width() - len(_INDENT)):
        write(_INDENT + line)
    if tail:
        write(_INDENT + paint(tail, "dim"))
    if explain:
        _write_legs(hit)
    write()


def hit_rects(lib: Library, hit: Hit) -> list[BboxRect]:
    """One rectangle a page around the words that matched, else around the passage's blocks."""
    words = [
        rect for span in hit.spans for rect in lib.locate(hit.chunk.document, span[0], span[1])
    ]
    return _by_page(words or list(hit.chunk.bboxes))


def _by_page(rects: Sequence[BboxRect]) -> list[BboxRect]:
    from pincite.model.geometry import BboxRect

    pages: dict[int, list[BboxRect]] = {}
    for rect in rects:
        pages.setdefault(rect.page, []).append(rect)
    return [
        BboxRect(
            page,
            min(r.x0 for r in found),
            min(r.y0 for r in found),
            max(r.x1 for r in found),
            max(r.y1 for r in found),
        )
        for page, found in sorted(pages.items())
    ]


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
    """The stretch of ``content`` of about ``length`` characters with most highlights in it."""
    if len(content) <= length:
        return 0, len(content)
    starts = [span[0] for span in highlights] or [0]
    best = max(starts, key=lambda at: (sum(at <= s < at + length for s in starts), -at))
    start = max(0, min(best - length // 5, len(content) - length))
    return _at_words(content, start, start + length)


def _at_words(content: str, start: int, end: int) -> Span:
    """The span, moved inwards to white space where there is some within 30 characters."""
    if start > 0 and (gap := re.compile(r"\s").search(content, start, min(start + 30, end))):
        start = gap.end()
    if end < len(content):
        cut = content.rfind(" ", max(start, end - 30), end)
        end = cut if cut > start else end
    return start, end


def marked_lines(hit: Hit, width: int) -> Iterator[str]:
    """The excerpt, wrapped to ``width`` columns, its highlights painted."""
    content = hit.chunk.content
    start, end = excerpt(content, hit.highlights)
    text = _marked(content, start, end, hit.highlights)
    text = ("\u2026 " if start else "") + text.strip() + (" \u2026" if end < len(content) else "")
    lit = False
    for paragraph in text.split("\n"):
        for line in textwrap.wrap(paragraph, width, break_on_hyphens=False):
            painted, lit = _painted(line, lit)
            yield painted


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
