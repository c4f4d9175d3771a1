"""``BM25Retriever``, name by name as its page has it."""

from __future__ import annotations

import doctest
import inspect
import threading
from datetime import UTC, datetime

import anyio
import pytest

from pincite.errors import InvalidArgument, InvalidQueryError, StoreCorrupt
from pincite.model.geometry import BboxRect, TableSpan
from pincite.model.hits import Chunk, Hit
from pincite.model.where import F
from pincite.retrieval import bm25_retriever, words
from pincite.retrieval.base import Retriever
from pincite.retrieval.bm25_retriever import STOPWORDS, BM25Retriever, MetadataFilter, ScoredChunk


@pytest.fixture
def retriever() -> BM25Retriever:
    made = BM25Retriever()
    made.index(
        [
            Chunk("error E1042 occurs when the socket closes", id="a", metadata={"year": 2020}),
            Chunk("the network layer handles socket reconnection", id="b", metadata={"year": 2021}),
            Chunk("nothing of the kind", id="c", metadata={"year": 2022, "lang": ["en", "de"]}),
        ]
    )
    return made


@pytest.mark.parametrize("module", [bm25_retriever, words])
def test_the_examples_run(module):
    assert doctest.testmod(module).failed == 0


def test_defaults_are_those_of_the_page():
    found = {
        name: parameter.default
        for name, parameter in inspect.signature(BM25Retriever).parameters.items()
    }
    assert found == {
        "top_k": 5,
        "k1": 1.5,
        "b": 0.75,
        "remove_stopwords": True,
        "min_token_length": 1,
        "vectorstore": None,
        "language": None,
        "method": "okapi",
        "score_threshold": None,
        "rerank": None,
        "fetch_k": None,
        "name": "bm25",
    }
    kinds = {p.kind for p in inspect.signature(BM25Retriever).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_a_misspelt_option_fails():
    with pytest.raises(TypeError):
        BM25Retriever(topk=3)


def test_attributes(retriever):
    assert (retriever.top_k, retriever.k1, retriever.b, retriever.name) == (5, 1.5, 0.75, "bm25")
    assert (retriever.remove_stopwords, retriever.min_token_length) == (True, 1)
    assert (retriever.language, retriever.method) == (None, "okapi")
    assert list(retriever.chunks) == ["a", "b", "c"]
    with pytest.raises(TypeError):
        retriever.chunks["d"] = Chunk("d")


def test_names_of_the_page():
    assert ScoredChunk is Hit
    assert "the" in STOPWORDS
    assert MetadataFilter is not None


def test_index_counts_and_replaces(retriever):
    assert retriever.index([]) == 0
    assert retriever.index([Chunk("new words", id="a")]) == 1
    assert retriever.stats()["documents"] == 3
    assert retriever.retrieve("E1042").hits == []
    assert retriever.chunks["a"].content == "new words"


def test_equal_contents_are_one_chunk():
    made = BM25Retriever()

    assert made.index([Chunk("same words"), Chunk("same words"), Chunk("others")]) == 3
    assert made.stats()["documents"] == len(made.chunks) == 2


def test_remove_counts_what_was_there(retriever):
    assert retriever.remove(["a", "nowhere", "a"]) == 1
    assert list(retriever.chunks) == ["b", "c"]
    assert retriever.retrieve("E1042").hits == []


def test_clear_empties(retriever):
    retriever.clear()

    assert retriever.stats() == {
        "documents": 0,
        "vocabulary": 0,
        "total_tokens": 0,
        "average_length": 0.0,
    }
    assert retriever.retrieve("socket").hits == []


def test_stats_leave_stop_words_out(retriever):
    # error e1042 occurs socket closes | network layer handles socket reconnection | nothing kind
    assert retriever.stats() == {
        "documents": 3,
        "vocabulary": 11,
        "total_tokens": 12,
        "average_length": 4.0,
    }


def test_chunks_without_tokens_count(retriever):
    retriever.index([Chunk("...", id="empty")])

    assert retriever.stats()["documents"] == 4
    assert retriever.stats()["average_length"] == 3.0


def test_the_score_is_the_formula_of_the_page(retriever):
    # idf = ln(1 + (3 - 1 + .5) / 1.5); |d| 5, avgdl 4
    [hit] = retriever.retrieve("E1042")

    assert hit.score == pytest.approx(0.9808292530117262 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 5 / 4)))
    assert (hit.rank, hit.retriever, hit.chunk.id) == (1, "bm25", "a")


def test_results_iterate_and_give_texts(retriever):
    found = retriever.retrieve("socket", 1)

    assert [hit.chunk.id for hit in found] == [hit.chunk.id for hit in found.hits] == ["a"]
    assert found.texts() == ["error E1042 occurs when the socket closes"]


def test_k_is_top_k_by_default_and_at_least_one(retriever):
    retriever.top_k = 1
    assert len(retriever.retrieve("socket")) == 1
    assert len(retriever.retrieve("socket", 2)) == 2
    for k in (0, -1):
        with pytest.raises(InvalidQueryError):
            retriever.retrieve("socket", k)
        with pytest.raises(InvalidQueryError):
            retriever.retrieve_chunks("socket", k)


