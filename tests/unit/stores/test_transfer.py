"""A collection as a file and back, between the local, the memory and the PostgreSQL store."""

from __future__ import annotations

import builtins
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.errors import (
    CollectionMismatch,
    InvalidArgument,
    MissingExtra,
    Unconfigured,
)
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, Geometry, ModelIdentity, Progress
from pincite.model.fields import Field, FieldType
from pincite.model.geometry import BboxRect, TableSpan, Word, WordBoxes
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore
from pincite.stores.ports import SyncStore
from pincite.stores.transfer import export_collection, import_collection
from pincite.stores.uri import open_sync_store

Store = Any
MakeStore = Callable[[], Store]

S, C = "tenant/ü", "papers"
MODEL = ModelIdentity("m", 5, True, "query: ", "", ((0.1, 0.2, 0.3, 0.4, 0.5),) * 3)
HAS_ARROW = importlib.util.find_spec("pyarrow") is not None


def rows(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 5)).astype(np.float32)


def documents(model: ModelIdentity = MODEL) -> list[EmbeddedDocument]:
    markdown = "Salt of the sea.\n\n| a |\n|---|\n| 1 |"
    words = WordBoxes([Word(0, 4, BboxRect(1, 10.0, 20.0, 30.1, 32.0))]).pack()
    salt = ChunkResult(
        content=markdown[:16],
        chunk_index=0,
        end_char=16,
        pages=[1],
        bboxes=[BboxRect(1, 10.0, 20.125, 500.0, 40.1)],
        context_header="Waters > Seas",
    )
    table = ChunkResult(
        content=markdown[18:],
        chunk_index=3,
        start_char=18,
        end_char=len(markdown),
        pages=[1, 2],
        tables=[TableSpan(0, 17, "t1")],
        embed_text="numbers of the sea",
        unit_id="u",
        unit_chunk_index=2,
        unit_refs=["x", "y"],
    )
    geometry = Geometry(
        markdown,
        [(0, 18, 1), (18, len(markdown), 2)],
        {"1": (595.0, 842.5)},
        words,
        {"t1": "<table/>"},
    )
    return [
        EmbeddedDocument(
            "old.pdf",
            "Dead Sea",
            [salt, table],
            rows(2, 1),
            "golden--m",
            source="/files/sea.pdf",
            content_hash="ab" * 32,
            fingerprint="chunker 1",
            language="en",
            model=model,
            metadata={
                "year": 2020,
                "day": date(2025, 1, 2),
                "at": datetime(2025, 1, 2, 3, tzinfo=UTC),
                "tags": ["x", "y"],
                "odd": {"$date": "no date", "k": None},
            },
            chunk_metadata=[{"own": 1.5}, {}],
            geometry=geometry,
        ),
        EmbeddedDocument(
            "häuser\u2028.md",
            "Haus",
            [ChunkResult(content="Die Häuser am Meer \ud800", chunk_index=0, end_char=20)],
            np.zeros((1, 5), dtype=np.float32),
            "golden--m",
            model=model,
            metadata={"plain": {"$date": "2020-01-01"}},
        ),
        *(
            EmbeddedDocument(
                f"d{n:02}",
                "",
                [ChunkResult(content=f"river {n} {i}", chunk_index=i) for i in range(3)],
                rows(3, 10 + n),
                "golden--m",
                model=model,
            )
            for n in range(6)
        ),
    ]


def fill(store: Store) -> None:
    store.declare(S, C, {"later": Field(FieldType.DATETIME), "body": Field(FieldType.TEXT, True)})
    store.commit(S, C, documents())
    store.rename(S, C, "old.pdf", "mid.pdf")
    store.rename(S, C, "mid.pdf", "sea.pdf")
    store.delete(S, C, ["d03"])


