"""Torn, truncated, flipped, lost and foreign files: detected, named, rebuilt where derived."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pincite.errors import (
    InvalidArgument,
    PinciteError,
    StoreCorrupt,
    StoreLocked,
    StoreNotFound,
    StoreUnavailable,
)
from pincite.model.documents import EmbeddedDocument, ModelIdentity
from pincite.stores.local import parts, schema
from pincite.stores.local.filesystems import file_system_of, refuse_network
from pincite.stores.local.store import LocalStore

Make = Callable[..., EmbeddedDocument]
Embed = Callable[..., np.ndarray]
S, C = "s", "c"
NAMES = [n for n in range(12) if n != 3]


@pytest.fixture
def damaged(path: Path, document: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A closed store whose parts are files, some rows of it dead."""
    monkeypatch.setattr("pincite.stores.local.edit.LARGE", 0)
    store = LocalStore(path)
    store.commit(S, C, [document(f"d{n:02}", [f"salt {n}", "mica"]) for n in range(12)])
    store.delete(S, C, ["d03"])
    store.close()
    return path


def part(path: Path, kind: str) -> Path:
    (found,) = (path / "segments").glob(f"*.{kind}.seg")
    return found


def flip(file: Path, at: int = -1) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 4
    file.write_bytes(data)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def search(store: LocalStore) -> dict[str, object]:
    reader = store.reader(S, [C])
    return {
        "keyword": [h.chunk.id for h in reader.bm25(C, query="salt", limit=99)],
        "vector": sorted(h.chunk.id for h in reader.near_vector(C, vector=[1.0] * 8, limit=99)),
        "rows": [c.id for c in reader.all_chunks()],
    }


@pytest.mark.parametrize("kind", ["rows", "keyword", "columns"])
@pytest.mark.parametrize("damage", [flip, truncate, empty, Path.unlink])
def test_derived_parts_are_named_and_rebuilt(
    damaged: Path, kind: str, damage: Callable[[Path], None]
) -> None:
    store = LocalStore(damaged)
    before = search(store)
    store.close()
    damage(part(damaged, kind))
    store = LocalStore(damaged)

    (finding,) = store.doctor()
    assert kind in finding.place
    assert not finding.repaired
    assert [f.repaired for f in store.doctor(repair=True)] == [True]

    assert store.doctor() == []
    assert search(store) == before
    store.close()


@pytest.mark.parametrize("damage", [flip, truncate, empty, Path.unlink])
def test_lost_vectors_are_named_and_marked_for_indexing(
    damaged: Path, document: Make, damage: Callable[[Path], None]
) -> None:
    damage(part(damaged, "vectors"))
    store = LocalStore(damaged)

    assert ["vectors" in f.place for f in store.doctor()] == [True]
    (finding,) = store.doctor(repair=True)
    assert not finding.repaired
    assert finding.problem.endswith("Index their documents again.")

    # What is only marked stays a finding.
    assert [f.place for f in store.doctor()] == [f"document 'd{n:02}'" for n in NAMES]
    assert len(store.doctor(repair=True)) == len(NAMES)
    assert len(store.reader(S, [C]).bm25(C, query="salt", limit=99)) == 11
    assert {info.content_hash for info in store.documents(S, C)} == {""}
    store.set_metadata(S, C, "d01", {"n": 1})
    assert len(store.doctor()) == len(NAMES)
    made = document("d00", ["salt 0", "mica"])
    store.commit(S, C, [made])
    assert len(store.doctor()) == len(NAMES) - 1
    norm = made.vectors / np.linalg.norm(made.vectors, axis=1, keepdims=True)
    assert np.allclose(store.vectors(S, C, "d00"), norm, atol=1e-3)
    store.close()


def unreachable(endpoint: str, model: ModelIdentity | None, texts: list[str]) -> np.ndarray:
    raise StoreUnavailable("The model's host is away; try later.")


def short(endpoint: str, model: ModelIdentity | None, texts: list[str]) -> np.ndarray:
    return np.ones((len(texts), 3), dtype=np.float32)


def lose_vectors(path: Path) -> None:
    part(path, "vectors").unlink()


def lose_segments(path: Path) -> None:
    shutil.rmtree(path / "segments")


