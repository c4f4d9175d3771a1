"""A library that stays open while other processes write into its store."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pincite

from .conftest import Cli, environment, found


def test_an_open_library_sees_what_another_process_adds_and_never_a_lock(
    tmp_path: Path, folder: Path, cli: Cli
) -> None:
    (folder / "a.md").write_text("Quartz one.")
    store = f"local:{tmp_path / 's'}"
    with pincite.open(store) as library:
        library.add(folder)
        assert found(library, "quartz", mode="keyword") == ["a.md"]
        (folder / "b.md").write_text("Quartz two.")
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                assert found(library, "quartz", mode="keyword")

        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(read)
            done = cli("index", "docs", "--store", store, cwd=tmp_path)
            stop.set()
            reading.result()

        assert done.returncode == 0, done.stderr
        for mode in ("keyword", "vector", "hybrid"):
            assert sorted(found(library, "quartz", mode=mode)) == ["a.md", "b.md"]


def test_two_ingests_at_once_both_finish_and_double_nothing(tmp_path: Path, folder: Path) -> None:
    for number in range(30):
        (folder / f"{number}.md").write_text(f"Quartz number{number}.")
    store = f"local:{tmp_path / 's'}"
    command = [sys.executable, "-m", "pincite", "index", "docs", "--store", store]
    both = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    outcomes = [process.communicate(timeout=60) for process in both]

    for process, (_, error) in zip(both, outcomes, strict=True):
        assert process.returncode == 0 or b"being written by" in error
    with pincite.open(store, create=False) as library:
        for mode in ("keyword", "vector"):
            hits = found(library, "quartz", mode=mode, k=100)
            assert len(hits) == len(set(hits)) == 30
        assert library.stats()["chunks"] == 30
