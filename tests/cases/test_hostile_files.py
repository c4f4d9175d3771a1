"""Folders that hold what no one expects: each odd file costs itself and nothing else."""

from __future__ import annotations

import os
import socket
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite import Embedder, InvalidArgument, Library, ParseError, Progress
from pincite.testing import HashEmbedder

from .conftest import Open, found

NAMES = [
    "new\nline.md",
    "esc\x1b[31m.md",
    "-dash.md",
    "x" * 252 + ".md",
    "tab\t.md",
    "a%20b.md",
    "back\\slash.md",
    "quo'te\".md",
    "\u202egnp.md",
    "\U0001f600.md",
    " lead.md",
]
linux = pytest.mark.skipif(sys.platform != "linux", reason="names and devices of Linux")


@linux
def test_odd_names_are_names_like_any_other(lib: Library, folder: Path) -> None:
    for name in NAMES:
        (folder / name).write_text("Quartz.")
    report = lib.add(folder)

    assert sorted(report.added) == sorted(NAMES)
    assert sorted(lib.add(folder).unchanged) == sorted(NAMES)
    for name in NAMES:
        assert lib.markdown(name) == "Quartz."
        assert lib.remove(name) == 1


@linux
def test_pipes_sockets_and_links_around_a_folder_are_passed_over(
    lib: Library, folder: Path
) -> None:
    (folder / "a.md").write_text("Quartz.")
    os.mkfifo(folder / "pipe.md")
    (folder / "up").symlink_to(folder)
    (folder / "broken.md").symlink_to("nowhere.md")
    (folder / "out.md").symlink_to("/etc/hostname")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(folder)  # the path of a socket may not be long
        try:
            listener.bind("s.md")
        finally:
            os.chdir(here)
        report = lib.add(folder)

    assert report.added == ("a.md",)
    assert {"pipe.md", "s.md", "broken.md", "out.md"} <= {
        Path(f.source).name for f in report.skipped
    }


@linux
def test_two_links_that_point_at_each_other_do_not_stop_a_run(lib: Library, folder: Path) -> None:
    (folder / "a.md").write_text("Quartz.")
    (folder / "one.md").symlink_to(folder / "two.md")
    (folder / "two.md").symlink_to(folder / "one.md")

    assert lib.add(folder).added == ("a.md",)


@linux
def test_a_name_that_is_no_text_costs_one_failure(lib: Library, folder: Path) -> None:
    (folder / "a.md").write_text("Quartz.")
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.md")).write_text("Quartz.")
    report = lib.add(folder)

    assert report.added == ("a.md",)
    assert len(report.failed) == 1


@linux
def test_two_names_that_differ_in_unicode_form_only_are_not_one_document(
    open_lib: Open, folder: Path
) -> None:
    for form, text in (("NFC", "Quartz."), ("NFD", "Chalk.")):
        (folder / unicodedata.normalize(form, "café.md")).write_text(text)
    client = HashEmbedder(64)
    library = open_lib(embedder=Embedder(client, "hash"))
    report = library.add(folder)
    before = client.texts
    library.add(folder)

    assert client.texts == before
    assert len(report.added) + len(report.failed) == 2
    assert len(report.added) == len(library.documents())


@linux
def test_a_pipe_given_by_name_does_not_hang(lib: Library, folder: Path) -> None:
    pipe = folder / "pipe.md"
    os.mkfifo(pipe)
    with pytest.raises(InvalidArgument, match="no regular file"):
        lib.add(pipe)


@linux
def test_a_device_given_by_name_is_refused(lib: Library) -> None:
    with pytest.raises(InvalidArgument, match="no regular file"):
        lib.add("/dev/null")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs another user")
