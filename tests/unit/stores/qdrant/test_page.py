"""The page about these stores: its example runs, its command line works."""

import re
from pathlib import Path

import pytest

from pincite.cli import main

PAGE = Path(__file__).resolve().parents[4] / "docs" / "server-stores.md"


def test_the_example_of_the_page_runs():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, PAGE.name, "exec"), {})


def test_the_command_line_works_on_such_a_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "masks.md").write_text("# Masks\n\nThe block mask is built by rows.\n")
    for arguments in (
        ["index", "papers", "--store", "qdrant:db"],
        ["index", "papers", "--store", "qdrant:db"],
        ["search", "block mask", "--store", "qdrant:db"],
        ["list", "--store", "qdrant:db"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0, capsys.readouterr()
    assert "masks.md" in capsys.readouterr().out
