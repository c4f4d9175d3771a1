"""Counts of a target: the sum of its changes, whatever their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import StoreCorrupt
from pincite.stores.points.counts import Counts, term_number

texts = st.lists(
    st.tuples(
        st.tuples(st.dictionaries(st.sampled_from("abcdé"), st.integers(1, 3)), st.integers(0, 9)),
        st.sampled_from(["", "de", "en"]),
    ),
    max_size=5,
)


def same(one, two):
    return (
        (one.rows, one.length, one.spoken) == (two.rows, two.length, two.spoken)
        and np.array_equal(one.hashes, two.hashes)
        and np.array_equal(one.df, two.df)
    )


@given(texts, texts)
def test_what_is_added_and_removed_again_leaves_no_trace(first, second):
    kept = Counts.of(first)
    both = Counts.sum([kept, Counts.of(second)])
    assert same(both, Counts.of([*first, *second]))
    assert same(both.minus(Counts.of(second)), kept)


@given(texts)
def test_counts_are_read_as_they_were_written(given_texts):
    counts = Counts.of(given_texts)
    read = Counts.read(counts.text(), "change")
    assert same(read, counts)
    for term in "abcdez":
        assert read.matching(term) == sum(term in terms for (terms, _), _ in given_texts)


def test_damage_is_noticed():
    text = Counts.of([(({"a": 1}, 1), "")]).text()
    place = len(text) // 2
    broken = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
    with pytest.raises(StoreCorrupt, match="change-7"):
        Counts.read(broken, "change-7").matching("a")


def test_numbers_of_terms_fit_what_databases_take():
    assert all(0 <= term_number(f"term{number}") < 2**32 - 1 for number in range(1000))
