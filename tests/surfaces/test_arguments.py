"""From the words of a command line to values."""

from __future__ import annotations

import pytest

from pincite.cli.collection import parse_fields
from pincite.cli.indexing import merge_reports, parse_metadata
from pincite.errors import InvalidArgument
from pincite.model.documents import Failure, IndexReport
from pincite.model.fields import Field, FieldType


@pytest.mark.parametrize(
    ("entries", "values"),
    [
        (["year=2024"], {"year": 2024}),
        (["code=007"], {"code": "007"}),
        (['zip="12345"'], {"zip": "12345"}),
        (["ratio=0.5", "draft=true"], {"ratio": 0.5, "draft": True}),
        (["lang=de=at"], {"lang": "de=at"}),
        (['tags=["a", "b"]'], {"tags": ["a", "b"]}),
        (["note=NaN", "x=null", "y="], {"note": "NaN", "x": "null", "y": ""}),
        (['{"a": {"b": 1}}', "c=2"], {"a": {"b": 1}, "c": 2}),
        (["a=1", "a=2"], {"a": 2}),
        ([], {}),
    ],
)
def test_metadata(entries: list[str], values: dict[str, object]) -> None:
    assert parse_metadata(entries) == values


@pytest.mark.parametrize("entry", ["year", "=2024", " =x", "{broken", '{"a": NaN}', "{} {}"])
def test_metadata_that_is_refused(entry: str) -> None:
    with pytest.raises(InvalidArgument, match="--metadata"):
        parse_metadata([entry])


def test_fields() -> None:
    assert parse_fields(["year=integer", "tags=keyword,many", "body=text,unfilterable"]) == {
        "year": Field(FieldType.INTEGER),
        "tags": Field(FieldType.KEYWORD, many=True),
        "body": Field(FieldType.TEXT, filterable=False),
    }


@pytest.mark.parametrize("text", ["year", "year=int", "=integer", "a=keyword,few", ""])
def test_fields_that_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="write NAME=TYPE"):
        parse_fields([text])


def test_reports_add_up() -> None:
    first = IndexReport(added=("a",), failed=(Failure("x", "bad"),), warnings=("w",), chunks=2)
    second = IndexReport(added=("b",), skipped=(Failure("y", "no text"),), warnings=("w",))
    merged = merge_reports([first, second])

    assert merged.added == ("a", "b")
    assert merged.failed == first.failed
    assert merged.skipped == second.skipped
    assert merged.warnings == ("w",)
    assert merged.chunks == 2
