"""Filters as SQL over the column ``fields``: names and values bound, never spliced in.

``fields`` maps a field's name to the array of its canonical scalars (see ``model.values``); a
value that is absent or misfits its field is not in it. Every predicate is either true or false,
never NULL, so that ``Not`` is plain negation. A statement may be evaluated on rows of other
collections, whose fields have other types, so nothing here is cast in a way that could fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from psycopg import sql

from pincite.model.fields import FieldSpec, chunk_values
from pincite.model.filters import AllOf, AnyOf, DeclaredFilter, Filter, Not, Nothing
from pincite.model.hits import Chunk
from pincite.model.matching import operand
from pincite.model.values import Scalar, stored_scalars
from pincite.stores.postgres.packing import pack

__all__ = ["FilterSql", "fields_json", "order_sql"]

_UNSTORED: Final = "text"
"""The chunk's own text, which is in ``metadata`` and never filtered."""

_MOST_BRANCHES: Final = 32
"""Values up to which a set is spelled out as alternatives, which an index can serve."""

_SIGNS: Final = {"gt": sql.SQL(">"), "gte": sql.SQL(">="), "lt": sql.SQL("<"), "lte": sql.SQL("<=")}
_TRUE: Final = sql.SQL("TRUE")
_FALSE: Final = sql.SQL("FALSE")


class FilterSql:
    """A checked, folded filter as a condition on the chunks ``c``, with its parameters."""

    def __init__(self, where: Filter | None, spec: FieldSpec) -> None:
        self._spec = spec
        self.parameters: dict[str, Any] = {}
        self.condition: sql.Composable = _TRUE if where is None else self._compile(where)
        self.restricts = where is not None

    def _compile(self, where: Filter) -> sql.Composable:
        if isinstance(where, DeclaredFilter):
            return self._predicate(where)
        if isinstance(where, Not):
            return sql.SQL("NOT ({})").format(self._compile(where.term))
        if isinstance(where, Nothing):
            return _FALSE
        terms = [sql.SQL("({})").format(self._compile(term)) for term in where.terms]
        if isinstance(where, AllOf):
            return _joined(" AND ", terms, _TRUE)
        assert isinstance(where, AnyOf)
        return _joined(" OR ", terms, _FALSE)

    def _predicate(self, predicate: DeclaredFilter) -> sql.Composable:
        operator, wanted = predicate.operator, operand(predicate, self._spec)
        if operator in ("ne", "not_in"):
            positive = self._any(predicate.field, _many(wanted))
            return sql.SQL("NOT ({})").format(positive)
        return _COMPILERS[operator](self, predicate.field, wanted)

    def _any(self, name: str, wanted: tuple[Scalar, ...]) -> sql.Composable:
        if len(wanted) > _MOST_BRANCHES:
            held = [_document(name, [value]) for value in wanted]
            return sql.SQL("c.fields @> ANY ({}::jsonb[])").format(self._bound(held))
        branches = [self._holds(name, [value]) for value in wanted]
        return _joined(" OR ", branches, _FALSE)

    def _holds(self, name: str, wanted: Iterable[Scalar]) -> sql.Composable:
        return sql.SQL("c.fields @> {}::jsonb").format(self._bound(_document(name, wanted)))

    def _exists(self, name: str, wanted: Any) -> sql.Composable:
        present = sql.SQL("c.fields ? {}").format(self._bound(pack(name)))
        return present if wanted else sql.SQL("NOT ({})").format(present)

    def _compared(self, operator: str, name: str, wanted: Any) -> sql.Composable:
        key, sign = self._bound(pack(name)), _SIGNS[operator]
        if isinstance(wanted, str):
            template = sql.SQL('coalesce((c.fields -> {} ->> 0) COLLATE "C" {} {}, FALSE)')
            return template.format(key, sign, self._bound(pack(wanted)))
        # jsonb compares numbers exactly and booleans as Python does, whatever else is there.
        template = sql.SQL("coalesce((c.fields -> {} -> 0) {} {}::jsonb, FALSE)")
        return template.format(key, sign, self._bound(json.dumps(_plain(wanted))))

    def _under(self, name: str, scope: Any) -> sql.Composable:
        stem = scope.rstrip("/")
        below = self._bound(pack(stem + "/"))
        held = sql.SQL("starts_with(v, {})").format(below)
        if stem:
            held = sql.SQL("v = {} OR {}").format(self._bound(pack(stem)), held)
        return sql.SQL(
            "EXISTS (SELECT FROM jsonb_array_elements_text(c.fields -> {}) v WHERE {})"
        ).format(self._bound(pack(name)), held)

    def _bound(self, value: Any) -> sql.Composable:
        name = f"f{len(self.parameters)}"
        self.parameters[name] = value
        # Told as text, since PostgreSQL could not choose a type for `fields -> $1` by itself.
        cast = sql.SQL("::text[]") if isinstance(value, list) else sql.SQL("::text")
        return sql.Placeholder(name) + cast