def test_a_folder_that_cannot_be_listed_fails_by_name(tmp_path: Path, folder: Path) -> None:
    """Its documents are neither gone nor advised to be removed."""
    import pincite

    closed = folder / "closed"
    closed.mkdir()
    (closed / "a.md").write_text("Quartz.")
    with pincite.open("memory:", embedder=Embedder(HashEmbedder(64), "hash")) as library:
        library.add(folder)
        for path in (folder, *folder.parents[:-1]):
            path.chmod(path.stat().st_mode | 0o055)
        closed.chmod(0)
        os.seteuid(65534)
        try:
            report = library.add(folder)
        finally:
            os.seteuid(0)
            closed.chmod(0o755)

    assert report.warnings == ()
    assert [Path(failure.source).name for failure in report.failed] == ["closed"]


def test_files_that_change_or_vanish_during_a_run_are_read_as_they_are_or_fail(
    lib: Library, folder: Path
) -> None:
    for number in range(5):
        (folder / f"{number}.md").write_text(f"Quartz {number}.")

    def meddle(progress: Progress) -> None:
        if progress.done == 1:
            (folder / "2.md").write_text("Chalk.")
            (folder / "3.md").unlink()
            (folder / "4.md").unlink()
            (folder / "4.md").mkdir()

    report = lib.add(folder, progress=meddle)

    assert report.added == ("0.md", "1.md", "2.md")
    assert [Path(f.source).name for f in report.failed] == ["3.md", "4.md"]
    assert lib.markdown("2.md") == "Chalk."


def test_an_empty_folder_is_no_error(lib: Library, folder: Path) -> None:
    report = lib.add(folder)

    assert (report.added, report.failed, report.chunks) == ((), (), 0)


def test_a_nul_byte_costs_one_failure(lib: Library, folder: Path) -> None:
    (folder / "a.md").write_text("Quartz.")
    (folder / "nul.txt").write_bytes(b"Quartz\0quartz")
    report = lib.add(folder)

    assert report.added == ("a.md",)
    assert [Path(f.source).name for f in report.failed] == ["nul.txt"]


def test_a_single_line_of_100_kb_is_cut_and_found(lib: Library) -> None:
    text = "word " * 20_000 + "quartz"
    lib.add(text.encode(), filename="a.txt", document="a")

    assert found(lib, "quartz", mode="keyword") == ["a"]
    assert "".join(c.content.replace(" ", "") for c in lib.chunks("a")).count("quartz") == 1


def test_an_empty_path_is_not_the_current_folder(
    lib: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.md").write_text("Quartz.")
    monkeypatch.chdir(folder)
    with pytest.raises(InvalidArgument):
        lib.add("")


@pytest.mark.parametrize("source", ["~no-such-user/x", "x" * 300])
def test_a_path_that_cannot_be_is_refused_with_an_error_of_ours(lib: Library, source: str) -> None:
    with pytest.raises(InvalidArgument):
        lib.add(source)


@pytest.mark.parametrize("error", [ConnectionError("no answer"), RuntimeError("out of memory")])
def test_a_model_that_fails_is_not_blamed_on_the_files(
    open_lib: Open, folder: Path, error: Exception
) -> None:
    for name in ("a.md", "b.md"):
        (folder / name).write_text("Quartz.")
    library = open_lib(embedder=Embedder(Failing(64, error), "hash"))
    try:
        reasons = " ".join(failure.reason for failure in library.add(folder).failed)
    except type(error) as raised:
        reasons = str(raised)

    assert str(error) in reasons
    assert "check that it can be read" not in reasons
    assert "parser failed" not in reasons


class Failing(HashEmbedder):
    """Tells who it is, and then fails."""

    def __init__(self, dimension: int, error: Exception) -> None:
        super().__init__(dimension)
        self.error = error

    def encode(self, endpoint: str, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        if self.calls:
            raise self.error
        return super().encode(endpoint, texts)


@pytest.mark.parametrize("tag", ["div", "b"])
def test_deep_markup_keeps_its_text_or_fails(lib: Library, tag: str) -> None:
    page = f"<html><body><p>Chalk.</p>{f'<{tag}>' * 500}Quartz.<p>Slate.</p></body></html>"
    try:
        lib.add(page.encode(), filename="page.html", document="page")
    except ParseError:
        return

    assert "Quartz" in lib.markdown("page")
