"""Stores in odd places, shared, forked, damaged and foreign."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pincite
from pincite import InvalidArgument, Library, PinciteError, StoreCorrupt

from .conftest import embedder, found


def opened(place: Path, **options: object) -> Library:
    return pincite.open(f"local:{place}", embedder=embedder(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name",
    ["with space", "ünï \U0001f600", "a?b", "a#b", "a%41b", "a;b", "new\nline", "-x", "q'u\"o"],
)
def test_a_store_may_have_any_name(tmp_path: Path, name: str) -> None:
    with opened(tmp_path / name) as library:
        library.add(b"Quartz.", filename="a.md", document="a")
    with opened(tmp_path / name, create=False) as library:
        assert found(library, "quartz") == ["a"]


@pytest.mark.parametrize("name", ["x" * 10_000, "a/b", "../up", "a\nb", "a\0b", "ü"])
def test_a_collection_and_a_subject_may_have_any_name(tmp_path: Path, name: str) -> None:
    with opened(tmp_path / "s", collection=name, subject=name) as library:
        library.add(b"Quartz.", filename="a.md", document="a")
        assert found(library, "quartz") == ["a"]
        assert [c.name for c in library.collections()] == [name]


def test_the_store_in_the_folder_is_never_a_source(folder: Path) -> None:
    (folder / "a.md").write_text("Quartz.")
    with opened(folder / "sub" / "store") as library:
        library.add(b"Chalk.", filename="upload.md", document="upload")
        assert library.add(folder).added == ("a.md",)
        assert library.add(folder).skipped == ()


def test_a_store_that_is_the_folder_itself_is_never_a_source(folder: Path) -> None:
    (folder / "a.md").write_text("Quartz.")
    with opened(folder) as library:
        library.add(b"Chalk.", filename="upload.md", document="upload")
        report = library.add(folder)

    assert report.added == ("a.md",)
    assert report.skipped == ()


@pytest.mark.parametrize("data", [b"", b"no database at all" * 99, bytes(8192)])
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, data: bytes) -> None:
    place = tmp_path / "s"
    place.mkdir()
    (place / "store.sqlite3").write_bytes(data)
    with opened(place) as library:
        with pytest.raises(StoreCorrupt):
            library.search("quartz")
        with pytest.raises(StoreCorrupt):
            library.add(b"Quartz.", filename="a.md")

    assert (place / "store.sqlite3").read_bytes() == data


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "s"
    place.mkdir()
    connection = sqlite3.connect(place / "store.sqlite3")
    connection.execute("CREATE TABLE documents (x)")
    connection.close()
    before = (place / "store.sqlite3").read_bytes()
    with opened(place) as library, pytest.raises(StoreCorrupt, match="no Pincite store"):
        library.add(b"Quartz.", filename="a.md")

    assert (place / "store.sqlite3").read_bytes() == before


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_a_truncated_store_is_named_damaged(tmp_path: Path, part: float) -> None:
    place = tmp_path / "s"
    with opened(place) as library:
        for number in range(5):
            text = " ".join(f"word{number}x{i}" for i in range(300))
            library.add(text.encode(), filename="a.md", document=f"{number}")
    path = place / "store.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])

    with opened(place, create=False) as library:
        for call in (library.documents, lambda: library.search("word1x1")):
            with pytest.raises(StoreCorrupt, match="damaged"):
                call()


def test_a_damaged_row_is_named_damaged(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with opened(place) as library:
        library.add(b"Quartz.", filename="a.md", document="a", metadata={"lang": "de"})
    connection = sqlite3.connect(place / "store.sqlite3")
    for table, column in _json_columns(connection):
        connection.execute(f"UPDATE {table} SET {column} = '{{broken'")
    connection.commit()
    connection.close()

    with opened(place, create=False) as library, pytest.raises(StoreCorrupt):
        library.search("quartz")


def _json_columns(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Columns of text that hold a JSON object."""
    tables = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    return [
        (table, column[1])
        for table in tables
        for column in connection.execute(f"PRAGMA table_info({table})")
        if connection.execute(
            f"SELECT 1 FROM {table} WHERE typeof({column[1]}) = 'text' AND {column[1]} LIKE '{{%'"
        ).fetchone()
    ]


@pytest.mark.parametrize("place", ["x" * 300, "file/store"])
def test_a_place_that_cannot_be_is_refused_with_an_error_of_ours(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PinciteError):
        opened(tmp_path / place).add(b"Quartz.", filename="a.md")


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidArgument, match="is a file"):
        opened(tmp_path / "file")


def test_two_libraries_of_one_process_write_and_read_one_store(tmp_path: Path) -> None:
    def write(library: Library, name: str) -> None:
        for number in range(8):
            text = f"Quartz {name}{number}.".encode()
            library.add(text, filename="a.md", document=f"{name}{number}")
            assert found(library, "quartz", mode="keyword")

    with opened(tmp_path / "s") as one, opened(tmp_path / "s") as two:
        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(write, one, "a"), pool.submit(write, two, "b")]:
                future.result()

        assert len(set(found(one, "quartz", k=50))) == len(two.documents()) == 16


def test_two_threads_may_add_the_same_bytes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting, fsync = threading.Barrier(2), os.fsync

    def wait_for_the_other(descriptor: int) -> None:
        fsync(descriptor)
        with contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait(1)

    with opened(tmp_path / "s") as library:
        monkeypatch.setattr("pincite.indexing.originals.os.fsync", wait_for_the_other)
        with ThreadPoolExecutor(2) as pool:
            futures = [
                pool.submit(library.add, b"Quartz.", filename="a.md", document=name)
                for name in "ab"
            ]
        for future in futures:
            future.result()

        assert [info.document for info in library.documents()] == ["a", "b"]


def test_a_store_that_was_moved_away_takes_no_writes_that_are_lost(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as library:
        library.add(b"Quartz.", filename="a.md", document="a")
        (tmp_path / "s").rename(tmp_path / "old")
        try:
            library.add(b"Chalk.", filename="b.md", document="b")
        except PinciteError:
            return
    with opened(tmp_path / "s") as again:
        assert "b" in [info.document for info in again.documents()]


def test_a_close_during_searches_ends_them_with_the_reason(tmp_path: Path) -> None:
    library = opened(tmp_path / "s")
    library.add(b"Quartz.", filename="a.md")
    ready, errors = threading.Barrier(4), []

    def read() -> None:
        ready.wait()
        try:
            while True:
                library.search("quartz")
        except PinciteError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    ready.wait()
    library.close()
    for thread in threads:
        thread.join(20)

    assert len(errors) == 3
    assert all("closed" in error for error in errors)


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_parent_and_child_of_a_fork_both_go_on(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as library:
        library.add(b"Quartz.", filename="a.md", document="a")
        assert found(library, "quartz") == ["a"]
        child = os.fork()
        if child == 0:
            code = 1
            try:
                library.add(b"Quartz.", filename="a.md", document="child")
                code = 0 if sorted(found(library, "quartz")) == ["a", "child"] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        library.add(b"Quartz.", filename="a.md", document="parent")

        assert sorted(found(library, "quartz")) == ["a", "child", "parent"]
