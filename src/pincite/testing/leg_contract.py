"""The part of the store contract that is about the two legs and their fusion."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pincite.errors import Unconfigured
from pincite.model.filters import NOTHING
from pincite.testing.contract import Contract, scenario
from pincite.testing.samples import (
    COLLECTION,
    METHODS,
    call,
    embed,
    ids,
    minerals,
    put,
    reader,
    refused,
)

__all__ = ["LegContract"]


class LegContract(Contract):
    """What every store's keyword side, vector side and hybrid return."""

    embeds_queries = False

    # -- bm25

    @scenario
    async def test_chunks_without_a_term_are_not_returned(self, store: Any) -> None:
        """Check first: does the keyword leg fill up to ``limit`` with chunks of score 0?"""
        port = await minerals(store)
        hits = await port.bm25(COLLECTION, query="quartz", limit=8)
        assert {hit.chunk.id for hit in hits} == {"m1-0", "m1-1", "m2-0"}
        assert list(await port.bm25(COLLECTION, query="zeolite", limit=8)) == []

    @scenario
    async def test_every_match_scores_above_zero(self, store: Any) -> None:
        """Check first: is idf zero or negative for a term in half of the chunks, or in all?"""
        for name, text in (
            ("h1", "quartz one"),
            ("h2", "quartz two"),
            ("h3", "mica"),
            ("h4", "tin"),
        ):
            await put(store, name, text)
        await put(store, "p1", "quartz", collection="pair")
        await put(store, "p2", "mica", collection="pair")
        await put(store, "a1", "quartz", collection="all")
        await put(store, "a2", "quartz", collection="all")
        port = reader(store, COLLECTION, "pair", "all")
        for target, wanted in (
            (COLLECTION, ["h1-0", "h2-0"]),
            ("pair", ["p1-0"]),
            ("all", ["a1-0", "a2-0"]),
        ):
            hits = await port.bm25(target, query="quartz", limit=4)
            assert ids(hits) == wanted
            assert all(hit.score > 0 for hit in hits)

    @scenario
    async def test_rarer_and_more_frequent_terms_weigh_more(self, store: Any) -> None:
        """Check first: is the ranking BM25, or only a count of matching terms?"""
        await put(store, "rare", "zeolite and stones of the river")
        await put(store, "common", "quartz and stones of the river")
        await put(store, "more", "quartz of the quartz and stones")
        port = reader(store)
        hits = await port.bm25(COLLECTION, query="zeolite quartz", limit=5)
        assert ids(hits) == ["rare-0", "more-0", "common-0"]

    @scenario
    async def test_identifiers_are_found_whole(self, store: Any) -> None:
        """Check first: is text analysed by ``default_analyzer()`` on both sides?"""
        texts = ("ERR-4021", "foo_bar.baz", "C++", "v2.10.3", "state-of-the-art")
        decoys = ("ERR-4022", "foo bar", "C", "v2.10.4")
        for number, text in enumerate((*texts, *decoys)):
            await put(store, f"i{number}", f"about {text} here")
        for number, text in enumerate(texts):
            hits = await reader(store).bm25(COLLECTION, query=text, limit=9)
            assert hits[0].chunk.id == f"i{number}-0", text

    @scenario
    async def test_scripts_without_spaces_are_found(self, store: Any) -> None:
        """Check first: is a run of Han, Kana or Hangul cut into bigrams, on both sides?"""
        texts = (
            "大阪で会議を開く",
            "東京の天気は晴れ",
            "中文分词测试文档",
            "회의실예약방법안내",
            "服务器GPU温度监控",
        )
        for number, text in enumerate(texts):
            await put(store, f"s{number}", text)
        for number, query in enumerate(("会議", "天気", "分词", "예약", "GPU")):
            hits = await reader(store).bm25(COLLECTION, query=query, limit=5)
            assert ids(hits) == [f"s{number}-0"], query

    @scenario
    async def test_unicode_forms_and_case_do_not_matter(self, store: Any) -> None:
        """Check first: is text normalised and casefolded before it is indexed?"""
        await put(store, "u", "Re\u0301sume\u0301 of the STRASSE")
        await put(store, "v", "r\u00e9sum\u00e9 composed")
        port = reader(store)
        for query in ("r\u00e9sum\u00e9", "RE\u0301SUME\u0301"):
            assert set(ids(await port.bm25(COLLECTION, query=query, limit=5))) == {"u-0", "v-0"}
        for query in ("strasse", "stra\u00dfe"):
            assert ids(await port.bm25(COLLECTION, query=query, limit=5)) == ["u-0"]

    @scenario
    async def test_both_legs_index_the_text_to_embed(self, store: Any) -> None:
        """Check first: is ``content`` indexed where the chunk has an ``embed_text``?"""
        await put(store, "e", "the row itself", embed_texts=["Header of zinc: the row itself"])
        await put(store, "f", "another row of tin")
        for method in ("bm25", "near_vector", "hybrid"):
            hit = (await call(reader(store), method, text="zinc header"))[0]
            assert (hit.chunk.id, hit.chunk.content) == ("e-0", "the row itself"), method

    @scenario
    async def test_highlights_are_spans_of_matched_words(self, store: Any) -> None:
        """Check first: are offsets those of the raw content, and ``spans`` moved by its start?"""
        await put(store, "m1", "first passage", "Quartz veins, and quartz again")
        for method in ("bm25", "hybrid"):
            hit = (await call(reader(store), method))[0]
            words = [hit.chunk.content[start:end] for start, end in hit.highlights]
            assert words == ["Quartz", "quartz"], method
            start = hit.chunk.start_char
            assert [(a - start, b - start) for a, b in hit.spans] == list(hit.highlights)

    # -- near_vector

    @scenario
    async def test_vectors_rank_by_cosine(self, store: Any) -> None:
        """Check first: is a distance, or a dot product of raw lengths, ranked instead?"""
        vectors = {"same": [2.0, 0.0], "near": [30.0, 30.0], "far": [0.0, 0.5], "away": [-1.0, 0.0]}
        for name, vector in vectors.items():
            await put(store, name, f"text {name}", vectors=[vector])
        hits = await reader(store).near_vector(COLLECTION, vector=[5.0, 0.0], limit=10)
        assert ids(hits) == ["same-0", "near-0", "far-0", "away-0"]
        assert [hit.score for hit in hits] == pytest.approx([1, math.sqrt(0.5), 0, -1], abs=2e-3)

    # -- hybrid

    @scenario
    async def test_hybrid_finds_what_either_leg_finds(self, store: Any) -> None:
        """Check first: are hits of one leg alone dropped in the fusion?"""
        await put(store, "word", "zeolite", vectors=[[0.0, 1.0]])
        await put(store, "near", "other text", vectors=[[1.0, 0.0]])
        hits = await reader(store).hybrid(COLLECTION, query="zeolite", vector=[1.0, 0.0], limit=5)
        by_id = {hit.chunk.id: hit for hit in hits}
        assert set(by_id) == {"word-0", "near-0"}
        assert set(by_id["word-0"].legs) == {"keyword", "vector"}
        assert set(by_id["near-0"].legs) == {"vector"}

    @scenario
    async def test_a_fused_score_is_the_sum_of_its_legs(self, store: Any) -> None:
        """Check first: does each hit tell its legs' scores, ranks, weights and shares?"""
        port = await minerals(store)
        keyword = {h.chunk.id: h for h in await call(port, "bm25", text="quartz gold")}
        vector = {h.chunk.id: h for h in await call(port, "near_vector", text="quartz gold")}
        for hit in await call(port, "hybrid", text="quartz gold"):
            assert hit.score == pytest.approx(
                sum(leg.contribution for leg in hit.legs.values()), abs=1e-6
            )
            for name, found in (("keyword", keyword), ("vector", vector)):
                assert (name in hit.legs) == (hit.chunk.id in found)
                if name in hit.legs:
                    leg, alone = hit.legs[name], found[hit.chunk.id]
                    assert (leg.raw, leg.rank) == (alone.score, alone.rank)

    @scenario
    async def test_alpha_one_is_the_vector_side_alone(self, store: Any) -> None:
        """Check first: do keyword hits of weight 0 stay in the list?"""
        port = await minerals(store)
        text, vector = "quartz gold", embed("water and rain")
        for limit in (2, 10):
            hits = await port.hybrid(COLLECTION, query=text, vector=vector, limit=limit, alpha=1.0)
            alone = await port.near_vector(COLLECTION, vector=vector, limit=limit)
            assert ids(hits) == ids(alone)

    @scenario
    async def test_alpha_zero_is_the_keyword_side_alone(self, store: Any) -> None:
        """Check first: do vector hits of weight 0 stay in the list?"""
        port = await minerals(store)
        text, vector = "quartz gold", embed("water and rain")
        for limit in (2, 10):
            hits = await port.hybrid(COLLECTION, query=text, vector=vector, limit=limit, alpha=0)
            assert ids(hits) == ids(await port.bm25(COLLECTION, query=text, limit=limit))

    @scenario
    async def test_alpha_moves_weight_to_the_vector_side(self, store: Any) -> None:
        """Check first: is ``alpha`` the weight of the vector side, not of the keyword side?"""
        await put(store, "word", "zeolite zeolite", vectors=[[0.0, 1.0]])
        await put(store, "near", "something else", vectors=[[1.0, 0.0]])
        await put(store, "both", "zeolite among other words", vectors=[[1.0, 1.0]])
        port = reader(store)
        first = {}
        for alpha in (0.05, 0.95):
            hits = await port.hybrid(
                COLLECTION, query="zeolite", vector=[1.0, 0.0], limit=3, alpha=alpha
            )
            first[alpha] = hits[0].chunk.id
        assert first == {0.05: "word-0", 0.95: "near-0"}

    @scenario
    async def test_without_alpha_both_sides_have_a_say(self, store: Any) -> None:
        """Check first: is the store's own default used, and is it between 0 and 1?"""
        port = await minerals(store)
        hits = await call(port, "hybrid", text="quartz")
        assert {leg for hit in hits for leg in hit.legs} == {"keyword", "vector"}
        assert len(hits) == 8

    @scenario
    async def test_without_keyword_matches_the_vector_order_stands(self, store: Any) -> None:
        """Check first: does normalising one leg change its order?"""
        port = await minerals(store)
        vector = embed("quartz gold water")
        hits = await port.hybrid(COLLECTION, query="zeolite", vector=vector, limit=10)
        assert ids(hits) == ids(await port.near_vector(COLLECTION, vector=vector, limit=10))

    @scenario
    async def test_a_vector_of_zeros_leaves_hybrid_to_keywords(self, store: Any) -> None:
        """Check first: is a query refused, none of whose words the model knows?"""
        port = await minerals(store)
        zeros = [0.0] * len(embed("quartz"))
        found = await port.hybrid(COLLECTION, query="quartz gold", vector=zeros, limit=5)
        assert ids(found) == ids(await port.bm25(COLLECTION, query="quartz gold", limit=5))
        for query, alpha in (("quartz", 1.0), ("  ", None)):
            await refused(
                port.hybrid(COLLECTION, query=query, vector=zeros, limit=5, alpha=alpha), query
            )

    @scenario
    async def test_a_page_of_hybrid_is_the_head_of_a_longer_one(self, store: Any) -> None:
        """Check first: does the depth of the legs follow ``limit`` below 100 hits?"""
        port = await minerals(store)
        long = ids(await call(port, "hybrid", text="quartz gold", limit=8))
        for limit in range(1, 8):
            assert ids(await call(port, "hybrid", text="quartz gold", limit=limit)) == long[:limit]

    @scenario
    async def test_hybrid_without_a_vector_embeds_or_is_unconfigured(self, store: Any) -> None:
        """Check first: does a store without an embedder answer with keywords alone, at alpha 0
        too? Does one with an embedder use the model of the stored vectors?"""
        port = await minerals(store)
        if self.embeds_queries:
            given = await call(port, "hybrid", text="quartz gold")
            assert await port.hybrid(COLLECTION, query="quartz gold", limit=10) == given
            assert list(await port.hybrid(COLLECTION, query="  ", limit=10)) == []
            assert list(await port.hybrid(COLLECTION, query="x", limit=3, where=NOTHING)) == []
            return
        for alpha in (None, 0.0, 0.5, 1.0):
            for query in ("quartz", "", "???"):
                with pytest.raises(Unconfigured):
                    await port.hybrid(COLLECTION, query=query, limit=3, alpha=alpha)

    # -- queries that hold nothing

    @scenario
    async def test_a_blank_query_matches_nothing(self, store: Any) -> None:
        """Check first: does an empty query match every chunk, or raise?"""
        port = await minerals(store)
        for query in ("", "  ", "\n\t", "???", "-- !"):
            assert list(await port.bm25(COLLECTION, query=query, limit=5)) == [], repr(query)

    @scenario
    async def test_a_blank_query_leaves_the_vector_side(self, store: Any) -> None:
        """Check first: does hybrid return nothing when the keyword side has no terms?"""
        port = await minerals(store)
        vector = embed("quartz")
        near = ids(await port.near_vector(COLLECTION, vector=vector, limit=5))
        for query in ("", "  ", "???"):
            hits = await port.hybrid(COLLECTION, query=query, vector=vector, limit=5)
            assert ids(hits) == near, repr(query)

    @scenario
    async def test_a_query_of_stop_words_still_finds(self, store: Any) -> None:
        """Check first: are stop words dropped from the index, or from a query of nothing else?"""
        await put(store, "s1", "the end of the road and the start")
        await put(store, "s2", "quartz mica granite")
        assert ids(await reader(store).bm25(COLLECTION, query="the of and", limit=5)) == ["s1-0"]

    @scenario
    async def test_an_empty_collection_answers_empty(self, store: Any) -> None:
        """Check first: does a division by no chunks, or a missing table, reach the caller?"""
        port = reader(store)
        for method in METHODS:
            assert list(await call(port, method)) == [], method
