"""LangChain's own suites, and what goes between the two."""

import re
from pathlib import Path

import anyio
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
from pincite.errors import InvalidArgument
from pincite.integrations.langchain import (
    LangChainClient,
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


def test_the_example_of_the_page_runs():
    page = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, page.name, "exec"), {})
