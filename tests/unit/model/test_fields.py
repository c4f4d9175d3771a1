"""Fields: inferred, declared, written; misfits; what filters read of a chunk."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from pincite.errors import InvalidArgument
from pincite.model.fields import (
    LONGEST_KEYWORD,
    RESERVED_FIELDS,
    Field,
    FieldSpec,
    FieldType,
    chunk_values,
    extend_spec,
    field_from_text,
    field_to_text,
    full_spec,
    infer_field,
    misfits,
)
from pincite.model.filters import DeclaredFilter, matches
from pincite.model.hits import Chunk

K, T, INT, N, B, D = FieldType


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", Field(K)), ("", Field(K)), ("007", Field(K)), ("2025-01-01", Field(K)),
        ("x" * LONGEST_KEYWORD, Field(K)), ("x" * (LONGEST_KEYWORD + 1), Field(T)),
        (7, Field(INT)), (10**400, Field(INT)), (True, Field(B)), (0.5, Field(N)),
        (date(2025, 1, 1), Field(D)), (datetime(2025, 1, 1), Field(D)),
        (["a", "b"], Field(K, many=True)), (("a",), Field(K, many=True)),
        ([1, None], Field(INT, many=True)),
        ([1, 2.5], Field(N, many=True)), ([True], Field(B, many=True)),
        (["a", "x" * 2000], Field(T, many=True)),
        (None, None), ([], None), ([None], None), ({}, None), ({"a": 1}, None), ([["a"]], None),
        ([1, "a"], None), ([True, 1], None), (float("nan"), None), (float("inf"), None),
        (b"a", None),
        ({1, 2}, None), ([1.0, float("nan")], None),
    ],
)  # fmt: skip
def test_inference(value: Any, expected: Field | None) -> None:
    assert infer_field(value) == expected


def test_the_first_value_in_plan_order_decides() -> None:
    spec = full_spec({})
    for document in ({"n": None, "z": 1}, {"n": 7, "a": "x"}, {"n": "n.d.", "z": 0.5}):
        spec = extend_spec(spec, document)

    assert [name for name in spec.fields if name not in RESERVED_FIELDS] == ["z", "n", "a"]
    assert spec.fields["n"] == Field(INT)
    assert spec.fields["z"] == Field(INT)


def test_extend_leaves_known_and_reserved_fields_alone() -> None:
    spec = full_spec({"n": Field(N)})

    assert extend_spec(spec, {"n": "a", "title": 3, "pages": "x", "empty": []}) is spec
    with pytest.raises(InvalidArgument, match="not a string"):
        extend_spec(spec, {3: "a"})  # type: ignore[dict-item]


def test_misfits_name_field_and_both_types() -> None:
    spec = full_spec({"n": Field(INT), "l": Field(K, many=True), "d": Field(D), "x": Field(N)})
    metadata = {
        "n": "n.d.", "l": "a", "d": "soon", "x": float("nan"), "title": 3, "unknown": {}, "ok": 1,
    }  # fmt: skip

    found = misfits(metadata, spec)

    assert [misfit.field for misfit in found] == ["n", "l", "d", "x"]
    assert str(found[0]).startswith("field 'n' is integer, but the value is keyword: 'n.d.'")
    assert "keyword[]" in str(found[1])
    assert found[2].declared == Field(D)


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        (Field(INT), True, "boolean"), (Field(INT), 7.0, "number"), (Field(B), 1, "integer"),
        (Field(K), 7, "integer"), (Field(K), ["a"], "keyword[] values"),
        (Field(K, many=True), ["a", 7], "list of mixed types"), (Field(K), {"a": 1}, "dict"),
        (Field(D), 20250101, "integer"), (Field(K, many=True), [["a"]], "list"),
        (Field(INT), b"7", "bytes"),
    ],
)  # fmt: skip
def test_misfits_of_every_kind(field: Field, value: Any, found: str) -> None:
    (misfit,) = misfits({"f": value}, FieldSpec({"f": field}))

    assert misfit.found.startswith(found)


def test_misfits_of_huge_values_stay_short() -> None:
    for value in ("x" * 10**6, 10**5000, [10**5000]):
        (misfit,) = misfits({"f": value}, FieldSpec({"f": Field(B)}))
        assert len(str(misfit)) < 300


@pytest.mark.parametrize(
    "field", [Field(kind, many) for kind in FieldType for many in (False, True)]
)
def test_absent_values_fit_everywhere(field: Field) -> None:
    for value in (None, [], [None], ()):
        assert misfits({"f": value}, FieldSpec({"f": field})) == []


def test_numbers_hold_integers_and_datetimes_hold_dates_and_strings() -> None:
    spec = FieldSpec({"x": Field(N), "d": Field(D)})

    for metadata in ({"x": 7}, {"x": 10**400}, {"d": "2025-01-01"}, {"d": date(2025, 1, 1)}):
        assert misfits(metadata, spec) == []


def test_full_spec_adds_the_reserved_fields_and_refuses_their_redefinition() -> None:
    spec = full_spec({"year": Field(INT), "title": Field(K)})

    assert list(spec.fields)[:7] == list(RESERVED_FIELDS)
    assert spec.fields["year"] == Field(INT)
    with pytest.raises(InvalidArgument, match="reserved"):
        full_spec({"title": Field(INT)})
    with pytest.raises(InvalidArgument, match="give a Field"):
        full_spec({"year": "integer"})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        spec.fields["new"] = Field(INT)  # type: ignore[index]


def test_chunk_values_are_metadata_then_the_reserved_fields() -> None:
    chunk = Chunk(
        "body",
        document="papers/a.pdf",
        title="A",
        source="/data/papers/a.pdf",
        context_header="One > Two",
        pages=(1, 2),
        metadata={"year": 2020, "title": "other", "headings": 3},
    )

    assert chunk_values(chunk) == {
        "year": 2020,
        "text": "body",
        "title": "A",
        "document": "papers/a.pdf",
        "source": "/data/papers/a.pdf",
        "file_name": "a.pdf",
        "pages": [1, 2],
        "headings": ["One", "Two"],
    }


def test_empty_reserved_values_are_absent_and_metadata_does_not_fill_them() -> None:
    values = chunk_values(Chunk("body", metadata={"title": "other", "pages": [3]}))

    assert values == {"text": "body"}
    assert matches(DeclaredFilter("title", "exists", False), values, full_spec({}))


@pytest.mark.parametrize(
    ("source", "document", "name"),
    [("C:\\docs\\b.pdf", "x", "b.pdf"), ("", "a/b.md", "b.md"), ("b.md", "", "b.md")],
)
def test_the_file_name_is_the_last_component(source: str, document: str, name: str) -> None:
    assert chunk_values(Chunk("", source=source, document=document))["file_name"] == name


@pytest.mark.parametrize(
    "field", [Field(k, m, f) for k in FieldType for m in (0, 1) for f in (0, 1)]
)
def test_fields_are_written_and_read_back(field: Field) -> None:
    assert field_from_text(field_to_text(field)) == field


@pytest.mark.parametrize("text", ["", "int", "keyword{}", "integer[] x", "[]", "keyword [] []"])
def test_unknown_field_types_are_refused_naming_the_types(text: str) -> None:
    with pytest.raises(InvalidArgument, match="keyword, text, integer"):
        field_from_text(text)