_COMPILERS: Final[Mapping[str, Callable[[FilterSql, str, Any], sql.Composable]]] = {
    "eq": lambda made, name, wanted: made._holds(name, [wanted]),
    "in": lambda made, name, wanted: made._any(name, wanted),
    "contains_any": lambda made, name, wanted: made._any(name, wanted),
    "contains_all": lambda made, name, wanted: made._holds(name, wanted),
    "exists": FilterSql._exists,
    "under": FilterSql._under,
    "gt": lambda made, name, wanted: made._compared("gt", name, wanted),
    "gte": lambda made, name, wanted: made._compared("gte", name, wanted),
    "lt": lambda made, name, wanted: made._compared("lt", name, wanted),
    "lte": lambda made, name, wanted: made._compared("lte", name, wanted),
}


def fields_json(chunk: Chunk, spec: FieldSpec) -> str:
    """What filters read of a chunk: the canonical scalars of its fields, as JSON."""
    held = {}
    for name, value in chunk_values(chunk).items():
        field = spec.fields.get(name)
        if field is None or name == _UNSTORED:
            continue
        if scalars := stored_scalars(value, field):
            held[pack(name)] = [_plain(scalar) for scalar in scalars]
    return json.dumps(held, ensure_ascii=False)


def order_sql(field: str, spec: FieldSpec, *, descending: bool) -> sql.Composable | None:
    """ORDER BY a stored field as ``ordering.sort_by_field`` does, with ``%(by)s`` its name.

    None for the chunk's text, which no column holds in a form that PostgreSQL can compare.
    """
    kind = spec.fields[field]
    if field == _UNSTORED:
        return None
    if kind.type in ("keyword", "text"):
        single = sql.SQL('(c.fields -> %(by)s::text ->> 0) COLLATE "C"')
        element = sql.SQL('v COLLATE "C"')
    else:
        single = sql.SQL("c.fields -> %(by)s::text -> 0")
        element = sql.SQL("v::boolean" if kind.type == "boolean" else "v::numeric")
    many = sql.SQL(
        "ARRAY(SELECT {} FROM jsonb_array_elements_text(c.fields -> %(by)s::text) v)"
    ).format(element)
    return sql.SQL("(c.fields ? %(by)s::text) DESC, {} {}, c.id").format(
        many if kind.many else single, sql.SQL("DESC" if descending else "ASC")
    )


def _many(wanted: Any) -> tuple[Scalar, ...]:
    return wanted if isinstance(wanted, tuple) else (wanted,)


def _document(name: str, wanted: Iterable[Scalar]) -> str:
    return json.dumps({pack(name): [_plain(value) for value in wanted]}, ensure_ascii=False)


def _plain(value: Scalar) -> Scalar:
    """A scalar whose JSON is exact in PostgreSQL's numeric.

    The shortest form of a float with a fraction lies between the same integers and floats as the
    float; a float without one is written as the integer that it is.
    """
    if isinstance(value, str):
        return pack(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _joined(word: str, terms: Sequence[sql.Composable], empty: sql.Composable) -> sql.Composable:
    if not terms:
        return empty
    return sql.SQL("({})").format(sql.SQL(word).join(terms))
