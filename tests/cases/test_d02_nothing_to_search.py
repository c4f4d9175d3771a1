"""Empty collections, blank files, queries that say nothing, and more asked than there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pincite import InvalidQueryError, Library

from .conftest import MODES, fill, found


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_collection_answers_with_nothing(lib: Library, mode: Any) -> None:
    assert found(lib, "quartz", mode=mode) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_collection_whose_only_file_is_blank_answers_with_nothing(
    lib: Library, folder: Path, mode: Any
) -> None:
    (folder / "blank.md").write_text(" \n\t\n")
    lib.add(folder)

    assert found(lib, "quartz", mode=mode) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["", "  ", "\n\t", "\u00a0", "\u3000"])
def test_a_blank_query_is_refused_as_empty(lib: Library, mode: Any, query: str) -> None:
    fill(lib, {"a": "Quartz."})

    with pytest.raises(InvalidQueryError, match="empty"):
        lib.search(query, mode=mode)


@pytest.mark.parametrize(
    "query", ["???", ".*+?[](){}|\\^$", "\U0001f600", "\u200b\u200d", "\ud800"]
)
def test_a_query_without_words_gives_the_vector_side_and_a_warning(
    lib: Library, query: str
) -> None:
    fill(lib, {"a": "Quartz.", "b": "Chalk."})
    keyword = lib.search(query, mode="keyword")
    hybrid = lib.search(query)

    assert (list(keyword), bool(keyword.warnings)) == ([], True)
    assert found(lib, query) == found(lib, query, mode="vector")
    assert "keyword side" in hybrid.warnings[0]


def test_a_query_of_stop_words_finds_the_texts_that_hold_them(lib: Library) -> None:
    fill(lib, {"a": "The end of the line and more.", "b": "Chalk cliffs."})

    assert found(lib, "the of and", mode="keyword") == ["a"]


@pytest.mark.parametrize("mode", MODES)
def test_fifty_asked_of_three_gives_at_most_three(lib: Library, mode: Any) -> None:
    fill(lib, {name: f"Quartz {name}." for name in "abc"})

    assert sorted(found(lib, "quartz", k=50, mode=mode)) == ["a", "b", "c"]