@pytest.mark.parametrize("query", ["", "  \n", "???", "absent"])
def test_queries_that_find_nothing(retriever, query):
    assert retriever.retrieve(query).hits == []


def test_stop_words_are_dropped_from_both_sides(retriever):
    assert retriever.retrieve("the of when").hits == []
    assert [hit.chunk.id for hit in retriever.retrieve("the kind")] == ["c"]


def test_a_text_or_query_of_only_stop_words_is_kept_whole():
    made = BM25Retriever()
    made.index([Chunk("to be or not to be", id="hamlet"), Chunk("The Who", id="band")])

    assert [hit.chunk.id for hit in made.retrieve("who")] == ["band"]


def test_stop_words_can_be_kept():
    made = BM25Retriever(remove_stopwords=False)
    made.index([Chunk("the cat", id="a"), Chunk("a dog", id="b")])

    assert [hit.chunk.id for hit in made.retrieve("the")] == ["a"]
    assert made.stats()["total_tokens"] == 4


def test_short_tokens_can_be_ignored():
    made = BM25Retriever(min_token_length=3)
    made.index([Chunk("go get x1 words", id="a")])

    assert made.stats()["total_tokens"] == 2
    assert made.retrieve("go x1").hits == []


def test_words_are_stemmed_in_a_language_only():
    plain, english = BM25Retriever(), BM25Retriever(language="en")
    for made in (plain, english):
        made.index([Chunk("running dogs", id="a")])

    assert plain.retrieve("dog").hits == []
    assert len(english.retrieve("dog").hits) == 1
    assert english.language == "en"


@pytest.mark.parametrize(
    "options",
    [
        {"k1": -1},
        {"b": 2},
        {"method": "x"},
        {"top_k": 0},
        {"fetch_k": 0},
        {"min_token_length": 0},
        {"language": "not a language"},
        {"score_threshold": float("nan")},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidArgument):
        BM25Retriever(**options)


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        (F("year") >= 2021, ["b"]),
        ("year >= 2021", ["b"]),
        ({"year": {"$gte": 2021}}, ["b"]),
        ({"year": 2020}, ["a"]),
        ({"$or": [{"year": 2020}, {"year": {"$in": [2021]}}]}, ["a", "b"]),
        ({"$not": {"year": {"$ne": 2020}}}, ["a"]),
        ({"lang": {"$contains": "de"}}, []),
        ({"lang": {"$exists": False}}, ["a", "b"]),
        ({}, ["a", "b"]),
        (None, ["a", "b"]),
    ],
)
def test_filters_in_every_form(retriever, filters, wanted):
    assert [hit.chunk.id for hit in retriever.retrieve("socket", filters=filters)] == wanted


def test_filters_are_applied_before_ranking(retriever):
    found = retriever.retrieve("socket", 1, filters="year = 2021")

    assert [hit.chunk.id for hit in found] == ["b"]
    assert found[0].score == retriever.retrieve("socket")[1].score


@pytest.mark.parametrize(
    "filters", [{"year": {"$near": 1}}, {"nowhere": 1}, "year >", {"year": "twenty"}, 7]
)
def test_a_bad_filter_is_an_error(retriever, filters):
    with pytest.raises(InvalidQueryError):
        retriever.retrieve("socket", filters=filters)


def test_types_of_fields_follow_the_chunks(retriever):
    assert len(retriever.retrieve("socket", filters="year < 2021")) == 1

    retriever.index([Chunk("socket", id="d", metadata={"size": 1.5})])

    assert [h.chunk.id for h in retriever.retrieve("socket", filters="size > 1")] == ["d"]


class _Store:
    def __init__(self, chunks):
        self._chunks = chunks

    def all_chunks(self):
        return iter(self._chunks)


class _AsyncStore(_Store):
    async def all_chunks(self):
        return self._chunks


class _AwaitableStore(_Store):
    def all_chunks(self):
        return _AsyncStore(self._chunks).all_chunks()


def test_a_store_seeds_the_index():
    made = BM25Retriever(vectorstore=_Store([Chunk("quartz veins", id="q")]))

    assert [hit.chunk.id for hit in made.retrieve("quartz")] == ["q"]


@pytest.mark.parametrize("kind", [_AsyncStore, _AwaitableStore])
def test_an_async_store_is_refused_with_the_way_to_do_it(kind):
    with pytest.raises(InvalidArgument, match=r"aindex\(await reader.all_chunks"):
        BM25Retriever(vectorstore=kind([]))


def test_an_object_without_chunks_is_refused():
    with pytest.raises(InvalidArgument, match="all_chunks"):
        BM25Retriever(vectorstore=object())


def test_the_async_methods_do_the_same(retriever):
    async def main():
        assert await retriever.aindex([]) == 0
        assert await retriever.aindex([Chunk("quartz socket", id="q")]) == 1
        found = await retriever.aretrieve("quartz", 1)
        chunks = await retriever.aretrieve_chunks("quartz", 1, filters="year >= 2020")
        with pytest.raises(InvalidQueryError):
            await retriever.aretrieve("x", 0)
        assert (await retriever.aretrieve(" ")).hits == []
        return found.hits, chunks

    hits, filtered = anyio.run(main)
    assert [hit.chunk.id for hit in hits] == ["q"]
    assert filtered == []


