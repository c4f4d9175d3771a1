"""What the meta of documents holds: fields, least and greatest, distinct values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["distinct", "field_types", "named", "span"]

Metas = Iterable[Mapping[str, Any]]

_TYPES = {bool: "boolean", int: "int", float: "float"}


def named(field: str) -> str:
    """A field's name without ``meta.``."""
    return field.removeprefix("meta.")


def field_types(metas: Metas) -> dict[str, dict[str, str]]:
    """Each field with the type of its last value, under Haystack's names of types."""
    values = ((name, value) for meta in metas for name, value in meta.items() if value is not None)
    return {name: {"type": _TYPES.get(type(value), "keyword")} for name, value in values}


def span(metas: Metas, field: str) -> dict[str, Any]:
    """The least and the greatest value, both None without one; ``TypeError`` for mixed types."""
    held = [meta.get(named(field)) for meta in metas]
    values: list[Any] = [value for value in held if isinstance(value, int | float | str)]
    return {"min": min(values, default=None), "max": max(values, default=None)}


def distinct(metas: Metas, field: str, search_term: str | None = None) -> list[Any]:
    """The values of a field, each once, in the order of their texts; 1, 1.0, "1" and true differ.

    Only those in whose text ``search_term`` is, in any case.
    """
    found = {}
    for meta in metas:
        value = meta.get(named(field))
        if value is not None:
            found[(_text(value), type(value).__name__)] = value
    term = (search_term or "").casefold()
    return [found[key] for key in sorted(found) if term in key[0].casefold()]


def _text(value: Any) -> str:
    plain = isinstance(value, str)
    return value if plain else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
