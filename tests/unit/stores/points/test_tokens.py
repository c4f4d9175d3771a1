"""A filter in two parts keeps what the filter keeps, whatever the values are."""

from hypothesis import given
from hypothesis import strategies as st

from pincite.model.algebra import NOTHING, Nothing
from pincite.model.fields import Field, FieldSpec, FieldType
from pincite.model.filters import DeclaredFilter, matches, simplify
from pincite.stores.points.backend import Compare, Every, Has, Negated, Some
from pincite.stores.points.tokens import facts, plan
from pincite.testing.strategies import field_specs, filters, metadata

_SIGNS = {
    "gt": lambda a, b: a > b,
    "gte": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "lte": lambda a, b: a <= b,
}


def holds(where, told):
    """What a database does with a filter."""
    if isinstance(where, Has):
        return where.token in told.tokens
    if isinstance(where, Negated):
        assert isinstance(where.term, Has), "only tokens are negated"
        return where.term.token not in told.tokens
    if isinstance(where, Compare):
        number = told.numbers.get(where.name)
        return number is not None and _SIGNS[where.operator](number, where.value)
    joint = all if isinstance(where, Every) else any
    assert isinstance(where, Every | Some)
    return joint(holds(term, told) for term in where.terms)


@given(st.data())
def test_both_parts_together_are_the_filter(data):
    spec = data.draw(field_specs())
    rows = data.draw(st.lists(metadata(spec), max_size=4))
    where = simplify(data.draw(filters(spec)))
    told = [facts(row, spec) for row in rows]
    loose = {name for each in told for name in each.loose}
    if isinstance(where, Nothing):
        return
    native, residue = plan(where, spec, loose)
    for row, each in zip(rows, told, strict=True):
        kept = native is None or holds(native, each)
        kept = kept and (residue is None or matches(residue, row, spec))
        assert kept == matches(where, row, spec)


def test_common_filters_leave_no_residue():
    spec = FieldSpec(
        {
            "k": Field(FieldType.KEYWORD),
            "n": Field(FieldType.INTEGER),
            "d": Field(FieldType.DATETIME),
            "l": Field(FieldType.KEYWORD, many=True),
        }
    )
    has_k = DeclaredFilter("k", "exists", True)
    for where in (
        DeclaredFilter("k", "eq", "a"),
        DeclaredFilter("k", "under", "a/b"),
        DeclaredFilter("n", "gte", 7),
        DeclaredFilter("d", "lt", "2025-01-01"),
        DeclaredFilter("l", "contains_all", ["a", "b"]),
        ~DeclaredFilter("n", "lt", 7),
        DeclaredFilter("k", "ne", "a") & (DeclaredFilter("n", "eq", 1) | ~has_k),
    ):
        native, residue = plan(where, spec, ())
        assert native is not None
        assert residue is None, where


def test_what_does_not_fit_is_loose_and_left_to_the_rows():
    spec = FieldSpec({"n": Field(FieldType.INTEGER), "p": Field(FieldType.KEYWORD)})
    told = facts({"n": 2**63 + 1, "p": "/" * 100_000}, spec)
    assert told.loose == {"n", "p"}
    assert len(told.tokens) < 10
    for name, value in (("n", 5), ("p", "a")):
        native, residue = plan(DeclaredFilter(name, "eq", value), spec, told.loose)
        assert native is None
        assert residue is not None


def test_a_filter_inside_that_keeps_nothing_is_left_to_the_rows():
    spec = FieldSpec({"n": Field(FieldType.INTEGER)})
    native, residue = plan(~NOTHING & DeclaredFilter("n", "eq", 1), spec, ())
    assert native is not None
    assert residue is not None
