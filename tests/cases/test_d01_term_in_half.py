"""A word in exactly half of the texts still counts for them."""

from __future__ import annotations

import pytest

from pincite import Library

from .conftest import fill, found

FOUR = {
    "a": "Quartz is hard.",
    "b": "Chalk is soft.",
    "c": "Quartz veins hold gold.",
    "d": "Slate splits well.",
}


@pytest.mark.parametrize("k", [1, 4, 50])
def test_a_word_in_two_of_four_finds_those_two_and_pads_with_none(lib: Library, k: int) -> None:
    fill(lib, FOUR)
    hits = lib.search("quartz", mode="keyword", k=k)

    assert {hit.chunk.document for hit in hits} <= {"a", "c"}
    assert len(hits) == min(k, 2)
    assert all(hit.score > 0 for hit in hits)


def test_a_word_in_one_of_two_finds_that_one(lib: Library) -> None:
    fill(lib, {"a": "Quartz is hard.", "b": "Chalk is soft."})
    hits = lib.search("quartz", mode="keyword", k=4)

    assert [hit.chunk.document for hit in hits] == ["a"]
    assert hits[0].score > 0


def test_a_word_in_every_text_finds_every_text(lib: Library) -> None:
    fill(lib, {"a": "Quartz is hard.", "b": "Quartz is pale."})

    assert sorted(found(lib, "quartz", mode="keyword")) == ["a", "b"]
