"""Domains: configuration, loading, depth, retrieval and fusion over real stores."""

from __future__ import annotations

import inspect
import json
import logging
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from pydantic import ValidationError

from pincite.bm25.chunk_store import write_chunk_store
from pincite.embedding.blocking import BlockingEmbedder, blocking_embedder
from pincite.embedding.embedder import Embedder
from pincite.errors import (
    CollectionMismatch,
    InvalidArgument,
    InvalidQueryError,
    MissingExtra,
    StoreCorrupt,
    StoreNotFound,
    StoreUnavailable,
)
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.hits import Chunk, Hit
from pincite.retrieval.bm25_retriever import BM25Retriever
from pincite.retrieval.domains import (
    BM25StoreInfo,
    PerDomainConfig,
    RetrieverConfig,
    StoreInfo,
    VectorStoreInfo,
)
from pincite.retrieval.managers import BaseRetriever, BM25RetrieverManager, VSRetriever
from pincite.retrieval.merge import format_source_scores
from pincite.retrieval.orchestrator import Orchestrator
from pincite.stores.named import instantiate_vector_store
from pincite.stores.uri import open_sync_store
from pincite.testing import HashEmbedder

LOGGER = logging.getLogger("test")
DEFAULTS = {"default_k": 5, "k_max": 10, "k_inc": 1}


class Letters(BaseRetriever):
    """A retriever over strings: each letter of a store's path is a document."""

    source_label = "letters"

    def __init__(self, config: RetrieverConfig, **depth: int) -> None:
        super().__init__(config, LOGGER, **depth)
        self.opened: list[str] = []
        self.asked: list[tuple[str, int]] = []
        self.setups = 0
        self.pause = 0.0

    def setup(self) -> None:
        self.setups += 1

    def _stores_of(self, domain_name: str) -> Sequence[StoreInfo]:
        return self.config.domains[domain_name].bm25_stores

    def _instantiate_store(self, store: StoreInfo) -> Any:
        time.sleep(self.pause)
        self.opened.append(store.name)
        if store.path == "broken":
            raise StoreUnavailable("No answer; try again.")
        return store.path

    def _retrieve_from_store(
        self, store: StoreInfo, query: Any, k: int
    ) -> list[tuple[Chunk, float]]:
        self.asked.append((store.name, k))
        if store.path == "slow":
            time.sleep(0.2)
        if store.path == "fails":
            raise StoreUnavailable("No answer; try again.")
        return [
            (Chunk(x, id=x), 1 / rank)
            for rank, x in enumerate(str(store.loaded_object)[:k], start=1)
        ]


def letters(*stores: dict[str, Any], **depth: int) -> Letters:
    infos = [BM25StoreInfo(**{"name": f"s{n}", **s}) for n, s in enumerate(stores)]
    domains = {"abc": PerDomainConfig(bm25_stores=infos), "none": PerDomainConfig()}
    return Letters(RetrieverConfig(domains=domains), **depth)


# -- configuration


def test_the_fields_and_defaults_are_those_of_the_page() -> None:
    for model in (StoreInfo, VectorStoreInfo, BM25StoreInfo):
        fields = {name: f.default for name, f in model.model_fields.items() if not f.is_required()}
        assert fields == {"default_k": None, "k_max": None, "k_inc": None, "loaded_object": None}
        assert [n for n, f in model.model_fields.items() if f.is_required()] == ["name", "path"]
    assert PerDomainConfig().model_dump() == {"vector_stores": [], "bm25_stores": []}
    assert list(RetrieverConfig.model_fields) == ["domains"]
    for kind, names in (
        (BaseRetriever, ["config", "logger"]),
        (VSRetriever, ["config", "logger", "embedding_model"]),
        (BM25RetrieverManager, ["config", "logger"]),
    ):
        parameters = inspect.signature(kind).parameters
        assert list(parameters) == [*names, *DEFAULTS]
        assert {n: parameters[n].default for n in DEFAULTS} == DEFAULTS
    labels = (BaseRetriever.source_label, VSRetriever.source_label)
    assert (*labels, BM25RetrieverManager.source_label) == ("retriever", "vector store", "BM25")


