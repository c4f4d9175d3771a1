"""What is written to a terminal, and what never is."""

from __future__ import annotations

import io
import json

import pytest

from pincite.cli import terminal
from pincite.cli.tables import write_pairs, write_table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x9b31m", "\\x9b31m"),
        ("invoice\u202efdp.exe", "invoice\\u202efdp.exe"),
        ("caf\udce9.txt", "caf\\udce9.txt"),
        ("Ærø 東京", "Ærø 東京"),
    ],
)
def test_escape(hostile: str, shown: str) -> None:
    assert terminal.escape(hostile) == shown


def test_escape_of_a_block_keeps_lines() -> None:
    assert terminal.escape("a\n\tb\x07", block=True) == "a\n\tb\\x07"


def test_cut_counts_columns() -> None:
    assert terminal.cut("東京湾の地図", 7) == "東京湾…"
    assert terminal.text_width("e\u0301") == 1
    assert terminal.cut("short", 5) == "short"


def test_colours_need_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.paint("x", "bold red", Terminal()) == "\x1b[1;31mx\x1b[0m"
    assert terminal.paint("x", "bold red", io.StringIO()) == "x"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.paint("x", "bold red", Terminal()) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert terminal.paint("x", "bold red", Terminal()) == "x"


def test_json_is_safe_on_a_terminal_and_still_the_same_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    value = {"name": "\x1b]0;x\x07 \x9b31m \u202e \udce9 Ærø"}
    terminal.write_json(value, indent=None)
    text = capsys.readouterr().out

    assert json.loads(text) == value
    assert not set(text) & set("\x1b\x07\x9b\u202e\udce9")
    assert "Ærø" in text


def test_json_on_an_ascii_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    terminal.write_json({"name": "Ærø 😀"}, indent=None)

    assert json.loads(stream.buffer.getvalue()) == {"name": "Ærø 😀"}


def test_text_on_an_ascii_stream_is_spelled_out(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stream)
    terminal.write("Ærø")

    assert stream.buffer.getvalue() == b"\\xc6r\\xf8\n"


def test_a_table_on_a_terminal_fits_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("NO_COLOR", "1")
    write_table(("NAME", "N", "SOURCE"), [["a.md", "7", "/very/long" * 20], ["b", "12", "x"]])
    lines = screen.getvalue().splitlines()

    assert max(map(len, lines)) <= 50
    assert lines[1].startswith("a.md  7   /very/long/")
    assert lines[1].endswith("…")


def test_a_table_in_a_pipe_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    source = "/very/long" * 20
    write_table(("NAME", "N", "SOURCE"), [["a\n", "7", source]], right=frozenset({"N"}))

    assert capsys.readouterr().out == f"NAME  N  SOURCE\na\\n   7  {source}\n"


def test_pairs_line_up(capsys: pytest.CaptureFixture[str]) -> None:
    write_pairs([("store", "memory:"), ("documents", "3")])

    assert capsys.readouterr().out == "store      memory:\ndocuments  3\n"
