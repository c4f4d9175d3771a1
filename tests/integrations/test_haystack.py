"""Haystack's own suites for document stores, and what goes between the two."""

import re
from pathlib import Path

import pytest

pytest.importorskip("haystack", reason="comes with the extra [haystack]")
pytest.importorskip("pytest_asyncio", reason="comes with the extra [suites]")

from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.errors import FilterError
from haystack.testing import document_store as suites
from haystack.testing import document_store_async as async_suites
from haystack.utils import Secret

import pincite
from pincite.errors import CollectionMismatch, InvalidArgument
from pincite.integrations.haystack import (
    PinciteDocumentStore,
    PinciteEmbeddingRetriever,
    PinciteHybridRetriever,
    PinciteKeywordRetriever,
)


def _comparable(document):
    """What a store keeps: embeddings have the precision of float16, and no score is stored."""
    kept = document.to_dict(flatten=False)
    del kept["score"]
    embedding = kept.pop("embedding")
    return kept, embedding and pytest.approx(embedding, rel=2e-3, abs=1e-4)


def _agree(received, expected):
    """Documents come in the order of their ids."""
    received, expected = (sorted(each, key=lambda d: d.id) for each in (received, expected))
    for got, wanted in zip(received, expected, strict=True):
        about, embedding = _comparable(wanted)
        assert _comparable(got)[0] == about
        assert got.embedding == embedding


class _Fixture:
    uri = ""

    @pytest.fixture
    def document_store(self, tmp_path):
        made = PinciteDocumentStore(self.uri.format(path=tmp_path / "store"))
        yield made
        made.close()

    def assert_documents_are_equal(self, received, expected):
        _agree(received, expected)


class _Suite(
    _Fixture,
    suites.DocumentStoreBaseExtendedTests,
    suites.CountDocumentsByFilterTest,
    suites.CountUniqueMetadataByFilterTest,
    suites.GetMetadataFieldsInfoTest,
    suites.GetMetadataFieldMinMaxTest,
    suites.GetMetadataFieldUniqueValuesTest,
):
    # They are for stores whose ``delete_all_documents`` can make an index anew; ours has none.
    test_delete_all_documents_without_recreate_index = None
    test_delete_all_documents_with_recreate_index = None

    def test_write_documents(self, document_store):
        """What the suite leaves open: without a policy a duplicate is refused."""
        documents = [Document(content="one"), Document(content="two")]
        assert document_store.write_documents(documents) == 2
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([Document(content="three"), documents[0]])
        self.assert_documents_are_equal(document_store.filter_documents(), documents)


class TestLocal(_Suite):
    uri = "local:{path}"


class TestMemory(_Suite):
    uri = "memory:"


class TestQdrant(_Suite):
    uri = "qdrant::memory:"


class TestMemoryAsync(
    _Fixture,
    async_suites.CountDocumentsAsyncTest,
    async_suites.CountDocumentsByFilterAsyncTest,
    async_suites.CountUniqueMetadataByFilterAsyncTest,
    async_suites.DeleteAllAsyncTest,
    async_suites.DeleteByFilterAsyncTest,
    async_suites.DeleteDocumentsAsyncTest,
    async_suites.FilterDocumentsAsyncTest,
    async_suites.GetMetadataFieldMinMaxAsyncTest,
    async_suites.GetMetadataFieldUniqueValuesAsyncTest,
    async_suites.GetMetadataFieldsInfoAsyncTest,
    async_suites.UpdateByFilterAsyncTest,
    async_suites.WriteDocumentsAsyncTest,
):
    uri = "memory:"
    # As above.
    test_delete_all_documents_without_recreate_index_async = None
    test_delete_all_documents_with_recreate_index_async = None

    @pytest.fixture
    def filterable_docs(self):
        return suites.create_filterable_docs()

    @pytest.mark.asyncio
    async def test_write_documents_async(self, document_store):
        """As ``test_write_documents``."""
        documents = [Document(content="one"), Document(content="two")]
        assert await document_store.write_documents_async(documents) == 2
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async(documents)


