"""LangChain's own suites, and what goes between the two."""

import re
from pathlib import Path

import anyio
import numpy as np
import pytest

pytest.importorskip(
    "langchain_tests", reason="comes with the extra [langchain] and langchain-tests"
)

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_tests.integration_tests import (
    RetrieversIntegrationTests,
    VectorStoreIntegrationTests,
)

import pincite
from pincite.embedding.embedder import Embedder
from pincite.errors import CollectionMismatch, InvalidArgument
from pincite.integrations.langchain import (
    LangChainClient,
    LangChainEmbedder,
    PinciteEmbeddings,
    PinciteRetriever,
    PinciteVectorStore,
)
from pincite.model.where import F

pytestmark = pytest.mark.anyio  # the suites' coroutines run by the plugin that anyio brings


@pytest.fixture
def anyio_backend():
    return "asyncio"


class _Suite(VectorStoreIntegrationTests):
    uri = ""

    @pytest.fixture
    def vectorstore(self, tmp_path):
        made = PinciteVectorStore.open(
            self.uri.format(path=tmp_path / "store"), embedding=self.get_embeddings()
        )
        yield made
        made.store.close()


class TestLocal(_Suite):
    uri = "local:{path}"


class TestMemory(_Suite):
    uri = "memory:"


class TestQdrant(_Suite):
    uri = "qdrant::memory:"


class TestQdrantEngine(_Suite):
    uri = "qdrant:edge:{path}"


@pytest.fixture
def library(tmp_path):
    with pincite.open(f"local:{tmp_path / 'store'}") as lib:
        for number in range(8):
            lib.add(
                f"# Stones\n\nQuartz number {number} is a mineral.".encode(),
                filename=f"stone{number}.md",
                metadata={"n": number},
            )
        yield lib


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _library(self, library):
        type(self).library = library

    @property
    def retriever_constructor(self):
        return PinciteRetriever

    @property
    def retriever_constructor_params(self):
        return {"library": self.library}

    @property
    def retriever_query_example(self):
        return "quartz mineral"


def test_a_retriever_says_where_a_passage_stands(library):
    (found,) = PinciteRetriever(library=library, k=1, filter="n = 3").invoke("quartz")
    assert "number 3" in found.page_content
    assert found.metadata["title"]
    assert found.metadata["n"] == 3
    start, end = found.metadata["start_char"], found.metadata["end_char"]
    assert library.markdown(found.metadata["document"])[start:end] == found.page_content


def test_filters_and_modes():
    texts = ["quartz is a mineral", "gold is a metal", "mica splits"]
    store = PinciteVectorStore.from_texts(
        texts, DeterministicFakeEmbedding(size=16), [{"n": 1}, {"n": 2}, {}], ids=["a", "b", "c"]
    )
    for where in ("n >= 2", {"n": {"$gte": 2}}, F("n") >= 2):
        assert [d.id for d in store.similarity_search("quartz", filter=where)] == ["b"]
    keyword = PinciteVectorStore(store.store, embedding=store.embeddings, mode="keyword")
    assert [d.id for d in keyword.similarity_search("quartz gold", k=9)] == ["a", "b"]
    retriever = store.as_retriever(search_kwargs={"k": 1, "filter": "n = 2"})
    assert retriever.invoke("x") == [Document(id="b", page_content=texts[1], metadata={"n": 2})]
    with pytest.raises(InvalidArgument, match="filtre"):
        store.similarity_search("quartz", filtre="n = 2")
    with pytest.raises(InvalidArgument):
        store.add_texts(["one"], ids=["a", "b"])
    with pytest.raises(InvalidArgument):
        PinciteVectorStore(store.store, embedding=store.embeddings, mode="odd")


def test_embeddings_go_both_ways():
    fake = DeterministicFakeEmbedding(size=16)
    embedder = Embedder(LangChainClient(fake), "fake")
    back = PinciteEmbeddings(embedder)
    assert back.embed_query("quartz") == pytest.approx(fake.embed_query("quartz"), rel=1e-6)
    assert back.embed_documents(["a", "b"]) == [back.embed_query("a"), back.embed_query("b")]

    async def over_async():
        return await back.aembed_documents(["a"]), await back.aembed_query("a")

    listed, single = anyio.run(over_async)
    assert listed == [single]
    with pincite.open("memory:", embedder=embedder) as lib:
        lib.add(b"quartz", filename="a.txt")
        assert len(lib.search("quartz")) == 1


class _TwoSided(DeterministicFakeEmbedding):
    """Embeds queries in another way than passages, as many models do."""

    model: str = "two-sided"

    def embed_query(self, text):
        return super().embed_query(f"query: {text}")


def test_an_embedder_embeds_queries_as_langchain_does():
    theirs = _TwoSided(size=16)
    ours = LangChainEmbedder(theirs)
    assert ours.endpoint == "langchain--_TwoSided--two-sided"
    asked = theirs.embed_query("quartz")
    back = PinciteEmbeddings(ours)

    async def over_async():
        return await back.aembed_query("quartz"), (await ours.embed_query("quartz")).tolist()

    for found in (back.embed_query("quartz"), *anyio.run(over_async)):
        assert found == pytest.approx(asked, rel=1e-6)
    assert back.embed_documents(["quartz"])[0] == pytest.approx(
        theirs.embed_documents(["quartz"])[0], rel=1e-6
    )
    with pincite.open("memory:", embedder=ours) as lib:
        lib.add(b"quartz", filename="a.txt")
        (hit,) = lib.search("quartz", mode="vector")
        given, stored = np.array(asked), np.array(theirs.embed_documents(["quartz"])[0])
        assert hit.score == pytest.approx(given @ stored, abs=1e-2), "the vectors have no length 1"


def test_filters_on_title_and_source_read_what_was_given():
    about = [{"source": "a.pdf", "title": "A", "page": 3}, {"source": "b.pdf"}]
    store = PinciteVectorStore.from_texts(
        ["quartz one", "quartz two"], DeterministicFakeEmbedding(size=16), about, ids=["a", "b"]
    )
    found = store.similarity_search("quartz", filter={"source": "a.pdf"})
    assert found == [Document(id="a", page_content="quartz one", metadata=about[0])]
    assert [d.id for d in store.similarity_search("quartz", filter="title = 'A'")] == ["a"]


def test_another_model_of_one_class_is_refused(tmp_path):
    class Named(DeterministicFakeEmbedding):
        model_name: str

    uri = f"local:{tmp_path / 's'}"
    first = PinciteVectorStore.open(uri, embedding=Named(size=16, model_name="one"))
    first.add_texts(["quartz"])
    first.store.close()
    second = PinciteVectorStore.open(uri, embedding=Named(size=16, model_name="two"))
    with pytest.raises(CollectionMismatch, match="two"):
        second.add_texts(["mica"])
    second.store.close()


def test_the_example_of_the_page_runs():
    page = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
    section = page.read_text(encoding="utf-8").partition("\n## LangChain")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(block, page.name, "exec"), {})
