"""The page about domains: its example runs as it stands."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from pincite.cli import main

PAGE = (Path(__file__).parents[3] / "docs" / "domains.md").read_text(encoding="utf-8")


def test_the_example_and_the_command_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (command,) = re.findall(r"```sh\npincite (.*?)\n```", PAGE)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "domains.md", "exec"), {})

    assert printed.getvalue().startswith("## crew\n\n[1] ropes.md | Ropes | score 0.0328 (vector")
    with pytest.raises(SystemExit) as stopped:
        main(shlex.split(command))
    out = capsys.readouterr().out
    assert stopped.value.code == 0
    assert out.splitlines()[0] == " 1  0.0328  ropes.md"
    assert "A bowline knot holds the ferry." in out
    assert re.search(r"vector store \d\.\d\d, BM25 \d\.\d\d", out)
