"""The block structure of Markdown."""

from __future__ import annotations

import pytest

from pincite.chunking._scan import heading_title, scan


def outline(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end].strip()) for block in scan(text)]


def test_blocks_leave_no_gap() -> None:
    text = (
        "\n\n# A\r\ntext\n\n* one\n* two\n\n```\n\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n\nend\n\n"
    )
    blocks = scan(text)

    assert [block.start for block in blocks[1:]] == [block.end for block in blocks[:-1]]
    assert (blocks[0].start, blocks[-1].end) == (0, len(text))
    kinds = "heading prose prose prose code table prose"
    assert " ".join(block.kind for block in blocks) == kinds


@pytest.mark.parametrize(
    ("text", "level"),
    [("# A", 1), ("###### A ##", 6), ("   ## A", 2), ("A\n===", 1), ("A\n---", 2), ("#", 1)],
)
def test_headings(text: str, level: int) -> None:
    (block,) = scan(text)

    assert (block.kind, block.level) == ("heading", level)


@pytest.mark.parametrize(
    "text",
    [
        "#A",
        "####### A",
        "    # A",
        "> # A",
        "- A\n---",
        "\\# A",
        "A\nB\n---",
        "***\n---",
        "    A\n===",
    ],
)
def test_what_only_looks_like_a_heading(text: str) -> None:
    assert all(block.kind != "heading" for block in scan(text))


@pytest.mark.parametrize(
    ("text", "title"),
    [("## A b ##\n\n", "A b"), ("# C#", "C#"), ("A\n  b \n---\n", "A b"), ("#", ""), ("A", "A")],
)
def test_titles(text: str, title: str) -> None:
    assert heading_title(text, 0, len(text)) == title


def test_a_fence_hides_what_is_in_it_and_ends_with_its_own_mark() -> None:
    text = "````\n```\n# no\n| a |\n````\n# yes\n~~~ x\n```\n~~~"

    assert [kind for kind, _ in outline(text)] == ["code", "heading", "code"]


def test_an_unclosed_fence_reaches_to_the_end() -> None:
    assert outline("a\n\n```py\n# no\n\n    b") == [
        ("prose", "a"),
        ("code", "```py\n# no\n\n    b"),
    ]


def test_inline_code_is_no_fence() -> None:
    assert outline("```code``` here\n# H")[0] == ("prose", "```code``` here")


@pytest.mark.parametrize(
    "matter",
    ["---\ntitle: x\n# no\n---", "+++\ntitle = 1\n+++", "---\n---", "\ufeff---\na: 1\n..."],
)
def test_front_matter_is_one_block(matter: str) -> None:
    assert [kind for kind, _ in outline(matter + "\n# A")] == ["code", "heading"]


@pytest.mark.parametrize("text", ["---\n\n# A\n\n---", "---\ntext\n# A", "---\nkey: value\n# A"])
def test_a_rule_on_the_first_line_is_no_front_matter(text: str) -> None:
    assert any(block.kind == "heading" for block in scan(text))


def test_tables_with_and_without_header_and_their_end() -> None:
    text = "a | b\n--|--\n1 | 2\n\n| x |\n| y |\nafter"
    blocks = scan(text)

    assert outline(text) == [
        ("table", "a | b\n--|--\n1 | 2"),
        ("table", "| x |\n| y |"),
        ("prose", "after"),
    ]
    assert (blocks[0].body, blocks[1].body) == (12, blocks[1].start)


def test_a_table_interrupts_a_paragraph() -> None:
    assert [kind for kind, _ in outline("text\na | b\n--|--\n1 | 2")] == ["prose", "table"]
