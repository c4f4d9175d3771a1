"""LlamaIndex: the vector store by itself and inside an index, and the retriever of a library."""

import re
from pathlib import Path

import pytest

pytest.importorskip("llama_index.core", reason="comes with the extra [llamaindex]")

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

import pincite
from pincite.errors import CollectionMismatch, InvalidArgument, InvalidQueryError
from pincite.integrations.llamaindex import PinciteRetriever, PinciteVectorStore
from pincite.model.where import F

pytestmark = pytest.mark.anyio

Op, Mode = FilterOperator, VectorStoreQueryMode


@pytest.fixture
def anyio_backend():
    return "asyncio"


def _node(name, text, vector, *, owner="doc", **metadata):
    node = TextNode(id_=name, text=text, metadata=metadata, embedding=vector)
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=owner)
    return node


NODES = (
    _node("a", "quartz veins", [1.0, 0.0, 0.0], n=1, tags=["x", "y"], title="T"),
    _node("b", "gold veins", [0.0, 1.0, 0.0], n=2, tags=["y"], file_path="/f/b.pdf"),
    _node("c", "quartz alone", [0.6, 0.0, 0.8], owner="other"),
)


@pytest.fixture(params=["memory:", "local:{path}", "qdrant::memory:"])
def store(request, tmp_path):
    if request.param.startswith("qdrant"):
        pytest.importorskip("qdrant_client")
    made = PinciteVectorStore(uri=request.param.format(path=tmp_path / "s"))
    assert made.add(list(NODES)) == ["a", "b", "c"]
    yield made
    made.close()


def _where(*filters, condition=FilterCondition.AND):
    terms = [f if isinstance(f, MetadataFilters) else MetadataFilter(**f) for f in filters]
    return MetadataFilters(filters=terms, condition=condition)


def _one(key, operator, value):
    return {"key": key, "operator": operator, "value": value}


def test_nodes_come_back_as_they_were_given(store):
    found = store.get_nodes()
    assert [node.node_id for node in found] == ["a", "b", "c"]
    for node, given in zip(found, NODES, strict=True):
        assert (node.text, node.metadata) == (given.text, given.metadata)
        assert node.ref_doc_id == given.ref_doc_id
    assert [node.node_id for node in store.get_nodes(["c", "a", "unknown"])] == ["a", "c"]
    store.add([_node("a", "new text", [0.0, 0.0, 1.0])])
    assert [node.text for node in store.get_nodes(["a"])] == ["new text"]


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (_where(_one("n", Op.EQ, 1)), "a"),
        (_where(_one("n", Op.NE, 1)), "bc"),
        (_where(_one("n", Op.GT, 1)), "b"),
        (_where(_one("n", Op.GTE, 1), _one("n", Op.LT, 2)), "a"),
        (_where(_one("n", Op.LTE, 1), _one("n", Op.EQ, 2), condition=FilterCondition.OR), "ab"),
        (_where(_one("n", Op.EQ, 1), _one("n", Op.EQ, 2), condition=FilterCondition.NOT), "c"),
        (_where(_one("n", Op.IN, [2, 3])), "b"),
        (_where(_one("n", Op.NIN, [2, 3])), "ac"),
        (_where(_one("tags", Op.CONTAINS, "x")), "a"),
        (_where(_one("tags", Op.ANY, ["y", "z"])), "ab"),
        (_where(_one("tags", Op.ALL, ["y", "x"])), "a"),
        (_where(_one("n", Op.IS_EMPTY, None)), "c"),
        (_where(_one("title", Op.EQ, "T")), "a"),
        (_where(_one("source", Op.EQ, "/f/b.pdf")), "b"),
        (_where(_one("n", Op.GT, 0), _where(_one("tags", Op.CONTAINS, "x"))), "a"),
        (_where(), "abc"),
    ],
)
def test_filters_mean_what_they_say(store, where, kept):
    assert "".join(node.node_id for node in store.get_nodes(filters=where)) == kept
    asked = VectorStoreQuery(query_embedding=[1.0, 1.0, 1.0], similarity_top_k=9, filters=where)
    assert "".join(sorted(store.query(asked).ids)) == kept


def test_a_filter_that_cannot_be_served_is_refused(store):
    for where, error in (
        (_where(_one("year", Op.EQ, 1)), InvalidQueryError),
        (_where(_one("n", Op.EQ, "1")), InvalidQueryError),
        (_where(_one("n", Op.TEXT_MATCH, "x")), InvalidArgument),
    ):
        with pytest.raises(error):
            store.get_nodes(filters=where)
    empty = PinciteVectorStore(uri="memory:")
    assert empty.get_nodes(filters=_where(_one("year", Op.EQ, 1))) == []
    empty.delete("doc")


