"""The command line where streams are closed, narrow, or of another encoding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Cli, environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of one file whose name, text and escape codes are not ASCII."""
    folder = tmp_path_factory.mktemp("place")
    (folder / "docs").mkdir()
    (folder / "docs" / "café\x1b[31m.md").write_text(
        "# 大阪 \U0001f600\n\nQuartz \x1b]0;x\x07 é.\n"
    )
    subprocess.run(
        [sys.executable, "-m", "pincite", "index", "docs"],
        cwd=folder,
        env=environment(),
        check=True,
        capture_output=True,
    )
    return folder


@pytest.mark.parametrize(
    "setting",
    [
        {"TERM": "dumb", "COLUMNS": "20"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii:strict"},
        {"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error"},
    ],
    ids=lambda s: next(iter(s)),
)
def test_a_search_answers_and_sends_no_escape_code(
    cli: Cli, place: Path, setting: dict[str, str]
) -> None:
    done = cli("search", "quartz", "--mode", "keyword", cwd=place, **setting)

    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\\x1b[31m" in done.stdout


@pytest.mark.parametrize(
    "tail", ["list >&-", "index docs 2>&-", "index - --document x.md <&-"], ids=str
)
def test_a_closed_stream_is_no_unexpected_error(place: Path, tail: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m pincite {tail}'],
        cwd=place,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert "unexpected" not in done.stderr
    assert done.returncode == (2 if "-" in tail.split() else 0)