def test_the_event_loop_runs_while_the_index_is_locked(retriever):
    """Another thread holds the lock; the loop must not wait for it."""
    held, release = threading.Event(), threading.Event()

    def hold():
        with retriever._lock:
            held.set()
            release.wait(10)

    async def main():
        async with anyio.create_task_group() as group:
            group.start_soon(retriever.aindex, [Chunk("late", id="late")])
            for _ in range(5):
                await anyio.sleep(0.01)
            assert "late" not in retriever.chunks
            assert len((await retriever.aretrieve("socket")).hits) == 2
            release.set()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    anyio.run(main)
    thread.join()
    assert "late" in retriever.chunks


def test_searches_and_removals_in_parallel(retriever):
    retriever.index([Chunk(f"common word {n}", id=f"n{n}") for n in range(200)])
    errors: list[Exception] = []

    def read():
        try:
            for _ in range(50):
                for hit in retriever.retrieve("common", 20, filters={"year": {"$exists": False}}):
                    assert hit.chunk.content.startswith("common")
        except Exception as error:  # noqa: BLE001 - shown by the assert below
            errors.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for n in range(0, 200, 5):
        retriever.remove([f"n{n}"])
    for thread in threads:
        thread.join()
    assert errors == []


class _Reverse:
    def rerank(self, query, hits):
        return [
            Hit(hit.chunk, float(place), retriever="reverse")
            for place, hit in enumerate(reversed(hits), start=1)
        ][::-1]


def test_rerank_threshold_and_depth():
    made = BM25Retriever(top_k=2, rerank=_Reverse(), fetch_k=3, score_threshold=2.0)
    made.index([Chunk(f"word{' pad' * n}", id=str(n)) for n in range(5)])

    found = made.retrieve("word")

    # Fetched 0, 1, 2; the reranker turns them round with scores 3, 2, 1.
    assert [(hit.chunk.id, hit.score, hit.rank) for hit in found] == [("0", 3.0, 1), ("1", 2.0, 2)]
    assert [hit.chunk.id for hit in anyio.run(made.aretrieve, "word")] == ["0", "1"]


def test_a_threshold_cuts_weak_hits(retriever):
    best = retriever.retrieve("E1042 socket")[0].score
    retriever.score_threshold = best

    assert [hit.chunk.id for hit in retriever.retrieve("E1042 socket")] == ["a"]


def test_a_retriever_of_ones_own_needs_one_method():
    class Fixed(Retriever):
        def retrieve_chunks(self, query, k, *, filters=None):
            return [Hit(Chunk(query), 1.0)] * k

    made = Fixed(top_k=2, name="fixed")

    assert made.name == "fixed"
    assert [hit.rank for hit in made.retrieve("q")] == [1, 2]
    assert len(anyio.run(made.aretrieve, "q", 3)) == 3


def test_save_and_open_keep_chunks_whole(tmp_path):
    chunk = Chunk(
        "quartz in veins",
        document="a.pdf",
        title="Veins",
        pages=(1, 2),
        bboxes=(BboxRect(1, 0.5, 1.0, 2.0, 3.0),),
        tables=(TableSpan(0, 4, "t1"),),
        metadata={"year": 2020, "when": datetime(2020, 1, 2, tzinfo=UTC), "tags": ["x"]},
    )
    made = BM25Retriever(k1=1.1, method="lucene", language="en")
    made.index([chunk, Chunk("gold", id="g"), Chunk("lead", id="l")])
    made.remove(["l"])
    made.save(tmp_path / "store")

    opened = BM25Retriever.open(tmp_path / "store", language="en", top_k=1)

    assert dict(opened.chunks) == {chunk.id: chunk, "g": Chunk("gold", id="g")}
    assert (opened.k1, opened.method, opened.top_k) == (1.1, "lucene", 1)
    assert opened.retrieve("vein", filters="year = 2020").hits == made.retrieve("vein").hits
    opened.index([Chunk("silver", id="s")])
    opened.save(tmp_path / "store")
    assert set(BM25Retriever.open(tmp_path / "store", language="en").chunks) == {
        chunk.id,
        "g",
        "s",
    }


def test_open_refuses_other_options_and_damage(tmp_path):
    made = BM25Retriever()
    made.index([Chunk("gold", id="g")])
    made.save(tmp_path / "store")

    with pytest.raises(InvalidArgument, match="analysis"):
        BM25Retriever.open(tmp_path / "store", remove_stopwords=False)
    [segment] = (tmp_path / "store").glob("*.seg")
    segment.write_bytes(segment.read_bytes()[:-1])
    with pytest.raises(StoreCorrupt):
        BM25Retriever.open(tmp_path / "store")


def test_metadata_that_is_no_json_is_refused_when_saved(tmp_path):
    made = BM25Retriever()
    made.index([Chunk("gold", id="g", metadata={"odd": object()})])

    with pytest.raises(InvalidArgument, match="'g'"):
        made.save(tmp_path / "store")
