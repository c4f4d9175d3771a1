"""Libraries over the stores that run in process, with an embedder that needs no model."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pincite
from pincite import Embedder, Library
from pincite.testing import HashEmbedder

SOURCE = str(Path(pincite.__file__).resolve().parents[1])
MODES = ("keyword", "vector", "hybrid")

Open = Callable[..., Library]
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def embedder(dimension: int = 64, *, seed: int = 0) -> Embedder:
    """A model of its own for each dimension and seed."""
    return Embedder(HashEmbedder(dimension, seed=seed), f"hash-{seed}--{dimension}")


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child process, without settings of the one who runs the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PINCITE_STORE", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1", **extra}


@pytest.fixture(params=["memory:", "local:"])
def open_lib(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Open libraries over one store, each call with its own options."""
    opened: list[Library] = []
    memory: list[Any] = []

    def on_memory(options: dict[str, Any]) -> Library:
        if not memory:
            opened.append(pincite.open("memory:", **options))
            memory.append(opened[-1]._store)
            return opened[-1]
        fields = options.pop("fields", None)
        names = {"collection": "default", "subject": "local", **options}
        library = Library(memory[0], **names)
        if fields:
            library.declare(fields)
        return library

    def make(**options: Any) -> Library:
        options.setdefault("embedder", embedder())
        if request.param == "memory:":
            return on_memory(options)
        opened.append(pincite.open(f"local:{tmp_path / 'store'}", **options))
        return opened[-1]

    yield make
    for library in opened:
        library.close()


@pytest.fixture
def lib(open_lib: Open) -> Library:
    return open_lib()


@pytest.fixture(scope="module", params=["memory:", "local:"])
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Library]:
    """One library for a whole file, whose tests fill it once and then only read."""
    place = str(tmp_path_factory.mktemp("shared") / "store") if request.param == "local:" else ""
    with pincite.open(request.param + place, embedder=embedder()) as library:
        yield library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for documents."""
    made = tmp_path / "docs"
    made.mkdir()
    return made


@pytest.fixture
def cli() -> Cli:
    """Run ``python -m pincite`` in a folder."""

    def run(*arguments: str, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pincite", *arguments],
            cwd=cwd,
            env=environment(**extra),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    return run


def fill(library: Library, texts: dict[str, str]) -> None:
    """One Markdown document for each id."""
    for document, text in texts.items():
        library.add(text.encode(), filename="text.md", document=document)


def found(library: Library, query: str, **options: Any) -> list[str]:
    """The documents of the hits, best first."""
    return [hit.chunk.document for hit in library.search(query, **options)]