def test_each_mode_searches_its_own_way(store):
    def found(mode, **options):
        asked = VectorStoreQuery(
            query_str="quartz", query_embedding=[0.0, 1.0, 0.0], mode=mode, **options
        )
        return store.query(asked)

    near = found(Mode.DEFAULT, similarity_top_k=1)
    assert near.ids == ["b"]
    assert near.similarities == [pytest.approx(1.0, abs=1e-3)]
    assert near.nodes[0].text == "gold veins"
    for mode in (Mode.TEXT_SEARCH, Mode.SPARSE):
        assert set(found(mode, similarity_top_k=9).ids) == {"a", "c"}
    assert found(Mode.HYBRID, similarity_top_k=3, alpha=1.0).ids[0] == "b"
    assert set(found(Mode.HYBRID, similarity_top_k=3, alpha=0.0).ids) == {"a", "c"}
    assert len(found(Mode.HYBRID, similarity_top_k=3, hybrid_top_k=1).ids) == 1
    assert found(Mode.DEFAULT, similarity_top_k=9, node_ids=["a", "c"], doc_ids=["other"]).ids == [
        "c"
    ]
    with pytest.raises(InvalidArgument, match="HYBRID"):
        found(Mode.MMR)
    with pytest.raises(InvalidArgument, match="filtre"):
        store.query(VectorStoreQuery(query_embedding=[1.0, 0.0, 0.0]), filtre=1)


def test_nodes_go_by_document_by_id_and_by_filter(store):
    store.delete("other")
    assert [node.node_id for node in store.get_nodes()] == ["a", "b"]
    store.delete_nodes(filters=_where(_one("n", Op.EQ, 2)))
    store.delete_nodes(["unknown"])
    assert [node.node_id for node in store.get_nodes()] == ["a"]
    with pytest.raises(InvalidArgument, match="clear"):
        store.delete_nodes()
    store.delete_nodes(["a"])
    store.add(list(NODES))
    store.clear()
    assert store.get_nodes() == []


async def test_the_async_methods_do_the_same(store):
    asked = VectorStoreQuery(query_embedding=[0.0, 1.0, 0.0], similarity_top_k=1)
    assert (await store.aquery(asked)).ids == ["b"]
    await store.async_add([_node("d", "mica", [0.0, 0.0, 1.0], owner="third")])
    await store.adelete("other")
    await store.adelete_nodes(["a"])
    assert [node.node_id for node in await store.aget_nodes()] == ["b", "d"]
    await store.aclear()
    assert await store.aget_nodes() == []


def test_what_cannot_be_stored_is_refused_whole(store):
    bare = TextNode(id_="z", text="no embedding")
    with pytest.raises(InvalidArgument, match="'z' has no embedding"):
        store.add([_node("d", "mica", [0.0, 0.0, 1.0]), bare])
    assert len(store.get_nodes()) == 3


def test_another_model_is_refused(tmp_path):
    uri = f"local:{tmp_path / 's'}"
    first = PinciteVectorStore(uri=uri, model="one")
    first.add(list(NODES))
    first.close()
    second = PinciteVectorStore(uri=uri, model="two")
    with pytest.raises(CollectionMismatch, match="'one'"):
        second.add([_node("d", "mica", [0.0, 0.0, 1.0])])
    second.close()


def test_an_index_is_built_opened_and_asked(tmp_path):
    uri, embed = f"local:{tmp_path / 's'}", MockEmbedding(embed_dim=8)
    documents = [
        Document(text="Quartz veins may hold gold.", id_="one", metadata={"year": 2020}),
        Document(text="Mica splits into sheets.", id_="two", metadata={"year": 2019}),
    ]
    store = PinciteVectorStore(uri=uri, model="mock")
    context = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex.from_documents(documents, storage_context=context, embed_model=embed)
    store.close()
    again = PinciteVectorStore(uri=uri, model="mock")
    index = VectorStoreIndex.from_vector_store(again, embed_model=embed)
    retriever = index.as_retriever(
        vector_store_query_mode="hybrid", alpha=0.0, filters=_where(_one("year", Op.GTE, 2000))
    )
    assert [found.node.text for found in retriever.retrieve("gold")] == [documents[0].text]
    index.delete_ref_doc("one")
    assert [node.text for node in again.get_nodes()] == [documents[1].text]
    again.close()


async def test_a_library_is_a_retriever():
    with pincite.open("memory:") as library:
        for number in range(3):
            library.add(
                f"# Stones\n\nQuartz number {number}.".encode(),
                filename=f"s{number}.md",
                metadata={"n": number},
            )
        retriever = PinciteRetriever(library, k=1, where=F("n") == 2)
        (found,) = retriever.retrieve("quartz")
        assert "number 2" in found.node.text
        assert found.node.metadata["title"] == "s2.md"
        start, end = found.node.start_char_idx, found.node.end_char_idx
        document = found.node.metadata["document"]
        assert library.markdown(document)[start:end] == found.node.text
        assert [f.node.node_id for f in await retriever.aretrieve("quartz")] == [found.node.node_id]
        with pytest.raises(InvalidArgument, match="mode"):
            PinciteRetriever(library, mode="odd")


def test_the_example_of_the_page_runs():
    page = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
    section = page.read_text(encoding="utf-8").partition("\n## LlamaIndex")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(block, page.name, "exec"), {})
