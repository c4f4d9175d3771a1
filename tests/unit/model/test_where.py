"""Writing filters: the builder, the text form and its pointing errors, the dict form."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest

from pincite.errors import InvalidQueryError
from pincite.model.filters import (
    MAX_DEPTH,
    NOTHING,
    OPERATORS,
    AllOf,
    AnyOf,
    DeclaredFilter,
    Filter,
    Not,
)
from pincite.model.where import F, filter_from_dict, filter_to_dict, format_where, parse_where
from pincite.model.where_tokens import LONGEST_TEXT

P = DeclaredFilter
A, B, C = P("a", "eq", 1), P("b", "eq", 2), P("c", "eq", 3)
EXAMPLE = 'year >= 2020 and lang in ("en", "de") and not path under "old/"'


@pytest.mark.parametrize(
    ("built", "name", "value"),
    [
        (F("x") == 1, "eq", 1), (F("x") != 1, "ne", 1), (F("x") > 1, "gt", 1),
        (F("x") >= 1, "gte", 1), (F("x") < 1, "lt", 1), (F("x") <= 1, "lte", 1),
        (F("x").in_([1, 2]), "in", (1, 2)), (F("x").not_in((1,)), "not_in", (1,)),
        (F("x").contains_any(n for n in (1, 2)), "contains_any", (1, 2)),
        (F("x").contains_all([]), "contains_all", ()), (F("x").under("a"), "under", "a"),
        (F("x").exists(), "exists", True), (F("x").exists(False), "exists", False),
        (F("x").in_({"b", "a", "c"}), "in", ("a", "b", "c")),
    ],
)  # fmt: skip
def test_the_builder_makes_predicates(built: Any, name: str, value: Any) -> None:
    assert built == P("x", name, value)


def test_a_value_may_stand_first() -> None:
    assert operator.lt(1, F("x")) == P("x", "gt", 1)
    assert operator.ge(1, F("x")) == P("x", "lte", 1)
    assert operator.eq(1, F("x")) == P("x", "eq", 1)


def test_filters_combine_flat_and_in_order() -> None:
    assert AllOf((A, B, C)) == A & B & C
    assert AllOf((A, B, C)) == A & (B & C)
    assert AnyOf((A, B, C)) == A | B | C
    assert AllOf((AnyOf((A, B)), Not(C))) == (A | B) & ~C
    assert Not(Not(A)) == ~~A
    assert AnyOf((NOTHING, A)) == NOTHING | A


@pytest.mark.parametrize("other", [None, 3, True, "a == 1", {"a": 1}])
def test_filters_combine_with_filters_only(other: Any) -> None:
    with pytest.raises(TypeError):
        A & other
    with pytest.raises(TypeError):
        other | A


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: 1 < F("x") < 3,
        lambda: (F("x") > 1) and (F("x") < 3),
        lambda: (F("x") > 1) or A,
        lambda: not A,
        lambda: bool(NOTHING),
        lambda: bool(AllOf(())),
        lambda: bool(F("x")),
        lambda: F("x") or F("y"),
        lambda: F("x") >= 1 & F("y") < 2,
        lambda: F("x") & A,
        lambda: A | F("x"),
        lambda: ~F("x"),
        lambda: 3 in F("x"),  # type: ignore[operator]
        lambda: list(F("x")),
        lambda: F("x") == F("y"),
        lambda: F("x").in_("ab"),
        lambda: F("x").in_(3),  # type: ignore[arg-type]
        lambda: F("x").contains_any({"a": 1}),
        lambda: F(3),  # type: ignore[arg-type]
    ],
)
def test_misuse_of_the_builder_is_refused_with_advice(misuse: Callable[[], Any]) -> None:
    with pytest.raises(InvalidQueryError) as caught:
        misuse()

    assert any(word in str(caught.value) for word in ("Use &", "compare", "list", "F('year')"))


def test_fields_are_unhashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(F("x"))
    assert repr(F("x")) == "F('x')"


def test_the_example_reads_and_writes() -> None:
    where = parse_where(EXAMPLE)

    assert where == (F("year") >= 2020) & F("lang").in_(["en", "de"]) & ~F("path").under("old/")
    assert format_where(where) == EXAMPLE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a == 1", A), ("a = 1", A), ("a eq 1", A), ("  a==1\n", A), ('"a" == 1', A), ("'a'=1", A),
        ("a != 1", P("a", "ne", 1)), ("a <> 1", P("a", "ne", 1)), ("a>1", P("a", "gt", 1)),
        ("a gte 1", P("a", "gte", 1)), ("a<-1.5e3", P("a", "lt", -1500.0)),
        ("a<=.5", P("a", "lte", 0.5)),
        ("a in ()", P("a", "in", ())), ("a IN [1, 'x', true]", P("a", "in", (1, "x", True))),
        ("a not in (1)", P("a", "not_in", (1,))), ("a not_in (1)", P("a", "not_in", (1,))),
        ("a contains any (1)", P("a", "contains_any", (1,))),
        ("a contains 1", P("a", "contains_any", (1,))),
        ("a contains_all ('x')", P("a", "contains_all", ("x",))),
        ("a under 'x/y'", P("a", "under", "x/y")),
        ("a exists", P("a", "exists", True)), ("a exists false", P("a", "exists", False)),
        ("a exists and b == 2", AllOf((P("a", "exists", True), B))),
        ("d >= 2025-01-01", P("d", "gte", "2025-01-01")),
        ("d < 2025-01-01T10:30:00+01:00", P("d", "lt", "2025-01-01T10:30:00+01:00")),
        ("a == TRUE", P("a", "eq", True)), ("a == 007", P("a", "eq", 7)),
        ('a == "007"', P("a", "eq", "007")),
        ("a == 1 or b == 2 and c == 3", AnyOf((A, AllOf((B, C))))),
        ("(a == 1 or b == 2) and c == 3", AllOf((AnyOf((A, B)), C))),
        ("not a == 1 and b == 2", AllOf((Not(A), B))),
        ("not (a == 1 and b == 2)", Not(AllOf((A, B)))),
        ("not not a == 1", Not(Not(A))), ("((a == 1))", A),
        ("a == 1 and (b == 2 and c == 3)", AllOf((A, AllOf((B, C))))),
        ("all()", AllOf(())), ("any()", AnyOf(())), ("all(a == 1)", AllOf((A,))),
        ("any(a == 1, b == 2)", AnyOf((A, B))), ("nothing", NOTHING), ("not nothing", Not(NOTHING)),
        ('"all" == 1', P("all", "eq", 1)),
        ('"a b" == "c\\"d\\\\\\n\\u00e9"', P("a b", "eq", 'c"d\\\né')),
        ("größe.max-2 == 1", P("größe.max-2", "eq", 1)), ("名 == '值'", P("名", "eq", "值")),
        ("a == " + "9" * 4000, P("a", "eq", int("9" * 4000))),
    ],
)  # fmt: skip
def test_texts_read(text: str, expected: Filter) -> None:
    assert parse_where(text) == expected
    assert parse_where(format_where(expected)) == expected


REFUSED = [
    ("", 1, "missing"), ("   ", 4, "missing"), ("a", 2, "operator is missing"),
    ("a ==", 5, "value is missing"), ("a == 1 and", 11, "missing"),
    ("a in (1,", 9, "value is missing"),
    ("not", 4, "missing"), ("lang == en", 9, 'put text in quotes: "en"'), ("a == nan", 6, "quotes"),
    ("2000 <= a", 1, "field name comes first"), ("1 < a < 3", 1, "field name comes first"),
    ("a > 1 < 3", 7, "chained"), ("a == 1 && b == 2", 8, "write 'and'"), ("!a", 1, "write 'not'"),
    ("a || b", 3, "unknown operator"), ("a like 'x'", 3, "unknown operator 'like'"),
    ("a is null", 3, "a exists"), ("a not 3", 7, "'in' is missing"),
    ("a in 3", 6, "list is missing"),
    ("a in (1 2)", 9, "',' is missing"), ("a in (1]", 8, "',' is missing"),
    ("a == (1)", 6, "'in' for several"),
    ("(a == 1", 1, "never closed"), ("a in (1", 6, "never closed"), ("a == 1)", 7, "never opened"),
    ("a == 'x", 6, "never closed"), ("a == 'x\\q'", 8, "unknown escape"),
    ("a == 1e999", 6, "too large"),
    ("a == " + "9" * 5000, 6, "too large"), ("a == 12ab", 6, "neither a number"),
    ("a == 1.2.3", 6, "neither"),
    ("d > 2025-13-01", 5, "no such date"), ("a == 1 b == 2", 8, "'and' or 'or'"),
    ("and", 1, "quotes around it"),
    ("exists == 1", 1, "quotes around it"), ("a # 1", 3, "unexpected '#'"),
    ("a == 1 ; b == 2", 8, "unexpected ';'"),
    ("all(a == 1", 4, "never closed"), ("any(a == 1 b", 12, "',' is missing"),
    (", a", 1, "field name is missing"),
    ("(" * 5000 + "a == 1", MAX_DEPTH + 1, "nests deeper"),
    ("not " * 5000 + "a == 1", 4 * MAX_DEPTH + 1, "nests"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "character", "problem"), REFUSED)
def test_errors_point_at_the_place(text: str, character: int, problem: str) -> None:
    with pytest.raises(InvalidQueryError) as caught:
        parse_where(text)

    message = str(caught.value)
    _, shown, caret, advice = message.split("\n")
    assert f"at character {character}:" in message
    assert problem in message
    assert caret.strip() == "^"
    assert advice
    assert len(shown) < 140
    place = text[character - 1 : character]
    assert shown[caret.index("^") :][:1] in (place, "")
    assert caught.value.field is None


def test_the_caret_stands_under_wide_and_combining_characters() -> None:
    with pytest.raises(InvalidQueryError) as caught:
        parse_where("名 == 'e\u0301' # ")

    _, shown, caret, _ = str(caught.value).split("\n")
    assert shown == "    名 == 'e\u0301' # "
    assert caret.index("^") == len("    .. == 'e' ")


def test_a_filter_text_on_several_lines_is_shown_on_one() -> None:
    with pytest.raises(InvalidQueryError) as caught:
        parse_where("a == 1\nand\tb ==\x1b c")

    assert len(str(caught.value).split("\n")) == 4
    assert "\x1b" not in str(caught.value).split("\n")[1]


def test_long_texts_are_refused_and_long_lists_read() -> None:
    values = tuple(range(10_000))
    assert parse_where(format_where(P("a", "in", values))) == P("a", "in", values)
    with pytest.raises(InvalidQueryError, match="characters"):
        parse_where("a" * (LONGEST_TEXT + 1))


@pytest.mark.parametrize("text", [None, 3, b"a == 1", A])
def test_a_text_is_a_string(text: Any) -> None:
    with pytest.raises(InvalidQueryError, match="is a string"):
        parse_where(text)


NAMES = ["and", "Not", "in", "ALL", "exists", "true", "a b", "", "1a", "-x", "a'b", 'a"b', "a\\b",
         "a\nb", "\x00", "\ud800", "\U0001f600", "\u2028", "$x", "a.b", "x-"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_any_field_name_and_string_survive_both_forms(name: str) -> None:
    for where in (P(name, "eq", name), P(name, "in", (name, "x")), P(name, "exists", False)):
        text = format_where(where)
        assert parse_where(text) == where
        assert "\n" not in text
        assert filter_from_dict(filter_to_dict(where)) == where


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_text_and_a_dict_form(name: str) -> None:
    value: Any = ("x",) if OPERATORS[name].many else "x"
    where = P("a", name, False if name == "exists" else value)

    assert parse_where(format_where(where)) == where
    assert filter_from_dict(filter_to_dict(where)) == where


def test_dates_are_written_in_iso() -> None:
    where = P("d", "in", (date(2025, 1, 1), datetime(2025, 1, 1, 10)))
    expected = P("d", "in", ("2025-01-01", "2025-01-01T10:00:00"))

    assert parse_where(format_where(where)) == expected
    assert filter_from_dict(filter_to_dict(where)) == expected


@pytest.mark.parametrize(
    "where",
    [
        P("a", "eq", None), P("a", "eq", float("nan")), P("a", "eq", float("inf")),
        P("a", "eq", [1]),
        P("a", "in", "ab"), P("a", "in", 3), P("a", "eq", 10**5000), P("a", "eq", object()),
        P("a", "regexx", 1), P("a", None, 1), 3, AllOf((3,)), Not(None), "a == 1",  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_has_no_text_form_is_refused(where: Any) -> None:
    with pytest.raises(InvalidQueryError):
        format_where(where)


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        ({}, AllOf(())), ({"a": 1}, A), ({"a": 1, "b": 2}, AllOf((A, B))), ({"a": {"$eq": 1}}, A),
        ({"a": {"$ne": 1}}, P("a", "ne", 1)),
        ({"a": {"$gte": 1, "$lt": 3}}, AllOf((P("a", "gte", 1), P("a", "lt", 3)))),
        ({"a": {"$gt": 1}}, P("a", "gt", 1)), ({"a": {"$lte": 1}}, P("a", "lte", 1)),
        ({"a": {"$in": [1, 2]}}, P("a", "in", (1, 2))), ({"a": {"$nin": []}}, P("a", "not_in", ())),
        ({"a": {"$not_in": [1]}}, P("a", "not_in", (1,))),
        ({"a": {"$exists": False}}, P("a", "exists", False)),
        ({"a": {"$contains": "x"}}, P("a", "contains_any", ("x",))),
        ({"a": {"$contains": ["x", "y"]}}, P("a", "contains_any", ("x", "y"))),
        ({"a": {"$contains_any": ["x"]}}, P("a", "contains_any", ("x",))),
        ({"a": {"$contains_all": ["x"]}}, P("a", "contains_all", ("x",))),
        ({"a": {"$under": "x"}}, P("a", "under", "x")),
        ({"$and": [{"a": 1}, {"b": 2}]}, AllOf((A, B))), ({"$or": [{"a": 1}]}, AnyOf((A,))),
        ({"$or": []}, AnyOf(())), ({"$not": {"a": 1}}, Not(A)),
        ({"a": {"$not": {"$eq": 1}}}, Not(A)),
        ({"$not": {"a": 1, "b": 2}}, Not(AllOf((A, B)))), ({"$nothing": True}, NOTHING),
        ({"$field": "$a", "$eq": 1}, P("$a", "eq", 1)),
        ({"c": 3, "$or": [{"a": 1}, {"b": 2}]}, AllOf((C, AnyOf((A, B))))),
    ],
)  # fmt: skip
def test_dict_forms_read(mapping: Any, expected: Filter) -> None:
    assert filter_from_dict(mapping) == expected
    assert filter_from_dict(filter_to_dict(expected)) == expected


@pytest.mark.parametrize(
    ("mapping", "named"),
    [
        ({"a": {"$regexx": "x"}}, "'$regexx'"), ({"$regexx": []}, "'$regexx'"),
        ({"$eq": 1}, "'$eq'"),
        ({"a": {"eq": 1}}, "'eq'"), ({"a": {"b": 1}}, "'b'"), ({"a": {}}, "'a'"),
        ({"a": {"$gte": 1, "x": 2}}, "'x'"),
        ({"$and": {"a": 1}}, "'$and'"), ({"$or": "a"}, "'$or'"), ({"$and": [1]}, "int"),
        ({"$not": [1]}, "list"),
        ({"a": {"$not": 3}}, "'$not'"), ({"a": {"$and": []}}, "'$and'"), ({1: 2}, "1"),
        ({"a": {1: 2}}, "1"),
        ({"$field": "a"}, "'$field'"), ({"$field": 3, "$eq": 1}, "'$field'"),
        ({"$nothing": False}, "'$nothing'"),
        (None, "NoneType"), ("a == 1", "str"), ([{"a": 1}], "list"), ({"$lang": "de"}, "'$lang'"),
    ],
)  # fmt: skip
def test_dict_forms_that_cannot_be_read_name_the_fault(mapping: Any, named: str) -> None:
    with pytest.raises(InvalidQueryError) as caught:
        filter_from_dict(mapping)

    assert named in str(caught.value)


def test_an_unknown_operator_of_a_field_names_the_field_too() -> None:
    with pytest.raises(InvalidQueryError, match="regexx") as caught:
        filter_from_dict({"lang": {"$regexx": "d."}})

    assert caught.value.field == "lang"


def test_the_depth_of_dict_forms_is_bounded() -> None:
    outer: dict[str, Any] = {"a": 1}
    inner: dict[str, Any] = {"$eq": 1}
    for _ in range(5_000):
        outer, inner = {"$not": outer}, {"$not": inner}
    loop: dict[str, Any] = {}
    loop["$not"] = loop
    for mapping in (outer, {"a": inner}, loop):
        with pytest.raises(InvalidQueryError, match="deep"):
            filter_from_dict(mapping)


def test_reading_a_dict_form_leaves_it_alone() -> None:
    mapping = {"a": {"$in": [1, 2]}, "$or": [{"b": 2}]}
    filter_from_dict(mapping)

    assert mapping == {"a": {"$in": [1, 2]}, "$or": [{"b": 2}]}


@pytest.mark.parametrize("value", [{"a": 1}, b"x", object(), [[1]]])
def test_operands_without_a_json_form_are_refused(value: Any) -> None:
    with pytest.raises(InvalidQueryError):
        filter_to_dict(P("a", "eq", value))