@pytest.fixture
def store():
    made = PinciteDocumentStore("memory:", embedding_dimension=3)
    made.write_documents(
        [
            Document(id="a", content="quartz veins", meta={"n": 1}, embedding=[1.0, 0.0, 0.0]),
            Document(id="b", content="gold veins", meta={"n": 2}, embedding=[0.0, 2.0, 0.0]),
            Document(id="c", content="quartz alone", meta={"n": 3}),
        ]
    )
    return made


def _ids(found):
    return [document.id for document in found["documents"]]


def test_each_retriever_finds_by_its_own_side(store):
    keyword = PinciteKeywordRetriever(store)
    embedding = PinciteEmbeddingRetriever(store, top_k=1)
    hybrid = PinciteHybridRetriever(store, alpha=0.5)
    assert set(_ids(keyword.run("quartz"))) == {"a", "c"}
    assert _ids(keyword.run("quartz", top_k=1)) == _ids(keyword.run("quartz"))[:1]
    assert keyword.run("granite") == {"documents": []}
    assert _ids(embedding.run([0.1, 1.0, 0.0])) == ["b"]
    assert set(_ids(embedding.run([0.1, 1.0, 0.0], top_k=9))) == {"a", "b"}, "c has no embedding"
    found = hybrid.run("quartz", [1.0, 0.0, 0.0])
    assert _ids(found)[0] == "a"
    assert set(_ids(found)) == {"a", "b", "c"}
    assert found["documents"][0].score > found["documents"][1].score
    assert _ids(PinciteHybridRetriever(store, alpha=1.0).run("quartz", [0.0, 1.0, 0.0])) == [
        "b",
        "a",
    ]
    with pytest.raises(InvalidArgument, match="top_k"):
        PinciteKeywordRetriever(store, top_k=0)
    with pytest.raises(InvalidArgument, match="PinciteDocumentStore"):
        PinciteKeywordRetriever(object())


def test_filters_go_together_as_the_policy_says(store):
    own = {"field": "meta.n", "operator": ">=", "value": 2}
    given = {"field": "meta.n", "operator": "<=", "value": 2}
    replace = PinciteKeywordRetriever(store, filters=own)
    merge = PinciteKeywordRetriever(store, filters=own, filter_policy=FilterPolicy.MERGE)
    without = {"field": "id", "operator": "!=", "value": "c"}
    assert set(_ids(replace.run("veins quartz"))) == {"b", "c"}
    assert set(_ids(replace.run("veins quartz", filters=given))) == {"a", "b"}
    assert _ids(merge.run("veins quartz", filters=without)) == ["b"]
    with pytest.raises(FilterError, match="year"):
        replace.run("veins", filters={"field": "meta.year", "operator": "==", "value": 1})


@pytest.mark.asyncio
async def test_retrievers_run_without_blocking_the_loop(store):
    assert set(_ids(await PinciteKeywordRetriever(store).run_async("quartz"))) == {"a", "c"}
    near = await PinciteEmbeddingRetriever(store).run_async([1.0, 0.0, 0.0])
    assert _ids(near) == ["a", "b"]
    both = await PinciteHybridRetriever(store).run_async("gold", [0.0, 1.0, 0.0])
    assert _ids(both)[0] == "b"


def test_everything_of_a_document_comes_back():
    store = PinciteDocumentStore("memory:", embedding_dimension=3)
    documents = [
        Document(id="blob", blob=ByteStream(b"\x00\xff", {"k": 1}, "image/png")),
        Document(
            id="sparse",
            content="text",
            meta={"source": "a.pdf", "title": "T", "tags": ["x"], "deep": {"a": [1, None]}},
            embedding=[3.0, 4.0, 0.0],
            sparse_embedding=SparseEmbedding([1, 7], [0.5, 2.0]),
        ),
    ]
    store.write_documents(documents)
    _agree(store.filter_documents(), documents)
    for name, value in (("source", "a.pdf"), ("title", "T")):
        where = {"field": f"meta.{name}", "operator": "==", "value": value}
        assert [d.id for d in store.filter_documents(where)] == ["sparse"], "reserved names too"
    assert store.count_documents_by_filter(where) == 1
    assert store.delete_by_filter(where) == 1
    store.delete_all_documents()
    assert store.count_documents() == 0