@pytest.mark.parametrize("lose", [lose_vectors, lose_segments])
@pytest.mark.parametrize("marked", [False, True], ids=["at once", "after a repair without"])
def test_lost_vectors_are_embedded_again_from_the_texts(
    damaged: Path, lose: Callable[[Path], None], marked: bool, as_before: Embed
) -> None:
    store = LocalStore(damaged)
    before, vectors = search(store), [store.vectors(S, C, f"d{n:02}") for n in NAMES]
    store.close()
    lose(damaged)
    store = LocalStore(damaged)
    if marked:
        store.doctor(repair=True)

    findings = store.doctor(repair=True, embed=as_before)

    assert findings
    assert all(finding.repaired for finding in findings)
    assert any("embedded again" in finding.problem for finding in findings)
    assert store.doctor() == []
    assert search(store) == before
    for n, rows in zip(NAMES, vectors, strict=True):
        assert np.array_equal(store.vectors(S, C, f"d{n:02}"), rows)
    assert {info.content_hash == "" for info in store.documents(S, C)} == {marked}
    store.close()


@pytest.mark.parametrize(
    ("embed", "named"), [(unreachable, "host is away"), (short, r"of shape \(22, 3\), not of 8")]
)
def test_a_model_that_cannot_be_used_leaves_the_documents_marked(
    damaged: Path, embed: Callable[..., np.ndarray], named: str
) -> None:
    lose_vectors(damaged)
    store = LocalStore(damaged)

    (finding,) = store.doctor(repair=True, embed=embed)

    assert not finding.repaired
    assert re.search(named, finding.problem)
    assert len(store.doctor()) == len(NAMES)
    store.close()


def test_a_lost_segment_is_written_anew_without_vectors(damaged: Path) -> None:
    lose_segments(damaged)
    store = LocalStore(damaged)

    assert len(store.doctor()) >= 4
    assert [f.repaired for f in store.doctor(repair=True)][-1] is False

    assert [f.place for f in store.doctor()] == [f"document 'd{n:02}'" for n in NAMES]
    assert len(store.reader(S, [C]).bm25(C, query="salt", limit=99)) == 11
    store.close()


@pytest.mark.parametrize("kind", ["keyword", "vectors"])
def test_searching_a_damaged_part_names_it(damaged: Path, kind: str) -> None:
    file = part(damaged, kind)
    flip(file, file.stat().st_size // 2)

    with pytest.raises(StoreCorrupt, match=file.name.replace(".", r"\.")):
        search(LocalStore(damaged))


def test_a_part_of_another_segment_is_noticed(damaged: Path, document: Make) -> None:
    file = part(damaged, "vectors")
    shutil.copy(file, damaged / "kept")
    store = LocalStore(damaged)
    store.commit(S, C, [document("x", ["other"])])
    store.close()
    other = max((damaged / "segments").glob("*.vectors.seg"), key=lambda p: p.stat().st_mtime_ns)
    shutil.copy(file, other)

    with pytest.raises(StoreCorrupt, match="not the one that was committed"):
        search(LocalStore(damaged))


def corrupt(path: Path, statement: str) -> None:
    with sqlite3.connect(path / "store.sqlite3") as connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE segments SET tombstones = x'ff'", "segment"),
        ("UPDATE segments SET tombstones = x'00', dead = 0", "segment"),
        ("DELETE FROM chunks WHERE id = 1", "d00"),
        ("UPDATE chunks SET content = 'saltX' WHERE id = 1", "d00"),
        ("UPDATE documents SET metadata = '{\"n\": 7}' WHERE document = 'd02'", "d02"),
        ("UPDATE geometry SET data = x'00' WHERE document = 1", "d00"),
        ("DELETE FROM parts WHERE kind = 'keyword'", "keyword"),
        ("DELETE FROM segments", "collection"),
    ],
)
def test_rows_and_legs_that_disagree_are_named_and_mended(
    damaged: Path, statement: str, named: str, as_before: Embed
) -> None:
    corrupt(damaged, statement)
    store = LocalStore(damaged)

    findings = store.doctor()
    assert findings
    assert named in findings[0].place
    assert all(f.repaired for f in store.doctor(repair=True, embed=as_before))

    assert store.doctor() == []
    found = search(store)
    assert len(found["keyword"]) >= 10  # type: ignore[arg-type]
    assert sorted(found["rows"]) == found["vector"]  # type: ignore[arg-type]
    store.close()


