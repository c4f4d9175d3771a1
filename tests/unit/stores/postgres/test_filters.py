"""Filters in SQL say what ``matches`` says, whatever the values, and order as ``ordering`` does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from pincite.model.fields import Field, FieldSpec, FieldType, chunk_values, full_spec
from pincite.model.filters import DeclaredFilter, Filter, matches, simplify
from pincite.model.hits import Chunk
from pincite.stores.ordering import sort_by_field
from pincite.stores.postgres.filters import FilterSql, fields_json, order_sql
from pincite.testing.strategies import field_specs, filters, metadata

_CONNECTIONS: list[psycopg.Connection[Any]] = []


@pytest.fixture(scope="module", autouse=True)
def _connection(postgres_uri: str) -> Iterator[None]:
    with psycopg.connect(postgres_uri, autocommit=True) as connection:
        _CONNECTIONS.append(connection)
        yield
        _CONNECTIONS.clear()


def _holds(where: Filter | None, rows: list[dict[str, Any]], spec: FieldSpec) -> list[bool]:
    made = FilterSql(simplify(where), spec)
    held = [fields_json(Chunk("x", id=str(i), metadata=row), spec) for i, row in enumerate(rows)]
    query = sql.SQL(
        "SELECT {} FROM unnest(%(held)s::jsonb[]) WITH ORDINALITY c(fields, place) ORDER BY place"
    ).format(made.condition)
    cursor = _CONNECTIONS[0].execute(query, {**made.parameters, "held": held})
    return [row[0] for row in cursor.fetchall()]


@given(st.data())
def test_a_filter_keeps_what_matches_keeps(data: st.DataObject) -> None:
    spec = data.draw(field_specs())
    rows = data.draw(st.lists(metadata(spec), min_size=1, max_size=8))
    where = data.draw(filters(spec))
    chunks = [Chunk("x", id=str(i), metadata=row) for i, row in enumerate(rows)]
    values = [chunk_values(chunk) for chunk in chunks]

    assert _holds(where, rows, spec) == [matches(where, row, spec) for row in values]


@given(st.data())
def test_an_order_is_that_of_every_store(data: st.DataObject) -> None:
    spec = data.draw(field_specs(max_size=2))
    name = data.draw(st.sampled_from(sorted(spec.fields)))
    rows = data.draw(st.lists(metadata(spec), min_size=2, max_size=8))
    descending = data.draw(st.booleans())
    chunks = [Chunk("x", id=f"{i}", metadata=row) for i, row in enumerate(rows)]
    order = order_sql(name, spec, descending=descending)
    assert order is not None
    query = sql.SQL(
        'SELECT id FROM unnest(%(ids)s::text[] COLLATE "C", %(held)s::jsonb[]) c(id, fields)'
        " ORDER BY {}"
    ).format(order)
    held = [fields_json(chunk, spec) for chunk in chunks]
    from pincite.stores.postgres.packing import pack

    ids = [chunk.id for chunk in chunks]
    cursor = _CONNECTIONS[0].execute(query, {"ids": ids, "held": held, "by": pack(name)})
    wanted = sort_by_field(
        chunks,
        name,
        spec,
        values=chunk_values,
        chunk_id=lambda chunk: chunk.id,
        descending=descending,
    )

    assert [row[0] for row in cursor.fetchall()] == [chunk.id for chunk in wanted]


def test_a_set_of_many_values_is_one_condition() -> None:
    spec = full_spec({"n": Field(FieldType.INTEGER)})
    where = DeclaredFilter("n", "in", tuple(range(0, 2_000, 2)))

    assert _holds(where, [{"n": 998}, {"n": 999}, {}], spec) == [True, False, False]


def test_values_of_other_types_do_not_break_a_comparison() -> None:
    """Rows of other collections may be looked at before the collection is compared."""
    number = full_spec({"k": Field(FieldType.NUMBER)})
    made = FilterSql(DeclaredFilter("k", "gt", 1), number)
    query = sql.SQL("SELECT {} FROM unnest(%(held)s::jsonb[]) c(fields)").format(made.condition)
    held = ['{"k": ["x"]}', '{"k": [true]}', '{"k": []}', '{"k": [2]}', "{}"]
    cursor = _CONNECTIONS[0].execute(query, {**made.parameters, "held": held})

    assert [row[0] for row in cursor.fetchall()][3:] == [True, False]


def test_names_and_values_are_bound_and_never_spliced_in() -> None:
    nasty = "k'); DROP TABLE x; -- %s {} \"\0"
    spec = full_spec({nasty: Field(FieldType.KEYWORD)})
    for operator, value in (("eq", nasty), ("in", (nasty,)), ("under", nasty), ("gte", nasty)):
        made = FilterSql(DeclaredFilter(nasty, operator, value), spec)
        text = made.condition.as_string(_CONNECTIONS[0])

        assert "DROP" not in text
        assert _holds(DeclaredFilter(nasty, operator, value), [{nasty: nasty}, {}], spec) == [
            True,
            False,
        ]
