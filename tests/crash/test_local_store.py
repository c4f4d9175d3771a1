"""A store after SIGKILL, after losing what was not fsynced, and under many readers.

``PINCITE_CRASH_KILLS`` is the number of kills, 10 by default; ``PINCITE_SOAK_SECONDS`` and
``PINCITE_SOAK_READERS`` are how long (5) how many processes (8) read beside a writer.
``PINCITE_SOAK_JSON`` names a file for a summary of the run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Protocol

import pytest

from pincite.segments import durable
from pincite.stores.local import edit
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore

SCRIPT = Path(__file__).with_name("_history.py")
READER = Path(__file__).with_name("_reader.py")
KILLS = int(os.environ.get("PINCITE_CRASH_KILLS", "10"))
SECONDS = float(os.environ.get("PINCITE_SOAK_SECONDS", "5"))
READERS = int(os.environ.get("PINCITE_SOAK_READERS", "8"))


class Summary(Protocol):
    """The fixture ``summary``."""

    def add(self, name: str, count: float = 1) -> None: ...

    def most(self, name: str, value: float) -> None: ...


RAM = Path("/dev/shm")


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a kill loses no page of the operating system's."""
    folder = tempfile.mkdtemp(dir=RAM if os.access(RAM, os.W_OK) else tmp_path)
    yield Path(folder) / "store"
    shutil.rmtree(folder)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


history = _load(SCRIPT)
reader = _load(READER)


@pytest.fixture(scope="module")
def states() -> list[dict[str, object]]:
    found: list[dict[str, object]] = history.states()
    return found


def run(path: Path, large: int) -> subprocess.Popen[bytes]:
    """The history in a process of its own, which is past its imports."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(path), str(large)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def killed_after(process: subprocess.Popen[bytes], writes: int, seconds: float) -> int:
    """Kill the process some time after so many writes; how many had returned by then."""
    assert process.stdout is not None
    before = process.stdout.read(writes).count(b".")
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    out, _ = process.communicate()
    return before + out.count(b".")


@pytest.mark.parametrize("kill", range(KILLS))
def test_after_a_kill_each_document_is_wholly_old_or_new(
    quick_path: Path,
    states: list[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
    summary: Summary,
    kill: int,
) -> None:
    choose = random.Random(kill)
    path = quick_path
    # Parts are files in one half of the runs and blobs in the other.
    large = 400 if kill % 2 else 4 << 20

    done = killed_after(run(path, large), choose.randrange(history.STEPS), choose.uniform(0, 0.02))

    store = LocalStore(path)
    found, wrong = history.state(store), store.doctor()
    summary.add("kills")
    summary.add("kills_with_parts_as_files", kill % 2)
    summary.add("kills_inside_the_history", done < history.STEPS)
    summary.add("found_the_next_step_whole", found != states[done])
    summary.add("findings_after_kills", len(wrong))
    assert found in states[done : done + 2]
    assert wrong == []
    monkeypatch.setattr(edit, "LARGE", large)
    for step in history.history():
        history.play(store, step)
    assert history.state(store) == states[-1]
    assert store.doctor() == []
    store.close()
    assert _strays(path) == set()


def _strays(path: Path) -> set[str]:
    """Files that neither the manifest nor the next sweep knows."""
    store = LocalStore(path)
    with store._home.reading() as connection:
        assert connection is not None
        known = {
            name
            for query in ("SELECT file FROM parts", "SELECT file FROM garbage")
            for (name,) in connection.execute(query)
        }
    store.close()
    folder = path / "segments"
    return {p.name for p in folder.iterdir()} - known if folder.exists() else set()


class LossyDisk:
    """Remembers what was fsynced; ``crashed`` copies a store as a loss of power would leave it."""

    def __init__(self) -> None:
        self.contents: dict[int, bytes] = {}
        self.names: dict[Path, dict[str, int]] = {}

    def fsync(self, descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        if path.is_dir():
            self.names[path] = {entry.name: entry.inode() for entry in os.scandir(path)}
        else:
            self.contents[path.stat().st_ino] = path.read_bytes()

    def crashed(self, path: Path, target: Path) -> None:
        target.mkdir()
        for file in path.iterdir():
            if file.name.startswith("store.sqlite3") and not file.name.endswith("-shm"):
                shutil.copy(file, target / file.name)
        segments = path / "segments"
        (target / "segments").mkdir()
        for name, inode in self.names.get(segments, {}).items():
            (target / "segments" / name).write_bytes(self.contents.get(inode, b""))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[LossyDisk]:
    made = LossyDisk()
    monkeypatch.setattr(durable.os, "fsync", made.fsync)
    yield made
    monkeypatch.undo()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_what_was_not_fsynced_is_not_missed(
    tmp_path: Path,
    states: list[dict[str, object]],
    disk: LossyDisk,
    monkeypatch: pytest.MonkeyPatch,
    summary: Summary,
) -> None:
    monkeypatch.setattr(edit, "LARGE", 400)
    path = tmp_path / "store"
    store = LocalStore(path)
    for number, step in enumerate(history.history()[:18], start=1):
        history.play(store, step)
        if number % 3:
            continue
        copy = tmp_path / f"copy{number}"
        disk.crashed(path, copy)
        after = LocalStore(copy)
        summary.add("losses_of_power")
        assert history.state(after) == states[number]
        assert after.doctor() == []
        after.close()
    store.close()


def test_the_lossy_disk_loses_what_is_not_fsynced(tmp_path: Path, disk: LossyDisk) -> None:
    """The shim itself: a write without fsync is empty, a name without its folder's is gone."""
    path = tmp_path / "store"
    (path / "segments").mkdir(parents=True)
    durable.write_file(path / "segments", "kept", [b"whole"])
    (path / "segments" / "torn").write_bytes(b"lost")
    durable.sync_folder(path / "segments")
    (path / "segments" / "unnamed").write_bytes(b"lost")

    disk.crashed(path, tmp_path / "copy")

    found = {p.name: p.read_bytes() for p in (tmp_path / "copy" / "segments").iterdir()}
    assert found == {"kept": b"whole", "torn": b""}


