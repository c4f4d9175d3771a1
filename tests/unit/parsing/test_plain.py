"""Text, Markdown, RST and JSON, and the block scanner."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.parsing.plain import TextProcessor
from pincite.parsing.scanner import scan_blocks

DOCUMENT = """---
title: Harbour
---

# A

first paragraph
over two lines

### A.x
- item one
  goes on
- item two

    # indented code is no heading

## B

| k | v |
| - | - |
| 1 | 2 |
after the table

Setext
------

![picture](p.png)

***

```python
# not a heading
    keep = "this indentation"

## nor this
"""


def kinds(markdown: str) -> list[tuple[str, int]]:
    return [(block.kind, block.level) for block in scan_blocks(markdown)]


def test_markdown_stays_verbatim() -> None:
    assert TextProcessor().parse(DOCUMENT.encode(), "a.md").markdown == DOCUMENT
    crlf = DOCUMENT.replace("\n", "\r\n").encode()
    assert TextProcessor().parse(crlf, "a.md").markdown == DOCUMENT


def test_the_scanner_tells_blocks_apart() -> None:
    assert kinds(DOCUMENT) == [
        ("other", 0),
        ("heading", 1),
        ("paragraph", 0),
        ("heading", 3),
        ("list_item", 0),
        ("list_item", 0),
        ("code", 0),
        ("heading", 2),
        ("table", 0),
        ("paragraph", 0),
        ("heading", 2),
        ("image", 0),
        ("other", 0),
        ("code", 0),
    ]


def test_an_unclosed_fence_reaches_the_end() -> None:
    block = scan_blocks(DOCUMENT)[-1]

    assert DOCUMENT[block.start_char :].startswith("```python\n# not a heading\n    keep =")
    assert block.end_char == len(DOCUMENT)


def test_a_shorter_fence_does_not_close_a_longer_one() -> None:
    text = "````\n```\n# x\n```\n````\n\n# y\n"

    assert kinds(text) == [("code", 0), ("heading", 1)]


def test_a_long_paragraph_over_dashes_is_no_title() -> None:
    assert kinds("one\ntwo\nthree\n-----\nnext\n") == [
        ("paragraph", 0),
        ("other", 0),
        ("paragraph", 0),
    ]
    assert kinds("one\n-----\n") == [("heading", 2)]


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert kinds("---\n\n# A\n") == [("other", 0), ("heading", 1)]


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from([*DOCUMENT.split("\n"), "", "| a |", "---", "====", "> q"])))
def test_blocks_never_leave_a_gap(lines: list[str]) -> None:
    text = "\n".join(lines)
    blocks = scan_blocks(text)

    assert (blocks[0].start_char if blocks else 0) == 0
    assert all(a.end_char == b.start_char for a, b in pairwise(blocks))
    assert (blocks[-1].end_char if blocks else 0) == len(text)


def test_json_becomes_a_fence_in_which_letters_are_readable() -> None:
    data = json.dumps({"name": "Café ☸ 𝄞", "path": "C:\\u0041", "tab": "\t"}).encode()

    markdown = TextProcessor().parse(data, "a.JSON").markdown

    assert markdown.startswith("```json\n{")
    assert markdown.endswith("}\n```\n")
    assert "Café ☸ 𝄞" in markdown
    assert json.loads(markdown.split("\n", 1)[1].rsplit("```", 1)[0]) == json.loads(data)


def test_backticks_inside_json_do_not_end_its_fence() -> None:
    markdown = TextProcessor().parse(b'{"a": "x````y"}', "a.json").markdown

    assert markdown == '`````json\n{"a": "x````y"}\n`````\n'
    assert kinds(markdown) == [("code", 0)]


def test_blank_json_has_no_text() -> None:
    assert TextProcessor().parse(b" \n", "a.json").markdown == ""


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x), max_leaves=8))
def test_readable_json_means_the_same(value: object) -> None:
    markdown = TextProcessor().parse(json.dumps([value]).encode(), "a.json").markdown

    assert json.loads(markdown.split("\n", 1)[1].rsplit("\n", 2)[0]) == [value]


def test_titles_of_rst_become_headings() -> None:
    text = (
        "=====\nTitle\n=====\n\nIntro\n\nPart\n----\n\nbody\n\nDeep\n~~~~\n\nx\n\nPart 2\n------\n"
    )

    markdown = TextProcessor().parse(text.encode(), "a.rst").markdown

    assert [line for line in markdown.split("\n") if line.startswith("#")] == [
        "# Title",
        "## Part",
        "### Deep",
        "## Part 2",
    ]
    assert "body" in markdown


def test_a_line_of_dashes_in_rst_is_no_title() -> None:
    text = "one\n\n----------\n\ntwo\n"

    assert TextProcessor().parse(text.encode(), "a.rst").markdown == text


def test_a_text_file_is_one_page_without_ranges() -> None:
    result = TextProcessor().parse(b"hello", "a.txt")

    assert (result.total_pages, result.page_ranges, result.words) == (1, [], b"")
    assert result.pages_needing_ocr == []
