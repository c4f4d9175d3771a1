"""Real processes of the command line, and one store that they share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SOURCE = str(Path(__file__).resolve().parents[2] / "src")

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child: ours, without settings of ours that change what is shown."""
    dropped = {"PINCITE_STORE", "PINCITE_DEBUG", "NO_COLOR"}
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1", **extra}


@pytest.fixture(scope="session")
def run() -> Run:
    """Run ``python -m pincite`` in a folder; standard input is empty unless given."""

    def run(
        *arguments: str, cwd: Path, stdin: str = "", **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pincite", *arguments],
            cwd=cwd,
            input=stdin,
            env=environment(**extra),
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )

    return run


@dataclass(frozen=True)
class Ferry:
    """The demo's index, kept in ``folder`` under the default collection."""

    folder: Path
    demo: dict[str, Any]

    def outside(self) -> list[str]:
        """What stands in the folder beside the store."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture(scope="session")
def ferry(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Ferry:
    folder = tmp_path_factory.mktemp("ferry")
    options = ("--store", "local:.pincite", "--collection", "default", "--json")
    done = run("demo", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return Ferry(folder, json.loads(done.stdout))
