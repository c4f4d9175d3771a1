"""instantiate_vector_store: schemes, paths, collections, embedders."""

import logging

import anyio
import pytest

from pincite.errors import Unconfigured
from pincite.stores.named import CHROMA_HNSW_SPACE, instantiate_vector_store
from pincite.testing import HashEmbedder
from pincite.testing.samples import put

LOG = logging.getLogger("test")


class Langchain:
    """Embeddings as LangChain has them."""

    def embed_documents(self, texts):
        return [HashEmbedder(32).vector(text) for text in texts]

    def embed_query(self, text):
        return HashEmbedder(32).vector(text)


@pytest.mark.parametrize("path", ["", "folder", "/folder", "sqlite:x", ":x", "http://host"])
def test_a_missing_or_unknown_scheme_is_a_value_error(path):
    with pytest.raises(ValueError, match="use local:PATH"):
        instantiate_vector_store(path, "papers", None, LOG)


def test_a_blank_name_is_a_value_error():
    with pytest.raises(ValueError, match="blank"):
        instantiate_vector_store("memory:", " ", None, LOG)


def test_a_path_of_chroma_is_a_folder_that_is_there(tmp_path):
    pytest.importorskip("chromadb")
    for path, create in (("none", False), ("file", False), ("file", True)):
        (tmp_path / "file").touch()
        with pytest.raises(FileNotFoundError):
            instantiate_vector_store(f"chroma:{tmp_path / path}", "papers", None, LOG, create)
    assert not (tmp_path / "none").exists()
    made = instantiate_vector_store(f"Chroma:{tmp_path / 'db'}", "papers", None, LOG, create=True)
    anyio.run(made.aclose)
    assert (tmp_path / "db" / "chroma.sqlite3").exists()
    with pytest.raises(FileNotFoundError, match="is a file"):
        instantiate_vector_store(f"chroma:{tmp_path / 'db' / 'chroma.sqlite3'}", "p", None, LOG)


def test_a_folder_of_chroma_holds_several_collections(tmp_path):
    pytest.importorskip("chromadb")

    async def use():
        for name in ("papers", "notes"):
            made = instantiate_vector_store(
                f"chroma:{tmp_path}", name, Langchain(), LOG, create=True
            )
            await put(made.store, "m", f"quartz in {name}", subject="local", collection=name)
            await made.aclose()
        for name in ("papers", "notes"):
            made = instantiate_vector_store(f"chroma:{tmp_path}", name, Langchain(), LOG)
            hits = await made.reader().hybrid(name, query="quartz", limit=5)
            assert [hit.chunk.content for hit in hits] == [f"quartz in {name}"]
            await made.aclose()

    anyio.run(use)
    assert CHROMA_HNSW_SPACE == "cosine"


def test_qdrant_is_made_on_the_first_write_whatever_create_says(tmp_path):
    pytest.importorskip("qdrant_client")

    async def use():
        made = instantiate_vector_store(f"qdrant:{tmp_path / 'q'}", "papers", None, LOG)
        await put(made.store, "m", "quartz", subject="local")
        hits = await made.reader().bm25("papers", query="quartz", limit=5)
        assert len(hits) == 1
        with pytest.raises(Unconfigured):
            await made.reader().hybrid("papers", query="quartz", limit=5)
        await made.aclose()

    anyio.run(use)


def test_the_subject_may_be_named_and_embedders_may_be_async():
    async def use():
        made = instantiate_vector_store("memory:", "papers", HashEmbedder(32), LOG)
        assert (made.subject, made.collection) == ("local", "papers")
        await put(made.store, "m", "quartz", subject="local")
        assert len(await made.reader().hybrid("papers", query="quartz", limit=5)) == 1

    anyio.run(use)
    with pytest.raises(ValueError, match="embed_query"):
        instantiate_vector_store("memory:", "papers", object(), LOG)


def test_the_subject_of_the_uri_counts(tmp_path):
    pytest.importorskip("qdrant_client")
    made = instantiate_vector_store(f"qdrant:{tmp_path / 'q'}?subject=ann", "papers", None, LOG)
    assert made.subject == "ann"
    anyio.run(made.aclose)
