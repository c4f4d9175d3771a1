"""The one hybrid: depth, weights, ties, pages."""

import copy
import pickle
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.fusion import distribution_based
from pincite.model.hits import Chunk, Spans
from pincite.stores import hybrid


def hits(leg, *pairs):
    return [
        hybrid.leg_hit(leg, Chunk("text", id=name, start_char=10), score, rank, [(0, 4)])
        for rank, (name, score) in enumerate(pairs, start=1)
    ]


def names(found):
    return [hit.chunk.id for hit in found]


KEYWORD = hits("keyword", ("a", 9.0), ("b", 5.0), ("c", 1.0))
VECTOR = hits("vector", ("c", 0.9), ("d", 0.5), ("a", 0.1))


def test_the_depth_follows_k_alone():
    assert [hybrid.leg_depth(k) for k in (1, 25, 26, 1000)] == [100, 100, 104, 4000]


def test_a_leg_hit_tells_its_score_and_its_place():
    hit = hits("keyword", ("a", 2.5))[0]

    leg = hit.legs["keyword"]
    assert (hit.rank, hit.score) == (1, 2.5)
    assert (leg.raw, leg.rank, leg.weight, leg.contribution) == (2.5, 1, 1.0, 2.5)
    assert (hit.highlights, hit.spans) == (((0, 4),), ((10, 14),))
    assert hit.retriever == "keyword"


def test_the_default_gives_the_vector_side_three_tenths():
    found = hybrid.fuse_hits(KEYWORD, VECTOR, alpha=None, limit=10)

    assert hybrid.DEFAULT_ALPHA == 0.3
    assert found == hybrid.fuse_hits(KEYWORD, VECTOR, alpha=0.3, limit=10)
    assert [hit.legs["keyword"].weight for hit in found[:3]] == [0.7] * 3


def test_scores_are_those_of_distribution_based_fusion():
    lists = [[(h.chunk.id, h.score) for h in leg] for leg in (KEYWORD, VECTOR)]
    wanted = dict(distribution_based(lists, weights=[0.7, 0.3]))

    found = hybrid.fuse_hits(KEYWORD, VECTOR, alpha=0.3, limit=10)

    assert {h.chunk.id: h.score for h in found} == pytest.approx(wanted, abs=1e-6)
    assert all(hit.score == struct.unpack("f", struct.pack("f", hit.score))[0] for hit in found)


def test_a_hit_of_both_legs_keeps_both_and_the_keyword_highlights():
    found = {h.chunk.id: h for h in hybrid.fuse_hits(KEYWORD, VECTOR, alpha=0.3, limit=10)}

    assert set(found["a"].legs) == {"keyword", "vector"}
    assert (found["a"].legs["keyword"].rank, found["a"].legs["vector"].rank) == (1, 3)
    assert found["a"].highlights == ((0, 4),)
    assert {hit.retriever for hit in found.values()} == {"hybrid"}
    assert set(found["d"].legs) == {"vector"}
    assert set(found["b"].legs) == {"keyword"}


def test_at_the_ends_of_alpha_one_leg_alone_returns():
    assert names(hybrid.fuse_hits(KEYWORD, VECTOR, alpha=1, limit=10)) == names(VECTOR)
    assert names(hybrid.fuse_hits(KEYWORD, VECTOR, alpha=0, limit=10)) == names(KEYWORD)


def test_a_leader_far_ahead_of_its_leg_stays_ahead():
    # Both leaders are more than three deviations out: clipped, they would have the same score.
    far = hits("vector", ("z", 500.0), ("y", 499.0), *((f"m{n:03}", 1.0) for n in range(150)))

    alone = hybrid.fuse_hits([], far, alpha=None, limit=60)
    assert alone[0].score > alone[1].score
    assert names(alone)[:2] == ["z", "y"]
    both = hybrid.fuse_hits(hits("keyword", ("k", 1.0)), far, alpha=0.9, limit=60)
    assert names(both)[:2] == ["z", "y"]


def test_equal_scores_are_ordered_by_chunk_id():
    keyword, vector = hits("keyword", ("t2", 1.0), ("t10", 1.0)), hits("vector", ("t1", 0.5))

    assert names(hybrid.fuse_hits(keyword, vector, alpha=0.5, limit=5)) == ["t1", "t10", "t2"]


def test_a_single_hit_of_a_leg_counts_a_half():
    found = hybrid.fuse_hits(hits("keyword", ("a", 7.0)), VECTOR, alpha=0.3, limit=5)

    by_name = {hit.chunk.id: hit for hit in found}
    assert by_name["a"].legs["keyword"].contribution == pytest.approx(0.35)


def test_a_chunk_that_a_leg_repeats_counts_once():
    found = hybrid.fuse_hits(hits("keyword", ("a", 3.0), ("a", 2.0)), [], alpha=0, limit=5)

    assert names(found) == ["a"]
    assert found[0].legs["keyword"].rank == 1


def test_chunks_of_two_collections_are_two():
    keyword = [hybrid.leg_hit("keyword", Chunk("x", id="a", collection="one"), 1.0, 1)]
    vector = [hybrid.leg_hit("vector", Chunk("y", id="a", collection="two"), 1.0, 1)]

    assert len(hybrid.fuse_hits(keyword, vector, alpha=0.5, limit=5)) == 2


