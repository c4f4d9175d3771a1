"""Fusion by rank over sources and the text of references: values as literals."""

from __future__ import annotations

import copy
import doctest
from dataclasses import dataclass, field
from typing import Any

import pytest

from pincite.errors import InvalidArgument, InvalidQueryError
from pincite.model.hits import Chunk
from pincite.retrieval import serialize
from pincite.retrieval.merge import (
    PROVENANCES_KEY,
    RRF_K,
    SOURCE_SCORES_KEY,
    format_source_scores,
    rrf_merge,
)
from pincite.retrieval.serialize import serialize_vs_retrieval


@dataclass
class Document:
    """A document of another library: known by its attributes alone."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)


A, B, C = (Chunk(name, id=name, source="notes.md") for name in ("d1", "d2", "d3"))


def texts(fused: list[tuple[Any, float]]) -> list[str]:
    return [document.page_content for document, _ in fused]


def test_the_constants_are_those_of_the_page() -> None:
    assert (RRF_K, SOURCE_SCORES_KEY) == (60, "_source_scores")


def test_scores_are_the_sums_of_reciprocal_ranks() -> None:
    fused = rrf_merge(
        [("vector store", [(A, 0.87), (B, 0.5), (C, 0.2)]), ("BM25", [(C, 7.0), (A, 3.21)])], 10
    )

    assert texts(fused) == ["d1", "d3", "d2"]
    assert [round(score, 7) for _, score in fused] == [0.0325225, 0.0322665, 0.016129]
    assert fused[0][1] == pytest.approx(1 / 61 + 1 / 62, abs=1e-15)


def test_the_scores_of_the_sources_are_kept_and_shown() -> None:
    fused = rrf_merge([("vector store", [(A, 0.87)]), ("BM25", [(A, 3.21)])], 5)
    (document, _), *_ = fused

    assert document.metadata[SOURCE_SCORES_KEY] == {"vector store": 0.87, "BM25": 3.21}
    assert format_source_scores(document) == "vector store 0.87, BM25 3.21"
    assert format_source_scores(document, precision=0) == "vector store 1, BM25 3"
    assert format_source_scores(document, 3) == "vector store 0.870, BM25 3.210"


def test_a_document_without_source_scores_shows_none() -> None:
    assert format_source_scores(A) is None
    assert format_source_scores(Document("x", {SOURCE_SCORES_KEY: {}})) is None


def test_a_negative_precision_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="precision is -1"):
        format_source_scores(A, -1)


def test_two_stores_of_one_label_keep_the_better_score() -> None:
    lists = [("BM25", [(A, 1.0)]), ("BM25", [(B, 9.0), (A, 3.21)]), ("BM25", [(A, 2.0)])]
    scores = {d.page_content: d.metadata[SOURCE_SCORES_KEY] for d, _ in rrf_merge(lists, 5)}

    assert scores == {"d1": {"BM25": 3.21}, "d2": {"BM25": 9.0}}


def test_a_list_counts_a_repeated_document_once_at_its_best_rank() -> None:
    fused = rrf_merge([("BM25", [(A, 5.0), (A, 4.0), (B, 3.0)])], 5)

    assert [(d.page_content, round(score, 9)) for d, score in fused] == [
        ("d1", round(1 / 61, 9)),
        ("d2", round(1 / 63, 9)),
    ]


def test_a_paragraph_of_two_files_stays_two_documents() -> None:
    here, there = Chunk("same", source="a.md"), Chunk("same", source="b.md")
    fused = rrf_merge([("BM25", [(here, 2.0), (there, 1.0)])], 5)

    assert [document.source for document, _ in fused] == ["a.md", "b.md"]


def test_a_chunk_of_two_stores_is_one_document_with_both_places() -> None:
    stored = Chunk("same", id="x", source="a.md", collection="papers", metadata={"year": 1})
    kept = Chunk("same", id="x", source="a.md")
    ((document, _),) = rrf_merge([("vector store", [(stored, 0.9)]), ("BM25", [(kept, 2.5)])], 5)

    assert document.metadata[PROVENANCES_KEY] == [
        {
            "source_label": "vector store",
            "rank": 1,
            "score": 0.9,
            "id": "x",
            "collection": "papers",
        },
        {"source_label": "BM25", "rank": 1, "score": 2.5, "id": "x", "collection": ""},
    ]
    assert document.metadata["year"] == 1


def test_nothing_that_was_passed_in_changes() -> None:
    given = Document("text", {"file_name": "a.md", "tags": ["x"]})
    before = copy.deepcopy(given)
    chunk = Chunk("c", metadata={"n": 1})
    rrf_merge([("a", [(given, 1.0), (chunk, 0.5)]), ("b", [(given, 2.0)])], 5)

    assert given == before
    assert chunk.metadata == {"n": 1}


def test_documents_of_another_library_are_taken_by_attribute() -> None:
    same = [Document("text", {"source": "a.md"}), Document("text", {"source": "a.md"})]
    ((document, score),) = rrf_merge(
        [("vector store", [(same[0], 0.5)]), ("BM25", [(same[1], 2)])], 3
    )

    assert type(document) is Document
    assert format_source_scores(document) == "vector store 0.50, BM25 2.00"
    assert score == pytest.approx(2 / 61)


def test_equal_scores_are_ordered_by_id_on_every_run() -> None:
    x, y = Chunk("zz", id="1"), Chunk("aa", id="2")
    runs = {tuple(texts(rrf_merge([("a", [(y, 1.0)]), ("b", [(x, 1.0)])], 5))) for _ in range(100)}

    assert runs == {("zz", "aa")}


def test_at_most_num_refs_max_documents_come_back() -> None:
    assert texts(rrf_merge([("BM25", [(A, 3.0), (B, 2.0), (C, 1.0)])], 2)) == ["d1", "d2"]
    assert rrf_merge([("BM25", [])], 2) == []
    assert rrf_merge([], 2) == []


@pytest.mark.parametrize("number", [0, -1, True, 1.5])
def test_a_number_below_one_is_refused(number: Any) -> None:
    with pytest.raises(InvalidQueryError, match="at least 1"):
        rrf_merge([("BM25", [(A, 1.0)])], number)


def test_references_are_sorted_by_score_in_each_group_with_all_they_have() -> None:
    first = Chunk(
        "Dry it well.",
        source="/docs/ropes.md",
        context_header="Ropes > Care",
        pages=[2, 3],
        metadata={
            "url": "https://ropes.example",
            "tags": ["a", "b"],
            "empty": "",
            "file_hash": "0123",
            SOURCE_SCORES_KEY: {"vector store": 0.87, "BM25": 3.21},
        },
    )
    other = Document("Buy rope.", {"file_name": "shop.md", "headings": ["Shop"], "year": 2024})
    text = serialize_vs_retrieval(
        {"care": [(other, 0.1), (first, 0.25)], "none": [], "b": [(other, 1)]}
    )

    assert text == (
        "## care\n\n"
        "[1] ropes.md | Ropes > Care | page 2, 3 | score 0.2500 (vector store 0.87, BM25 3.21)\n"
        "url: https://ropes.example\n"
        "tags: a, b\n\n"
        "Dry it well.\n\n"
        "[2] shop.md | Shop | score 0.1000\n"
        "year: 2024\n\n"
        "Buy rope.\n\n"
        "## b\n\n"
        "[1] shop.md | Shop | score 1.0000\n"
        "year: 2024\n\n"
        "Buy rope."
    )


def test_a_name_or_heading_stays_on_its_line() -> None:
    forged = Document("x", {"file_name": "a.md\n\n[9] b.md", "headings": ["H\n## evil"]})
    head = serialize_vs_retrieval({"q\n## r": [(forged, 1.0)]}).splitlines()

    assert head[0] == "## q ## r"
    assert head[2] == "[1] a.md [9] b.md | H ## evil | score 1.0000"


def test_without_documents_the_text_is_empty() -> None:
    assert serialize_vs_retrieval({}) == ""
    assert serialize_vs_retrieval({"q": []}) == ""


def test_the_examples_run() -> None:
    assert doctest.testmod(serialize).failed == 0
