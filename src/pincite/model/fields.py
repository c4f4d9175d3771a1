"""The types of a collection's fields: declared, inferred, and what does not fit them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pincite.errors import InvalidArgument
from pincite.model.values import stored_scalars

if TYPE_CHECKING:
    from pincite.model.hits import Chunk

__all__ = [
    "LONGEST_KEYWORD",
    "RESERVED_FIELDS",
    "Field",
    "FieldSpec",
    "FieldType",
    "Misfit",
    "chunk_values",
    "extend_spec",
    "field_from_text",
    "field_to_text",
    "full_spec",
    "infer_field",
    "misfits",
]

LONGEST_KEYWORD: Final = 1_024
"""Characters up to which a string is inferred as a keyword; a longer one is text."""


class FieldType(StrEnum):
    """The six types a field can have."""

    KEYWORD = "keyword"
    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATETIME = "datetime"


@dataclass(frozen=True, slots=True)
class Field:
    """A field's type; ``many`` for lists; ``filterable=False`` refuses it in filters."""

    type: FieldType
    many: bool = False
    filterable: bool = True


RESERVED_FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "text": Field(FieldType.TEXT, filterable=False),
        "title": Field(FieldType.KEYWORD),
        "document": Field(FieldType.KEYWORD),
        "source": Field(FieldType.KEYWORD),
        "file_name": Field(FieldType.KEYWORD),
        "pages": Field(FieldType.INTEGER, many=True),
        "headings": Field(FieldType.KEYWORD, many=True),
    }
)
"""Fields that every store fills from the chunk itself; metadata cannot redefine them."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """The stored fields of a target and which of them a filter may name."""

    fields: Mapping[str, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A metadata value that its field cannot hold: kept verbatim, absent for filters."""

    field: str
    declared: Field
    found: str

    def __str__(self) -> str:
        return (
            f"field {self.field!r} is {field_to_text(self.declared)}, but the value is "
            f"{self.found}; correct the value or use another field name"
        )


def full_spec(fields: Mapping[str, Field]) -> FieldSpec:
    """The reserved fields and the given ones.

    Raises InvalidArgument when a given one redefines a reserved field or is not a ``Field``.
    """
    for name, given in fields.items():
        _check_name(name)
        if not isinstance(given, Field):
            raise InvalidArgument(
                f"field {name!r} is declared as {given!r}; give a Field, such as "
                "Field(FieldType.INTEGER)"
            )
        if RESERVED_FIELDS.get(name, given) != given:
            raise InvalidArgument(
                f"{name!r} is a reserved field of type {field_to_text(RESERVED_FIELDS[name])}; "
                "use another name"
            )
    return FieldSpec(MappingProxyType({**RESERVED_FIELDS, **fields}))


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise InvalidArgument(f"the field name {name!r} is not a string; use string keys")


def infer_field(value: Any) -> Field | None:
    """The field that a value calls for, None when it says nothing or cannot be filtered.

    A boolean is never an integer. A string is a keyword, also when it reads like a date, and text
    beyond ``LONGEST_KEYWORD`` characters. A list has the one type of its elements (integers among
    floats are numbers; None is skipped). None, an empty list, a mapping, a mixed or nested list, a
    float that is not finite and any other object give None.
    """
    if isinstance(value, (list, tuple)):
        kinds = {_scalar_type(element) for element in value if element is not None}
        kind = _common_type(kinds)
        return None if kind is None else Field(kind, many=True)
    kind = _scalar_type(value)
    return None if kind is None else Field(kind)


def _scalar_type(value: Any) -> FieldType | None:
    if isinstance(value, str):
        return FieldType.KEYWORD if len(value) <= LONGEST_KEYWORD else FieldType.TEXT
    if isinstance(value, bool):
        return FieldType.BOOLEAN
    if isinstance(value, int):
        return FieldType.INTEGER
    if isinstance(value, float):
        return FieldType.NUMBER if math.isfinite(value) else None
    return FieldType.DATETIME if isinstance(value, date) else None