def state(store: Store) -> dict[str, Any]:
    """Everything that a store says of a collection."""
    reader = store.reader(S, [C])
    infos = store.documents(S, C)
    geometries = {info.document: store.geometry(S, C, info.document) for info in infos}
    keyword = reader.bm25(C, query="sea numbers river haus", limit=99)
    near = reader.near_vector(C, vector=[1, 2, 3, 4, 5], limit=99)
    return {
        "documents": infos,
        "chunks": [
            replace(c, content=c.content.replace("\ud800", "\ufffd")) for c in reader.all_chunks()
        ],
        "vectors": [store.vectors(S, C, info.document).tobytes() for info in infos],
        "geometry": {
            name: g
            and (
                g.markdown,
                [tuple(r) for r in g.page_ranges],
                dict(g.page_dimensions),
                g.words,
                dict(g.tables),
            )
            for name, g in geometries.items()
        },
        "fields": reader.fields(C),
        "model": store.model(S, C),
        "aliases": store.aliases(S, C),
        "keyword": [(hit.chunk.id, hit.score) for hit in keyword],
        # A database multiplies in single precision.
        "near": [(hit.chunk.id, round(hit.score, 4)) for hit in near],
    }


@pytest.fixture
def local(tmp_path: Path) -> Iterator[MakeStore]:
    made: list[LocalStore] = []

    def make() -> LocalStore:
        made.append(LocalStore(tmp_path / f"store{len(made)}"))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> Iterator[MakeStore]:
    """The server is started at the first call."""
    made: list[SyncStore] = []

    def make() -> SyncStore:
        uri = request.getfixturevalue("postgres_uri")
        schema = next(request.getfixturevalue("postgres_schemas"))
        place = f"{uri}{'&' if '?' in uri else '?'}schema={schema}"
        made.append(open_sync_store(place, create=True))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def makers(local: MakeStore, postgres: MakeStore) -> dict[str, MakeStore]:
    return {"local": local, "memory": MemoryStore, "postgres": postgres}


ENDINGS = [
    ".jsonl",
    pytest.param(".parquet", marks=pytest.mark.skipif(not HAS_ARROW, reason="needs pyarrow")),
]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("source", "target"),
    [*product(["local", "memory"], repeat=2), ("local", "postgres"), ("postgres", "local")],
)
def test_what_was_exported_is_imported_whole(
    makers: dict[str, MakeStore], tmp_path: Path, source: str, target: str, ending: str
) -> None:
    first, second = makers[source](), makers[target]()
    fill(first)
    steps: list[Progress] = []
    path = tmp_path / f"papers{ending}"

    exported = export_collection(first, S, C, path, steps.append)
    imported = import_collection(second, S, C, path, steps.append)

    assert state(second) == state(first)
    assert (exported.documents, exported.chunks) == (7, 18)
    assert exported.bytes == path.stat().st_size
    assert (len(imported.added), imported.updated, imported.chunks) == (7, (), 18)
    assert {step.stage for step in steps} == {"export", "check", "import"}
    assert (steps[-1].done, steps[-1].total) == (7, 7)
    again = import_collection(second, S, C, path)
    assert (again.added, len(again.updated)) == ((), 7)
    assert state(second) == state(first)
    # And once more, out of the second store: the same records.
    export_collection(second, S, C, tmp_path / f"again{ending}")
    if ending == ".jsonl":
        lines = [f.read_bytes().splitlines()[:-1] for f in (path, tmp_path / "again.jsonl")]
        # Half of a surrogate pair is kept in memory only.
        assert [line.replace(b"ud800", b"ufffd") for line in lines[0]] == [
            line.replace(b"ud800", b"ufffd") for line in lines[1]
        ]


def test_unit_rows_stay_bit_for_bit(makers: dict[str, MakeStore], tmp_path: Path) -> None:
    """Unit length is not reached again by float16 rows: they must not be rounded twice."""
    for name in ("local", "memory", "postgres"):
        first, second = makers[name](), makers[name]()
        for size, seed in ((2, 0), (3, 1), (64, 2)):
            made = np.random.default_rng(seed).normal(size=(300, size)).astype(np.float32)
            chunks = [ChunkResult(content=f"salt {n}", chunk_index=n) for n in range(300)]
            first.commit("s", f"c{size}", [EmbeddedDocument("d", "", chunks, made, "e")])
            export_collection(first, "s", f"c{size}", tmp_path / f"{name}{size}.jsonl")
            import_collection(second, "s", f"c{size}", tmp_path / f"{name}{size}.jsonl")
            before, after = (s.vectors("s", f"c{size}", "d") for s in (first, second))
            assert np.array_equal(before, after)


