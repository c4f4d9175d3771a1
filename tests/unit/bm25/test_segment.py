"""The arrays of a keyword segment: built, read, merged, and refused when damaged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.bm25.codebook import EXACT, NO_CODE, CodeBook
from pincite.bm25.packing import WINDOW, pack_arrays
from pincite.bm25.segment import KeywordSegment, build_arrays, merge_arrays
from pincite.errors import InvalidArgument, StoreCorrupt

DOCUMENTS = [
    ({"quartz": 1, "apple": 2}, 3),
    ({}, 0),
    ({"quartz": 300, "日本": 1, "éclair": 1}, 310),
    ({"apple": 1, "z" * 500: 1}, 2),
]


def _segment(documents) -> KeywordSegment:
    return KeywordSegment.from_arrays(build_arrays(documents))


def _listed(segment: KeywordSegment) -> dict[str, list[tuple[int, int]]]:
    return {
        term: list(zip(*(part.tolist() for part in segment.postings(term)), strict=True))
        for term in segment.terms()
    }


def test_golden_arrays_of_two_rows():
    arrays = build_arrays([({"b": 9, "a": 1}, 3), ({"b": 1}, 1)])

    book = {"code_tfs", "code_lengths"}
    assert {
        name: (values.dtype.name, values.tolist())
        for name, values in arrays.items()
        if name not in book
    } == {
        "vocabulary": ("uint8", [97, 98]),
        "vocabulary_offsets": ("uint32", [0, 1, 2]),
        "term_runs": ("uint32", [0, 1, 2]),
        "run_blocks": ("uint16", [0, 0]),
        "run_starts": ("uint32", [0, 1, 3]),
        "rows": ("uint16", [0, 0, 1]),
        "codes": ("uint8", [1, 17, 0]),
        "large_at": ("uint32", [1]),
        "large_tfs": ("uint32", [9]),
        "lengths": ("uint32", [3, 1]),
        "totals": ("uint64", [4]),
        "long_terms": ("uint32", []),
        "window_starts": ("uint32", []),
        "window_codes": ("uint8", []),
    }
    assert [arrays[name][[0, 1, 17]].tolist() for name in sorted(book)] == [[1, 3, 3], [1, 1, 10]]


def test_a_segment_of_version_1_is_still_read():
    old = {
        "vocabulary": np.frombuffer(b"ab", np.uint8),
        "vocabulary_offsets": np.array([0, 1, 2], np.uint64),
        "postings_offsets": np.array([0, 1, 3], np.uint64),
        "rows": np.array([0, 0, 1], np.uint32),
        "tfs": np.array([1, 900, 1], np.uint16),
        "lengths": np.array([3, 1], np.uint32),
    }

    segment = KeywordSegment.from_arrays(old)

    assert _listed(segment) == {"a": [(0, 1)], "b": [(0, 900), (1, 1)]}
    assert segment.total_length == 4


def test_every_posting_is_read_back():
    segment = _segment(DOCUMENTS)

    assert segment.rows == 4
    assert segment.vocabulary_size == 5
    assert segment.lengths.tolist() == [3, 0, 310, 2]
    assert _listed(segment) == {
        "apple": [(0, 2), (3, 1)],
        "quartz": [(0, 1), (2, 300)],
        "z" * 500: [(3, 1)],
        "éclair": [(2, 1)],
        "日本": [(2, 1)],
    }


def test_terms_come_in_byte_order():
    terms = list(_segment(DOCUMENTS).terms())

    assert terms == sorted(terms, key=lambda term: term.encode())


@pytest.mark.parametrize("term", ["", "appl", "apples", "quartz\0", "\U0010ffff", "日"])
def test_an_unknown_term_has_no_postings(term):
    rows, tfs = _segment(DOCUMENTS).postings(term)

    assert (rows.dtype, rows.size, tfs.dtype, tfs.size) == (np.uint32, 0, np.uint32, 0)


def test_a_lone_surrogate_is_a_term_like_another():
    segment = _segment([({"\ud800": 1, "a": 1}, 2)])

    assert _listed(segment) == {"a": [(0, 1)], "\ud800": [(0, 1)]}


def test_an_empty_segment_answers():
    segment = _segment([])

    assert (segment.rows, segment.vocabulary_size, list(segment.terms())) == (0, 0, [])
    assert segment.postings("a")[0].size == 0


def test_frequencies_of_every_size_are_read_back():
    counts = [1, 2, 8, 9, 10, 11, 59, 60, 255, 256, 65_536, 2**32 - 1]
    rows, tfs = _segment([({"a": tf}, 5) for tf in counts]).postings("a")

    assert (tfs.dtype, tfs.tolist()) == (np.uint32, counts)
    assert (rows.dtype, rows.tolist()) == (np.uint32, list(range(len(counts))))


def test_rows_beyond_one_block_are_read_back():
    size = 150_000
    rows = np.arange(0, size, 7, dtype=np.uint32)
    arrays = pack_arrays(
        b"ab", np.array([0, 1, 2]), np.array([0, 1, len(rows) + 1]),
        np.append(np.uint32(140_001), rows), np.ones(len(rows) + 1, np.uint8),
        np.arange(size, dtype=np.uint32) % 50,
    )  # fmt: skip
    segment = KeywordSegment.from_arrays(arrays)

    assert segment.postings("a")[0].tolist() == [140_001]
    assert segment.postings("b")[0].tolist() == rows.tolist()
    numbers, every, _ = segment.inverted()
    assert (numbers.sum(), every.tolist()) == (len(rows), [140_001, *rows.tolist()])


@settings(max_examples=80, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(1, 200), st.integers(0, 300)), min_size=1, max_size=60),
    spread=st.integers(1, 10**7),
)
def test_a_code_bounds_what_it_stands_for(pairs, spread):
    tfs = np.array([tf for tf, _ in pairs])
    lengths = np.array([length * spread for _, length in pairs], dtype=np.uint32)

    book = CodeBook.of(lengths)

    assert len(book.tfs) == len(book.lengths) < NO_CODE
    codes = book.encode(tfs, lengths)
    assert (book.tfs[codes] >= tfs).all()
    assert (book.lengths[codes] <= lengths).all()
    assert (book.tfs[codes] == tfs)[tfs <= EXACT].all()


def test_window_codes_bound_every_posting_of_their_window():
    generator = np.random.default_rng(5)
    size = 3 * WINDOW - 5
    rows = np.flatnonzero(generator.random(size) < 0.7).astype(np.uint32)
    rows = rows[(rows < WINDOW) | (rows >= 2 * WINDOW)]
    tfs = generator.zipf(1.6, len(rows)).clip(1, 500)
    lengths = generator.integers(5, 300, size).astype(np.uint32)
    offsets = np.array([0, len(rows)])

    arrays = pack_arrays(b"a", np.array([0, 1]), offsets, rows, tfs, lengths)

    assert arrays["long_terms"].tolist() == [0]
    starts, codes = arrays["window_starts"][0], arrays["window_codes"][0]
    assert starts.tolist() == [np.searchsorted(rows, w * WINDOW) for w in range(4)]
    assert codes[1].tolist() == [NO_CODE] * 4
    for window in (0, 2):
        part = slice(starts[window], starts[window + 1])
        for (first, end), code in zip(
            ((1, 1), (2, 3), (4, 7), (8, 2**32)), codes[window], strict=True
        ):
            inside = (tfs[part] >= first) & (tfs[part] <= end)
            assert (arrays["code_tfs"][code] >= tfs[part][inside]).all()
            assert (arrays["code_lengths"][code] <= lengths[rows[part]][inside]).all()


@pytest.mark.parametrize("documents", [[({"a": 0}, 1)], [({"a": -1}, 1)], [({"a": 1}, 2**32)]])
def test_counts_that_count_nothing_are_refused(documents):
    with pytest.raises(InvalidArgument, match="term frequency"):
        build_arrays(documents)


def test_a_merge_of_kept_rows_equals_a_fresh_build():
    first, second = _segment(DOCUMENTS), _segment(DOCUMENTS[::-1])
    keep = [np.array([True, True, False, False]), np.array([False, True, True, True])]

    merged = merge_arrays([first, second], keep)

    kept = [DOCUMENTS[0], DOCUMENTS[1], DOCUMENTS[2], DOCUMENTS[1], DOCUMENTS[0]]
    fresh = build_arrays(kept)
    assert merged.keys() == fresh.keys()
    for name, values in fresh.items():
        assert merged[name].dtype == values.dtype, name
        assert merged[name].tolist() == values.tolist(), name


def test_a_merge_of_nothing_is_an_empty_segment():
    merged = merge_arrays([_segment(DOCUMENTS)], [np.zeros(4, dtype=bool)])

    assert KeywordSegment.from_arrays(merged).rows == 0
    assert merged["vocabulary"].size == 0
    assert KeywordSegment.from_arrays(merge_arrays([], [])).rows == 0


@pytest.mark.parametrize("keep", [[], [np.ones(3, dtype=bool)]])
def test_a_merge_refuses_masks_that_do_not_fit(keep):
    with pytest.raises(InvalidArgument, match="one mask per segment"):
        merge_arrays([_segment(DOCUMENTS)], keep)


class _Source:
    name = "part-7"

    def __init__(self, **changed) -> None:
        self._arrays = build_arrays(DOCUMENTS) | changed

    def array(self, name):
        return self._arrays[name]


@pytest.mark.parametrize(
    "changed",
    [
        {"rows": np.zeros(1, np.uint32)},
        {"run_starts": np.zeros(6, np.uint32)},
        {"vocabulary_offsets": np.arange(6, dtype=np.uint32)},
        {"term_runs": np.array([1, 2, 3, 4, 5, 5], np.uint32)},
        {"term_runs": np.zeros(0, np.uint32), "vocabulary_offsets": np.zeros(0, np.uint32)},
        {"large_at": np.zeros(2, np.uint32)},
    ],
)
def test_arrays_that_contradict_each_other_are_refused_by_name(changed):
    with pytest.raises(StoreCorrupt, match=r"segment part-7 is damaged: .* doctor --repair"):
        KeywordSegment(_Source(**changed))


def test_a_posting_outside_of_the_rows_is_refused():
    rows = build_arrays(DOCUMENTS)["rows"].copy()
    rows[1] = 99
    segment = KeywordSegment(_Source(rows=rows))

    with pytest.raises(StoreCorrupt, match="a row that it does not have"):
        segment.postings("apple")
    with pytest.raises(StoreCorrupt, match="a row that it does not have"):
        merge_arrays([segment], [np.ones(4, dtype=bool)])


def test_a_term_that_is_not_text_is_refused():
    vocabulary = build_arrays(DOCUMENTS)["vocabulary"].copy()
    vocabulary[0] = 0xFF
    segment = KeywordSegment(_Source(vocabulary=vocabulary))

    with pytest.raises(StoreCorrupt, match="not UTF-8"):
        list(segment.terms())


def test_postings_that_run_backwards_are_refused():
    starts = np.array([0, 5, 4, 5, 6, 7], dtype=np.uint32)
    segment = KeywordSegment(_Source(run_starts=starts))

    with pytest.raises(StoreCorrupt, match="outside of it"):
        segment.postings("quartz")
    with pytest.raises(StoreCorrupt, match="outside of it"):
        segment.inverted()


@pytest.mark.parametrize(("at", "tfs"), [([7], [9]), ([3, 2], [9, 9])])
def test_large_frequencies_out_of_order_are_refused(at, tfs):
    changed = {"large_at": np.array(at, np.uint32), "large_tfs": np.array(tfs, np.uint32)}

    with pytest.raises(StoreCorrupt, match="out of order"):
        KeywordSegment(_Source(**changed)).postings("quartz")


def test_runs_that_go_backwards_are_refused():
    segment = KeywordSegment(_Source(term_runs=np.array([0, 3, 2, 3, 4, 5], np.uint32)))

    with pytest.raises(StoreCorrupt, match="backwards"):
        segment.postings("quartz")
    with pytest.raises(StoreCorrupt, match="backwards"):
        segment.inverted()


def test_a_code_that_stands_for_nothing_is_refused():
    segment = KeywordSegment(_Source(codes=np.full(7, 254, np.uint8)))

    with pytest.raises(StoreCorrupt, match="stands for nothing"):
        segment.postings("apple")
