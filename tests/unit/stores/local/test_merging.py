"""Merging, compaction and sweeping change no answer."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pincite.model.documents import EmbeddedDocument, Progress
from pincite.model.fields import Field, FieldType
from pincite.model.filters import DeclaredFilter
from pincite.stores.local import parts
from pincite.stores.local.home import Home
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore
from pincite.text.analysis import Analyzer

Make = Callable[..., EmbeddedDocument]
S, C = "s", "c"


def answers(store: LocalStore | MemoryStore) -> list[object]:
    """What a store says, on both legs, with and without filters."""
    reader = store.reader(S, [C])
    where = DeclaredFilter("n", "lt", 3)
    found: list[object] = [
        [(h.chunk, h.score, h.highlights) for h in reader.bm25(C, query=q, limit=30, where=w)]
        for q in ("salt river", "Garten", "err-4021 世界", "not there")
        for w in (None, where)
        if "n" in reader.fields(C).fields or w is None
    ]
    if store.model(S, C) is not None:
        near = reader.near_vector(C, vector=[1.0] * 8, limit=30)
        found.append([(h.chunk, round(h.score, 3)) for h in near])
    found.append(list(reader.all_chunks()))
    found.append(store.documents(S, C))
    found.append({k: store.stats(S, C)[k] for k in ("documents", "chunks", "vocabulary")})
    return found


def test_many_small_commits_are_merged(store: LocalStore, document: Make) -> None:
    for n in range(40):
        store.commit(S, C, [document(f"d{n:02}", [f"salt {n}"])])

    stats = store.stats(S, C)
    assert stats["segments"] < 9
    assert stats["chunks"] == 40
    assert [c.document for c in store.all_chunks()] == [f"d{n:02}" for n in range(40)]


def test_a_tenth_of_dead_rows_is_merged_away(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document(f"d{n}", ["salt", "mica"]) for n in range(20)])

    store.delete(S, C, ["d0"])
    assert store.stats(S, C)["deleted_rows"] == 2
    store.delete(S, C, ["d1"])

    assert store.stats(S, C)["deleted_rows"] == 0
    assert store.stats(S, C)["chunks"] == 36


def test_deleting_everything_leaves_no_segment(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["salt"]), document("b", ["mica"])])

    assert store.delete(S, C, ["a", "b"]) == 2

    assert store.stats(S, C)["segments"] == 0
    assert store.list(S) == []
    assert store.reader(S, [C]).bm25(C, query="salt", limit=3) == []
    store.compact()
    assert store.doctor() == []


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part becomes a file."""
    monkeypatch.setattr("pincite.stores.local.edit.LARGE", 0)


@pytest.mark.usefixtures("all_large")
def test_large_parts_are_files_and_go_a_write_later(store: LocalStore, document: Make) -> None:
    folder = store.path / "segments"
    for n in range(8):
        store.commit(S, C, [document(f"d{n}", [f"salt {n}"])])
    # The merge has replaced 8 segments; their files stay for readers until the next write.
    assert len(list(folder.iterdir())) == 9 * 4

    store.commit(S, C, [document("d8", ["salt 8"])])

    assert len(list(folder.iterdir())) == 2 * 4
    assert len(store.reader(S, [C]).bm25(C, query="salt", limit=20)) == 9
    assert store.doctor() == []


@pytest.mark.usefixtures("all_large")
def test_a_reader_survives_the_sweep_of_its_files(
    store: LocalStore, document: Make, path: Path
) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    other = LocalStore(path, read_only=True)
    reader = other.reader(S, [C])
    assert len(reader.bm25(C, query="salt", limit=3)) == 1

    store.commit(S, C, [document("a", ["salt again"])])
    store.commit(S, C, [document("b", ["salt too"])])

    assert {h.chunk.content for h in reader.bm25(C, query="salt", limit=3)} == {
        "salt again",
        "salt too",
    }
    other.close()


