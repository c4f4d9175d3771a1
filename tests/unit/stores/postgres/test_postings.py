"""Blocks of postings: what was written is found, merged and summed as a plain dictionary would."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.bm25.segment import build_arrays
from pincite.errors import StoreCorrupt
from pincite.stores.postgres.keyword import Found, score
from pincite.stores.postgres.postings import (
    Block,
    Inverted,
    Postings,
    inverted,
    keys_of,
    merged,
    union,
    word_of,
)

Chunk = tuple[int, dict[str, int], int]
"""Key, frequencies and length."""

TERMS = st.sampled_from(["a", "ab", "a\0", "\x01", "b", "häuser", "石英", "\ud800", "z" * 300, "~"])
LARGE = st.sampled_from([1, 2, 255, 256, 65_535, 65_536, 2**32 - 1])
CHUNKS = st.lists(
    st.tuples(
        st.integers(1, 2**40), st.dictionaries(TERMS, LARGE, max_size=6), st.integers(0, 2**32 - 1)
    ),
    max_size=8,
    unique_by=lambda chunk: chunk[0],
)


def made(chunks: Sequence[Chunk]) -> Inverted:
    arrays = build_arrays((terms, length) for _, terms, length in chunks)
    return inverted(arrays, np.array([key for key, _, _ in chunks], dtype=np.int64))


def blocks_of(segment: Inverted) -> list[tuple[bytes, Block]]:
    return [(first, Block(words, data)) for first, words, data in segment.blocks()]


def plain(chunks: Sequence[Chunk]) -> dict[bytes, dict[int, tuple[int, int]]]:
    found: dict[bytes, dict[int, tuple[int, int]]] = {}
    for key, terms, length in chunks:
        for term, tf in terms.items():
            found.setdefault(word_of(term), {})[key] = (tf, length)
    return found


def as_dict(postings: Postings) -> dict[int, tuple[int, int]]:
    keys, tfs, lengths = (column.tolist() for column in postings)
    assert len(set(keys)) == len(keys)
    return {key: (tf, length) for key, tf, length in zip(keys, tfs, lengths, strict=True)}


@given(CHUNKS)
def test_every_posting_comes_back(chunks: list[Chunk]) -> None:
    blocks = blocks_of(made(chunks))
    words = plain(chunks)
    assert [word for _, block in blocks for word in block.words()] == sorted(words)
    assert [first for first, _ in blocks] == [block.words()[0] for _, block in blocks]
    for word in (*words, word_of("absent")):
        found = [block.find(word) for _, block in blocks]
        assert as_dict(union(found)) == words.get(word, {})


@given(st.lists(CHUNKS, max_size=3), st.sets(st.integers(0, 30)))
def test_a_merge_is_a_segment_of_the_live_chunks(
    segments: list[list[Chunk]], dead: set[int]
) -> None:
    renumbered: list[list[Chunk]] = []
    for part in segments:
        before = sum(map(len, renumbered))
        renumbered.append([(before + n, t, length) for n, (_, t, length) in enumerate(part)])
    parts = [block.whole() for part in renumbered for _, block in blocks_of(made(part))]

    together = merged(parts, np.array(sorted(dead), dtype=np.int64))

    live = [chunk for part in renumbered for chunk in part if chunk[0] not in dead]
    assert list(together.words) == sorted(plain(live))
    for word, postings in plain(live).items():
        found = [block.find(word) for _, block in blocks_of(together)]
        assert as_dict(union(found)) == postings


def test_large_segments_are_cut_into_blocks_of_a_page() -> None:
    chunks = [(n, {f"t{n % 900}": 1, "common": 2, f"own{n}": 1}, 40) for n in range(5_000)]
    rows = list(made(chunks).blocks())

    sizes = [len(words) + len(data) for _, words, data in rows]
    assert max(size for size, row in zip(sizes, rows, strict=True) if row[0] != b"common") < 4_200
    assert sum(sizes) < 5_000 * 3 * 16
    assert [first for first, _, _ in rows] == sorted(first for first, _, _ in rows)
    held = [Block(words, data) for _, words, data in rows]
    assert len(union([block.find(b"common") for block in held]).keys) == 5_000


def test_synonyms_are_summed_in_each_chunk() -> None:
    blocks = blocks_of(made([(7, {"x": 2, "y": 3}, 9), (9, {"y": 1}, 4)]))
    found = union([block.find(word) for word in (b"x", b"y", b"none") for _, block in blocks])

    assert as_dict(found) == {7: (5, 9), 9: (1, 4)}


def test_scores_do_not_depend_on_how_far_apart_keys_are() -> None:
    """Close keys are scored in one array, far ones are looked up."""
    rng = np.random.default_rng(3)
    near = np.sort(rng.choice(5_000, 300, replace=False)).astype(np.int64)
    tfs, lengths = (rng.integers(1, 9, 300).astype(np.uint32) for _ in range(2))
    scores = []
    for keys in (near, near * 2**33):
        halves = [Postings(keys, tfs, lengths), Postings(keys, tfs, lengths).at(slice(0, 150))]
        groups = [Found((str(n),), 1, half) for n, half in enumerate(halves)]
        found, values = score(groups, rows=400, average=4.5)
        assert found.tolist() == keys.tolist()
        scores.append(values)

    assert (scores[0] == scores[1]).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"\xff" * 4 + data[4:],
        lambda data: data[:15] + b"\xff\xff\0\0" + data[19:],
    ],
)
def test_a_damaged_block_is_told(change) -> None:
    ((_, words, data),) = made([(7, {"x": 2, "y": 3}, 9)]).blocks()
    with pytest.raises(StoreCorrupt, match="reanalyse"):
        Block(words, change(data)).whole()


def test_packed_keys_come_back() -> None:
    keys = [1, 2**40, 7]
    packed = b"".join(key.to_bytes(8, "big") for key in keys)
    assert keys_of([packed, b"", packed]).tolist() == keys * 2
