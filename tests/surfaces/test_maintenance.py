"""Looking after a store from the command line, beside other processes that use it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pincite.bm25.segment import build_arrays
from pincite.segments.file import SegmentFile, write_segment
from pincite.stores.local.lock import WriterLock

from .conftest import Run, environment

LONG_LIVED = """
import json, sys
import pincite

with pincite.open("local:.pincite", create=False) as lib:
    print("open", flush=True)
    for line in sys.stdin:
        query = line.strip()
        try:
            found = {
                mode: [hit.chunk.id for hit in lib.search(query, k=50, mode=mode)]
                for mode in ("keyword", "vector")
            }
        except Exception as error:
            found = {"error": repr(error)}
        print(json.dumps(found), flush=True)
"""


class Asker:
    """A process with a library that stays open."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, query: str) -> dict[str, list[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(query + "\n")
        self._process.stdin.flush()
        found: dict[str, list[str]] = json.loads(self._process.stdout.readline())
        assert "error" not in found, found
        return found


@contextmanager
def long_lived(folder: Path) -> Iterator[Asker]:
    with subprocess.Popen(
        [sys.executable, "-c", LONG_LIVED],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield Asker(process)
        assert process.stdin is not None
        process.stdin.close()


def start(folder: Path, *arguments: str, **extra: str) -> subprocess.Popen[str]:
    """The command line in a process that is not waited for."""
    return subprocess.Popen(
        [sys.executable, "-m", "pincite", *arguments],
        cwd=folder,
        env=environment(**extra),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def note(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    return name


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """A folder with two notes and their index."""
    salt = note(tmp_path, "salt.md", "Salt of the Dead Sea.")
    knots = note(tmp_path, "knots.md", "A bowline holds.")
    done = run("index", salt, knots, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


def corrupt(folder: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(folder / ".pincite" / "store.sqlite3")
    with connection:
        connection.execute(statement, values)
    connection.close()


def report(output: str) -> dict[str, Any]:
    """The last line of a run with ``--json``."""
    last: dict[str, Any] = json.loads(output.splitlines()[-1])
    assert last.pop("event") == "report"
    return last


def test_an_open_library_sees_what_the_command_line_indexes(folder: Path) -> None:
    with long_lived(folder) as library:
        before = library.ask("quartz")
        assert before["keyword"] == []
        assert sorted(before["vector"]) == ["knots.md-0", "salt.md-0"]
        writer = start(folder, "index", note(folder, "quartz.md", "Quartz veins may hold gold."))
        while writer.poll() is None:
            library.ask("quartz")  # no answer is an error
        assert writer.wait() == 0, writer.stderr

        found = library.ask("quartz")

        assert found["keyword"] == ["quartz.md-0"]
        assert sorted(found["vector"]) == ["knots.md-0", "quartz.md-0", "salt.md-0"]
        writer.communicate()


def test_two_writers_at_once_both_get_through(run: Run, folder: Path) -> None:
    with long_lived(folder) as library:
        names = [note(folder, f"n{n}.md", f"Moraine number {n}.") for n in range(4)]
        writers = [start(folder, "index", *part) for part in (names[:3], names[1:])]
        while any(writer.poll() is None for writer in writers):
            library.ask("moraine")
        for writer in writers:
            _, errors = writer.communicate()
            assert writer.returncode == 0, errors

        found = library.ask("moraine")
        assert sorted(found["keyword"]) == [f"n{n}.md-0" for n in range(4)]
        assert len(found["vector"]) == len(set(found["vector"])) == 6
    assert run("doctor", cwd=folder).stdout == "Nothing is wrong.\n"


def test_a_writer_waits_and_then_names_the_one_it_waited_for(run: Run, folder: Path) -> None:
    name = note(folder, "late.md", "Late news of moraines.")
    lock = WriterLock(folder / ".pincite" / "writer.lock", timeout=5)
    with long_lived(folder) as library:
        with lock.held():
            started = time.monotonic()
            done = run("index", name, cwd=folder, PINCITE_LOCK_TIMEOUT="0.5")
            assert time.monotonic() - started > 0.5
            assert library.ask("bowline")["keyword"] == ["knots.md-0"]
            waiting = start(folder, "index", name, PINCITE_LOCK_TIMEOUT="60")
            time.sleep(1)
        _, errors = waiting.communicate()

        assert done.returncode == 2
        assert "is being written by process" in done.stderr
        assert "PINCITE_LOCK_TIMEOUT" in done.stderr
        assert waiting.returncode == 0, errors
        assert library.ask("moraines")["keyword"] == ["late.md-0"]


def test_a_time_to_wait_that_is_none_is_refused(run: Run, folder: Path) -> None:
    done = run("list", cwd=folder, PINCITE_LOCK_TIMEOUT="soon")

    assert done.returncode == 2
    assert "'soon' is no time to wait" in done.stderr


def test_doctor_embeds_lost_vectors_again(run: Run, folder: Path) -> None:
    query = ("search", "salty water", "--mode", "vector", "--json")
    before = json.loads(run(*query, cwd=folder).stdout)["hits"]
    sound = run("doctor", cwd=folder)
    corrupt(folder, "UPDATE parts SET data = zeroblob(size) WHERE kind = 'vectors'")

    found = run("doctor", "--json", cwd=folder)
    mended = run("doctor", "--repair", cwd=folder)
    after = run("doctor", cwd=folder)

    assert (sound.returncode, sound.stdout) == (0, "Nothing is wrong.\n")
    assert found.returncode == 1
    assert report(found.stdout)["left"] == 2
    assert all("vectors" in f["place"] for f in report(found.stdout)["findings"])
    assert mended.returncode == 0, mended.stdout
    assert "1 texts were embedded again" in mended.stdout
    assert mended.stdout.endswith("2 repaired, nothing left.\n")
    assert after.returncode == 0
    assert json.loads(run(*query, cwd=folder).stdout)["hits"] == before
    index = run("index", "salt.md", cwd=folder)
    assert index.stdout.startswith("1 unchanged")


def test_what_cannot_be_mended_stays_a_finding(run: Run, folder: Path) -> None:
    corrupt(folder, "UPDATE parts SET data = zeroblob(size) WHERE kind = 'vectors'")
    corrupt(folder, "UPDATE collections SET endpoint = 'nowhere--model', model = ''")

    mended = run("doctor", "--repair", cwd=folder)

    assert mended.returncode == 1
    assert "nowhere--model" in mended.stdout
    assert "0 repaired, 2 left; each says what to do." in mended.stdout
    assert json.loads(run("search", "bowline", "--mode", "keyword", "--json", cwd=folder).stdout)[
        "hits"
    ]


def test_compact_gives_space_back(run: Run, folder: Path) -> None:
    note(folder, "long.md", "\n\n".join(f"Paragraph {n} of moraines. " * 20 for n in range(100)))
    assert run("index", "long.md", cwd=folder).returncode == 0
    assert run("rm", "long.md", cwd=folder).returncode == 0

    done = run("compact", "--json", cwd=folder)

    sizes = report(done.stdout)
    assert sizes["bytes_after"] < sizes["bytes_before"]
    assert json.loads(done.stdout.splitlines()[0])["stage"] == "compact"


def test_a_backup_is_a_store_of_its_own(run: Run, folder: Path) -> None:
    done = run("backup", "kept", cwd=folder)
    again = run("backup", "kept", "--json", cwd=folder)
    run("rm", "salt.md", cwd=folder)

    assert (done.returncode, done.stdout) == (0, "copied to kept\n")
    assert again.returncode == 2
    assert "not an empty folder" in again.stderr
    listed = json.loads(run("list", "--store", "local:kept", "--json", cwd=folder).stdout)
    assert [row["document"] for row in listed] == ["knots.md", "salt.md"]
    assert run("doctor", "--store", "local:kept", cwd=folder).returncode == 0


def test_an_export_is_imported_elsewhere(run: Run, folder: Path) -> None:
    out = run("export", "notes.jsonl", "--json", cwd=folder)
    into = ("--store", "local:other", "--collection", "copy")
    back = run("import", "notes.jsonl", *into, "--json", cwd=folder)
    query = ("search", "what holds a rope", "--json")
    hits = [json.loads(run(*query, *place, cwd=folder).stdout)["hits"] for place in ((), into)]

    assert report(out.stdout)["documents"] == 2
    assert report(back.stdout)["added"] == ["knots.md", "salt.md"]
    assert hits[0] == hits[1]
    assert run("export", "notes.jsonl", cwd=folder).returncode == 2

    torn = (folder / "notes.jsonl").read_bytes()[:-200]
    (folder / "torn.jsonl").write_bytes(torn)
    refused = run("import", "torn.jsonl", "--store", "local:third", cwd=folder)
    assert refused.returncode == 2
    assert "torn.jsonl, line " in refused.stderr
    assert not (folder / "third").exists()


@pytest.mark.parametrize("command", ["doctor", "compact", "backup", "export"])
def test_a_missing_store_is_not_made(run: Run, tmp_path: Path, command: str) -> None:
    extra = ("x",) if command in ("backup", "export") else ()
    done = run(command, *extra, cwd=tmp_path)

    assert done.returncode == 2
    assert "There is no store" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_older_layout_says_what_to_do(run: Run, folder: Path) -> None:
    corrupt(folder, "PRAGMA user_version = 0")
    older = run("search", "salt", "--mode", "keyword", cwd=folder)
    stuck = run("doctor", "--repair", cwd=folder)
    corrupt(folder, "PRAGMA user_version = 1")
    corrupt(folder, "ALTER TABLE chunks RENAME COLUMN embed_text TO embedded")
    other = run("search", "salt", "--mode", "keyword", cwd=folder)

    assert older.returncode == 2
    assert "has format 0, older than 1" in older.stderr
    assert "`pincite doctor --repair`" in older.stderr
    assert stuck.returncode == 1
    assert "no way from format 0" in stuck.stdout
    assert other.returncode == 2
    assert "laid out by another version of Pincite" in other.stderr
    assert "damaged" not in other.stderr


def test_an_older_analyser_is_rebuilt_with_a_message(run: Run, folder: Path) -> None:
    query = ("search", "holds", "--mode", "keyword", "--json")
    fresh = json.loads(run(*query, cwd=folder).stdout)["hits"]
    make_old(folder)

    read = run(*query, cwd=folder)
    checked = run("doctor", cwd=folder)
    indexed = run("index", "salt.md", "--json", cwd=folder)
    after = run(*query, cwd=folder)

    # A reader rebuilds in memory and says so; the next writer keeps it.
    assert json.loads(read.stdout)["hits"] == fresh != []
    assert "another version of the analyser" in read.stderr
    assert checked.returncode == 1
    assert "Another version of the analyser indexed it" in checked.stdout
    steps = [json.loads(line) for line in indexed.stdout.splitlines()]
    assert [s["source"] for s in steps if s.get("stage") == "rebuild"] == ["local/default"] * 2
    assert "built anew from the stored texts" in indexed.stderr
    assert (json.loads(after.stdout)["hits"], after.stderr) == (fresh, "")
    assert run("doctor", cwd=folder).returncode == 0

    make_old(folder)
    mended = run("doctor", "--repair", cwd=folder)
    assert mended.returncode == 0
    assert "1 repaired, nothing left" in mended.stdout
    assert run(*query, cwd=folder).stderr == ""


def make_old(folder: Path) -> None:
    """Let the store be as if a version of the analyser that knew no words had indexed it."""
    connection = sqlite3.connect(folder / ".pincite" / "store.sqlite3")
    with connection:
        connection.execute("UPDATE collections SET analyzer = 'another version'")
        for number, rows in connection.execute("SELECT number, rows FROM segments").fetchall():
            arrays = build_arrays([({}, 0)] * rows)
            data = write_segment("keyword", 2, arrays, {"analyzer": "another version"})
            connection.execute(
                "UPDATE parts SET size = ?, checksum = ?, data = ?"
                " WHERE segment = ? AND kind = 'keyword'",
                (len(data), SegmentFile.checksum_in(data), data, number),
            )
    connection.close()