def test_a_flipped_page_of_the_database_is_named(damaged: Path) -> None:
    file = damaged / "store.sqlite3"
    size = file.stat().st_size
    for at in range(4096 + 8, size, 4096):
        flip(file, at)
    store = LocalStore(damaged)

    with pytest.raises(StoreCorrupt, match=r"store\.sqlite3"):
        store.documents(S, C)
    assert any("store.sqlite3" in f.place + f.problem for f in store.doctor())
    store.close()


@pytest.mark.parametrize("size", [0, 1, 50, 100, 4096, 5000])
def test_a_truncated_database_is_named_or_empty(damaged: Path, size: int) -> None:
    file = damaged / "store.sqlite3"
    file.write_bytes(file.read_bytes()[:size])
    store = LocalStore(damaged)

    with pytest.raises(PinciteError, match=r"store\.sqlite3"):
        store.documents(S, C)
    store.close()


def test_another_programs_database_is_refused(path: Path, document: Make) -> None:
    path.mkdir()
    corrupt(path, "CREATE TABLE theirs (x)")
    store = LocalStore(path)

    with pytest.raises(StoreCorrupt, match="no Pincite store"):
        store.documents(S, C)
    with pytest.raises(StoreCorrupt, match="no Pincite store"):
        store.commit(S, C, [document("a", ["x"])])
    store.close()


def test_a_newer_format_says_so(damaged: Path) -> None:
    corrupt(damaged, f"PRAGMA user_version = {schema.FORMAT + 1}")

    with pytest.raises(StoreCorrupt, match="newer Pincite"):
        LocalStore(damaged).documents(S, C)


Write = Callable[[LocalStore, EmbeddedDocument], object]


