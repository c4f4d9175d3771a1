"""Threads, processes, locks and folders that cannot be written."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.errors import StoreLocked, StoreUnavailable
from pincite.model.documents import EmbeddedDocument
from pincite.stores.local.lock import WriterLock
from pincite.stores.local.store import LocalStore

Make = Callable[..., EmbeddedDocument]
S, C = "s", "c"

HOLD = """
import sys, time
from pathlib import Path
from pincite.stores.local.lock import WriterLock
with WriterLock(Path(sys.argv[1]), timeout=1).held():
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold(path: Path, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_writer_waits_then_names_the_holder(path: Path, document: Make) -> None:
    store = LocalStore(path, lock_timeout=0.2)
    store.commit(S, C, [document("a", ["salt"])])
    with hold(path / "writer.lock", 30) as process:
        started = time.monotonic()
        with pytest.raises(StoreLocked, match=rf"process {process.pid} on .+ since 20\d\d-"):
            store.commit(S, C, [document("b", ["salt"])])
        assert 0.15 < time.monotonic() - started < 5
        assert len(store.reader(S, [C]).bm25(C, query="salt", limit=3)) == 1
        process.kill()

    store.commit(S, C, [document("b", ["salt"])])
    store.close()


def test_a_second_writer_goes_on_when_the_first_is_done(path: Path, document: Make) -> None:
    store = LocalStore(path, lock_timeout=20)
    store.setup()
    with hold(path / "writer.lock", 0.3):
        store.commit(S, C, [document("a", ["salt"])])

    assert len(store.documents(S, C)) == 1
    store.close()


def test_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "lock", timeout=0.1)
    other = WriterLock(tmp_path / "lock", timeout=0.1)
    with lock.held():
        for each in (lock, other):
            with pytest.raises(StoreLocked, match=f"process {os.getpid()} on"), each.held():
                pass
    with other.held():
        record = json.loads((tmp_path / "lock").read_text())
    assert record["pid"] == os.getpid()


def test_a_lock_file_without_a_name_is_another_process(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "lock", timeout=0.05)
    with lock.held():
        (tmp_path / "lock").write_text("[]")
        with pytest.raises(StoreLocked, match="another process"), lock.held():
            pass


def test_threads_read_while_one_writes(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("w", ["salt", "salt too"], metadata={"v": -1})])
    failures: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        reader = store.reader(S, [C])
        try:
            while not done.is_set():
                hits = reader.bm25(C, query="salt", limit=50)
                versions = {h.chunk.metadata["v"] for h in hits if h.chunk.document == "w"}
                # The document has two chunks, of one version each time.
                assert len(versions) <= 1
                assert len(reader.near_vector(C, vector=[1.0] * 8, limit=50)) == len(hits)
        except Exception as error:  # noqa: BLE001 - the test shows any
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(25):
        store.commit(S, C, [document("w", [f"salt {n}", f"salt too {n}"], metadata={"v": n})])
    done.set()
    for thread in threads:
        thread.join()

    assert failures == []


def test_concurrent_writers_in_threads_all_get_through(path: Path, document: Make) -> None:
    failures: list[Exception] = []

    def write(name: str) -> None:
        own = LocalStore(path)
        try:
            for n in range(5):
                own.commit(S, C, [document(f"{name}{n}", ["salt"])])
        except Exception as error:  # noqa: BLE001 - the test shows any
            failures.append(error)
        own.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    store = LocalStore(path)
    assert len(store.documents(S, C)) == 20
    assert store.doctor() == []
    store.close()


def test_a_reader_sees_the_commits_of_another_process(
    path: Path, store: LocalStore, document: Make
) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    reading = LocalStore(path, read_only=True)
    reader = reading.reader(S, [C])
    assert len(reader.bm25(C, query="salt", limit=9)) == 1
    script = (
        "import sys; from pincite.stores.local.store import LocalStore;"
        "s = LocalStore(sys.argv[1]); s.delete('s', 'c', ['a']); s.close()"
    )

    subprocess.run([sys.executable, "-c", script, str(path)], check=True)

    assert reader.bm25(C, query="salt", limit=9) == []
    reading.close()


def _search_in_child(reader: object, answers: object) -> None:
    found = reader.bm25(C, query="salt", limit=9)  # type: ignore[attr-defined]
    answers.put([h.chunk.id for h in found])  # type: ignore[attr-defined]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_its_own_connections(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    reader = store.reader(S, [C])
    reader.bm25(C, query="salt", limit=9)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    child = context.Process(target=_search_in_child, args=(reader, answers))
    child.start()
    assert answers.get(timeout=20) == ["a-0"]
    child.join()

    assert child.exitcode == 0
    store.commit(S, C, [document("b", ["salt"])])
    assert len(reader.bm25(C, query="salt", limit=9)) == 2


AS_NOBODY = """
import os, sys
from pincite.stores.local.store import LocalStore

def find(path):
    store = LocalStore(path, create=False)
    found = store.reader("s", ["c"]).bm25("c", query="salt", limit=9)
    store.close()
    return [hit.chunk.id for hit in found]

# Imports must be done while the interpreter's folders can still be read.
find(sys.argv[2])
LocalStore(sys.argv[2]).setup()
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.chdir("/")
"""
FIND = AS_NOBODY + "print(find(sys.argv[1]))"
SETUP = AS_NOBODY + "LocalStore(sys.argv[1]).setup()"


def run(script: str, path: Path, warm: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a user for whom the folder's permissions count."""
    return subprocess.run(
        [sys.executable, "-c", script, str(path), str(warm)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def warm(tmp_path: Path, document: Make) -> Path:
    store = LocalStore(tmp_path / "warm")
    store.commit(S, C, [document("a", ["salt"])])
    store.close()
    return tmp_path / "warm"


@pytest.fixture
def open_parents(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)


@pytest.mark.usefixtures("open_parents")
def test_a_folder_that_is_not_writable_is_searched(path: Path, document: Make, warm: Path) -> None:
    store = LocalStore(path)
    store.commit(S, C, [document("a", ["salt"])])
    store.close()
    before = sorted(p.name for p in path.iterdir())
    path.chmod(0o555)

    answer = run(FIND, path, warm)

    path.chmod(0o755)
    assert answer.stdout.strip() == "['a-0']", answer.stderr
    assert sorted(p.name for p in path.iterdir()) == before


@pytest.mark.usefixtures("open_parents")
def test_commits_that_wait_in_the_wal_of_a_folder_that_is_not_writable_are_named(
    path: Path, document: Make, tmp_path: Path, warm: Path
) -> None:
    store = LocalStore(path)
    store.commit(S, C, [document("a", ["salt"])])
    torn = tmp_path / "torn"
    torn.mkdir()
    for name in ("store.sqlite3", "store.sqlite3-wal"):
        (torn / name).write_bytes((path / name).read_bytes())
    store.close()
    torn.chmod(0o555)

    answer = run(FIND, torn, warm)

    torn.chmod(0o755)
    assert "open it once where it is writable" in answer.stderr


@pytest.mark.usefixtures("open_parents")
def test_writing_where_it_is_not_allowed_says_so(path: Path, warm: Path) -> None:
    path.mkdir()
    path.chmod(0o555)

    answer = run(SETUP, path, warm)

    path.chmod(0o755)
    assert StoreUnavailable.__name__ in answer.stderr
    assert "permissions" in answer.stderr
