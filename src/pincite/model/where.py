"""Writing filters: in Python with ``F``, as text, as a dict.

(F("year") >= 2020) & F("lang").in_(["en", "de"]) & ~F("path").under("old")
parse_where('year >= 2020 and lang in ("en", "de") and not path under "old"')
filter_from_dict({"year": {"$gte": 2020}, "lang": {"$in": ["en", "de"]}})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from pincite.errors import InvalidQueryError
from pincite.model.algebra import DeclaredFilter
from pincite.model.where_dict import filter_from_dict, filter_to_dict
from pincite.model.where_text import format_where, parse_where

__all__ = ["F", "filter_from_dict", "filter_to_dict", "format_where", "parse_where"]


class F:
    """A field, to be compared: ``F("year") >= 2020``, ``F("lang").in_(["en", "de"])``.

    Comparisons give filters, which combine with ``&``, ``|`` and ``~``, each in parentheses. A
    field itself has no truth value and no hash, because ``==`` builds a filter.
    """

    __slots__ = ("_name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise InvalidQueryError(
                f"a field name is a string, not {type(name).__name__}; write F('year')"
            )
        self._name = name

    def __repr__(self) -> str:
        return f"F({self._name!r})"

    def __eq__(self, value: object) -> DeclaredFilter:  # type: ignore[override]
        return self._compared("eq", value)

    def __ne__(self, value: object) -> DeclaredFilter:  # type: ignore[override]
        return self._compared("ne", value)

    def __gt__(self, value: object) -> DeclaredFilter:
        return self._compared("gt", value)

    def __ge__(self, value: object) -> DeclaredFilter:
        return self._compared("gte", value)

    def __lt__(self, value: object) -> DeclaredFilter:
        return self._compared("lt", value)

    def __le__(self, value: object) -> DeclaredFilter:
        return self._compared("lte", value)

    def in_(self, values: Iterable[Any]) -> DeclaredFilter:
        """The field equals one of ``values``."""
        return self._listed("in", values)

    def not_in(self, values: Iterable[Any]) -> DeclaredFilter:
        """The field equals none of ``values``, or is absent."""
        return self._listed("not_in", values)

    def contains_any(self, values: Iterable[Any]) -> DeclaredFilter:
        """A list field contains one of ``values``; a single one equals it."""
        return self._listed("contains_any", values)

    def contains_all(self, values: Iterable[Any]) -> DeclaredFilter:
        """A list field contains each of ``values``."""
        return self._listed("contains_all", values)

    def under(self, scope: str) -> DeclaredFilter:
        """A keyword field is ``scope`` or starts with ``scope/``."""
        return DeclaredFilter(self._name, "under", scope)

    def exists(self, present: bool = True) -> DeclaredFilter:
        """The field has a value, or with ``present=False`` has none."""
        return DeclaredFilter(self._name, "exists", present)

    def _compared(self, operator: str, value: object) -> DeclaredFilter:
        if isinstance(value, F):
            raise InvalidQueryError(
                f"{self!r} is compared with {value!r}; compare a field with a value",
                field=self._name,
            )
        return DeclaredFilter(self._name, operator, value)

    def _listed(self, operator: str, values: Iterable[Any]) -> DeclaredFilter:
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise InvalidQueryError(
                f"{operator!r} on field {self._name!r} takes a list of values, not "
                f"{type(values).__name__}; put the values in a list",
                field=self._name,
            )
        if isinstance(values, (set, frozenset)):
            values = sorted(values, key=lambda value: (type(value).__name__, repr(value)))
        return DeclaredFilter(self._name, operator, tuple(values))

    def __bool__(self) -> NoReturn:
        self._refuse("has no truth value")

    def __contains__(self, value: object) -> NoReturn:
        self._refuse(f"cannot be searched with 'in' for {value!r}")

    def __iter__(self) -> NoReturn:
        self._refuse("cannot be iterated")

    def __and__(self, other: object) -> NoReturn:
        self._refuse("is combined before it is compared")

    __rand__ = __or__ = __ror__ = __and__

    def __invert__(self) -> NoReturn:
        self._refuse("is negated before it is compared")

    def _refuse(self, problem: str) -> NoReturn:
        raise InvalidQueryError(
            f"the field {self!r} {problem}; compare it and put each comparison in parentheses: "
            "(F('year') >= 2020) & (F('lang') == 'en')",
            field=self._name,
        )