@pytest.mark.parametrize(
    "write",
    [
        lambda store, made: store.setup(),
        lambda store, made: store.commit(S, C, [made]),
        lambda store, made: store.delete(S, C, ["d00"]),
        lambda store, made: store.set_metadata(S, C, "d00", {"n": 1}),
        lambda store, made: store.doctor(repair=True),
        lambda store, made: store.compact(),
    ],
    ids=["setup", "commit", "delete", "set_metadata", "doctor", "compact"],
)
def test_an_older_format_is_brought_up_to_date_by_any_writer(
    damaged: Path, document: Make, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    def add_table(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE notes (note TEXT)")

    monkeypatch.setattr(schema, "MIGRATIONS", {schema.FORMAT: add_table})
    newer = schema.FORMAT + 1
    monkeypatch.setattr(schema, "FORMAT", newer)
    monkeypatch.setattr("pincite.stores.local.database.FORMAT", newer)

    with pytest.raises(StoreCorrupt, match="older"):
        LocalStore(damaged).documents(S, C)
    store = LocalStore(damaged)
    write(store, document("new", ["salt"]))
    assert len(store.documents(S, C)) >= 10
    assert store.doctor() == []
    store.close()


def test_a_hostile_database_cannot_name_files_outside(damaged: Path, document: Make) -> None:
    victim = damaged.parent / "victim.seg"
    victim.write_bytes(b"mine")
    corrupt(damaged, f"INSERT INTO garbage VALUES ('../../victim.seg'), ('{victim}')")
    store = LocalStore(damaged)

    store.commit(S, C, [document("new", ["salt"])])

    assert victim.read_bytes() == b"mine"
    store.close()
    corrupt(damaged, "UPDATE parts SET file = '../../victim.seg' WHERE kind = 'keyword'")
    store = LocalStore(damaged)
    with pytest.raises(StoreCorrupt, match="victim"):
        search(store)
    with pytest.raises(StoreCorrupt, match="victim"):
        store.backup(damaged.parent / "copy")
    store.doctor(repair=True)
    assert victim.read_bytes() == b"mine"
    assert store.doctor() == []
    store.close()


def test_a_full_disk_says_so_and_keeps_the_old_version(
    damaged: Path, document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store = LocalStore(damaged)
    before = search(store)
    with monkeypatch.context() as patch:
        patch.setattr("pincite.stores.local.edit.write_file", full)
        with pytest.raises(StoreUnavailable, match="full"):
            store.commit(S, C, [document("d00", ["new salt"])])

    assert search(store) == before
    store.commit(S, C, [document("d00", ["new salt"])])
    assert search(store) != before
    store.close()


def test_a_database_that_cannot_grow_keeps_the_old_version(
    store: LocalStore, document: Make
) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    before = search(store)
    with store._home.database.held() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    big = [document(f"b{n}", ["x" * 5000]) for n in range(40)]

    with pytest.raises(StoreUnavailable, match="full"):
        store.commit(S, C, big)

    assert search(store) == before
    assert store.doctor() == []


def test_network_file_systems_are_refused_for_writing(
    tmp_path: Path, document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"/dev/sda1 / ext4 rw 0 0\nhost:/x {tmp_path}/far\\040away nfs4 rw 0 0\nbroken\n"
        f"/dev/sdb {tmp_path}/far\\040away/local xfs rw 0 0\n"
    )

    assert file_system_of(tmp_path / "far away" / "x", mounts=mounts) == "nfs4"
    assert file_system_of(tmp_path / "far away" / "local" / "x", mounts=mounts) == "xfs"
    assert file_system_of(tmp_path, mounts=tmp_path / "none") == ""
    refuse_network(tmp_path, mounts=mounts)
    with pytest.raises(StoreUnavailable, match="nfs4"):
        refuse_network(tmp_path / "far away", mounts=mounts)
    monkeypatch.setattr(refuse_network, "__kwdefaults__", {"mounts": mounts})
    with pytest.raises(StoreUnavailable, match="network file system"):
        LocalStore(tmp_path / "far away" / "s").commit(S, C, [document("a", ["x"])])


def test_a_backup_is_whole_and_stands_alone(damaged: Path, document: Make, tmp_path: Path) -> None:
    store = LocalStore(damaged)
    before = search(store)

    store.backup(tmp_path / "copy")
    store.commit(S, C, [document("d00", ["gone now"])])
    store.compact()
    store.commit(S, C, [document("zz", ["more"])])

    copy = LocalStore(tmp_path / "copy")
    assert search(copy) == before
    assert copy.doctor() == []
    copy.commit(S, C, [document("new", ["salt"])])
    assert copy.doctor() == []
    with pytest.raises(PinciteError, match="not an empty folder"):
        store.backup(tmp_path / "copy")
    copy.close()
    store.close()


def test_a_backup_copies_where_it_cannot_link(
    damaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_device(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    store = LocalStore(damaged)
    monkeypatch.setattr("pincite.stores.local.backup.os.link", other_device)

    store.backup(tmp_path / "copy")

    copy = LocalStore(tmp_path / "copy", read_only=True)
    assert search(copy) == search(store)
    copy.close()
    store.close()


def test_without_a_store_there_is_nothing_to_back_up(path: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match="nothing to back up"):
        LocalStore(path).backup(tmp_path / "copy")


def test_a_disk_that_fills_while_a_file_is_written_leaves_no_draft(
    damaged: Path, document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    store = LocalStore(damaged)
    before = sorted((damaged / "segments").iterdir())
    with monkeypatch.context() as patch:
        patch.setattr("pincite.segments.durable.os.fsync", full)
        with pytest.raises(StoreUnavailable, match="full"):
            store.commit(S, C, [document("new", ["salt"])])

    assert sorted((damaged / "segments").iterdir()) == before
    assert store.doctor() == []
    store.close()


def test_a_part_of_a_newer_version_says_so(
    damaged: Path, monkeypatch: pytest.MonkeyPatch, document: Make
) -> None:
    newer = {kind: version + 1 for kind, version in parts._VERSIONS.items()}
    with monkeypatch.context() as patch:
        patch.setattr(parts, "_VERSIONS", newer)
        store = LocalStore(damaged)
        store.commit(S, C, [document("new", ["salt"])])
        store.close()

    with pytest.raises(StoreCorrupt, match="newer Pincite"):
        search(LocalStore(damaged))


def test_a_database_that_another_program_holds_is_named(
    store: LocalStore, document: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.stores.local.database._BUSY_MS", 50)
    store.commit(S, C, [document("a", ["salt"])])
    other = sqlite3.connect(store.path / "store.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreLocked, match="another program"):
        store.commit(S, C, [document("b", ["salt"])])

    other.execute("ROLLBACK")
    other.close()
    store.commit(S, C, [document("b", ["salt"])])
    assert len(store.documents(S, C)) == 2


def test_a_value_beyond_sqlites_limit_is_refused(store: LocalStore, document: Make) -> None:
    store.setup()
    with store._home.database.held() as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000)

    with pytest.raises(InvalidArgument, match="Split the document"):
        store.commit(S, C, [document("a", ["salt " * 5000])])
    assert store.documents(S, C) == []