@given(st.integers(1, 8), st.sampled_from([None, 0.0, 0.4, 1.0]))
def test_pages_put_together_are_the_whole(limit, alpha):
    whole = hybrid.fuse_hits(KEYWORD, VECTOR, alpha=alpha, limit=50)
    paged = [
        hit
        for offset in range(0, 50, limit)
        for hit in hybrid.fuse_hits(KEYWORD, VECTOR, alpha=alpha, limit=limit, offset=offset)
    ]

    assert paged == whole
    assert [hit.rank for hit in paged] == list(range(1, len(whole) + 1))


def test_hits_past_the_depth_are_left_out_with_a_warning():
    keyword = hits("keyword", *((f"k{n:04}", 200.0 - n) for n in range(150)))
    vector = hits("vector", *((f"v{n:04}", 200.0 - n) for n in range(150)))

    assert len(hybrid.fuse_hits(keyword, vector, alpha=0.5, limit=10, offset=90)) == 10
    assert len(hybrid.fuse_hits(keyword, vector, alpha=0.5, limit=10, offset=95)) == 5
    assert hybrid.fuse_hits(keyword, vector, alpha=0.5, limit=10, offset=100) == []
    assert hybrid.depth_warning(10, 90) is None
    assert "Raise k" in hybrid.depth_warning(10, 91)
    assert "100" in hybrid.depth_warning(10, 91)


def test_the_plan_leaves_out_legs_that_add_nothing():
    def legs(query, alpha):
        planned = hybrid.plan(query=query, limit=30, alpha=alpha)
        assert planned.depth == 120
        return planned.keyword, planned.vector

    assert legs("q", None) == (True, True)
    assert legs("q", 0.0) == (True, False)
    assert legs("q", 1) == (False, True)
    assert legs("  ", None) == (False, True)
    assert legs("", 0.0) == (False, False)


@pytest.mark.parametrize(("alpha", "legs"), [(None, (True, False)), (1.0, (False, True))])
def test_a_zero_vector_says_nothing_beside_keywords(alpha, legs):
    planned = hybrid.plan(query="q", limit=5, alpha=alpha, vector=[0.0, 0.0])

    assert (planned.keyword, planned.vector) == legs
    assert hybrid.plan(query="q", limit=5, alpha=None, vector=[0.0, 0.1]).vector


def test_run_asks_each_planned_leg_for_its_depth():
    asked = []

    def leg(name, found):
        def search(depth):
            asked.append((name, depth))
            return found

        return search

    planned = hybrid.plan(query="q", limit=50, alpha=None)
    found = hybrid.run(planned, leg("keyword", KEYWORD), leg("vector", VECTOR), limit=50)

    assert asked == [("keyword", 200), ("vector", 200)]
    assert found == hybrid.fuse_hits(KEYWORD, VECTOR, alpha=None, limit=50)


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0.1, 9)), max_size=6),
    st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(-1, 1)), max_size=6),
    st.sampled_from([None, 0.0, 0.3, 0.8, 1.0]),
    st.integers(0, 3),
)
def test_fusing_keys_and_scores_is_fusing_hits(keyword, vector, alpha, offset):
    keyword.sort(key=lambda pair: -pair[1])
    vector.sort(key=lambda pair: -pair[1])
    fused = hybrid.fuse_scored(keyword, vector, alpha=alpha, limit=4, offset=offset)
    whole = hybrid.fuse_hits(
        hits("keyword", *keyword), hits("vector", *vector), alpha=alpha, limit=4, offset=offset
    )

    assert [(h.chunk.id, h.score, h.rank, h.legs) for h in whole] == [tuple(f) for f in fused]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1.0, 2.0, 3.0, 9.0])), max_size=12),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0.1, 0.2, 0.9])), max_size=12),
    st.sampled_from([None, 0.5, 1.0]),
    st.integers(0, 4),
    st.integers(1, 6),
)
def test_ties_are_in_the_order_of_names(keyword, vector, alpha, offset, limit):
    def name(key):
        return f"d{9 - key}"

    keyword.sort(key=lambda pair: (-pair[1], name(pair[0])))
    vector.sort(key=lambda pair: (-pair[1], name(pair[0])))
    by_key = hybrid.fuse_scored(keyword, vector, alpha=alpha, limit=limit, offset=offset, name=name)
    by_name = hybrid.fuse_scored(
        [(name(key), score) for key, score in keyword],
        [(name(key), score) for key, score in vector],
        alpha=alpha,
        limit=limit,
        offset=offset,
    )

    assert [fused._replace(key=name(fused.key)) for fused in by_key] == by_name


def test_spans_that_are_not_found_yet_are_equal_to_those_that_are():
    asked = []

    def find():
        asked.append(1)
        return [(0, 4)]

    later = hybrid.leg_hit("keyword", Chunk("text", id="a", start_char=10), 2.5, 1, Spans(find))
    assert not asked
    assert later == hits("keyword", ("a", 2.5))[0]
    assert hits("keyword", ("a", 2.5))[0] == later
    assert later.highlights != ((0, 3),)
    assert later.spans != hits("keyword", ("a", 2.5))[0].chunk
    assert pickle.loads(pickle.dumps(later)) == later
    assert type(copy.deepcopy(later).spans) is tuple
    assert list(later.spans) == [(10, 14)]
    assert len(later.highlights) == 1
    assert repr(later.spans) == "((10, 14),)"
    assert hash(later.spans) == hash(((10, 14),))
    assert asked == [1]
