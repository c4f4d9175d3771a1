"""The page about the command line: complete, and each of its examples runs."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import click
import pytest

from pincite.cli import main
from pincite.cli.app import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
EXAMPLES = re.findall(r"^\$ pincite (.+)$", TEXT, re.MULTILINE)
EVAL = next(example for example in EXAMPLES if example.startswith("eval"))
COMMANDS = app.commands
SHARED = {"store", "collection", "subject", "embedder", "as_json"}


def columns(section: str) -> list[str]:
    """The column names that a section documents."""
    return re.findall(r"^\| `([A-Z]+)` \|", SECTIONS[section], re.MULTILINE)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_has_help_and_a_section(name: str) -> None:
    command = COMMANDS[name]

    assert command.help
    assert len(command.get_short_help_str(70)) > 10
    assert not command.get_short_help_str(70).endswith("...")
    assert f"$ pincite {name}" in SECTIONS[name]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_an_option_has_help_and_is_documented(name: str) -> None:
    for parameter in COMMANDS[name].params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
            place = TEXT if parameter.name in SHARED else SECTIONS[name]
            assert f"`{parameter.opts[0]}" in place, parameter.opts


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_options_of_every_command(name: str) -> None:
    assert {parameter.name for parameter in COMMANDS[name].params} >= SHARED


def test_the_sections_are_the_commands() -> None:
    words = {name for name in SECTIONS if name.islower()}
    assert words == set(COMMANDS)


def call(arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command in this process; its standard output."""
    with pytest.raises(SystemExit) as exit_:
        main(shlex.split(arguments))
    out, err = capsys.readouterr()
    assert exit_.value.code == 0, (arguments, err)
    return out


def test_every_example_runs_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PINCITE_STORE", raising=False)
    (tmp_path / "manuals").mkdir()
    (tmp_path / "manuals" / "ropes.md").write_text("# Ropes\n\nA bowline holds.", "utf-8")
    (tmp_path / "metadata_map.json").write_text('{"ropes.md": {"Ropes": {"year": 2024}}}')
    store = '[{name = "default", path = "local:.pincite"}]'
    (tmp_path / "domains.toml").write_text(f"[domains.crew]\nvector_stores = {store}\n")
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged" / "queries.jsonl").write_text('{"_id": "1", "text": "bowline"}\n')
    (tmp_path / "judged" / "qrels.tsv").write_text("1\tropes.md\t1\n1\tmanuals/ropes.md\t1\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"# Today\n\nIt rained.")))
    printed = {example: call(example, capsys) for example in EXAMPLES}

    assert len(printed) >= 12
    assert printed["list"].split()[:4] == columns("list")
    assert printed["fields"].split()[:5] == columns("fields")
    assert printed[EVAL].split()[:3] == columns("eval")
    assert "notes/today.md" in printed["list"]
    assert "removed season-briefing.pptx" in printed[next(e for e in EXAMPLES if "rm " in e)]