def _common_type(kinds: set[FieldType | None]) -> FieldType | None:
    if len(kinds) == 1:
        return kinds.pop()
    if kinds == {FieldType.INTEGER, FieldType.NUMBER}:
        return FieldType.NUMBER
    return FieldType.TEXT if kinds == {FieldType.KEYWORD, FieldType.TEXT} else None


def extend_spec(spec: FieldSpec, metadata: Mapping[str, Any]) -> FieldSpec:
    """``spec`` with the inferred fields of the keys it does not know, in the order of the keys.

    The first value of a key decides, so call it in the order of the plan. Returns ``spec`` itself
    when nothing is new. Raises InvalidArgument for a key that is not a string.
    """
    new: dict[str, Field] = {}
    for name, value in metadata.items():
        _check_name(name)
        inferred = None if name in spec.fields or name in RESERVED_FIELDS else infer_field(value)
        if inferred is not None:
            new[name] = inferred
    return FieldSpec(MappingProxyType({**spec.fields, **new})) if new else spec


def misfits(metadata: Mapping[str, Any], spec: FieldSpec) -> list[Misfit]:
    """The values that do not fit their field, in the order of the keys.

    None and an empty list are absent and fit anywhere. Keys that ``spec`` does not know, and
    reserved names, whose values filters never read, are no misfits.
    """
    found = []
    for name, value in metadata.items():
        declared = None if name in RESERVED_FIELDS else spec.fields.get(name)
        if declared is None or _is_absent(value) or stored_scalars(value, declared):
            continue
        found.append(Misfit(name, declared, _described(value)))
    return found


def _is_absent(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(element is None for element in value)
    return value is None


def _described(value: Any) -> str:
    inferred = infer_field(value)
    kind = type(value).__name__ if inferred is None else field_to_text(inferred)
    if isinstance(value, (Mapping, list, tuple)):
        return f"{kind} {'of mixed types' if inferred is None else 'values'}"
    shown = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "..."
    return f"{kind}: {shown if len(shown) <= 60 else shown[:60] + '...'}"


def chunk_values(chunk: Chunk) -> dict[str, Any]:
    """A stored chunk's values as filters read them: its metadata, then the reserved fields.

    An empty reserved value (no title, no pages) is left out and so absent. ``headings`` are the
    parts of ``context_header``; ``file_name`` is the last path component of the source, or of the
    document id where there is no source.
    """
    values = {name: value for name, value in chunk.metadata.items() if name not in RESERVED_FIELDS}
    reserved: dict[str, Any] = {
        "text": chunk.content,
        "title": chunk.title,
        "document": chunk.document,
        "source": chunk.source,
        "file_name": re.split(r"[/\\]", chunk.source or chunk.document)[-1],
        "pages": list(chunk.pages),
        "headings": chunk.context_header.split(" > ") if chunk.context_header else [],
    }
    values.update((name, value) for name, value in reserved.items() if value)
    return values


_WRITTEN = re.compile(r"\s*(\w+)\s*(\[\])?\s*(unfilterable)?\s*\Z", re.IGNORECASE)


def field_from_text(text: str) -> Field:
    """A field as it is written in a config file: ``integer``, ``keyword[]`` for a list, ``text
    unfilterable``. Raises InvalidArgument naming the types."""
    written = _WRITTEN.match(text)
    kind = written and written[1].lower()
    if written is None or kind not in set(FieldType):
        raise InvalidArgument(
            f"{text!r} is not a field type; write one of {', '.join(FieldType)}, with [] behind "
            "it for a list"
        )
    return Field(FieldType(kind), many=bool(written[2]), filterable=not written[3])


def field_to_text(field: Field) -> str:
    """The inverse of ``field_from_text``."""
    return f"{field.type}{'[]' if field.many else ''}{'' if field.filterable else ' unfilterable'}"
