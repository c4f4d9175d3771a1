"""Filters as tests on tokens and numbers, which any database can do exactly.

A token is a hash of (kind, field, canonical value). Equality, membership, existence and ``under``
become the presence of a token; a range becomes a comparison of a float, where every value of the
field is exactly one. Negation stands at the leaves only, so that no database's logic of absent
values has a say: a number that is there has its name among the tokens. What cannot be told from
them stays a *residue*: filters that are evaluated on the rows themselves, whose ids then restrict
the search.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pincite.model.algebra import AllOf, DeclaredFilter, Filter, Not, Nothing
from pincite.model.fields import Field, FieldSpec, FieldType
from pincite.model.matching import operand
from pincite.model.values import Scalar, stored_scalars
from pincite.stores.points.backend import Compare, Every, Has, Native, Negated, Some
from pincite.stores.points.keys import digest

__all__ = ["Facts", "Plan", "facts", "plan"]

_MOST_TOKENS: Final = 256
_MOST_ANCESTORS: Final = 32
_RANGES: Final = frozenset({"gt", "gte", "lt", "lte"})
_FLIPPED: Final = {"gt": "lte", "gte": "lt", "lt": "gte", "lte": "gt"}
_NUMERIC: Final = frozenset({FieldType.INTEGER, FieldType.NUMBER, FieldType.DATETIME})


class Facts(NamedTuple):
    """What filters read of one chunk; ``loose`` are fields with a value that does not fit here."""

    tokens: list[str]
    numbers: dict[str, float]
    loose: set[str]


class Plan(NamedTuple):
    """A filter in two parts, both of which must hold; None restricts nothing."""

    native: Native | None
    residue: Filter | None


def facts(values: Mapping[str, Any], spec: FieldSpec) -> Facts:
    """The tokens and numbers of a chunk's values."""
    found = Facts([], {}, set())
    for name, value in values.items():
        field = spec.fields.get(name)
        if field is None or not field.filterable:
            continue
        present = stored_scalars(value, field)
        if present:
            _add(found, name, field, present)
    return found


def _add(found: Facts, name: str, field: Field, present: tuple[Scalar, ...]) -> None:
    tokens = {_token("has", name)}
    tokens.update(_token("is", name, value) for value in present)
    texts = [str(value) for value in present] if field.type is FieldType.KEYWORD else []
    deep = any(text.count("/") > _MOST_ANCESTORS for text in texts)
    if not deep:
        tokens.update(_token("under", name, stem) for text in texts for stem in _stems(text))
    if deep or len(tokens) > _MOST_TOKENS:
        found.loose.add(name)
        return
    found.tokens.extend(sorted(tokens))
    if field.type in _NUMERIC and not field.many:
        number = _exact(present[0])
        if number is None:
            found.loose.add(name)
        else:
            found.numbers[_number_name(name)] = number
            found.tokens.append(_number_name(name))


def plan(where: Filter | None, spec: FieldSpec, loose: Collection[str]) -> Plan:
    """Split a checked, folded filter that keeps something."""
    if where is None:
        return Plan(None, None)
    terms = where.terms if isinstance(where, AllOf) else (where,)
    native: list[Native] = []
    residue: list[Filter] = []
    for term in terms:
        made = _native(term, spec, loose, wanted=True)
        if made is None:
            residue.append(term)
        else:
            native.append(made)
    return Plan(_joined(Every, native), AllOf(tuple(residue)) if residue else None)


def _native(
    where: Filter, spec: FieldSpec, loose: Collection[str], *, wanted: bool
) -> Native | None:
    """``where``, or its negation when not ``wanted``; None when it has no such form."""
    if isinstance(where, DeclaredFilter):
        made = None if where.field in loose else _predicate(where, spec)
        return made if made is None or wanted else _negated(made)
    if isinstance(where, Not):
        return _native(where.term, spec, loose, wanted=not wanted)
    if isinstance(where, Nothing) or not where.terms:
        return None  # folded away before, but for a term inside that is one
    made_terms = [_native(term, spec, loose, wanted=wanted) for term in where.terms]
    whole = [term for term in made_terms if term is not None]
    if len(whole) < len(made_terms):
        return None
    return _joined(Every if isinstance(where, AllOf) is wanted else Some, whole)


def _negated(made: Native) -> Native:
    if isinstance(made, Negated):
        return made.term
    if isinstance(made, Every | Some):
        terms = tuple(_negated(term) for term in made.terms)
        return Some(terms) if isinstance(made, Every) else Every(terms)
    if isinstance(made, Compare):
        flipped = Compare(made.name, _FLIPPED[made.operator], made.value)
        return Some((flipped, Negated(Has(made.name))))
    assert isinstance(made, Has)
    return Negated(made)


def _joined(kind: type[Every | Some], terms: list[Native]) -> Native | None:
    if len(terms) < 2:
        return terms[0] if terms else None
    return kind(tuple(terms))


def _predicate(predicate: DeclaredFilter, spec: FieldSpec) -> Native | None:
    name, operator = predicate.field, predicate.operator
    wanted: Any = operand(predicate, spec)
    if operator == "exists":
        has = Has(_token("has", name))
        return has if wanted else Negated(has)
    if operator in _RANGES:
        return _range(name, operator, wanted, spec.fields[name])
    if operator == "under":
        stem = wanted.rstrip("/")
        return Has(_token("under", name, stem))
    if operator in ("eq", "ne"):
        same = Has(_token("is", name, wanted))
        return same if operator == "eq" else Negated(same)
    return _listed(name, operator, wanted)


def _listed(name: str, operator: str, wanted: Iterable[Scalar]) -> Native | None:
    listed: list[Native] = [Has(t) for t in sorted({_token("is", name, v) for v in wanted})]
    if operator == "contains_all":
        return _joined(Every, [Has(_token("has", name)), *listed])
    some = _joined(Some, listed)
    if some is None:
        return None
    return _negated(some) if operator == "not_in" else some


def _range(name: str, operator: str, wanted: Scalar, field: Field) -> Native | None:
    number = _exact(wanted) if field.type in _NUMERIC else None
    return None if number is None else Compare(_number_name(name), operator, number)


def _exact(value: Scalar) -> float | None:
    """``value`` as a float that equals it, None when there is none within what JSON keeps."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number == value and abs(number) <= 2.0**53 and _plain(number) else None


def _plain(number: float) -> bool:
    """Whether every database keeps it: no subnormal number."""
    return number == 0.0 or abs(number) > 1e-300


def _token(kind: str, name: str, value: Scalar | None = None) -> str:
    return digest(kind, name) if value is None else digest(kind, name, _canonical(value))


def _canonical(value: Scalar) -> str:
    """Equal for equal values only: true is not 1, 1 is 1.0, "1" is neither."""
    if isinstance(value, bool):
        return f"b{value}"
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return f"n{int(value)}"
    return f"n{value!r}"


def _stems(value: str) -> Iterable[str]:
    """What ``under`` may be asked for so that ``value`` lies there: see ``matching.is_under``."""
    if value:
        yield value
    yield from (value[:place] for place, letter in enumerate(value) if letter == "/")


def _number_name(name: str) -> str:
    return "n" + digest("number", name)