def test_raw_vectors_stay_raw(makers: dict[str, MakeStore], tmp_path: Path) -> None:
    raw = ModelIdentity("raw", 2, normalized=False)
    chunk = [ChunkResult(content="salt", chunk_index=0)]
    made = EmbeddedDocument("d", "", chunk, np.array([[3, 400.5]], np.float32), "e", model=raw)
    pairs = [("local", "memory"), ("memory", "local"), ("local", "postgres"), ("postgres", "local")]
    for number, (source, target) in enumerate(pairs):
        first, second = makers[source](), makers[target]()
        first.commit("s", "c", [made])
        export_collection(first, "s", "c", tmp_path / f"{number}.jsonl")
        import_collection(second, "s", "c", tmp_path / f"{number}.jsonl")
        assert second.vectors("s", "c", "d").tolist() == [[3, 400.5]]


@pytest.mark.parametrize("kind", ["local", "postgres"])
def test_the_weight_of_the_vector_side_goes_along(
    makers: dict[str, MakeStore], kind: str, tmp_path: Path
) -> None:
    first, second = makers[kind](), makers[kind]()
    fill(first)
    first.set_alpha(S, C, 0.25)
    export_collection(first, S, C, tmp_path / "a.jsonl")

    assert import_collection(second, S, C, tmp_path / "a.jsonl").warnings == ()
    assert second.alpha(S, C) == 0.25
    (warning,) = import_collection(MemoryStore(), S, C, tmp_path / "a.jsonl").warnings
    assert "alpha=0.25" in warning


def test_an_alias_gives_way_to_a_document(local: MakeStore, tmp_path: Path) -> None:
    first = local()
    fill(first)
    export_collection(first, S, C, tmp_path / "a.jsonl")
    for target in (local(), MemoryStore()):
        target.commit(S, C, [replace(documents()[2], document="old.pdf")])
        import_collection(target, S, C, tmp_path / "a.jsonl")
        assert target.aliases(S, C) == {"mid.pdf": "sea.pdf"}
        assert "old.pdf" in {info.document for info in target.documents(S, C)}


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    store = MemoryStore()
    fill(store)
    export_collection(store, S, C, tmp_path / "papers.jsonl")
    return tmp_path / "papers.jsonl"


def refused(path: Path, *named: str) -> None:
    store = MemoryStore()
    with pytest.raises(InvalidArgument) as caught:
        import_collection(store, S, C, path)
    for name in named:
        assert name in str(caught.value)
    assert store.documents(S, C) == []
    assert store.model(S, C) is None


def test_a_file_cut_anywhere_is_refused_with_the_line(exported: Path) -> None:
    data = exported.read_bytes()
    lines = data.splitlines(keepends=True)
    for count in range(len(lines)):
        exported.write_bytes(b"".join(lines[:count]))
        refused(exported, f"line {count + 1}" if count else "papers.jsonl", "again")
        exported.write_bytes(b"".join(lines[:count]) + lines[count][:-10])
        refused(exported, f"line {count + 1}")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda lines: lines[:1] + lines[2:], "line 2"),
        (lambda lines: [*lines, b'{"document": "more"}\n'], "more follows"),
        (lambda lines: [*lines[:-2], lines[-1]], "line"),
        (lambda lines: [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]], "newer"),
        (lambda lines: [b'{"a":1}\n', *lines[1:]], "no export"),
        (lambda lines: [b"[1]\n"], "no JSON object"),
        (lambda lines: [b"PK\x03\x04 \xff\n"], "no JSON"),
        (lambda lines: [], "torn"),
        (lambda lines: [line.replace(b"river 1", b"river 7") for line in lines], "checksum"),
        (lambda lines: [line.replace(b'"chunks":3', b'"chunks":-3') for line in lines], "line"),
        (lambda lines: [line.replace(b'"vector":"', b'"vector":"AAAA') for line in lines], "line"),
        (lambda lines: [line.replace(b'"vector":"', b'"vector":"!') for line in lines], "line 3"),
        (lambda lines: [line.replace(b'"content":', b'"contents":') for line in lines], "line 2"),
        (lambda lines: [line.replace(b'"float16"', b'"int8"') for line in lines], "line 1"),
    ],
)
def test_a_changed_file_is_refused_before_any_write(
    exported: Path, change: Callable[[list[bytes]], list[bytes]], named: str
) -> None:
    exported.write_bytes(b"".join(change(exported.read_bytes().splitlines(keepends=True))))
    refused(exported, named)