def test_a_dot_product_keeps_lengths():
    store = PinciteDocumentStore("memory:", embedding_dimension=2, similarity="dot_product")
    store.write_documents(
        [Document(id=str(n), content="x", embedding=[float(n), 0.0]) for n in (1, 5)]
    )
    (first, second) = PinciteEmbeddingRetriever(store).run([2.0, 0.0])["documents"]
    assert (first.id, first.score, second.score) == ("5", 10.0, 2.0)
    with pytest.raises(InvalidArgument, match="cosine or dot_product"):
        PinciteDocumentStore("memory:", similarity="l2")


def test_nothing_is_written_when_something_is_wrong(tmp_path):
    uri = f"local:{tmp_path / 's'}"
    store = PinciteDocumentStore(uri, embedding_dimension=3)
    one, odd = Document(content="one"), Document(content="odd", embedding=[1.0])
    with pytest.raises(InvalidArgument, match="embedding_dimension=1"):
        store.write_documents([one, odd])
    with pytest.raises(DuplicateDocumentError):
        store.write_documents([one, one])
    assert store.count_documents() == 0
    assert store.write_documents([one, one], DuplicatePolicy.SKIP) == 1
    assert store.write_documents([one, one], DuplicatePolicy.OVERWRITE) == 1
    store.close()
    other = PinciteDocumentStore(uri, embedding_dimension=3, model="another")
    with pytest.raises(CollectionMismatch, match="another"):
        other.write_documents([Document(content="two")])
    other.close()


def test_a_pipeline_is_saved_and_loaded(tmp_path, monkeypatch):
    monkeypatch.setenv("STORE_URI", f"local:{tmp_path / 's'}")
    store = PinciteDocumentStore(Secret.from_env_var("STORE_URI"), embedding_dimension=3)
    store.write_documents([Document(content="quartz")])
    store.close()
    pipeline = Pipeline()
    for name, kind in (
        ("keyword", PinciteKeywordRetriever),
        ("embedding", PinciteEmbeddingRetriever),
        ("hybrid", PinciteHybridRetriever),
    ):
        pipeline.add_component(name, kind(store, top_k=3))
    text = pipeline.dumps()
    assert str(tmp_path) not in text, "a secret stays one"
    again = Pipeline.loads(text, allowed_modules=["pincite.integrations.haystack.*"])
    assert again.dumps() == text
    found = again.run(
        {
            "keyword": {"query": "quartz"},
            "embedding": {"query_embedding": [1.0, 0.0, 0.0]},
            "hybrid": {"query": "quartz", "query_embedding": [1.0, 0.0, 0.0]},
        }
    )
    assert len(found["keyword"]["documents"]) == 1
    for name in ("keyword", "embedding", "hybrid"):
        again.get_component(name).document_store.close()


def test_what_pincite_indexed_says_where_it_stands(tmp_path):
    uri = f"local:{tmp_path / 's'}"
    with pincite.open(uri, collection="papers") as library:
        library.add(b"# Stones\n\nQuartz is a mineral.", filename="stones.md")
    store = PinciteDocumentStore(uri, collection="papers", return_embedding=False)
    (found,) = PinciteKeywordRetriever(store).run("quartz")["documents"]
    assert found.meta["title"] == "stones.md"
    assert found.meta["headings"] == ["Stones"]
    assert "Quartz" in found.content
    assert found.embedding is None
    store.close()


def test_the_example_of_the_page_runs():
    page = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
    section = page.read_text(encoding="utf-8").partition("\n## Haystack")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(block, page.name, "exec"), {})
