"""Fixed-size chunks: offsets, limits, overlap, where they break, pages and rectangles."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from pincite.chunking.markdown import MarkdownChunker
from pincite.errors import InvalidArgument
from pincite.model.geometry import BboxRect, LayoutBlock
from pincite.model.layout import MarkdownParseResult

PARAGRAPH = "The quick brown fox jumps over the lazy dog. It was not amused by that at all."


def parsed(markdown: str) -> MarkdownParseResult:
    return MarkdownParseResult(markdown=markdown, page_ranges=[], total_pages=0)


def contents(chunker: MarkdownChunker, markdown: str) -> list[str]:
    return [chunk.content for chunk in chunker.chunk(parsed(markdown))]


@pytest.mark.parametrize(
    ("size", "overlap"), [(0, 0), (-5, 0), (10, 10), (10, 11), (10, -1), (True, 0), (1.5, 0)]
)
def test_unusable_parameters_are_refused_at_once(size: int, overlap: int) -> None:
    with pytest.raises(InvalidArgument) as caught:
        MarkdownChunker(size, overlap)

    assert "size" in str(caught.value) or "overlap" in str(caught.value)


@pytest.mark.parametrize("blank", ["", " ", "\n\n\t \r\n", "\u3000\u2028"])
def test_blank_text_gives_no_chunk(blank: str) -> None:
    assert MarkdownChunker().chunk(parsed(blank)) == []


def test_short_text_is_one_chunk_without_surrounding_blank_lines() -> None:
    (chunk,) = MarkdownChunker().chunk(parsed("\n\n  indented\nline \n\n"))

    assert (chunk.content, chunk.start_char, chunk.chunk_index) == ("  indented\nline", 2, 0)
    assert (chunk.context_header, chunk.embed_text, chunk.tables) == ("", "", [])


def test_breaks_fall_on_paragraphs_before_lines_sentences_and_words() -> None:
    text = f"{PARAGRAPH}\n\n{PARAGRAPH}\n{PARAGRAPH}"

    assert contents(MarkdownChunker(120, 0), text)[0] == PARAGRAPH
    assert contents(MarkdownChunker(60, 0), PARAGRAPH)[0] == PARAGRAPH[:44]
    assert contents(MarkdownChunker(20, 0), PARAGRAPH)[0] == "The quick brown fox"


def test_a_line_that_ends_exactly_at_the_size_is_not_cut() -> None:
    assert contents(MarkdownChunker(5, 0), "abcde\nfghij\nklmno") == ["abcde", "fghij", "klmno"]


def test_crlf_is_never_torn() -> None:
    chunks = contents(MarkdownChunker(7, 0), "abcdef\r\nghijkl\r\nmnopqr\r\n")

    assert chunks == ["abcdef", "ghijkl", "mnopqr"]


def test_overlap_repeats_whole_words_and_no_more_than_allowed() -> None:
    text = " ".join(f"word{n}" for n in range(400))
    chunks = MarkdownChunker(200, 50).chunk(parsed(text))

    for before, after in pairwise(chunks):
        assert 0 < before.end_char - after.start_char <= 50
        assert text[after.start_char - 1].isspace()
        assert after.end_char > before.end_char


def test_overlap_of_text_without_spaces_begins_after_a_clause() -> None:
    text = "今天天气很好，我们去公园散步。" * 40
    chunks = MarkdownChunker(100, 30).chunk(parsed(text))

    assert len(chunks) > 4
    for before, after in pairwise(chunks):
        assert 0 < before.end_char - after.start_char <= 30
        assert text[after.start_char - 1] in "，。"


def test_the_greatest_overlap_still_moves_on() -> None:
    chunks = MarkdownChunker(20, 19).chunk(parsed("a bb ccc dddd " * 20))

    starts = [chunk.start_char for chunk in chunks]
    assert starts == sorted(set(starts))
    assert chunks[-1].end_char == len(("a bb ccc dddd " * 20).rstrip())


def test_marks_stay_with_their_letter() -> None:
    chunks = contents(MarkdownChunker(9, 0), "e\u0301" * 50)

    assert all(not chunk.startswith("\u0301") for chunk in chunks)
    assert "".join(chunks) == "e\u0301" * 50


def test_more_marks_than_the_size_are_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 1000

    assert "".join(contents(MarkdownChunker(100, 10), text)) == text


def test_size_one_gives_every_character_its_chunk() -> None:
    assert contents(MarkdownChunker(1, 0), " a\n  b c") == ["a", "b", "c"]


def test_pages_and_rectangles_are_those_that_overlap() -> None:
    text = "a" * 10 + "\n\n" + "b" * 10 + "\n\n" + "c" * 10
    boxes = [BboxRect(1, 0, 0, 9, 9), BboxRect(2, 0, 0, 9, 9), BboxRect(3, 0, 0, 9, 9)]
    result = MarkdownParseResult(
        markdown=text,
        page_ranges=[(0, 12, 1), (12, 24, 2), (24, 34, 3)],
        total_pages=3,
        blocks=[
            LayoutBlock("paragraph", 0, 12, 1, boxes[0]),
            LayoutBlock("paragraph", 12, 20, 2, boxes[1]),
            LayoutBlock("paragraph", 20, 24, 2, boxes[1]),
            LayoutBlock("other", 24, 24, 3, None),
            LayoutBlock("paragraph", 24, 34, 3, boxes[2]),
        ],
    )

    whole = MarkdownChunker().chunk(result)
    parts = MarkdownChunker(11, 0).chunk(result)
    assert (whole[0].pages, whole[0].bboxes) == ([1, 2, 3], boxes)
    assert [(part.pages, part.bboxes) for part in parts] == [
        ([page], [box]) for page, box in enumerate(boxes, start=1)
    ]


def test_nested_page_ranges_are_all_found() -> None:
    result = MarkdownParseResult(
        markdown="x" * 100, page_ranges=[(0, 100, 1), (2, 4, 2), (90, 95, 3)], total_pages=3
    )

    pages = [chunk.pages for chunk in MarkdownChunker(10, 0).chunk(result)]
    assert pages == [[1, 2], *([[1]] * 8), [1, 3]]


def test_fingerprint_names_the_parameters() -> None:
    assert MarkdownChunker().fingerprint == MarkdownChunker(1200, 120).fingerprint
    assert MarkdownChunker(1200, 100).fingerprint != MarkdownChunker().fingerprint


@pytest.mark.parametrize("text", ["a" * 1_000_000, "\n" * 1_000_000 + "a", "e\u0301" * 500_000])
def test_a_million_characters_take_about_a_second(text: str) -> None:
    begun = time.process_time()
    chunks = MarkdownChunker().chunk(parsed(text))

    assert time.process_time() - begun < 5
    assert sum(len(chunk.content) for chunk in chunks) == len(text.strip())
