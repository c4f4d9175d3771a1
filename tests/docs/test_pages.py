"""What the pages say can be done, is done: blocks run, links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest

from pincite.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PINCITE_STORE", raising=False)
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "masks.md").write_text(
        "# Masks\n\nThe block mask is built row by row. ERR-4021 means that a row is missing.\n"
    )
    return folder


def test_the_python_example_of_the_readme_runs(papers: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), {})

    assert printed.getvalue().startswith("1 ")
    assert "masks.md" in printed.getvalue()


def test_the_commands_of_the_readme_run(papers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = re.findall(r"^pincite (.+?)(?:\s{2,}#.*)?$", README, re.MULTILINE)
    assert [shlex.split(command)[0] for command in commands] == ["index", "search", "search"]
    for command in commands:
        with pytest.raises(SystemExit) as stopped:
            main(shlex.split(command))
        assert stopped.value.code == 0, (command, capsys.readouterr())

    assert "ERR-4021" in capsys.readouterr().out


def test_the_readme_names_the_two_commands_and_what_they_run() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert README.index("make demo") < README.index("make test") < 700
    assert "$(BIN)/pincite demo" in makefile
    assert ".venv/bin/pincite demo" in README
    assert "-m pytest" in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [
        link
        for link in links
        if not link.startswith(("http://", "https://")) and not (page.parent / link).exists()
    ]

    assert missing == []


def test_every_page_under_docs_is_linked_from_the_readme() -> None:
    unlinked = [p.name for p in (ROOT / "docs").glob("*.md") if f"docs/{p.name}" not in README]

    assert unlinked == []


def test_every_folder_of_the_package_has_a_section_in_the_architecture() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = [p.parent.name for p in (ROOT / "src" / "pincite").glob("*/__init__.py") if p.stat()]

    assert [name for name in folders if f"`{name}/`" not in text] == []


def test_every_place_and_test_of_the_reference_map_is_there() -> None:
    text = (ROOT / "docs" / "reference-map.md").read_text(encoding="utf-8")
    sources = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("*.py"))
    places = set(re.findall(r"`((?:[a-z_]+/)+[a-z_0-9]*(?:\.py)?)`", text))
    tests = set(re.findall(r"`(?:[\w/.]+::)?(test_\w+)`", text))
    roots = (ROOT, ROOT / "src" / "pincite")

    assert [p for p in sorted(places) if not any((r / p).exists() for r in roots)] == []
    assert [t for t in sorted(tests) if f"def {t}(" not in sources] == []
