"""The order in which ``fetch`` returns chunks, the same on every store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pincite.model.fields import FieldSpec
from pincite.model.hits import Chunk
from pincite.model.values import stored_scalars

__all__ = ["reading_order", "sort_by_field"]

T = TypeVar("T")


def reading_order(chunk: Chunk) -> tuple[str, int]:
    """The order without ``order_by``: document by document, each from its first chunk."""
    return (chunk.document, chunk.chunk_index)


def sort_by_field(
    rows: Iterable[T],
    field: str,
    spec: FieldSpec,
    *,
    values: Callable[[T], Mapping[str, Any]],
    chunk_id: Callable[[T], str],
    descending: bool = False,
) -> list[T]:
    """Sort rows on a stored field, as filters compare its values; equal ones by chunk id.

    A list is compared element by element. Rows without a value, or with one that misfits the
    field, come last in either direction.
    """
    kind = spec.fields[field]
    keyed = [(stored_scalars(values(row).get(field), kind), row) for row in rows]
    keyed.sort(key=lambda pair: chunk_id(pair[1]))
    present = [pair for pair in keyed if pair[0]]
    present.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in present] + [row for scalars, row in keyed if not scalars]
