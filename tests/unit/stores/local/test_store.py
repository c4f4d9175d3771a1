"""What is written comes back: rows, both legs, geometry, metadata, counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

from pincite.errors import (
    CollectionMismatch,
    EmbeddingError,
    InvalidArgument,
    InvalidQueryError,
    StoreNotFound,
    Unconfigured,
)
from pincite.model.documents import EmbeddedDocument, ModelIdentity
from pincite.model.fields import Field, FieldType
from pincite.model.filters import NOTHING, AllOf, DeclaredFilter, Not
from pincite.model.geometry import BboxRect, Word, WordBoxes
from pincite.stores.local.store import LocalStore

Make = Callable[..., EmbeddedDocument]
S, C = "someone", "papers"


def test_a_new_folder_is_empty_and_untouched(path: Path) -> None:
    store = LocalStore(path)
    reader = store.reader(S, [C])

    assert reader.bm25(C, query="word", limit=3) == []
    assert reader.near_vector(C, vector=[1.0, 0.0], limit=3) == []
    assert reader.hybrid(C, query="word", vector=[1.0], limit=3) == []
    assert reader.fetch(C, limit=3) == []
    assert list(reader.all_chunks()) == list(store.all_chunks()) == []
    assert store.documents(S, C) == store.list(S) == []
    assert store.geometry(S, C, "x") is None
    assert store.model(S, C) is None
    assert store.delete(S, C, ["x"]) == 0
    assert store.stats(S, C)["chunks"] == 0
    assert not path.exists()


def test_without_create_or_for_reading_a_store_must_be_there(path: Path) -> None:
    with pytest.raises(StoreNotFound, match="index something there first"):
        LocalStore(path, create=False)
    with pytest.raises(StoreNotFound):
        LocalStore(path, read_only=True)


def test_a_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    with pytest.raises(InvalidArgument, match="is a file"):
        LocalStore(tmp_path / "file")


def test_both_legs_find_a_document_and_say_where(store: LocalStore, document: Make) -> None:
    made = document("a.pdf", ["the quartz crystal", "a river of salt"], metadata={"year": 2020})
    store.commit(S, C, [made])
    reader = store.reader(S, [C])

    (hit,) = reader.bm25(C, query="Quartz", limit=5)
    assert hit.chunk.id == "a.pdf-0"
    assert hit.chunk.content == "the quartz crystal"
    assert (hit.chunk.document, hit.chunk.title) == ("a.pdf", "Title of a.pdf")
    assert (hit.chunk.subject, hit.chunk.collection) == (S, C)
    assert hit.chunk.pages == (1,)
    assert hit.chunk.bboxes == (BboxRect(1, 10.5, 20.25, 100.0, 40.0),)
    assert hit.chunk.metadata == {"year": 2020}
    assert hit.highlights == hit.spans == ((4, 10),)
    assert (hit.rank, hit.retriever) == (1, "keyword")
    assert hit.legs["keyword"].raw == hit.score > 0

    near = reader.near_vector(C, vector=made.vectors[1].tolist(), limit=1)
    assert [h.chunk.id for h in near] == ["a.pdf-1"]
    assert near[0].score == pytest.approx(1.0, abs=1e-3)
    assert near[0].retriever == "vector"
    assert near[0].chunk.context_header == "A > B"

    both = reader.hybrid(C, query="salt", vector=made.vectors[1].tolist(), limit=5)
    assert [h.chunk.id for h in both] == ["a.pdf-1", "a.pdf-0"]
    assert set(both[0].legs) == {"keyword", "vector"}
    assert both[0].spans == ((31, 35),)
    assert both[0].retriever == "hybrid"


def test_embed_text_is_indexed_and_content_is_highlighted(
    store: LocalStore, document: Make
) -> None:
    made = document("a", ["salt"])
    chunk = made.chunks[0].model_copy(update={"embed_text": "minerals > salt"})
    store.commit(S, C, [replace(made, chunks=[chunk])])

    (hit,) = store.reader(S, [C]).bm25(C, query="minerals", limit=1)

    assert hit.chunk.content == "salt"
    assert hit.highlights == ()


def test_filters_hold_on_both_legs_and_in_fetch(store: LocalStore, document: Make) -> None:
    for n in range(6):
        store.commit(S, C, [document(f"d{n}", [f"salt number {n}"], metadata={"n": n})])
    reader = store.reader(S, [C])
    where = AllOf((DeclaredFilter("n", "gte", 2), Not(DeclaredFilter("n", "eq", 4))))
    kept = {"d2-0", "d3-0", "d5-0"}

    assert {h.chunk.id for h in reader.bm25(C, query="salt", limit=9, where=where)} == kept
    vector = [1.0] * 8
    assert {h.chunk.id for h in reader.near_vector(C, vector=vector, limit=9, where=where)} == kept
    assert [c.id for c in reader.fetch(C, limit=9, where=where)] == sorted(kept)
    assert [i.document for i in store.documents(S, C, where)] == ["d2", "d3", "d5"]
    assert reader.bm25(C, query="salt", limit=9, where=NOTHING) == []
    with pytest.raises(InvalidQueryError, match="nope"):
        reader.bm25(C, query="salt", limit=9, where=DeclaredFilter("nope", "eq", 1))


def test_fetch_orders_by_reading_or_by_a_field(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("b", ["x y", "z w"], metadata={"n": 1})])
    store.commit(S, C, [document("a", ["p q"], metadata={"n": 2}), document("c", ["r s"])])
    reader = store.reader(S, [C])

    assert [c.id for c in reader.fetch(C, limit=9)] == ["a-0", "b-0", "b-1", "c-0"]
    assert [c.id for c in reader.fetch(C, limit=2)] == ["a-0", "b-0"]
    by_n = reader.fetch(C, limit=9, order_by="n", descending=True)
    assert [c.id for c in by_n] == ["a-0", "b-0", "b-1", "c-0"]
    with pytest.raises(InvalidQueryError, match="order"):
        reader.fetch(C, limit=9, order_by="nope")


def test_a_second_version_replaces_the_first_everywhere(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["old quartz", "old salt", "old mica"])])
    store.commit(S, C, [document("a", ["new basalt"])])
    reader = store.reader(S, [C])

    assert reader.bm25(C, query="quartz old", limit=9) == []
    assert [h.chunk.content for h in reader.bm25(C, query="basalt", limit=9)] == ["new basalt"]
    assert len(reader.near_vector(C, vector=[1.0] * 8, limit=9)) == 1
    assert [c.content for c in reader.all_chunks()] == ["new basalt"]
    assert store.stats(S, C)["vocabulary"] == 2
    assert store.vectors(S, C, "a").shape == (1, 8)


def test_deleting_removes_from_rows_and_both_legs(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document(n, [f"salt {n}", f"mica {n}"]) for n in ("a", "b", "c")])

    assert store.delete(S, C, ["a", "nope", "c", "a"]) == 4

    reader = store.reader(S, [C])
    assert [h.chunk.id for h in reader.bm25(C, query="salt", limit=9)] == ["b-0"]
    assert {h.chunk.id for h in reader.near_vector(C, vector=[1.0] * 8, limit=9)} == {"b-0", "b-1"}
    assert [i.document for i in store.documents(S, C)] == ["b"]
    assert store.geometry(S, C, "a") is None
    with pytest.raises(InvalidArgument, match="list"):
        store.delete(S, C, "b")  # type: ignore[arg-type]


def test_statistics_count_live_rows_only(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document(f"d{n}", [f"salt word{n}"]) for n in range(20)])
    store.delete(S, C, ["d0"])
    fresh = LocalStore(store.path.parent / "fresh")
    fresh.commit(S, C, [document(f"d{n}", [f"salt word{n}"]) for n in range(1, 20)])

    def scores(s: LocalStore) -> list[tuple[str, float]]:
        hits = s.reader(S, [C]).bm25(C, query="salt word3", limit=30)
        return [(h.chunk.id, h.score) for h in hits]

    assert scores(store) == scores(fresh)
    fresh.close()


def test_writing_the_same_again_writes_nothing(store: LocalStore, document: Make) -> None:
    made = document("a", ["one two", "three"], metadata={"tags": ["x"], "n": 1})
    store.commit(S, C, [made])
    before = store.stats(S, C)

    store.commit(S, C, [made])

    assert store.stats(S, C) == before
    store.commit(S, C, [replace(made, metadata={"tags": ["y"], "n": 1})])
    assert store.stats(S, C)["generation"] == before["generation"] + 1


def test_the_last_of_two_versions_in_one_commit_stands(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["first"]), document("a", ["second"])])

    assert [c.content for c in store.all_chunks()] == ["second"]


def test_a_bad_document_leaves_its_whole_commit_out(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["first"])])
    bad = document("c", ["third"])

    with pytest.raises(EmbeddingError):
        store.commit(S, C, [document("b", ["x"]), replace(bad, vectors=bad.vectors * np.nan)])
    with pytest.raises(CollectionMismatch, match=r"test--hash.*8.*other"):
        store.commit(S, C, [document("b", ["x"]), document("c", ["y"], endpoint="other")])
    with pytest.raises(CollectionMismatch):
        store.commit(S, C, [document("b", ["x"], dimension=4)])
    with pytest.raises(InvalidArgument, match="no chunks"):
        store.commit(S, C, [document("b", [])])
    assert [i.document for i in store.documents(S, C)] == ["a"]


def test_model_identity_is_kept(store: LocalStore, document: Make, path: Path) -> None:
    identity = ModelIdentity("m", 8, True, "q: ", "p: ", ((1.0,) * 8, (0.5,) * 8, (0.1,) * 8))
    store.commit(S, C, [document("a", ["x"], model=identity)])

    assert LocalStore(path, read_only=True).model(S, C) == ("test--hash", identity)


def test_raw_vectors_are_kept_and_scored_by_dot_product(store: LocalStore, document: Make) -> None:
    identity = ModelIdentity("m", 8, normalized=False)
    made = document("a", ["x"], model=identity)
    store.commit(S, C, [replace(made, vectors=np.full((1, 8), 2.0, dtype=np.float32))])

    (hit,) = store.reader(S, [C]).near_vector(C, vector=[3.0] * 8, limit=1)

    assert hit.score == 48.0
    huge = np.full((1, 8), 1e6, dtype=np.float32)
    with pytest.raises(EmbeddingError, match="65504"):
        store.commit(S, C, [replace(made, document="b", vectors=huge)])


def test_geometry_comes_back_whole(store: LocalStore, document: Make) -> None:
    made = document("a", ["héllo 世界"])
    words = WordBoxes([Word(0, 5, BboxRect(1, 1.0, 2.0, 3.0, 4.0))]).pack()
    assert made.geometry is not None
    geometry = replace(made.geometry, words=words, tables={"t1": "<table>ü</table>"})
    store.commit(S, C, [replace(made, geometry=geometry)])

    found = store.geometry(S, C, "a")

    assert found == geometry
    store.commit(S, C, [replace(made, geometry=None)])
    assert store.geometry(S, C, "a") is None


def test_metadata_is_verbatim(store: LocalStore, document: Make) -> None:
    metadata = {
        "when": datetime(2025, 1, 2, 3, 4, tzinfo=UTC),
        "day": date(2025, 1, 2),
        "deep": {"$datetime": "no date", "list": [1, 2.5, None, "ü", "\ud800"]},
        "big": 10**30,
        "yes": True,
    }
    store.commit(S, C, [document("a", ["x y"], metadata=metadata)])

    assert store.documents(S, C)[0].metadata == metadata
    (chunk,) = store.all_chunks()
    assert chunk.metadata == metadata
    where = DeclaredFilter("day", "gte", date(2025, 1, 1))
    assert len(store.reader(S, [C]).fetch(C, limit=1, where=where)) == 1


@pytest.mark.parametrize("value", [float("nan"), b"bytes", {1, 2}, object()])
def test_metadata_that_is_no_json_is_refused(
    store: LocalStore, document: Make, value: object
) -> None:
    with pytest.raises(InvalidArgument, match="'a'"):
        store.commit(S, C, [document("a", ["x"], metadata={"k": value})])


def test_rename_keeps_vectors_and_leaves_an_alias(store: LocalStore, document: Make) -> None:
    made = document("old", ["salt water", "fresh water"], metadata={"n": 1})
    store.commit(S, C, [made, document("other", ["mica"])])
    vectors = store.vectors(S, C, "old")

    store.rename(S, C, "old", "new")

    reader = store.reader(S, [C])
    assert [h.chunk.id for h in reader.bm25(C, query="salt", limit=5)] == ["new-0"]
    assert np.array_equal(store.vectors(S, C, "old"), vectors)
    assert np.array_equal(store.vectors(S, C, "new"), vectors)
    by_old = reader.fetch(C, limit=9, where=DeclaredFilter("document", "eq", "old"))
    assert [c.id for c in by_old] == ["new-0", "new-1"]
    assert [i.document for i in store.documents(S, C)] == ["new", "other"]
    with pytest.raises(InvalidArgument, match="there already"):
        store.rename(S, C, "new", "other")
    with pytest.raises(InvalidArgument, match="no document"):
        store.rename(S, C, "nope", "x")
    store.commit(S, C, [document("old", ["another document"])])
    assert [
        c.content for c in reader.fetch(C, limit=9, where=DeclaredFilter("document", "eq", "old"))
    ] == ["another document"]
    assert store.delete(S, C, ["new"]) == 2


def test_set_metadata_changes_filters_and_no_vector(store: LocalStore, document: Make) -> None:
    made = document("a", ["salt", "mica"], metadata={"n": 1}, chunk_metadata=[{"own": 1}, {}])
    store.commit(S, C, [made])
    vectors = store.vectors(S, C, "a")

    store.set_metadata(S, C, "a", {"n": 2, "new": "x"})

    reader = store.reader(S, [C])
    assert reader.fetch(C, limit=9, where=DeclaredFilter("n", "eq", 1)) == []
    found = reader.fetch(C, limit=9, where=DeclaredFilter("new", "eq", "x"))
    assert [c.metadata for c in found] == [{"n": 2, "new": "x", "own": 1}, {"n": 2, "new": "x"}]
    assert np.array_equal(store.vectors(S, C, "a"), vectors)
    store.commit(S, C, [made])
    assert store.documents(S, C)[0].metadata == {"n": 1}


def test_declared_fields_reach_what_was_stored_before(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["x"], metadata={"when": "2025-01-01", "empty": None})])
    integer, moment = Field(FieldType.INTEGER), Field(FieldType.DATETIME)

    store.declare(S, C, {"later": integer, "empty": moment})
    store.declare(S, C, {"later": integer})

    fields = store.reader(S, [C]).fields(C).fields
    assert fields["later"] == integer
    assert fields["when"] == Field(FieldType.KEYWORD)
    with pytest.raises(InvalidArgument, match="later"):
        store.declare(S, C, {"later": moment})
    with pytest.raises(InvalidArgument, match="title"):
        store.declare(S, C, {"title": integer})


def test_declaring_before_the_first_document(store: LocalStore, document: Make) -> None:
    store.declare(S, C, {"when": Field(FieldType.DATETIME)})
    assert store.list(S) == []

    store.commit(S, C, [document("a", ["x"], metadata={"when": "2025-01-01"})])

    where = DeclaredFilter("when", "lt", "2025-06-01")
    assert len(store.reader(S, [C]).fetch(C, limit=9, where=where)) == 1


def test_everything_is_there_after_reopening(path: Path, document: Make) -> None:
    first = LocalStore(path)
    first.commit(S, C, [document("a", ["salt", "mica"], metadata={"n": 1}, language="de")])
    first.close()

    second = LocalStore(path, create=False)

    assert [h.chunk.id for h in second.reader(S, [C]).bm25(C, query="salt", limit=5)] == ["a-0"]
    info = second.documents(S, C)[0]
    assert (info.language, info.chunks, info.fingerprint) == ("de", 2, "chunker 1")
    assert [(c.name, c.documents, c.chunks) for c in second.list(S)] == [(C, 1, 2)]
    second.close()


def test_read_only_refuses_to_write(path: Path, document: Make, store: LocalStore) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    reading = LocalStore(path, read_only=True)

    with pytest.raises(Unconfigured, match="read-only"):
        reading.commit(S, C, [document("b", ["x"])])
    assert len(reading.documents(S, C)) == 1
    reading.close()


def test_half_a_surrogate_pair_keeps_offsets_and_is_refused_in_ids(
    store: LocalStore, document: Make
) -> None:
    store.commit(S, C, [document("a", ["sa\ud800lt quartz"])])

    (hit,) = store.reader(S, [C]).bm25(C, query="quartz", limit=1)
    assert hit.chunk.content == "sa\ufffdlt quartz"
    geometry = store.geometry(S, C, "a")
    assert geometry is not None
    start, end = hit.spans[0]
    assert geometry.markdown[start:end] == "quartz"
    with pytest.raises(InvalidArgument, match="surrogate"):
        store.commit(S, C, [document("\udc80", ["x"])])


NAMES = [
    "plain", "with space", "a/b", "../../etc", "..", ".", "C:\\x", "quote'\"; DROP TABLE chunks;--",
    "ünïcode", "unïcode", "日本語", "a\nb", "nul\0byte", "%s%d?#&", "x" * 10_000, "PLAIN", "plain ",
]  # fmt: skip


def test_any_name_stays_apart_and_inside_the_folder(
    store: LocalStore, document: Make, tmp_path: Path
) -> None:
    for name in NAMES:
        store.commit(name, C, [document("same id", [f"subject {NAMES.index(name)}"])])
        store.commit(S, name, [document(name, [f"collection {NAMES.index(name)}"])])

    for number, name in enumerate(NAMES):
        (hit,) = store.reader(name, [C]).bm25(C, query="subject", limit=99)
        assert hit.chunk.content == f"subject {number}"
        (hit,) = store.reader(S, [name]).bm25(name, query="collection", limit=99)
        assert (hit.chunk.content, hit.chunk.document) == (f"collection {number}", name)
    assert [c.name for c in store.list(S)] == sorted(NAMES)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store"]
    for blank in ("", "  "):
        with pytest.raises(InvalidArgument, match="blank"):
            store.commit(blank, C, [document("a", ["x"])])
        with pytest.raises(InvalidArgument, match="blank"):
            store.commit(S, blank, [document("a", ["x"])])


def test_a_tenants_scores_ignore_the_others(store: LocalStore, document: Make) -> None:
    store.commit("one", C, [document("a", ["salt and water"]), document("b", ["sand"])])
    reader = store.reader("one", [C])
    before = [(h.chunk.id, h.score) for h in reader.bm25(C, query="salt", limit=9)]

    store.commit("two", C, [document(f"d{n}", ["salt salt salt"]) for n in range(30)])
    store.commit("one", "other", [document(f"d{n}", ["salt"]) for n in range(30)])

    assert [(h.chunk.id, h.score) for h in reader.bm25(C, query="salt", limit=9)] == before
    with pytest.raises(InvalidQueryError, match="Unknown target 'other'"):
        reader.bm25("other", query="salt", limit=1)


def test_ties_break_by_chunk_id_across_segments(store: LocalStore, document: Make) -> None:
    for name in ("d3", "d1", "d2", "d10"):
        store.commit(S, C, [document(name, ["same words here"])])

    hits = store.reader(S, [C]).bm25(C, query="words", limit=3)

    assert [h.chunk.id for h in hits] == ["d1-0", "d10-0", "d2-0"]


def test_arguments_are_checked(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    reader = store.reader(S, [C])

    with pytest.raises(InvalidQueryError, match="limit"):
        reader.bm25(C, query="salt", limit=0)
    with pytest.raises(InvalidQueryError, match="dimensions"):
        reader.near_vector(C, vector=[1.0], limit=1)
    with pytest.raises(Unconfigured, match="embedder"):
        reader.hybrid(C, query="salt", limit=1)
    with pytest.raises(InvalidArgument, match="sequence"):
        store.reader(S, C)


@pytest.mark.parametrize(
    "change",
    [
        {"chunk_index": -1},
        {"chunk_index": 1 << 32},
        {"start_char": -1},
        {"start_char": 9, "end_char": 3},
        {"end_char": 1 << 70},
    ],
)
def test_places_that_cannot_be_are_refused(
    store: LocalStore, document: Make, change: dict[str, int]
) -> None:
    made = document("a", ["salt"])
    chunk = made.chunks[0].model_copy(update=change)

    with pytest.raises(InvalidArgument, match="'a'"):
        store.commit(S, C, [replace(made, chunks=[chunk])])
    assert store.documents(S, C) == []


def test_a_collection_keeps_its_own_weight(store: LocalStore, document: Make) -> None:
    made = document("a", ["salt water", "mica"])
    store.commit(S, C, [made])
    reader = store.reader(S, [C])
    vector = made.vectors[1].tolist()

    store.set_alpha(S, C, 1.0)
    assert [set(h.legs) for h in reader.hybrid(C, query="salt", vector=vector, limit=9)] == [
        {"vector"},
        {"vector"},
    ]
    store.set_alpha(S, C, 0.0)
    hits = reader.hybrid(C, query="salt", vector=vector, limit=9)
    assert [h.chunk.id for h in hits] == ["a-0"]
    with pytest.raises(InvalidQueryError, match="alpha"):
        store.set_alpha(S, C, 1.5)


def test_names_that_cannot_be_stored_are_unknown_or_refused(
    store: LocalStore, document: Make
) -> None:
    half = "a\udc80"
    store.commit(S, C, [document("a", ["salt"], content_hash=half, fingerprint=half)])

    assert store.delete(S, C, [half]) == 0
    assert store.geometry(S, C, half) is None
    assert store.documents(S, C, DeclaredFilter("document", "eq", half)) == []
    with pytest.raises(InvalidArgument, match="no document"):
        store.vectors(S, C, half)
    with pytest.raises(InvalidArgument, match="no document"):
        store.rename(S, C, half, "b")
    with pytest.raises(InvalidArgument, match="surrogate"):
        store.rename(S, C, "a", half)
    with pytest.raises(InvalidArgument, match="surrogate"):
        store.list(half)
    with pytest.raises(InvalidArgument, match="surrogate"):
        store.reader(half, [C]).bm25(C, query="salt", limit=1)
    with pytest.raises(InvalidArgument, match="surrogate"):
        store.commit(half, C, [document("a", ["salt"])])


def test_an_identity_that_comes_late_does_not_change_stored_scores(
    store: LocalStore, document: Make
) -> None:
    store.commit(S, C, [document("a", ["salt"])])
    raw = ModelIdentity("m", 8, normalized=False)
    store.commit(S, C, [document("b", ["mica"], model=raw)])

    hits = store.reader(S, [C]).near_vector(C, vector=[5.0] * 8, limit=9)

    assert all(-1.0 <= hit.score <= 1.0 for hit in hits)
    assert store.model(S, C) == ("test--hash", None)
    unit = ModelIdentity("m", 8)
    store.commit(S, C, [document("c", ["mica"], model=unit)])
    assert store.model(S, C) == ("test--hash", unit)


def test_rewriting_changes_the_model_in_one_step(store: LocalStore, document: Make) -> None:
    store.commit(S, C, [document("a", ["salt"], metadata={"n": 1}), document("b", ["mica"])])
    store.rename(S, C, "a", "new")
    other = [
        document("new", ["salt"], dimension=4, endpoint="other", model=ModelIdentity("o", 4)),
        document("c", ["river"], dimension=4, endpoint="other", model=ModelIdentity("o", 4)),
    ]

    with pytest.raises(CollectionMismatch):
        store.commit(S, C, other)
    with pytest.raises(CollectionMismatch):
        store.rewrite(S, C, [*other, document("d", ["x"])])
    assert [i.document for i in store.documents(S, C)] == ["b", "new"]
    store.rewrite(S, C, other)

    reader = store.reader(S, [C])
    assert store.model(S, C) == ("other", ModelIdentity("o", 4))
    assert [i.document for i in store.documents(S, C)] == ["c", "new"]
    assert len(reader.near_vector(C, vector=[1.0] * 4, limit=9)) == 2
    assert reader.bm25(C, query="mica", limit=9) == []
    assert store.vectors(S, C, "a").shape == (1, 4)
    assert reader.fields(C).fields["n"] == Field(FieldType.INTEGER)
    assert store.doctor() == []
    with pytest.raises(InvalidArgument, match="delete"):
        store.rewrite(S, C, [])