def _allowed() -> dict[str, list[str]]:
    """What readers may answer: the states of the first round and of each later one."""
    memory = MemoryStore()
    found: dict[str, set[str]] = {"keyword": set(), "vector": set(), "rows": set()}
    for step in history.history() * 2:
        history.play(memory, step)
        for way, answer in reader.answers(memory.reader("s", ["c"]), "c").items():
            found[way].add(answer)
    return {way: sorted(answers) for way, answers in found.items()}


def test_readers_beside_a_writer_see_committed_states_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, summary: Summary
) -> None:
    monkeypatch.setattr(edit, "LARGE", 2000)
    allowed = tmp_path / "allowed.json"
    allowed.write_text(json.dumps(_allowed()))
    path = tmp_path / "store"
    store = LocalStore(path)
    steps = history.history()
    history.play(store, steps[0])
    arguments = [sys.executable, str(READER), str(path), str(SECONDS), str(allowed)]
    readers = [
        subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(READERS)
    ]
    assert [process.stdout.readline() for process in readers] == ["ready\n"] * READERS

    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for step in steps:
            history.play(store, step)
            summary.add("writes_beside_readers")

    reports = [json.loads(process.communicate()[0]) for process in readers]
    summary.add("readers", READERS)
    summary.add("seconds_beside_a_writer", SECONDS)
    summary.add("reader_answers_checked", sum(report["answers"] for report in reports))
    summary.most("states_seen_by_a_reader", max(report["states"] for report in reports))
    assert all(report["answers"] > 3 for report in reports)
    assert any(report["states"] > 3 for report in reports)
    assert store.doctor() == []
    store.close()
