"""A memory group (Linux control groups) that a benchmark puts a process into."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["NoMemoryGroup", "run_in_group"]

_ROOT = Path("/sys/fs/cgroup")
_PATIENCE = 50


class NoMemoryGroup(Exception):
    """This machine lets no group be made."""


def run_in_group(command: Sequence[str], megabytes: int) -> str:
    """What a command prints that may take so much memory, pages of files included.

    The group lies below the one that this process is in and is removed at the end. Raises
    ``NoMemoryGroup`` where none can be made.
    """
    with _group(megabytes << 20) as enter:
        # Nothing of this process is shared with the child: it has one thread.
        found = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=enter
        )
    return found.stdout


@contextmanager
def _group(size: int) -> Iterator[Callable[[], None]]:
    parent, limit = _own()
    folder = parent / f"benchmark-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise NoMemoryGroup(f"{parent} takes no group ({error})") from error
    try:
        try:
            (folder / limit).write_text(str(size), "ascii")
        except OSError as error:
            raise NoMemoryGroup(f"{folder} takes no limit ({error})") from error
        yield lambda: _enter(folder)
    finally:
        _remove(folder)


def _own() -> tuple[Path, str]:
    """This process's own group of the memory controller, and the file of a limit."""
    for line in Path("/proc/self/cgroup").read_text("ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return _ROOT / "memory" / path.lstrip("/"), "memory.limit_in_bytes"
        if not controllers and (_ROOT / "cgroup.controllers").exists():
            return _ROOT / path.lstrip("/"), "memory.max"
    raise NoMemoryGroup("this system has no memory controller")


def _enter(folder: Path) -> None:
    (folder / "cgroup.procs").write_text(str(os.getpid()), "ascii")


def _remove(folder: Path) -> None:
    for _ in range(_PATIENCE):
        try:
            folder.rmdir()
        except OSError:
            time.sleep(0.1)  # its last process is still ending
        else:
            return
