"""What stores over points do beyond the contract, shown on Qdrant's local mode."""

import uuid
from dataclasses import replace

import numpy as np
import pytest

from pincite.errors import CollectionMismatch, InvalidArgument, StoreUnavailable
from pincite.model.documents import Geometry, ModelIdentity
from pincite.model.filters import DeclaredFilter
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore
from pincite.stores.points.keys import packed, point_id, tenant_of
from pincite.stores.points.keyword import DRIFT
from pincite.stores.points.store import PointStore
from pincite.stores.qdrant.backend import QdrantBackend
from pincite.stores.qdrant.opening import open_qdrant
from pincite.stores.transfer import export_collection, import_collection
from pincite.testing.samples import embed, whole

S, C = "ann", "papers"
WORDS = ("quartz", "mica", "granite", "gold", "rain", "basalt", "salt", "river")


@pytest.fixture
def store():
    made = open_qdrant(":memory:")
    made.setup()
    yield made
    made.close()


def text(rng, length):
    return " ".join(rng.choice(WORDS, size=length))


def scores(store, query, collection=C, limit=20):
    port = store.reader(S, [collection])
    return [(h.chunk.id, h.score) for h in port.bm25(collection, query=query, limit=limit)]


def test_ids_are_uuids_of_length_prefixed_names():
    made = point_id("a", "b", "c")
    assert uuid.UUID(made).version == 5
    assert packed("ab", "c") != packed("a", "bc")
    assert len({tenant_of("ab", "c"), tenant_of("a", "bc"), tenant_of("abc", "")}) == 3
    assert len({point_id("a", "b", "c"), point_id("a", "bc", ""), point_id("ab", "", "c")}) == 3


def test_keyword_scores_are_those_of_the_memory_store_while_lengths_drift(store):
    rng, memory = np.random.default_rng(7), MemoryStore()
    for number in range(40):
        made = whole(f"d{number}", *(text(rng, 2 + number) for _ in range(3)))
        for each in (store, memory):
            each.commit(S, C, [made])
        if number % 8 == 7:
            for each in (store, memory):
                each.delete(S, C, [f"d{number - 3}"])
            head = store._targets.state(S, C).head
            average = store.stats(S, C)["average_length"]
            assert abs(head.average - average) <= DRIFT * head.average
            for query in ("quartz", "gold rain rain", "salt river basalt mica"):
                ours, theirs = scores(store, query), scores(memory, query)
                assert [name for name, _ in ours] == [name for name, _ in theirs]
                assert [s for _, s in ours] == pytest.approx([s for _, s in theirs], abs=1e-6)
    assert store.doctor() == []
    assert len(store._targets.state(S, C).head.log) < 20, "changes of the counts are joined"


def test_another_tenant_moves_no_score(store):
    store.commit(S, C, [whole("a", "quartz and mica", "granite"), whole("b", "quartz quartz")])
    before = scores(store, "quartz mica")
    store.commit("bob", C, [whole(f"x{n}", "quartz quartz gold " * n) for n in range(1, 30)])
    store.commit(S, "other", [whole("a", "quartz " * 50)])
    assert scores(store, "quartz mica") == before


def test_equal_scores_keep_the_order_of_ids_past_what_was_fetched_first(store):
    store.commit(S, C, [whole(f"t{number:03}", "identical words") for number in range(300)])
    wanted = [f"t{number:03}-0" for number in range(3)]
    port = store.reader(S, [C])
    assert [name for name, _ in scores(store, "identical", limit=3)] == wanted
    near = port.near_vector(C, vector=embed("identical words"), limit=3)
    assert [hit.chunk.id for hit in near] == wanted


def test_what_tokens_cannot_tell_restricts_before_scoring(store):
    rows = {"big": 2**63 + 1, "small": 5, "text": "aa"}
    for name, value in rows.items():
        field = "k" if isinstance(value, str) else "n"
        store.commit(S, C, [whole(name, "quartz", metadata={field: value})])
    port = store.reader(S, [C])
    for where, kept in (
        (DeclaredFilter("n", "gt", 5), ["big-0"]),
        (DeclaredFilter("n", "eq", 2**63), []),
        (~DeclaredFilter("n", "gt", 5), ["small-0", "text-0"]),
        (DeclaredFilter("k", "gte", "a") & DeclaredFilter("document", "ne", "x"), ["text-0"]),
    ):
        for found in (
            port.bm25(C, query="quartz", limit=9, where=where),
            port.near_vector(C, vector=embed("quartz"), limit=9, where=where),
        ):
            assert sorted(hit.chunk.id for hit in found) == kept, where


def test_long_records_are_kept_in_pieces(store):
    geometry = Geometry("x" * 400_000, words=np.random.default_rng(1).bytes(300_000))
    store.commit(S, C, [whole("m", "quartz", geometry=geometry)])
    assert store.geometry(S, C, "m") == replace(geometry, page_ranges=[], page_dimensions={})
    store.commit(S, C, [whole("m", "quartz new", geometry=Geometry("short"))])
    assert store.geometry(S, C, "m").markdown == "short"
    assert len(store.backend.shelf("pieces")) == 0, "old pieces go"