def test_another_model_is_refused_before_any_write(
    makers: dict[str, MakeStore], exported: Path
) -> None:
    other = replace(MODEL, name="other", probe=((0.5, 0.1, 0.0, 0.0, 0.0),) * 3)
    for make in makers.values():
        store = make()
        store.commit(S, C, [replace(d, document="mine") for d in documents(other)[2:3]])
        before = state(store)
        with pytest.raises(CollectionMismatch, match="other"):
            import_collection(store, S, C, exported)
        assert state(store) == before


def test_a_field_of_another_type_is_refused_before_any_write(exported: Path) -> None:
    store = MemoryStore()
    store.declare(S, C, {"year": Field(FieldType.KEYWORD)})
    with pytest.raises(InvalidArgument, match="'year' is keyword"):
        import_collection(store, S, C, exported)
    assert store.documents(S, C) == []


def test_an_export_writes_over_nothing(exported: Path, tmp_path: Path) -> None:
    store = MemoryStore()
    fill(store)
    before = exported.read_bytes()

    with pytest.raises(InvalidArgument, match="is there already"):
        export_collection(store, S, C, exported)
    with pytest.raises(InvalidArgument, match="holds no documents"):
        export_collection(store, S, "other", tmp_path / "other.jsonl")
    with pytest.raises(InvalidArgument, match="no file"):
        import_collection(store, S, C, tmp_path)

    assert exported.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["papers.jsonl"]


def test_an_export_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = MemoryStore()
    fill(store)

    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_collection(store, S, C, tmp_path / "a.jsonl", stop)
    assert list(tmp_path.iterdir()) == []


def test_an_export_beside_a_writer_is_of_one_state(local: MakeStore, tmp_path: Path) -> None:
    store = local()
    fill(store)
    before = state(store)
    done = []

    def write(progress: Progress) -> None:
        if not done:
            done.append(progress)
            store.delete(S, C, ["d04"])
            store.commit(S, C, [replace(documents()[2], document="d05", vectors=rows(3, 99))])
            assert isinstance(store, LocalStore)
            store.compact()

    export_collection(store, S, C, tmp_path / "a.jsonl", write)

    target = MemoryStore()
    import_collection(target, S, C, tmp_path / "a.jsonl")
    assert state(target) == before
    assert state(store) != before


def test_a_store_that_hands_out_nothing_is_named(tmp_path: Path, exported: Path) -> None:
    class Closed:
        """A store of other people."""

    with pytest.raises(Unconfigured, match="Closed does not hand out"):
        export_collection(Closed(), S, C, tmp_path / "a.jsonl")  # type: ignore[arg-type]
    with pytest.raises(Unconfigured, match="Closed"):
        import_collection(Closed(), S, C, exported)  # type: ignore[arg-type]


def test_parquet_needs_its_extra(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    store = MemoryStore()
    fill(store)
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and more")

    with pytest.raises(MissingExtra, match=r"pincite\[parquet\]"):
        export_collection(store, S, C, tmp_path / "a.parquet")
    with pytest.raises(MissingExtra, match=r"pincite\[parquet\]"):
        import_collection(store, S, C, tmp_path / "b.parquet")
    assert not list(tmp_path.glob("a.parquet*"))


@pytest.mark.skipif(not HAS_ARROW, reason="needs pyarrow")
def test_a_torn_parquet_file_is_refused(tmp_path: Path) -> None:
    store = MemoryStore()
    fill(store)
    path = tmp_path / "a.parquet"
    export_collection(store, S, C, path)
    data = path.read_bytes()
    for size in (4, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        refused(path, "a.parquet", "torn")


def test_lines_are_plain_json(exported: Path) -> None:
    header, first, *_ = [json.loads(line) for line in exported.read_text("ascii").splitlines()]
    assert (header["pincite"], header["version"], header["dtype"]) == ("export", 1, "float16")
    assert header["fields"]["later"] == ["datetime", False, True]
    assert first["document"] == "d00"
