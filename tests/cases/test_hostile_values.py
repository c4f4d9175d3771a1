"""Arguments and metadata of the wrong kind: a clear error of ours, or taken as it is."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from pincite import Embedder, InvalidArgument, InvalidQueryError, Library, PinciteError
from pincite.testing import HashEmbedder

from .conftest import Open, fill, found

NESTED: dict[str, Any] = {}
for _ in range(1000):
    NESTED = {"a": NESTED}
CYCLE: dict[str, Any] = {}
CYCLE["me"] = CYCLE
NAN, INF = float("nan"), float("inf")


@pytest.fixture(scope="module")
def filled(shared: Library) -> Library:
    fill(shared, {"a": "Quartz is hard.", "b": "Chalk."})
    return shared


def test_numbers_that_are_no_count_are_refused(filled: Library) -> None:
    for k in (0, -1, 2**63, NAN, INF, True, None, "5", 1.0):
        for mode in ("keyword", "vector", "hybrid"):
            with pytest.raises(InvalidQueryError):
                filled.search("quartz", k=k, mode=mode)  # type: ignore[arg-type]
    for offset in (-1, NAN, True, None, "5", 1.0):
        with pytest.raises(InvalidQueryError):
            filled.search("quartz", offset=offset)  # type: ignore[arg-type]


def test_a_huge_count_is_only_a_count(filled: Library) -> None:
    for k in (10**6, 2**31, 2**63 - 1):
        assert len(filled.search("quartz", k=k)) == 2


def test_an_alpha_outside_its_range_is_refused(filled: Library) -> None:
    for alpha in (NAN, INF, True, "x", -0.1, 1.1, 2):
        with pytest.raises(InvalidQueryError):
            filled.search("quartz", alpha=alpha)  # type: ignore[arg-type]


def test_an_alpha_beyond_float_is_refused(filled: Library) -> None:
    with pytest.raises(InvalidQueryError):
        filled.search("quartz", alpha=10**400)


@pytest.mark.parametrize("mode", ["keyword", "vector"])
def test_an_alpha_outside_its_range_is_refused_in_every_mode(filled: Library, mode: Any) -> None:
    with pytest.raises(InvalidQueryError):
        filled.search("quartz", alpha=NAN, mode=mode)


def test_a_mode_that_is_no_string_is_refused(filled: Library) -> None:
    with pytest.raises(InvalidQueryError):
        filled.search("quartz", mode=["keyword"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    ["q" * 100_000, "\u05e9\u05dc\u05d5\u05dd", "quartz\0", "\u202equartz", "%_", '" OR 1=1'],
)
def test_any_text_is_a_query(filled: Library, query: str) -> None:
    for mode in ("keyword", "vector", "hybrid"):
        hits = filled.search(query, mode=mode)  # type: ignore[arg-type]
        assert ("quartz" in query) <= bool(hits)


@pytest.mark.parametrize(
    "metadata",
    [
        {"deep": NESTED},
        CYCLE,
        {"x": NAN},
        {"x": INF},
        {"x": b"bytes"},
        {"x": {1, 2}},
        {"x": object()},
        {1: "x"},
        {None: "x"},
    ],
    ids=["nested", "cyclic", "nan", "inf", "bytes", "set", "object", "key 1", "key None"],
)
def test_metadata_that_cannot_be_stored_is_refused_and_nothing_is_written(
    lib: Library, metadata: Any
) -> None:
    with pytest.raises(InvalidArgument):
        lib.add(b"Quartz.", filename="a.md", document="a", metadata=metadata)
    assert lib.documents() == []


METADATA: list[dict[str, Any]] = [
    {"big": 2**63},
    {"big": -(2**200)},
    {"day": dt.date(2025, 1, 1)},
    {"day": dt.datetime.min},
    {"day": dt.datetime(2025, 1, 1, tzinfo=dt.UTC)},
    {"day": "2025-13-45"},
    {"none": None},
    {"mixed": [1, "a", None, [2]]},
    {"empty": []},
    {"nested": {"a": [{"b": 1}]}},
    {"": 1},
    {"a.b": 1},
    {"a'\"b": 1},
    {"a\0b": "c\0d"},
    {"lone": "\ud800"},
    {"\ud800": 1},
    {"title": "x", "text": "x", "document": "x", "source": "x", "pages": [9], "headings": "x"},
    {"_source_scores": 3},
    {f"k{i}": i for i in range(300)},
]


@pytest.mark.parametrize("metadata", METADATA, ids=lambda m: ascii(m)[:30])
def test_odd_metadata_is_kept_as_it_is_and_costs_nothing_again(
    open_lib: Open, metadata: dict[str, Any]
) -> None:
    client = HashEmbedder(64)
    library = open_lib(embedder=Embedder(client, "hash"))
    options: Any = {"filename": "a.md", "document": "a", "metadata": metadata}
    library.add(b"Quartz.", **options)
    before = client.texts

    assert library.get("a").metadata == metadata
    assert library.add(b"Quartz.", **options).unchanged == ("a",)
    assert client.texts == before
    assert found(library, "quartz") == ["a"]


def test_a_tuple_in_metadata_costs_nothing_again(lib: Library) -> None:
    for _ in range(2):
        report = lib.add(b"Quartz.", filename="a.md", document="a", metadata={"tags": ("x", "y")})
    assert report.unchanged == ("a",)


@pytest.mark.parametrize("document", ["../up", "a\nb", "x/", ".", "a\0b", "d" * 50_000, "ü", "a-0"])
def test_any_text_is_an_id(lib: Library, document: str) -> None:
    lib.add(b"Quartz.", filename="a.md", document=document)

    assert found(lib, "quartz") == [document]
    assert [chunk.id for chunk in lib.chunks(document)] == [f"{document}-0"]
    assert lib.get(document).document == document
    assert lib.remove(document) == 1


def test_half_a_surrogate_pair_is_no_id(lib: Library) -> None:
    with pytest.raises(InvalidArgument, match="surrogate"):
        lib.add(b"Quartz.", filename="a.md", document="\ud800")


WRONG: dict[str, Any] = {
    "metadata": "text",
    "filename": 5,
    "language": 5,
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_of_the_wrong_type_is_refused_by_us(lib: Library, name: str) -> None:
    options: dict[str, Any] = {"filename": "a.md", name: WRONG[name]}
    with pytest.raises(PinciteError):
        lib.add(b"Quartz.", **options)


@pytest.mark.parametrize("option", [{"title": "Stones"}, {"language": "de"}], ids=str)
def test_a_new_title_or_language_is_not_silently_dropped(
    lib: Library, option: dict[str, Any]
) -> None:
    lib.add(b"Quartz.", filename="a.md", document="a")
    report = lib.add(b"Quartz.", filename="a.md", document="a", **option)

    assert report.updated == ("a",)
