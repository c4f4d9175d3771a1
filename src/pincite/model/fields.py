"""The types of a collection's fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

__all__ = ["RESERVED_FIELDS", "Field", "FieldSpec", "FieldType"]


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