@pytest.mark.usefixtures("all_large")
def test_a_file_that_vanishes_under_a_reader_means_a_new_snapshot(
    store: LocalStore, document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    store.close()
    opened = parts.SegmentFile.open
    calls = []

    def vanish_once(source: object, *, name: str) -> object:
        calls.append(name)
        if len(calls) == 1:
            return opened(Path("/nowhere/at/all"), name=name)
        return opened(source, name=name)  # type: ignore[arg-type]

    monkeypatch.setattr(parts.SegmentFile, "open", vanish_once)

    assert len(store.reader(S, [C]).bm25(C, query="salt", limit=3)) == 1
    assert len(calls) > 1


def test_files_of_writes_that_never_were_committed_are_swept(
    store: LocalStore, document: Make, path: Path
) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    store.close()
    (path / "segments").mkdir(exist_ok=True)
    for stray in ("9.9.vectors.seg", "9.9.keyword.seg.tmp"):
        (path / "segments" / stray).write_bytes(b"half")
    (path / "segments" / "mine.txt").write_text("not ours")

    LocalStore(path).commit(S, C, [document("b", ["mica"])])

    assert [p.name for p in (path / "segments").iterdir()] == ["mine.txt"]


class OtherAnalyzer(Analyzer):
    """An analyser of another version, which knows no upper case terms."""

    version = 999


def test_another_analyser_version_is_rebuilt_with_a_message(
    path: Path, document: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = [document(f"d{n}", [f"the salt of {n}", "err-4021"]) for n in range(5)]
    with monkeypatch.context() as patch:
        old = OtherAnalyzer()
        for module in ("local.parts", "prepare", "local.edit", "local.merging"):
            patch.setattr(f"pincite.stores.{module}.default_analyzer", lambda: old)
        patch.setattr(old, "document_terms", lambda text, language="": ({"x": 1}, 1))
        first = LocalStore(path)
        first.commit(S, C, made)
        first.close()
    memory = MemoryStore()
    memory.commit(S, C, made)

    reading = LocalStore(path, read_only=True)
    assert answers(reading) == answers(memory)
    assert "another version of the analyser" in caplog.text
    reading.close()

    heard: list[Progress] = []
    writing = LocalStore(path, progress=heard.append)
    writing.setup()
    assert [p.stage for p in heard] == ["rebuild"]
    assert answers(writing) == answers(memory)
    caplog.clear()
    writing.close()
    again = LocalStore(path, read_only=True)
    assert answers(again) == answers(memory)
    assert "another version" not in caplog.text
    again.close()


def test_a_merge_that_fails_loses_nothing(
    store: LocalStore,
    document: Make,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pincite.stores.local.writer.merge_segments", full)
    for n in range(10):
        store.commit(S, C, [document(f"d{n}", [f"salt {n}"])])

    assert store.stats(S, C)["chunks"] == 10
    assert "put off" in caplog.text
    assert store.doctor() == []


def test_declaring_a_field_rebuilds_the_columns(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["salt"], metadata={"seen": [None]})])
    store.declare(S, C, {"seen": Field(FieldType.INTEGER, many=True)})
    store.set_metadata(S, C, "a", {"seen": [3]})

    where = DeclaredFilter("seen", "contains_any", [3])
    assert len(store.reader(S, [C]).fetch(C, where=where, limit=3)) == 1


def test_compact_gives_space_back(store: LocalStore, document: Make) -> None:
    rng = random.Random(1)
    for n in range(30):
        text = "".join(chr(rng.randrange(97, 123)) for _ in range(20_000))
        store.commit(S, C, [document(f"d{n}", [text])])
    store.delete(S, C, [f"d{n}" for n in range(28)])
    before = store.stats(S, C)["store_bytes"]

    store.compact()

    assert store.stats(S, C)["store_bytes"] < before / 4


def test_home_knows_where_it_may_write(path: Path, store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["salt"])])

    assert Home(path, create=True, read_only=False, lock_timeout=1).writable
    assert not Home(path, create=True, read_only=True, lock_timeout=1).writable


def test_compacting_beside_a_long_reader_does_not_wait_for_it(
    store: LocalStore, document: Make
) -> None:
    store.commit(S, C, [document(f"d{n}", ["salt", "mica"]) for n in range(9)])
    chunks = iter(store.reader(S, [C]).all_chunks())
    first = next(chunks)
    started = time.monotonic()

    store.delete(S, C, ["d1"])
    store.compact()

    assert time.monotonic() - started < 8
    # The reader goes on with the version that it began with.
    assert len([first, *chunks]) == 18
    assert len(list(store.all_chunks())) == 16
