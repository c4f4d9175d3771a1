"""The bar and the lines of a long run."""

from __future__ import annotations

import io
import json

import pytest

from pincite.cli import progress as module
from pincite.cli.progress import ProgressBar, ProgressLines
from pincite.model.documents import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which the test moves."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_bar_tells_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "100")
    bar = ProgressBar()
    bar(Progress("index", 0, 40))
    clock[0] += 5
    bar(Progress("index", 10, 40, "papers/\x1b[2Ja.pdf", 70))
    bar.clear()
    drawn = screen.getvalue().split("\r\x1b[2K")

    assert drawn[2] == (
        "index [######------------------] 10/40  25%  2.0/s  ETA 0:15  \\x1b[2Ja.pdf"
    )
    assert drawn[-1] == ""


def test_a_bar_is_not_drawn_too_often(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    bar = ProgressBar()
    for done in range(1, 1001):
        clock[0] += 0.001
        bar(Progress("index", done, 1000))

    assert 10 <= screen.getvalue().count("\r") <= 13
    assert "1000/1000 100%" in screen.getvalue()


def test_a_bar_never_leaves_its_line(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("COLUMNS", "60")
    bar = ProgressBar()
    clock[0] += 1
    bar(Progress("rebuild", 3, 9, "x" * 500))

    assert len(screen.getvalue().split("\x1b[2K")[1]) <= 59


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar(Progress("index", 1, 1))
    bar.clear()

    assert capsys.readouterr() == ("", "")


def test_lines_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressLines()(Progress("index", 1, 2, "a.md", 3))
    line = capsys.readouterr().out

    assert json.loads(line) == {
        "event": "progress",
        "stage": "index",
        "done": 1,
        "total": 2,
        "source": "a.md",
        "chunks": 3,
    }
    assert line.count("\n") == 1
