"""From what a backend reads to a parse result: the one builder that every backend shares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from pincite.model.geometry import WordBoxes
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.pdf.builder import MarkdownBuilder
from pincite.parsing.pdf.columns import Placed, in_order, reads_right_to_left
from pincite.parsing.pdf.draft import Draft
from pincite.parsing.pdf.furniture import without_furniture
from pincite.parsing.pdf.headings import mark_headings
from pincite.parsing.pdf.lines import Segment, lines_of, segments_of
from pincite.parsing.pdf.page import Box, PdfPage, PdfText, PdfWord, union
from pincite.parsing.pdf.paragraphs import drafts_of, ends_sentence
from pincite.parsing.pdf.tables import Table, aligned_table, ruled_tables, tables_between_rules

__all__ = ["build"]

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SEGMENT_GAP = 0.65  # of the size: narrower than a gutter, wider than the spaces of a line
_MOST_WORDS_LAID_OUT = 6_000  # of a page: beyond it the text layer's own order stands


def build(text: PdfText) -> MarkdownParseResult:
    """The document as Markdown with its blocks, page ranges and words."""
    body_size = _body_size(text.pages)
    code = not _mostly_mono(text.pages)
    upright = [[w for w in page.words if w.angle == 0] for page in text.pages]
    segments = without_furniture(
        [_segments(words) for words in upright], [page.height for page in text.pages], body_size
    )
    drafts: list[Draft] = []
    for page, kept in zip(text.pages, segments, strict=True):
        found = _page_drafts(page, kept, code=code)
        _mark_continued(drafts, found)
        drafts += found
    for before, after in pairwise(drafts):
        if before.lines and before.text.endswith("-"):
            _mark_continued([before], [after])
    mark_headings(drafts, text.outline, body_size)
    return _result(text, drafts)


def _segments(words: Sequence[PdfWord]) -> list[Segment]:
    if len(words) > _MOST_WORDS_LAID_OUT:
        return [Segment((word,)) for word in words]
    return segments_of(words, gap=_SEGMENT_GAP)


def _page_drafts(page: PdfPage, segments: list[Segment], *, code: bool) -> list[Draft]:
    if len(segments) > _MOST_WORDS_LAID_OUT:
        flat = drafts_of(lines_of(segments), page.number, code=False)
        return [*flat, *_turned_drafts(page, _sideways(page))]
    sideways = _sideways(page)
    in_cells = sideways if 2 * len(sideways) < len(segments) else []
    tables = ruled_tables([*segments, *in_cells], page.rules)
    rest = _outside(segments, tables)
    more = tables_between_rules(rest, page.rules)
    tables += more
    items: list[Placed] = [*_outside(rest, more), *tables]
    rtl = reads_right_to_left(segments)
    columns = in_order(items, rtl=rtl, find_table=aligned_table)
    drafts: list[Draft] = []
    for column in columns:
        found = _column_drafts(column, page.number, code=code)
        _mark_continued(drafts, found)
        drafts += found
    return [*drafts, *_turned_drafts(page, _outside(sideways, tables))]


def _sideways(page: PdfPage) -> list[Segment]:
    """Text that reads in another direction, word by word in its order, where it stands."""
    segments: list[Segment] = []
    for angle in (90, 180, 270):
        words = [word for word in page.words if word.angle == angle]
        turned = [_turned(word, angle, page) for word in words]
        back = {id(new): old for new, old in zip(turned, words, strict=True)}
        runs = segments_of(turned, gap=_SEGMENT_GAP)
        segments += [Segment(tuple(back[id(word)] for word in run.words)) for run in runs]
    return segments


def _outside(segments: Sequence[Segment], tables: Sequence[Table]) -> list[Segment]:
    taken = {id(w) for t in tables for row in t.rows for cell in row for line in cell for w in line}
    return [s for s in segments if id(s.words[0]) not in taken]


def _column_drafts(column: Sequence[Placed], page: int, *, code: bool) -> list[Draft]:
    """Tables where they stand, the lines between them as blocks."""
    drafts: list[Draft] = []
    pending: list[Segment] = []
    for item in sorted(column, key=lambda item: item.box.middle):
        if isinstance(item, Table):
            drafts += drafts_of(lines_of(pending), page, code=code)
            drafts.append(Draft("table", page, item.box, table=item))
            pending = []
        elif isinstance(item, Segment):
            pending.append(item)
    return drafts + drafts_of(lines_of(pending), page, code=code)


def _turned_drafts(page: PdfPage, segments: Sequence[Segment]) -> list[Draft]:
    """Text that reads in another direction than the page, after the rest."""
    drafts: list[Draft] = []
    for angle in (90, 180, 270):
        words = [word for segment in segments for word in segment.words if word.angle == angle]
        if not words:
            continue
        turned = [_turned(word, angle, page) for word in words]
        for column in in_order(_segments(turned), rtl=False, find_table=_no_table):
            drafts += _column_drafts(column, page.number, code=False)
    for draft in drafts:
        shown = [word.shown or word.box for line in draft.lines for word in line.words]
        draft.box = union(shown)
    return drafts


def _no_table(_: list[Segment]) -> None:
    return None


def _turned(word: PdfWord, angle: int, page: PdfPage) -> PdfWord:
    x0, y0, x1, y1 = word.box
    if angle == 90:
        box = Box(y0, page.width - x1, y1, page.width - x0)
    elif angle == 180:
        box = Box(page.width - x1, page.height - y1, page.width - x0, page.height - y0)
    else:
        box = Box(page.height - y1, x0, page.height - y0, x1)
    return PdfWord(
        word.text, box, word.size, word.bold, word.font, 0, word.mono, word.spaced, word.box
    )


def _mark_continued(before: Sequence[Draft], found: Sequence[Draft]) -> None:
    """Let the first block of a column go on with the last paragraph of the one before."""
    if not before or not found:
        return
    last, first = before[-1], found[0]
    if last.kind not in ("paragraph", "list_item") or first.kind != "paragraph" or not first.lines:
        return
    text, tail = first.text, last.text
    same = abs(last.lines[-1].size - first.lines[0].size) < 0.3 and last.bold == first.bold
    if same and text[0].islower() and not ends_sentence(tail):
        first.continues = True


def _body_size(pages: Sequence[PdfPage]) -> float:
    """The font size of most characters, in steps of a tenth of a point; 0.0 without text."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for word in page.words:
            sizes[round(word.size, 1)] += len(word.text)
    return max(sizes.items(), key=lambda pair: (pair[1], pair[0]))[0] if sizes else 0.0


def _mostly_mono(pages: Sequence[PdfPage]) -> bool:
    """Whether fonts for code carry so much of the text that they say nothing."""
    words = [word for page in pages for word in page.words]
    mono = sum(word.mono for word in words)
    return 2 * mono > len(words)


def _vocabulary(pages: Sequence[PdfPage]) -> frozenset[str]:
    return frozenset(
        found
        for page in pages
        for word in page.words
        for found in _WORD.findall(word.text.casefold())
    )


def _result(text: PdfText, drafts: Sequence[Draft]) -> MarkdownParseResult:
    builder = MarkdownBuilder(_vocabulary(text.pages))
    for draft in drafts:
        builder.add(draft)
    markdown = builder.finish()
    return MarkdownParseResult(
        markdown=markdown,
        page_ranges=builder.page_ranges,
        total_pages=len(text.pages),
        blocks=builder.blocks,
        page_dimensions={str(p.number): (p.width, p.height) for p in text.pages},
        words=WordBoxes(builder.words).pack(),
        metadata=text.metadata,
    )