def test_rewrite_is_the_way_to_another_model(store):
    store.commit(S, C, [whole("a", "quartz", metadata={"n": 1}), whole("b", "mica")])
    store.rename(S, C, "a", "new")
    model = ModelIdentity("o", 4)
    rows = np.ones((1, 4), np.float32)
    other = [
        replace(whole(name, text), vectors=rows, endpoint="o", model=model)
        for name, text in (("new", "salt"), ("c", "river"))
    ]
    with pytest.raises(CollectionMismatch):
        store.commit(S, C, other)
    with pytest.raises(CollectionMismatch):
        store.rewrite(S, C, [*other, whole("d", "x")])
    assert [info.document for info in store.documents(S, C)] == ["b", "new"]
    store.rewrite(S, C, other)
    assert [info.document for info in store.documents(S, C)] == ["c", "new"]
    assert store.model(S, C) == ("o", ModelIdentity("o", 4))
    assert store.vectors(S, C, "a").shape == (1, 4)
    assert scores(store, "mica") == []
    assert "n" in store.reader(S, [C]).fields(C).fields
    assert store.doctor() == []
    with pytest.raises(InvalidArgument, match="delete"):
        store.rewrite(S, C, [])


class _Failing(QdrantBackend):
    """A server that stops answering after some calls that write."""

    left = -1

    def _count(self):
        if self.left == 0:
            raise StoreUnavailable("gone; try again.")
        self.left -= 1

    def put(self, space, points):
        self._count()
        super().put(space, points)

    def remove(self, space, ids):
        self._count()
        super().remove(space, ids)

    def write(self, records):
        self._count()
        super().write(records)

    def drop(self, keys):
        self._count()
        super().drop(keys)


@pytest.mark.parametrize("left", range(7))
def test_a_write_that_breaks_off_is_cleared_away_by_the_next(store, left):
    kept = whole("kept", "granite")
    store.commit(S, C, [kept, whole("m", "quartz old", "gone", "gone too")])
    broken = _Failing(store.backend._client, "Qdrant", local=True)
    second = PointStore(broken)
    broken.left = left
    with pytest.raises(StoreUnavailable):
        second.commit(S, C, [whole("m", "quartz new", "mica")])
    after = PointStore(QdrantBackend(store.backend._client, "Qdrant", local=True))
    announced = left > 0
    assert bool(after.doctor()) is announced
    after.commit(S, C, [whole("m", "quartz new", "mica")])
    assert after.doctor() == []
    assert scores(after, "quartz")
    assert not scores(after, "gone")
    assert sorted(c.content for c in after.all_chunks()) == ["granite", "mica", "quartz new"]


def test_doctor_finds_ghosts_and_missing_points_and_mends_them(store):
    store.commit(S, C, [whole("a", "quartz", "mica"), whole("b", "gold")])
    head = store._targets.state(S, C).head
    ghost = store._targets.state(S, C).named("b").points(head)
    store.backend.remove(head.space, [head.point("a-1")])
    store.backend.drop([k for k in store.backend.shelf(f"documents-{head.tenant}")
                        if '"b"' in store.backend.read([k])[k]])  # fmt: skip
    store._targets.forget(S, C)
    problems = " ".join(finding.problem for finding in store.doctor())
    assert "'a'" in problems
    assert "1 points belong to no document" in problems
    assert "counts" in problems
    assert all(finding.repaired for finding in store.doctor(repair=True))
    assert store.doctor() == []
    assert store.backend.get(head.space, ghost, vectors=False) == {}
    assert store.documents(S, C) == []


def test_export_and_import_between_stores(store, tmp_path):
    source, other = LocalStore(tmp_path / "local"), MemoryStore()
    geometry = Geometry("quartz one", page_ranges=[(0, 10, 1)], words=b"PWB1")
    source.commit(S, C, [whole("a", "quartz one", "mica", metadata={"y": 1}, geometry=geometry),
                         whole("b", "gold")])  # fmt: skip
    source.rename(S, C, "b", "moved")
    ids = None
    for number, (given, taker) in enumerate(((source, store), (store, other))):
        path = tmp_path / f"{number}.jsonl"
        told = export_collection(given, S, C, path)
        report = import_collection(taker, S, C, path)
        assert (told.documents, told.chunks, report.chunks) == (2, 3, 3)
        found = [chunk.id for chunk in taker.reader(S, [C]).all_chunks()]
        assert ids is None or found == ids
        ids = found
        assert taker.aliases(S, C) == {"b": "moved"}
        assert np.array_equal(taker.vectors(S, C, "a"), source.vectors(S, C, "a"))
        assert taker.geometry(S, C, "a").words == b"PWB1"
        assert dict(scores(taker, "quartz")) == pytest.approx(dict(scores(source, "quartz")))
    assert ids == ["a-0", "a-1", "moved-0"]
