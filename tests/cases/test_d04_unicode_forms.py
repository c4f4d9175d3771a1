"""Composed and decomposed letters and letter case are one; accents follow one rule."""

from __future__ import annotations

import unicodedata

import pytest

from pincite import Library

from .conftest import fill, found

COMPOSED = unicodedata.normalize("NFC", "résumé")
DECOMPOSED = unicodedata.normalize("NFD", "Résumé")


def test_a_composed_query_finds_a_decomposed_text(lib: Library) -> None:
    fill(lib, {"a": f"Her {DECOMPOSED} is long.", "b": "Chalk."})

    assert (len(COMPOSED), len(DECOMPOSED)) == (6, 8)
    assert found(lib, COMPOSED, mode="keyword") == ["a"]


def test_a_decomposed_query_finds_a_composed_text(lib: Library) -> None:
    fill(lib, {"a": f"Her {COMPOSED} is long.", "b": "Chalk."})

    assert found(lib, DECOMPOSED, mode="keyword") == ["a"]


@pytest.mark.parametrize("query", ["strasse", "Strasse", "STRASSE", "Straße"])
def test_case_folds_in_full(lib: Library, query: str) -> None:
    fill(lib, {"a": "STRASSE", "b": "Chalk."})

    assert found(lib, query, mode="keyword") == ["a"]


def test_highlights_of_a_decomposed_text_cover_its_marks(lib: Library) -> None:
    fill(lib, {"a": f"Her {DECOMPOSED} is long."})
    hit = lib.search(COMPOSED, mode="keyword")[0]

    assert [hit.chunk.content[s:e] for s, e in hit.highlights] == [DECOMPOSED]
