"""Excerpts and highlights of a passage."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest

from pincite.cli.passages import _best_lines, excerpt, format_rect, marked_lines, matched_words
from pincite.model.geometry import BboxRect
from pincite.model.hits import Chunk, Hit


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def plain(lines: Iterable[tuple[str, bool]]) -> list[str]:
    """The lines without the word whether they are marked."""
    return [line for line, _ in lines]


def test_a_long_excerpt_shows_its_first_line_and_the_lines_that_matched() -> None:
    rows = [(f"| row {i} |", i == 15) for i in range(20)]

    shown = _best_lines(rows)

    assert shown[:2] == ["| row 0 |", "\u2026"]
    assert "| row 15 |" in shown
    assert len(shown) <= 8
    assert _best_lines([(line, False) for line, _ in rows])[-1] == "\u2026"
    assert _best_lines(rows[:5]) == [line for line, _ in rows[:5]]


def hit(content: str, *words: str) -> Hit:
    spans = []
    for word in words:
        at = content.index(word)
        spans.append((at, at + len(word)))
    moved = [(start + 1000, end + 1000) for start, end in spans]
    return Hit(Chunk(content), 1.0, highlights=spans, spans=moved)


def test_a_short_passage_is_shown_whole() -> None:
    assert excerpt("short", []) == (0, 5)


def test_the_excerpt_is_where_most_different_words_match() -> None:
    content = "wave wave wave four. " * 60 + "the wave height limit " + "five six. " * 60
    at = content.index("height")
    waves = [(i, i + 4) for i in range(0, 1200, 21)]
    start, end = excerpt(content, [*waves, (at - 5, at - 1), (at, at + 6), (at + 7, at + 12)])

    assert start < at < end
    assert end - start <= 420
    assert content[start - 1].isspace()
    assert content[end].isspace()


def test_the_excerpt_ends_with_a_line() -> None:
    rows = [f"| vessel {i:02} | {i} m |" for i in range(60)]
    content = "\n".join(rows)
    at = content.index("vessel 30")
    start, end = excerpt(content, [(at, at + 6)])

    assert content[start:end].split("\n") == [row for row in rows if row in content[start:end]]
    assert "| vessel 30 | 30 m |" in content[start:end]


def test_one_endless_word_is_cut_anyway() -> None:
    start, end = excerpt("x" * 5000, [])
    assert (start, end) == (0, 420)


def test_highlights_are_painted_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = plain(marked_lines(hit("the wave\x1b height", "wave"), 80))

    assert lines == ["the \x1b[1;33mwave\x1b[0m\\x1b height"]


def test_a_highlight_over_a_line_break_is_closed_and_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = plain(marked_lines(hit("aaaa bbbb cccc", "aaaa bbbb cccc"), 6))

    assert [line.count("\x1b[1;33m") for line in lines] == [1, 1, 1]
    assert all(line.endswith("\x1b[0m") for line in lines)


def test_without_a_terminal_there_are_no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    content = "| wave | 1.6 m |\n\n| wind | 30 |"

    assert plain(marked_lines(hit(content, "wave", "wind"), 80)) == [
        "| wave | 1.6 m |",
        "| wind | 30 |",
    ]


def test_lines_of_a_paragraph_are_joined_and_structure_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    text = f"## Fog\nThe vessel {'x' * 50}\ngoes slowly.\nshort\nlines\n"
    content = text + "- one\n- two\n| a | b |\n| c | d |\nafter"

    assert plain(marked_lines(hit(content), 80)) == [
        "## Fog",
        f"The vessel {'x' * 50} goes slowly.",
        "short",
        "lines",
        "- one",
        "- two",
        "| a | b |",
        "| c | d |",
        "after",
    ]


def test_headings_that_the_path_shows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    under = Hit(Chunk("# Ship\n\n## Fog\n\nSlowly.\n# End", context_header="Ship > Fog"), 1.0)
    alone = Hit(Chunk("# Ship", context_header="Ship"), 1.0)

    assert plain(marked_lines(under, 80)) == ["Slowly.", "# End"]
    assert plain(marked_lines(alone, 80)) == ["# Ship"]


def test_matched_words_are_named_once_with_their_place() -> None:
    content = "Petrel and petrel and wave"
    spans = [(0, 6), (11, 17), (22, 26)]
    found = Hit(Chunk(content), 1.0, highlights=spans, spans=[(s + 9, e + 9) for s, e in spans])

    assert matched_words(found) == {"Petrel": (9, 15), "wave": (31, 35)}


def test_format_rect() -> None:
    assert format_rect(BboxRect(2, 56.7, 100.2, 290.9, 120.0)) == "page 2 (57,100 - 291,120)"
