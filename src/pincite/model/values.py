"""Values as filters compare them: one canonical scalar for each field type.

Metadata is kept verbatim; this is only the view that filters have of it. A canonical scalar is a
``str`` (keyword, text), an ``int`` (integer), an ``int`` or a finite ``float`` (number, compared
exactly), a ``bool`` (boolean) or an ``int`` of microseconds since 1970 in UTC (datetime).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.model.fields import Field, FieldType

__all__ = ["Scalar", "scalar", "stored_scalars", "to_microseconds"]

Scalar = str | int | float | bool

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONELESS_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_SHORTEST_DATE = len("20250101")
_LONGEST_DATE = 64


def to_microseconds(value: Any) -> int | None:
    """Microseconds since 1970 in UTC of a datetime, a date or an ISO 8601 string, else None.

    Without a zone the time is UTC; a date is its midnight. Digits past the microsecond are cut.
    """
    if isinstance(value, str):
        return _from_iso(value)
    if isinstance(value, datetime):
        return _from_datetime(value)
    if isinstance(value, date):
        return (value.toordinal() - _EPOCH.toordinal()) * 86_400_000_000
    return None


def _from_iso(text: str) -> int | None:
    if not _SHORTEST_DATE <= len(text) <= _LONGEST_DATE or not text[0].isdigit():
        return None
    try:
        return _from_datetime(datetime.fromisoformat(text))
    except ValueError:
        return None


def _from_datetime(moment: datetime) -> int:
    # Subtracting the offset as a number never leaves the years 1 to 9999 as astimezone can.
    offset = moment.utcoffset() or timedelta()
    return (moment.replace(tzinfo=None) - _ZONELESS_EPOCH) // _MICROSECOND - offset // _MICROSECOND


def _string(value: Any) -> str | None:
    return str.__str__(value) if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return int.__index__(value)
    return None


def _number(value: Any) -> int | float | None:
    if isinstance(value, float):
        return float.__float__(value) if math.isfinite(value) else None
    return _integer(value)


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


# Keyed by the values of FieldType, whose members hash as these strings.
_CANONICAL: Mapping[str, Callable[[Any], Scalar | None]] = {
    "keyword": _string,
    "text": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "datetime": to_microseconds,
}


def scalar(value: Any, kind: FieldType) -> Scalar | None:
    """``value`` as the canonical scalar of ``kind``, None when it does not fit."""
    return _CANONICAL[kind](value)


def stored_scalars(value: Any, field: Field) -> tuple[Scalar, ...]:
    """The canonical scalars of a stored value: none when it is absent or misfits its field.

    A list fits a ``many`` field when every element that is not None fits the type; an empty list
    is absent. A single value does not fit a ``many`` field, nor a list a single one.
    """
    if value is None:
        return ()
    canonical = _CANONICAL[field.type]
    if not field.many:
        single = canonical(value)
        return () if single is None else (single,)
    if not isinstance(value, (list, tuple)):
        return ()
    scalars: list[Scalar] = []
    for element in value:
        if element is None:
            continue
        item = canonical(element)
        if item is None:
            return ()
        scalars.append(item)
    return tuple(scalars)
