"""A store written by an earlier version opens in every later one.

The files in ``golden/`` are never written again: ``format1.zip`` is of the first version,
``format2.zip`` of the first that keeps the vectors of a list together. A new format gets its own:
``python tests/unit/stores/local/test_golden.py FILE`` writes one with the code as it is.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, Geometry, ModelIdentity
from pincite.model.fields import Field, FieldType
from pincite.model.filters import DeclaredFilter, Filter
from pincite.model.geometry import BboxRect, TableSpan, Word, WordBoxes
from pincite.stores.local import edit
from pincite.stores.local.store import LocalStore

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.zip"))
S, C = "tenant/ü", "papers"
MODEL = ModelIdentity("m", 4, True, "query: ", "", ((1.0, 0.0, 0.0, 0.0),) * 3)
SALT = "Salt of the Dead Sea, err-4021."
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |"


def documents() -> list[EmbeddedDocument]:
    markdown = f"{SALT}\n\n{TABLE}"
    start = len(SALT) + 2
    words = WordBoxes([Word(0, 4, BboxRect(1, 10.0, 20.0, 30.0, 32.0))]).pack()
    salt = ChunkResult(
        content=SALT,
        chunk_index=0,
        end_char=len(SALT),
        pages=[1],
        bboxes=[BboxRect(1, 10.0, 20.0, 500.0, 40.5)],
        context_header="Waters > Seas",
    )
    table = ChunkResult(
        content=TABLE,
        chunk_index=1,
        start_char=start,
        end_char=start + len(TABLE),
        pages=[1, 2],
        tables=[TableSpan(0, len(TABLE), "t1")],
        embed_text=f"numbers {TABLE}",
    )
    geometry = Geometry(
        markdown,
        [(0, start, 1), (start, len(markdown), 2)],
        {"1": (595.0, 842.0)},
        words,
        {"t1": "<table/>"},
    )
    return [
        EmbeddedDocument(
            "old name.pdf",
            "Dead Sea",
            [salt, table],
            np.array([[1, 0, 0, 0], [0, 3, 4, 0]], dtype=np.float32),
            "golden--m",
            source="/files/sea.pdf",
            content_hash="ab" * 32,
            fingerprint="chunker 1",
            language="en",
            model=MODEL,
            metadata={
                "year": 2020,
                "day": date(2025, 1, 2),
                "tags": ["x", "y"],
                "odd": {"k": None},
            },
            chunk_metadata=[{"own": 1.5}, {}],
            geometry=geometry,
        ),
        EmbeddedDocument(
            "haus.md",
            "Haus",
            [ChunkResult(content="Die Häuser am Meer", chunk_index=0, end_char=18)],
            np.array([[0, 0, 0, 1]], dtype=np.float32),
            "golden--m",
            language="de",
            model=MODEL,
        ),
        EmbeddedDocument(
            "gone.md",
            "Gone",
            [ChunkResult(content=f"gone salt {n}", chunk_index=n) for n in range(20)],
            np.ones((20, 4), dtype=np.float32),
            "golden--m",
            language="en",
            model=MODEL,
        ),
    ]


def write(target: Path) -> None:
    """Write a golden file: parts as blobs and as files, dead rows, an alias, declared fields."""
    with tempfile.TemporaryDirectory() as folder:
        store = LocalStore(Path(folder) / "store")
        store.declare(S, C, {"later": Field(FieldType.DATETIME)})
        store.commit(S, C, documents())
        edit.LARGE = 0
        store.rename(S, C, "old name.pdf", "sea.pdf")
        store.set_alpha(S, C, 0.25)
        store.commit("other", C, documents()[1:2])
        store.backup(Path(folder) / "copy")
        store.close()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted((Path(folder) / "copy").rglob("*")):
                archive.write(file, file.relative_to(Path(folder) / "copy"))


@pytest.fixture(params=GOLDEN, ids=lambda file: file.stem)
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path / "store")
    return tmp_path / "store"


def test_there_is_a_golden_file() -> None:
    assert [file.name for file in GOLDEN] == ["format1.zip", "format2.zip"]
    assert GOLDEN[0].stat().st_size < 40_000


def check(store: LocalStore) -> None:
    reader = store.reader(S, [C])
    salt, haus = documents()[:2]

    def found(where: Filter) -> list[str]:
        return [chunk.id for chunk in reader.fetch(C, where=where, limit=50)]

    (hit, *_) = reader.bm25(C, query="dead sea ERR-4021", limit=3)
    assert (hit.chunk.id, hit.chunk.content) == ("sea.pdf-0", SALT)
    assert hit.chunk.bboxes == tuple(salt.chunks[0].bboxes)
    assert hit.chunk.metadata == {**salt.metadata, "own": 1.5}
    assert hit.chunk.context_header == "Waters > Seas"
    assert [h.chunk.id for h in reader.bm25(C, query="haus", limit=9)] == ["haus.md-0"]
    assert [h.chunk.id for h in reader.bm25(C, query="numbers", limit=9)] == ["sea.pdf-1"]
    (near,) = reader.near_vector(C, vector=[0, 0.6, 0.8, 0], limit=1)
    assert (near.chunk.id, near.score) == ("sea.pdf-1", pytest.approx(1.0, abs=1e-3))
    assert near.chunk.tables == tuple(salt.chunks[1].tables)
    assert found(DeclaredFilter("document", "eq", "old name.pdf")) == ["sea.pdf-0", "sea.pdf-1"]
    assert found(DeclaredFilter("day", "lt", date(2025, 6, 1))) == ["sea.pdf-0", "sea.pdf-1"]
    assert found(DeclaredFilter("tags", "contains_all", ["x", "y"]))[0] == "sea.pdf-0"
    assert found(DeclaredFilter("own", "gt", 1)) == ["sea.pdf-0"]
    assert reader.fields(C).fields["later"] == Field(FieldType.DATETIME)
    assert store.geometry(S, C, "sea.pdf") == salt.geometry
    assert store.model(S, C) == ("golden--m", MODEL)
    info = {i.document: i for i in store.documents(S, C)}
    assert info["sea.pdf"].content_hash == "ab" * 32
    assert info["sea.pdf"].metadata == salt.metadata
    assert (info["haus.md"].language, info["haus.md"].title) == ("de", haus.title)
    assert len(store.documents("other", C)) == 1
    assert store.doctor() == []


def test_a_golden_store_is_read(golden: Path) -> None:
    before = {file.name for file in golden.iterdir()}
    store = LocalStore(golden, read_only=True)

    check(store)

    store.close()
    assert {f.name for f in golden.iterdir()} - before <= {"store.sqlite3-shm", "store.sqlite3-wal"}


def test_a_golden_store_is_written_to(golden: Path) -> None:
    store = LocalStore(golden)
    store.setup()
    check(store)

    store.commit(S, C, documents()[2:])
    store.delete(S, C, ["gone.md"])
    check(store)
    store.compact()

    check(store)
    store.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
