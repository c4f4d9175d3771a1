"""What holds for every chunker and every text."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import pincite.embedding
from pincite.chunking.adaptive import AdaptiveChunker
from pincite.chunking.markdown import MarkdownChunker
from pincite.chunking.tokens import approximate_tokens, token_counter
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.registry import parse

NEWLINES = st.sampled_from(["\n", "\r\n", "\n\n", "\r", "\n \t\n"])
WORDS = st.lists(
    st.sampled_from(
        [
            "a",
            "word",
            "sentence.",
            "Longer-words,",
            "日本語。",
            "e\u0301\u0301",
            "👩‍👩‍👧",
            "x" * 40,
            "  ",
            "\t",
            "ﷺ",
        ]
    ),
    min_size=1,
    max_size=30,
).map(" ".join)
ROWS = st.lists(WORDS.map(lambda w: f"| {w} | b |"), min_size=1, max_size=8)
BLOCKS = st.one_of(
    WORDS,
    st.tuples(st.integers(1, 6), WORDS).map(lambda t: "#" * t[0] + " " + t[1]),
    WORDS.map(lambda w: f"{w}\n==="),
    ROWS.map("\n".join),
    ROWS.map(lambda rows: "\n".join([rows[0], "|---|:-:|", *rows[1:]])),
    st.lists(WORDS, max_size=6).map(lambda lines: "\n".join(["```py", *lines, "```"])),
    st.sampled_from(
        ["```", "~~~~", "---", "+++", "|", "# ", "---\nkey: value\n---", "- item", "> q"]
    ),
)
MARKDOWN = st.lists(st.tuples(BLOCKS, NEWLINES), max_size=12).map(
    lambda parts: "".join(block + newline for block, newline in parts)
)
TEXTS = st.one_of(MARKDOWN, st.text(max_size=200), st.text(alphabet="a.|#` \n\r-", max_size=200))


def parsed(markdown: str) -> MarkdownParseResult:
    return MarkdownParseResult(markdown=markdown, page_ranges=[], total_pages=0)


@cache
def tokenizer() -> Tokenizer:
    file = Path(pincite.embedding.__file__).parent / "model" / "vocabulary.txt"
    pieces = file.read_text(encoding="utf-8").split("\n")[:-1]
    ids = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(WordPiece(ids, unk_token="[UNK]"))
    made.normalizer = BertNormalizer()
    made.pre_tokenizer = BertPreTokenizer()
    return made


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(1, 80), st.data())
@example("```\n\n", 1, None)
def test_fixed_size_chunks(text: str, size: int, data: st.DataObject | None) -> None:
    overlap = data.draw(st.integers(0, size - 1)) if data else 0
    chunks = MarkdownChunker(size, overlap).chunk(parsed(text))

    covered = 0
    previous = -1
    for index, chunk in enumerate(chunks):
        assert chunk.chunk_index == index
        assert chunk.content == text[chunk.start_char : chunk.end_char]
        assert chunk.content.strip()
        assert len(chunk.content) <= size
        assert previous < chunk.start_char
        assert covered - chunk.start_char <= overlap
        assert covered < chunk.end_char
        assert not text[covered : chunk.start_char].strip()
        previous, covered = chunk.start_char, chunk.end_char
    assert not text[covered:].strip()


@pytest.mark.parametrize("kind", ["approximate", "tokenizer", "function"])
@settings(max_examples=25, deadline=None)
@given(text=TEXTS, limit=st.sampled_from([40, 64, 256]))
def test_adaptive_chunks(kind: str, text: str, limit: int) -> None:
    given_tokenizer = {"approximate": None, "tokenizer": tokenizer(), "function": len}[kind]
    count = token_counter(given_tokenizer).count
    chunks = AdaptiveChunker(limit, given_tokenizer).chunk(parsed(text))

    covered = 0
    for index, chunk in enumerate(chunks):
        assert chunk.chunk_index == index
        assert chunk.content == text[chunk.start_char : chunk.end_char]
        assert chunk.content.strip()
        assert chunk.embed_text.endswith(chunk.content) or not chunk.embed_text
        assert count(chunk.indexed_text) <= limit
        assert not text[covered : chunk.start_char].strip()
        covered = chunk.end_char
    assert not text[covered:].strip()


@settings(max_examples=25, deadline=None)
@given(text=MARKDOWN, limit=st.sampled_from([40, 256]))
def test_adaptive_chunks_of_parsed_files(text: str, limit: int) -> None:
    result = parse(text.encode(), "notes.md")
    chunks = AdaptiveChunker(limit).chunk(result)

    covered = 0
    for chunk in chunks:
        assert chunk.content == result.markdown[chunk.start_char : chunk.end_char]
        assert approximate_tokens(chunk.indexed_text) <= limit
        assert not result.markdown[covered : chunk.start_char].strip()
        covered = chunk.end_char
    assert not result.markdown[covered:].strip()


@settings(max_examples=40, deadline=None)
@given(st.lists(WORDS.map(lambda w: f"| {w} | b |"), min_size=1, max_size=20), NEWLINES)
def test_rows_and_lines_that_fit_are_whole(rows: list[str], newline: str) -> None:
    newline = newline.replace("\n\n", "\n").replace("\n \t\n", "\n")
    limit = 150
    text = newline.join(["# Title", "", "| a | b |", "|---|---|", *rows, "", "```", *rows, "```"])
    chunks = AdaptiveChunker(limit).chunk(parsed(text))

    breaks = {chunk.end_char for chunk in chunks}
    for row in rows:
        if approximate_tokens(row) <= limit:
            at = text.index(row)
            while at >= 0:
                assert not any(at < end < at + len(row.rstrip()) for end in breaks)
                at = text.find(row, at + 1)
