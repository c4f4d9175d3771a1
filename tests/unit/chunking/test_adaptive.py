"""Chunks that follow the document: headings, tables, fences, limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from pincite.chunking.adaptive import AdaptiveChunker
from pincite.chunking.tokens import approximate_tokens
from pincite.errors import InvalidArgument
from pincite.model.chunks import ChunkResult
from pincite.model.geometry import BboxRect, LayoutBlock, TableSpan
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.registry import parse

STRUCTURED = """---
title: Notes
# a comment
---

# A

Opening words.

### A.x

Deep words.

## B

```python
# not a heading
    indented = 1
```

Said twice.

Said twice.

```
unclosed
    # nor this
"""


def parsed(markdown: str) -> MarkdownParseResult:
    return MarkdownParseResult(markdown=markdown, page_ranges=[], total_pages=0)


def chunks_of(markdown: str, max_tokens: int = 450) -> list[ChunkResult]:
    return AdaptiveChunker(max_tokens).chunk(parsed(markdown))


def table(rows: int, *, cells: str = "value {n} of it") -> str:
    body = "".join(f"| row {n} | {cells.format(n=n)} |\n" for n in range(rows))
    return f"| name | text |\n|------|------|\n{body}"


def assert_sound(
    markdown: str,
    chunks: list[ChunkResult],
    limit: int,
    count: Callable[[str], int] = approximate_tokens,
) -> None:
    """Offsets exact, order kept, nothing lost or repeated, nothing over the limit."""
    end = 0
    for index, chunk in enumerate(chunks):
        assert chunk.chunk_index == index
        assert chunk.content == markdown[chunk.start_char : chunk.end_char]
        assert chunk.content.strip()
        assert not markdown[end : chunk.start_char].strip()
        assert count(chunk.indexed_text) <= limit
        end = chunk.end_char
    assert not markdown[end:].strip()


def test_headings_front_matter_fences_and_repeated_paragraphs() -> None:
    chunks = chunks_of(STRUCTURED)

    assert_sound(STRUCTURED, chunks, 450)
    assert [chunk.context_header for chunk in chunks] == ["", "A", "A > A.x", "A > B"]
    assert chunks[0].content.startswith("---\ntitle")
    assert "    indented = 1\n" in chunks[3].content
    assert chunks[3].content.endswith("unclosed\n    # nor this")
    assert chunks[3].content.count("Said twice.") == 2


def test_the_same_holds_through_the_parser() -> None:
    result = parse(STRUCTURED.encode(), "notes.md")
    chunks = AdaptiveChunker().chunk(result)

    assert_sound(result.markdown, chunks, 450)
    assert [chunk.context_header for chunk in chunks] == ["", "A", "A > A.x", "A > B"]
    lines = "\n".join(chunk.content for chunk in chunks).splitlines()
    assert {line for line in STRUCTURED.splitlines() if line.strip()} <= set(lines)


def test_repeated_paragraphs_keep_their_own_offsets_when_cut_apart() -> None:
    text = "Said twice, and that in full length.\n\n" * 3
    chunks = chunks_of(text, 10)

    assert_sound(text, chunks, 10)
    assert [chunk.start_char for chunk in chunks] == [0, 38, 76]


def test_embed_text_is_the_heading_path_and_the_content() -> None:
    first, second = chunks_of("Before.\n\n# A\n\n## B\n\nText.")

    assert (first.embed_text, first.context_header) == ("", "")
    assert second.context_header == "A > B"
    assert second.content == "# A\n\n## B\n\nText."
    assert second.embed_text == "A > B\n\n# A\n\n## B\n\nText."


def test_a_bare_heading_without_descendants_is_its_own_chunk() -> None:
    chunks = chunks_of("# A\n\n## B\n\n# C\n\ntext\n\n# D")

    assert [(c.content, c.context_header) for c in chunks] == [
        ("# A\n\n## B", "A > B"),
        ("# C\n\ntext", "C"),
        ("# D", "D"),
    ]


def test_small_blocks_are_merged_up_to_the_limit() -> None:
    text = "\n\n".join(f"Short paragraph number {n}." for n in range(30))
    chunks = chunks_of(text, 40)

    assert_sound(text, chunks, 40)
    for before, after in pairwise(chunks):
        first_block = after.content.split("\n\n")[0]
        assert approximate_tokens(before.content + first_block) > 40


def test_layout_blocks_give_the_headings_where_there_are_any() -> None:
    text = "Title\n\nWords here.\n\n# not a heading\n\nMethod\n\nMore words."
    at = [text.index(part) for part in ("Title", "Words", "Method", "More")]
    blocks = [
        LayoutBlock("heading", at[0], at[1], 1, BboxRect(1, 0, 0, 9, 9), level=1),
        LayoutBlock("paragraph", at[1], at[2], 1),
        LayoutBlock("heading", at[2], at[3], 2, level=2),
        LayoutBlock("paragraph", at[3], len(text), 2),
    ]
    result = MarkdownParseResult(markdown=text, page_ranges=[], total_pages=2, blocks=blocks)
    chunks = AdaptiveChunker().chunk(result)

    assert [chunk.context_header for chunk in chunks] == ["Title", "Title > Method"]
    assert chunks[0].bboxes == [BboxRect(1, 0, 0, 9, 9)]


def test_layout_blocks_that_tell_nothing_leave_it_to_the_text() -> None:
    text = "# A\n\ntext"
    blocks = [LayoutBlock("other", 0, len(text), 1)]
    result = MarkdownParseResult(markdown=text, page_ranges=[], total_pages=1, blocks=blocks)

    assert AdaptiveChunker().chunk(result)[0].context_header == "A"


@pytest.mark.parametrize("limit", [40, 64, 256])
def test_rows_stay_whole_and_the_header_is_repeated(limit: int) -> None:
    text = f"# T\n\nIntroduction.\n\n{table(80)}\nAfter."
    chunks = chunks_of(text, limit)

    assert_sound(text, chunks, limit)
    assert len(chunks) > 1
    lines = set(text.splitlines())
    for chunk in chunks:
        assert set(chunk.content.splitlines()) <= lines
        if chunk.content.startswith("| row"):
            assert chunk.embed_text.startswith("T\n\n| name | text |\n| row")
        if "| name | text |" in chunk.content:
            assert "| row 0 |" in chunk.content


def test_the_heading_path_and_the_header_give_way_to_a_row() -> None:
    row = "| " + "word " * 26 + "|"
    text = f"# {'title ' * 10}\n\n| {'name ' * 10}|\n|---|\n{row}\n{row}\n{row}\n"
    chunks = chunks_of(text, 40)

    assert_sound(text, chunks, 40)
    assert [chunk.content for chunk in chunks[-3:]] == [row.strip()] * 3
    assert all(chunk.context_header.startswith("title title") for chunk in chunks)


def test_a_row_longer_than_the_limit_is_cut_at_a_cell() -> None:
    text = f"| a | b |\n|---|---|\n| {'first ' * 15} | {'second ' * 15} |\n| x | y |\n"
    chunks = chunks_of(text, 30)

    assert_sound(text, chunks, 30)
    assert any(chunk.content.startswith("| second") for chunk in chunks)
    assert chunks[-1].content.endswith("| x | y |")


def test_lines_of_code_stay_whole() -> None:
    text = (
        "```python\n" + "".join(f"    value_{n} = compute(  {n} )\n" for n in range(60)) + "```\n"
    )
    chunks = chunks_of(text, 64)

    assert_sound(text, chunks, 64)
    lines = text.splitlines()
    assert [line for chunk in chunks for line in chunk.content.splitlines()] == lines


def test_a_fence_that_fits_alone_is_not_cut() -> None:
    code = "```\n" + "call()\n" * 12 + "```"
    text = "Some sentence of words. " * 4 + "\n\n" + code
    chunks = chunks_of(text, 60)

    assert_sound(text, chunks, 60)
    assert chunks[1].content == code


def test_long_paragraphs_end_with_a_sentence() -> None:
    text = "This sentence has seven words in it. " * 40
    chunks = chunks_of(text, 50)

    assert_sound(text, chunks, 50)
    assert all(chunk.content.endswith("it.") for chunk in chunks)


def test_a_heading_is_not_left_alone_before_a_long_paragraph() -> None:
    text = "# Heading\n\n" + "This sentence has seven words in it. " * 40

    assert "This sentence" in chunks_of(text, 50)[0].content


def test_table_spans_are_filled_on_request() -> None:
    text = f"Before.\n\n{table(1)}\nBetween.\n\n{table(2)}"
    result = parsed(text)
    (plain,) = AdaptiveChunker().chunk(result)
    (filled,) = AdaptiveChunker(fill_tables=True).chunk(result)

    assert plain.tables == []
    assert [span.table_id for span in filled.tables] == ["table-1", "table-2"]
    assert [filled.content[s.start_char : s.end_char] for s in filled.tables] == [
        table(1).strip(),
        table(2).strip(),
    ]


def test_table_spans_bear_the_parsers_ids() -> None:
    text = f"{table(1)}\n{table(2)}"
    ids = {"tbl-7": "<table></table>", "tbl-9": "<table></table>"}
    result = MarkdownParseResult(markdown=text, page_ranges=[], total_pages=0, tables=ids)
    (chunk,) = AdaptiveChunker(fill_tables=True).chunk(result)

    assert [span.table_id for span in chunk.tables] == ["tbl-7", "tbl-9"]


def test_table_spans_of_a_cut_table_cover_each_part() -> None:
    chunks = AdaptiveChunker(40, fill_tables=True).chunk(parsed(table(20)))

    assert all(c.tables == [TableSpan(0, len(c.content), "table-1")] for c in chunks)


def test_a_giant_heading_does_not_travel_with_every_chunk() -> None:
    text = f"# {'h' * 100_000}\n\n" + "words " * 1000
    chunks = chunks_of(text, 64)

    assert_sound(text, chunks, 64)
    assert max(len(chunk.context_header) for chunk in chunks) <= 200


@pytest.mark.parametrize("blank", ["", "\n \t\r\n", "\u3000"])
def test_blank_text_gives_no_chunk(blank: str) -> None:
    assert chunks_of(blank) == []


@pytest.mark.parametrize("max_tokens", [0, 7, -1, 10.5, "450"])
def test_unusable_limits_are_refused(max_tokens: int) -> None:
    with pytest.raises(InvalidArgument, match="max_tokens"):
        AdaptiveChunker(max_tokens)


def test_a_tokenizer_that_finds_too_much_in_one_character_is_named() -> None:
    with pytest.raises(InvalidArgument, match="offset 2; raise max_tokens"):
        AdaptiveChunker(8, lambda text: 9 * len(text.strip())).chunk(parsed("\n\nabc"))


def test_a_function_counts_whatever_it_likes() -> None:
    text = "some words of text\n" * 200
    chunks = AdaptiveChunker(20, len).chunk(parsed(text))

    assert_sound(text, chunks, 20, len)


def test_fingerprints_name_parameters_and_tokenizer() -> None:
    plain = AdaptiveChunker()
    others = [AdaptiveChunker(449), AdaptiveChunker(450, len), AdaptiveChunker(fill_tables=True)]

    assert plain.fingerprint == AdaptiveChunker(450).fingerprint
    assert len({plain.fingerprint, *(other.fingerprint for other in others)}) == 4


AWKWARD = {
    "one word": "a" * 200_000,
    "no spaces": "日本語文章" * 40_000,
    "marks": "e" + "\u0301" * 200_000,
    "blanks": "x" + " " * 200_000 + "y",
    "indented": (" " * 100 + "x\n") * 2_000,
    "carriage returns": "line\r" * 40_000,
    "one row": "| a | b |\n|---|---|\n| " + "cell words | " * 16_000,
    "unclosed": "```\n" * 3 + "x" * 200_000,
    "pipes": "|" * 200_000,
    "rules": "---\n" * 50_000,
    "emoji": "👩‍👩‍👧" * 40_000,
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_texts_end_soon_and_lose_nothing(name: str) -> None:
    begun = time.process_time()
    chunks = chunks_of(AWKWARD[name], 64)

    assert time.process_time() - begun < 4
    assert_sound(AWKWARD[name], chunks, 64)
