"""Filters on fields that a document lacks, on empty sets, and on operators that are none."""

from __future__ import annotations

from typing import Any

import pytest

from pincite import F, InvalidQueryError, Library, Not

from .conftest import MODES, found

WITHOUT_DE = ["en", "none"]


@pytest.fixture(scope="module")
def languages(shared: Library) -> Library:
    for document, metadata in {"de": {"lang": "de"}, "en": {"lang": "en"}, "none": {}}.items():
        shared.add(
            f"Quartz {document}.".encode(), filename="a.md", document=document, metadata=metadata
        )
    return shared


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        (F("lang") != "de", WITHOUT_DE),
        (Not(F("lang") == "de"), WITHOUT_DE),
        (F("lang").not_in(["de"]), WITHOUT_DE),
        ('lang != "de"', WITHOUT_DE),
        ('not lang = "de"', WITHOUT_DE),
        ('lang not in ("de")', WITHOUT_DE),
        ({"lang": {"$ne": "de"}}, WITHOUT_DE),
        ({"lang": {"$nin": ["de"]}}, WITHOUT_DE),
        ({"$not": {"lang": "de"}}, WITHOUT_DE),
        ({"lang": {"$in": []}}, []),
        ({"lang": {"$nin": []}}, ["de", "en", "none"]),
        (F("lang").in_([]), []),
        (F("lang").exists(), ["de", "en"]),
        ({}, ["de", "en", "none"]),
    ],
)
def test_a_filter_keeps(languages: Library, where: Any, kept: list[str]) -> None:
    for mode in MODES:
        assert sorted(found(languages, "quartz", mode=mode, where=where)) == kept
    assert [info.document for info in languages.documents(where)] == kept


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ({"lang": {"$regexx": "d"}}, r"\$regexx"),
        ({"$regexx": 1}, r"\$regexx"),
        ({"land": "de"}, "land"),
        ("land = 1", "land"),
        (F("land") == "de", "land"),
    ],
)
def test_what_is_unknown_is_named(languages: Library, where: Any, named: str) -> None:
    for mode in MODES:
        with pytest.raises(InvalidQueryError, match=named):
            languages.search("quartz", mode=mode, where=where)


def test_a_misspelt_argument_is_no_silent_search_without_a_filter(languages: Library) -> None:
    with pytest.raises(TypeError, match="filter"):
        languages.search("quartz", filter={"lang": "de"})  # type: ignore[call-arg]
