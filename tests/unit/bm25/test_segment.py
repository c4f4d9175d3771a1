"""The arrays of a keyword segment: built, read, merged, and refused when damaged."""

from __future__ import annotations

import numpy as np
import pytest

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
    arrays = build_arrays([({"b": 2, "a": 1}, 3), ({"b": 1}, 1)])

    assert {name: (values.dtype.name, values.tolist()) for name, values in arrays.items()} == {
        "vocabulary": ("uint8", [97, 98]),
        "vocabulary_offsets": ("uint64", [0, 1, 2]),
        "postings_offsets": ("uint64", [0, 1, 3]),
        "rows": ("uint32", [0, 0, 1]),
        "tfs": ("uint8", [1, 2, 1]),
        "lengths": ("uint32", [3, 1]),
    }


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


def test_frequencies_take_the_narrowest_type_and_read_as_uint32():
    for tf, name in [(255, "uint8"), (256, "uint16"), (65_536, "uint32")]:
        arrays = build_arrays([({"a": tf}, tf)])

        assert arrays["tfs"].dtype.name == name
        rows, tfs = KeywordSegment.from_arrays(arrays).postings("a")
        assert (tfs.dtype, tfs.tolist(), rows.tolist()) == (np.uint32, [tf], [0])


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
        {"postings_offsets": np.zeros(6, np.uint64)},
        {"vocabulary_offsets": np.arange(6, dtype=np.uint64)},
        {"postings_offsets": np.array([1, 2, 3, 4, 5, 7], np.uint64)},
        {"postings_offsets": np.zeros(0, np.uint64), "vocabulary_offsets": np.zeros(0, np.uint64)},
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
    offsets = np.array([0, 5, 4, 5, 6, 7], dtype=np.uint64)
    segment = KeywordSegment(_Source(postings_offsets=offsets))

    with pytest.raises(StoreCorrupt, match="outside of it"):
        segment.postings("quartz")
    with pytest.raises(StoreCorrupt, match="backwards"):
        segment.inverted()