CONFIG = {
    "domains": {
        "ferries": {
            "vector_stores": [{"name": "ships", "path": "local:ships", "k_max": 20}],
            "bm25_stores": [{"name": "ships", "path": "ships-bm25"}],
        }
    }
}
TOML = """
[[domains.ferries.vector_stores]]
name = "ships"
path = "local:ships"
k_max = 20
[[domains.ferries.bm25_stores]]
name = "ships"
path = "ships-bm25"
"""
YAML = """
domains:
  ferries:
    vector_stores: [{name: ships, path: "local:ships", k_max: 20}]
    bm25_stores: [{name: ships, path: ships-bm25}]
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", json.dumps(CONFIG)),
        ("a.toml", TOML),
        ("a.yaml", YAML),
        ("A.YML", "\ufeff" + YAML),
    ],
)
def test_a_configuration_is_read_from_each_format(tmp_path: Path, name: str, text: str) -> None:
    if not name.endswith(("json", "toml")):
        pytest.importorskip("yaml")
    (tmp_path / name).write_text(text, encoding="utf-8")
    config = RetrieverConfig.load(tmp_path / name)

    assert config.model_dump(exclude_none=True) == CONFIG


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.ini", "", "name it .yaml, .yml, .toml, .json"),
        ("a.json", "{", "cannot be read"),
        ("a.json", "[]", "a.json: Input should be"),
        ("a.json", '{"domains": {"d": {"vector_store": []}}}', "domains.d.vector_store: Extra"),
        ("a.toml", "domains = 1", "domains: Input should be"),
        ("a.json", "\xff", "cannot be read"),
    ],
)
def test_a_configuration_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidArgument, match=message):
        RetrieverConfig.load(tmp_path / name)


def test_a_missing_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"gone\.toml cannot be read"):
        RetrieverConfig.load(tmp_path / "gone.toml")


def test_yaml_without_its_extra_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "a.yaml").write_text(YAML)
    with pytest.raises(MissingExtra, match=r"pip install 'pincite\[yaml\]'"):
        RetrieverConfig.load(tmp_path / "a.yaml")


@pytest.mark.parametrize(
    "fault",
    [
        {"default_k": 0},
        {"k_max": -1},
        {"k_inc": -1},
        {"default_k": 8, "k_max": 7},
        {"name": ""},
        {"depth": 3},
    ],
)
def test_a_wrong_store_is_refused(fault: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StoreInfo(**{"name": "a", "path": "b", **fault})


@pytest.mark.parametrize("depth", [{"default_k": 0}, {"k_max": 4}, {"k_inc": -1}])
def test_wrong_depths_of_a_retriever_are_refused(depth: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match="must be at least"):
        letters(**depth)


def test_the_embedding_model_is_one_of_four_forms() -> None:
    config = RetrieverConfig(domains={})
    for name in (
        "local--static",
        "ollama:bge-m3:latest",
        "custom:m:http://h/v1",
        "huggingface:a/b:local",
    ):
        assert VSRetriever(config, LOGGER, name).embedding_model == name
    with pytest.raises(ValueError, match=r"ollama:<model>\[:tag\], custom:<model>:<url>"):
        VSRetriever(config, LOGGER, "bge-m3")


# -- loading


def test_an_unknown_domain_names_the_known_ones() -> None:
    retriever = letters()
    for call in (
        lambda: retriever.load("xyz"),
        lambda: retriever.retrieve("xyz", "q"),
        lambda: retriever.retrieve_lists("xyz", "q"),
        lambda: Orchestrator([retriever]).retrieve("xyz", "q"),
    ):
        with pytest.raises(InvalidQueryError, match=r"'xyz'.* 'abc', 'none'"):
            call()
    assert retriever.domains == ["abc", "none"]


def test_stores_are_opened_at_the_first_use_and_once() -> None:
    retriever = letters({"path": "x"}, {"path": "y"})

    assert retriever.opened == []
    retriever.load("none")
    assert retriever.opened == []
    retriever.retrieve("abc", "q")
    retriever.load_all_stores()
    retriever.retrieve("abc", "q")
    assert retriever.opened == ["s0", "s1"]
    assert retriever.setups == 1
    assert retriever.config.domains["abc"].bm25_stores[0].loaded_object == "x"


def test_eight_threads_that_load_one_domain_load_it_once() -> None:
    retriever = letters({"path": "x"}, {"path": "y"})
    retriever.pause = 0.02
    gate = threading.Barrier(8)

    def load(_: int) -> list[tuple[Chunk, float]]:
        gate.wait()
        return retriever.retrieve("abc", "q")

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(load, range(8)))

    assert retriever.opened == ["s0", "s1"]
    assert retriever.setups == 1
    assert all(f == found[0] and len(f) == 2 for f in found)


def test_an_object_that_is_loaded_beforehand_is_used() -> None:
    retriever = letters({"path": "x", "loaded_object": "other"})

    assert [c.id for c, _ in retriever.retrieve("abc", "q", k=5)] == list("other")[:5]
    assert retriever.opened == []


def test_a_store_that_cannot_be_opened_fails_alone_and_is_tried_again() -> None:
    retriever = letters({"path": "broken"}, {"path": "y"})
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            retriever.load("abc")
    assert retriever.opened == ["s0", "s1", "s0"]
    found = Orchestrator([retriever]).retrieve("abc", "q", partial_results=True)

    assert [c.id for c, _ in found.results] == ["y"]
    assert [(f.source_label, f.store) for f in found.failures] == [("letters", "s0")]


# -- depth


def test_inc_k_rises_to_the_cap_of_each_store() -> None:
    retriever = letters(
        {"path": "abcdefghijkl", "default_k": 1, "k_max": 2},
        {"path": "abcdefghijkl", "k_inc": 3},
        {"path": "abcdefghijkl", "default_k": 9, "k_inc": 0},
    )
    retriever.load("abc")
    seen = []
    for _ in range(4):
        retriever.asked.clear()
        retriever.retrieve("abc", "q")
        seen.append([dict(retriever.asked)[name] for name in ("s0", "s1", "s2")])
        rose = retriever.inc_k()

    assert seen == [[1, 5, 9], [2, 8, 9], [2, 10, 9], [2, 10, 9]]
    assert rose is False
    retriever.reset_k()
    retriever.asked.clear()
    retriever.retrieve("abc", "q")
    assert sorted(retriever.asked) == [("s0", 1), ("s1", 5), ("s2", 9)]


def test_inc_k_leaves_stores_that_are_not_loaded_at_their_default() -> None:
    retriever = letters({"path": "abcdefghijkl"})

    assert retriever.inc_k() is False
    retriever.retrieve("abc", "q")
    assert retriever.asked == [("s0", 5)]
    assert retriever.inc_k() is True
    retriever.retrieve("abc", "q")
    assert retriever.asked[-1] == ("s0", 6)


def test_a_default_above_the_retrievers_cap_is_kept_and_never_lowered() -> None:
    retriever = letters({"path": "x", "default_k": 12}, {"path": "x", "k_max": 3})
    retriever.load("abc")

    assert retriever.inc_k() is False
    retriever.retrieve("abc", "q")
    assert sorted(retriever.asked) == [("s0", 12), ("s1", 3)]


def test_callers_with_different_depths_do_not_affect_each_other() -> None:
    retriever = letters({"path": "abcdefghijklmnop"})
    depths = [1 + n % 12 for n in range(96)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: retriever.retrieve("abc", "q", k), depths))

    assert [len(results) for results in found] == depths
    assert len(retriever.retrieve("abc", "q")) == 5  # the depth of the retriever is untouched


@pytest.mark.parametrize("k", [0, -1, True])
def test_a_depth_below_one_is_refused(k: int) -> None:
    with pytest.raises(InvalidQueryError, match="at least 1"):
        letters({"path": "x"}).retrieve("abc", "q", k)


# -- retrieval


def test_lists_stay_apart_and_retrieve_joins_them_by_score_and_id() -> None:
    retriever = letters({"path": "zb"}, {"path": "ac"})

    lists = retriever.retrieve_lists("abc", "q")
    assert [(label, [c.id for c, _ in results]) for label, results in lists] == [
        ("letters", ["z", "b"]),
        ("letters", ["a", "c"]),
    ]
    assert [c.id for c, _ in retriever.retrieve("abc", "q")] == ["a", "z", "b", "c"]


def test_async_twins_and_sync_methods_agree_also_inside_an_event_loop() -> None:
    retriever = letters({"path": "zb"}, {"path": "ac"})

    async def main() -> None:
        await retriever.asetup()
        await retriever.aload("abc")
        await retriever.aload_all_stores()
        assert await retriever.aretrieve("abc", "q") == retriever.retrieve("abc", "q")
        assert await retriever.aretrieve_lists("abc", "q") == retriever.retrieve_lists("abc", "q")
        assert await retriever.ainc_k() is True
        await retriever.areset_k()
        await retriever.aclose()

    anyio.run(main)


def test_stores_are_searched_at_the_same_time() -> None:
    retriever = letters(*[{"path": "slow"}] * 4)
    retriever.load("abc")
    started = time.perf_counter()
    retriever.retrieve("abc", "q")

    assert time.perf_counter() - started < 0.6  # four times 0.2 s one after the other


def test_a_blank_query_and_a_domain_without_stores_find_nothing() -> None:
    retriever = letters({"path": "x"})

    assert retriever.retrieve("abc", " \n") == []
    assert retriever.retrieve("none", "q") == []
    assert retriever.retrieve_lists("none", "q") == []


# -- fusion of retrievers


def test_a_failing_store_is_an_error_or_with_partial_results_a_failure_by_name() -> None:
    orchestrator = Orchestrator([letters({"path": "fails"}, {"path": "ab"})])
    with pytest.raises(StoreUnavailable, match="No answer"):
        orchestrator.retrieve("abc", "q")
    found = orchestrator.retrieve("abc", "q", partial_results=True)

    assert [c.id for c, _ in found.results] == ["a", "b"]
    assert found.warnings == ["The letters 's0' failed (StoreUnavailable: No answer; try again.)."]


def test_a_failing_setup_is_a_failure_of_its_retriever() -> None:
    class Unset(Letters):
        source_label = "unset"

        def setup(self) -> None:
            raise StoreUnavailable("No model; start it.")

    good = letters({"path": "ab"})
    found = Orchestrator([Unset(good.config), good]).retrieve("abc", "q", partial_results=True)

    assert [(f.source_label, f.store) for f in found.failures] == [("unset", "")]
    assert found.warnings == ["The unset failed (StoreUnavailable: No model; start it.)."]
    assert len(found.results) == 2


def test_when_all_fail_partial_results_do_not_hide_it() -> None:
    with pytest.raises(StoreUnavailable):
        Orchestrator([letters({"path": "fails"})]).retrieve("abc", "q", partial_results=True)


def test_an_orchestrator_without_retrievers_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="pass one or more"):
        Orchestrator([])


# -- real stores

TEXTS = {
    "quartz.md": "Quartz glows in the dark mine.",
    "ropes.md": "A bowline knot holds the ferry.",
    "tides.md": "The ferry sails at high tide.",
}


@cache
def static() -> BlockingEmbedder:
    return blocking_embedder("local--static")


def fill(uri: str, collection: str = "ships", subject: str = "local") -> None:
    embedder = static()
    documents = [
        EmbeddedDocument(
            document=name,
            title=name,
            chunks=[
                ChunkResult(content=text, chunk_index=0, end_char=len(text), context_header="A > B")
            ],
            vectors=np.asarray(embedder.texts([text])),
            endpoint=embedder.endpoint,
            source=f"/docs/{name}",
            model=embedder.identity,
            metadata={"year": 2024},
        )
        for name, text in TEXTS.items()
    ]
    store = open_sync_store(uri, create=True)
    store.commit(subject, collection, documents)
    store.close()


def keyword_chunks() -> list[Chunk]:
    return [
        Chunk(text, document=name, source=f"/docs/{name}", context_header="A > B")
        for name, text in TEXTS.items()
    ]


@pytest.fixture
def ships(tmp_path: Path) -> RetrieverConfig:
    fill(f"local:{tmp_path}/store")
    chunks = keyword_chunks()
    write_chunk_store(tmp_path / "kw", chunks, [chunk.content for chunk in chunks])
    return RetrieverConfig.model_validate(
        {
            "domains": {
                "sea": {
                    "vector_stores": [{"name": "ships", "path": f"local:{tmp_path}/store"}],
                    "bm25_stores": [{"name": "ships", "path": f"{tmp_path}/kw"}],
                }
            }
        }
    )


def test_both_retrievers_are_fused_with_their_scores(ships: RetrieverConfig) -> None:
    vectors = VSRetriever(ships, LOGGER, "local--static")
    keywords = BM25RetrieverManager(ships, LOGGER)
    found = Orchestrator([vectors, keywords]).retrieve("sea", "bowline knot", num_refs_max=2)
    vectors.close()

    best, score = found.results[0]
    assert best.document == "ropes.md"
    assert best.metadata["file_name"] == "ropes.md"
    assert best.metadata["headings"] == ["A", "B"]
    assert best.metadata["year"] == 2024
    assert score == pytest.approx(2 / 61)
    assert [label for label, _ in found.lists] == ["vector store", "BM25"]
    cosine, bm25 = (results[0][1] for _, results in found.lists)
    assert format_source_scores(best) == f"vector store {cosine:.2f}, BM25 {bm25:.2f}"
    assert len(found.results) == 2
    assert found.warnings == []


def test_the_scores_of_the_vector_stores_are_cosines(ships: RetrieverConfig) -> None:
    retriever = VSRetriever(ships, LOGGER, "local--static")
    results = retriever.retrieve("sea", TEXTS["ropes.md"])
    retriever.close()

    assert results[0][0].document == "ropes.md"
    assert results[0][1] == pytest.approx(1.0, abs=1e-3)
    assert all(-1 <= score <= 1.001 for _, score in results)
    assert len(results) == 3


def test_closing_gives_back_the_stores_and_the_next_retrieval_opens_them(
    ships: RetrieverConfig,
) -> None:
    retriever = VSRetriever(ships, LOGGER, "local--static")
    before = retriever.retrieve("sea", "ferry")
    retriever.close()

    assert ships.domains["sea"].vector_stores[0].loaded_object is None
    assert retriever.retrieve("sea", "ferry") == before
    retriever.close()


def test_a_subject_in_the_uri_is_searched(tmp_path: Path) -> None:
    fill(f"local:{tmp_path}/store", subject="ann")
    uri = f"local:{tmp_path}/store?subject=ann"
    config = RetrieverConfig(
        domains={"d": PerDomainConfig(vector_stores=[VectorStoreInfo(name="ships", path=uri)])}
    )
    retriever = VSRetriever(config, LOGGER, "local--static")

    assert len(retriever.retrieve("d", "ferry")) == 3
    retriever.close()


def test_a_store_of_another_model_is_refused(ships: RetrieverConfig) -> None:
    retriever = VSRetriever(ships, LOGGER, "custom:other:http://127.0.0.1:9/v1")
    retriever.setup()
    assert retriever._embedder is not None
    retriever._embedder = BlockingEmbedder(Embedder(HashEmbedder(32), "test--hash"))
    with pytest.raises(CollectionMismatch, match="hash-0"):
        retriever.load("sea")


def test_a_store_that_another_retriever_opened_is_held_to_the_own_model(
    ships: RetrieverConfig,
) -> None:
    first = VSRetriever(ships, LOGGER, "local--static")
    expected = first.retrieve("sea", "ferry")
    second = VSRetriever(ships, LOGGER, "local--static")
    second._embedder = BlockingEmbedder(Embedder(HashEmbedder(256), "test--hash"))
    for _ in range(2):
        with pytest.raises(CollectionMismatch):
            second.retrieve("sea", "ferry")
    third = VSRetriever(ships, LOGGER, "local--static")
    assert third.retrieve("sea", "ferry") == expected
    second.close()
    third.close()

    assert first.retrieve("sea", "ferry") == expected  # they closed nothing of the first
    first.close()


def test_a_missing_vector_store_is_an_error_and_an_empty_collection_a_warning(
    tmp_path: Path, ships: RetrieverConfig, caplog: pytest.LogCaptureFixture
) -> None:
    store = ships.domains["sea"].vector_stores[0]
    store.name = "shps"
    retriever = VSRetriever(ships, LOGGER, "local--static")
    with caplog.at_level(logging.WARNING):
        assert retriever.retrieve("sea", "ferry") == []
    assert "Collection 'shps'" in caplog.text
    retriever.close()
    store.path = f"local:{tmp_path}/gone"
    with pytest.raises(StoreNotFound):
        retriever.retrieve("sea", "ferry")


def test_a_missing_bm25_store_is_skipped_with_a_warning_and_found_once_it_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chunks = keyword_chunks()
    texts = [chunk.content for chunk in chunks]
    write_chunk_store(tmp_path / "a", chunks, texts)
    infos = [BM25StoreInfo(name=name, path=str(tmp_path / name)) for name in ("a", "b")]
    config = RetrieverConfig(domains={"d": PerDomainConfig(bm25_stores=infos)})
    manager = BM25RetrieverManager(config, LOGGER)
    with caplog.at_level(logging.WARNING):
        assert len(manager.retrieve_lists("d", "ferry")) == 1
    assert "BM25 store 'b' is not at" in caplog.text
    assert manager.inc_k() is True
    write_chunk_store(tmp_path / "b", chunks, texts)
    manager.load("d")

    assert [len(results) for _, results in manager.retrieve_lists("d", "ferry")] == [2, 2]


def test_a_damaged_bm25_store_is_an_error(tmp_path: Path) -> None:
    write_chunk_store(tmp_path, [Chunk("ferry", id="1")], ["ferry"])
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_bytes()[:-1] + b"\0\0")
    config = RetrieverConfig(
        domains={"d": PerDomainConfig(bm25_stores=[BM25StoreInfo(name="a", path=str(tmp_path))])}
    )
    with pytest.raises(StoreCorrupt):
        BM25RetrieverManager(config, LOGGER).load("d")


def test_a_saved_bm25_retriever_is_a_bm25_store(tmp_path: Path) -> None:
    retriever = BM25Retriever()
    retriever.index(keyword_chunks())
    retriever.save(tmp_path / "saved")
    info = BM25StoreInfo(name="a", path=str(tmp_path / "saved"))
    config = RetrieverConfig(domains={"d": PerDomainConfig(bm25_stores=[info])})
    results = BM25RetrieverManager(config, LOGGER).retrieve("d", "bowline")

    assert [(c.document, c.metadata["file_name"]) for c, _ in results] == [("ropes.md", "ropes.md")]
    assert results[0][1] == pytest.approx(retriever.retrieve("bowline").hits[0].score)


def test_a_store_of_instantiate_vector_store_is_searched(tmp_path: Path) -> None:
    fill(f"local:{tmp_path}/store")
    named = instantiate_vector_store(f"local:{tmp_path}/store", "ships", None, LOGGER)
    info = VectorStoreInfo(name="any", path="any", loaded_object=named)
    config = RetrieverConfig(domains={"d": PerDomainConfig(vector_stores=[info])})
    retriever = VSRetriever(config, LOGGER, "local--static")
    results = retriever.retrieve("d", TEXTS["ropes.md"], k=1)
    retriever.close()

    assert [chunk.document for chunk, _ in results] == ["ropes.md"]
    assert info.loaded_object is named  # what it did not open it does not close
    anyio.run(named.aclose)


@pytest.mark.parametrize("is_async", [True, False])
def test_a_reader_of_ones_own_is_searched(is_async: bool) -> None:
    class Reader:
        def find(self, target: str, limit: int) -> list[Hit]:
            return [Hit(Chunk(target, id="x"), 0.5)][:limit]

        if is_async:

            async def near_vector(self, target: str, *, vector: Any, limit: int) -> list[Hit]:
                return self.find(target, limit)
        else:

            def near_vector(self, target: str, *, vector: Any, limit: int) -> list[Hit]:
                return self.find(target, limit)

    info = VectorStoreInfo(name="mine", path="mine", loaded_object=Reader())
    config = RetrieverConfig(domains={"d": PerDomainConfig(vector_stores=[info])})
    retriever = VSRetriever(config, LOGGER, "local--static")

    assert [(c.content, score) for c, score in retriever.retrieve("d", "q")] == [("mine", 0.5)]
