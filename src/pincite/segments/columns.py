"""The values of a segment's rows by field, and filters answered from them as boolean arrays.

A column is a sorted dictionary of the field's canonical values and, for each row, the code of its
value; list fields have postings. Every operator is thereby a few intervals of codes, whatever the
type, and integers beyond 64 bits are as exact as small ones. Unfilterable fields (the text among
them) have no column, nor have fields without a value here: a missing column is all absent.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from pincite.errors import StoreCorrupt
from pincite.model.fields import Field, FieldSpec, FieldType, field_to_text
from pincite.model.filters import AllOf, AnyOf, DeclaredFilter, Filter, Not, Nothing, validate
from pincite.model.matching import operand
from pincite.model.values import Scalar
from pincite.segments.cells import Cells, read_cells
from pincite.segments.dictionaries import Dictionary, encode_dictionary
from pincite.segments.selection import Codes, Interval, Postings, code_type, join_codes

__all__ = ["ColumnSource", "Columns", "build_columns", "merge_columns"]

_DIRECTORY: Final = "columns"
_CACHED: Final = 8
Arrays = dict[str, "NDArray[Any] | bytes"]


class ColumnSource(Protocol):
    """What columns are read from: a segment file, or anything like it."""

    @property
    def names(self) -> Sequence[str]: ...

    def array(self, name: str) -> NDArray[Any]: ...

    def blob(self, name: str) -> memoryview: ...


def build_columns(rows: Sequence[Mapping[str, Any]], spec: FieldSpec) -> Arrays:
    """The arrays of the columns of ``rows`` (field name to stored value), for ``write_segment``.

    All names are ``columns`` or begin with ``columns.``. Values that misfit their field are absent.
    """
    fields = [(name, field) for name, field in spec.fields.items() if field.filterable]
    cells = (
        (name, field, read_cells([row.get(name) for row in rows], field)) for name, field in fields
    )
    return _assemble(len(rows), cells)


def _assemble(count: int, columns: Iterable[tuple[str, Field, Cells]]) -> Arrays:
    arrays: Arrays = {}
    entries: list[dict[str, Any]] = []
    for name, field, cells in columns:
        if not cells.values:
            continue
        prefix = f"{_DIRECTORY}.{len(entries)}."
        entries.append({"name": name, "type": field.type, "many": field.many})
        parts = encode_dictionary(cells.values, field.type) | _placed(cells, field, count)
        arrays.update((prefix + part, array) for part, array in parts.items())
    directory = {"rows": count, "fields": entries}
    arrays[_DIRECTORY] = json.dumps(directory, separators=(",", ":")).encode("ascii")
    return arrays


def _placed(cells: Cells, field: Field, count: int) -> dict[str, NDArray[Any]]:
    size = len(cells.values)
    if field.many:
        order = np.argsort(cells.codes, kind="stable")
        per_code = np.bincount(cells.codes, minlength=size + 1)
        return {"rows": cells.rows[order], "starts": np.cumsum(per_code, dtype=np.uint64)}
    codes = np.zeros(count, dtype=code_type(size))
    codes[cells.rows] = cells.codes
    return {"codes": codes}


class Columns:
    """The columns of one segment. Safe to use from several threads at once.

    The last ``cached`` filters keep their bitmaps, one byte a row each.
    """

    def __init__(self, source: ColumnSource, *, cached: int = _CACHED) -> None:
        self._source = source
        self._names = frozenset(source.names)
        self.rows, self._entries = self._directory()
        self._columns: dict[str, _Column] = {}
        self._cached = cached
        self._cache: OrderedDict[str, NDArray[np.bool_]] = OrderedDict()
        self._lock = Lock()

    def _directory(self) -> tuple[int, dict[str, tuple[str, Field]]]:
        if _DIRECTORY not in self._names:
            raise self._corrupt("it has no columns")
        try:
            found = json.loads(bytes(self._source.blob(_DIRECTORY)))
            entries = {
                entry["name"]: (
                    f"{_DIRECTORY}.{at}.",
                    Field(FieldType(entry["type"]), entry["many"]),
                )
                for at, entry in enumerate(found["fields"])
            }
            return int(found["rows"]), entries
        except (KeyError, TypeError, ValueError) as error:
            raise self._corrupt("the directory of its columns cannot be read") from error

    def _corrupt(self, problem: str) -> StoreCorrupt:
        name = getattr(self._source, "name", "segment")
        return StoreCorrupt(f"{name}: {problem}; rebuild the store's derived segments")

    @property
    def fields(self) -> dict[str, Field]:
        """The fields that have a value in this segment."""
        return {name: field for name, (_, field) in self._entries.items()}

    def bitmap(self, where: Filter | None, spec: FieldSpec) -> NDArray[np.bool_]:
        """Which rows satisfy ``where``: one read-only boolean a row, as ``matches`` says.

        Raises InvalidQueryError for a filter that ``validate`` refuses.
        """
        validate(where, spec)
        key = _cache_key(where) if self._cached else ""
        bitmap = self._recall(key)
        if bitmap is None:
            bitmap = self._evaluate(where, spec)
            bitmap.flags.writeable = False
            self._remember(key, bitmap)
        return bitmap

    def _recall(self, key: str) -> NDArray[np.bool_] | None:
        with self._lock:
            found = self._cache.get(key)
            if found is not None:
                self._cache.move_to_end(key)
            return found

    def _remember(self, key: str, bitmap: NDArray[np.bool_]) -> None:
        if not key:
            return
        with self._lock:
            self._cache[key] = bitmap
            while len(self._cache) > self._cached:
                self._cache.popitem(last=False)

    def _evaluate(self, where: Filter | None, spec: FieldSpec) -> NDArray[np.bool_]:
        if where is None:
            return np.ones(self.rows, dtype=np.bool_)
        if isinstance(where, DeclaredFilter):
            return self._predicate(where, spec)
        if isinstance(where, Not):
            return ~self._evaluate(where.term, spec)
        if isinstance(where, Nothing):
            return np.zeros(self.rows, dtype=np.bool_)
        return self._combined(where, spec)

    def _combined(self, where: AllOf | AnyOf, spec: FieldSpec) -> NDArray[np.bool_]:
        combine = np.logical_and if isinstance(where, AllOf) else np.logical_or
        if not where.terms:
            return np.full(self.rows, isinstance(where, AllOf), dtype=np.bool_)
        combined = self._evaluate(where.terms[0], spec)
        for term in where.terms[1:]:
            combined = combine(combined, self._evaluate(term, spec))
        return combined

    def _predicate(self, predicate: DeclaredFilter, spec: FieldSpec) -> NDArray[np.bool_]:
        column = self._column(predicate.field, spec.fields[predicate.field])
        wanted: Any = operand(predicate, spec)
        if predicate.operator == "exists":
            return self._chosen(column, "exists", None, negated=not wanted)
        if predicate.operator in ("ne", "not_in"):
            positive = "eq" if predicate.operator == "ne" else "in"
            return self._chosen(column, positive, wanted, negated=True)
        return self._chosen(column, predicate.operator, wanted, negated=False)

    def _chosen(
        self, column: _Column | None, operator: str, wanted: Any, *, negated: bool
    ) -> NDArray[np.bool_]:
        if column is None:
            return np.full(self.rows, negated, dtype=np.bool_)
        chosen = column.select(operator, wanted)
        return ~chosen if negated else chosen

    def _column(self, name: str, field: Field) -> _Column | None:
        if name not in self._entries:
            return None
        if name not in self._columns:
            self._columns[name] = self._load(name)
        column = self._columns[name]
        if (column.field.type, column.field.many) != (field.type, field.many):
            raise self._corrupt(
                f"the column of field {name!r} is {field_to_text(column.field)}, but the field is "
                f"{field_to_text(field)}"
            )
        return column

    def _load(self, name: str) -> _Column:
        prefix, field = self._entries[name]
        blobs, arrays = ("text", "exact"), ("ends", "numbers", "codes", "rows", "starts")
        parts: dict[str, Any] = {
            part: read(prefix + part)
            for read, group in ((self._source.blob, blobs), (self._source.array, arrays))
            for part in group
            if prefix + part in self._names
        }
        try:
            dictionary = Dictionary(field.type, parts)
            if field.many:
                store: Codes | Postings = Postings(parts["rows"], parts["starts"], self.rows)
            else:
                store = Codes(parts["codes"], len(dictionary))
            return _Column(field, dictionary, store)
        except (KeyError, ValueError) as error:
            raise self._corrupt(f"the column of field {name!r} is incomplete") from error

    def cells(self, name: str, keep: NDArray[np.bool_]) -> Cells:
        """What ``merge_columns`` reads: the field's codes in the kept rows, renumbered."""
        column = self._column(name, self._entries[name][1])
        assert column is not None
        rows, codes = column.cells()
        kept = keep[rows]
        renumbered = np.cumsum(keep, dtype=np.uint32) - np.uint32(1)
        return Cells(column.dictionary.scalars(), renumbered[rows[kept]], codes[kept])


def _cache_key(where: Filter | None) -> str:
    try:
        return repr(where)
    except ValueError:  # an integer of more digits than Python prints
        return ""


@dataclass(frozen=True, slots=True)
class _Column:
    field: Field
    dictionary: Dictionary
    store: Codes | Postings

    def select(self, operator: str, wanted: Any) -> NDArray[np.bool_]:
        if operator == "contains_all":
            return self._contains_all(wanted)
        return self.store.select(_INTERVALS[operator](self.dictionary, wanted))

    def _contains_all(self, wanted: tuple[Scalar, ...]) -> NDArray[np.bool_]:
        chosen = self.store.select(_everything(self.dictionary, None))
        for value in dict.fromkeys(wanted):
            chosen &= self.store.select(_equal(self.dictionary, value))
        return chosen

    def cells(self) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        if isinstance(self.store, Codes):
            rows = np.flatnonzero(self.store.codes)
            return rows, self.store.codes[rows].astype(np.uint32)
        starts = self.store.starts.astype(np.int64)
        every = np.arange(1, len(starts), dtype=np.uint32)
        codes = np.repeat(every, starts[1:] - starts[:-1])
        return self.store.rows, codes


def _everything(values: Dictionary, _wanted: object) -> list[Interval]:
    return [(1, len(values) + 1)]


def _equal(values: Dictionary, wanted: Scalar) -> list[Interval]:
    return join_codes(values.codes((wanted,)))


def _listed(values: Dictionary, wanted: tuple[Scalar, ...]) -> list[Interval]:
    return join_codes(values.codes(wanted))


def _range(low: int, high: int) -> list[Interval]:
    return [(low, high)] if low < high else []


def _under(values: Dictionary, scope: str) -> list[Interval]:
    stem = scope.rstrip("/")
    itself = values.codes((stem,)) if stem else []
    # "0" is the character after "/".
    below = _range(values.lower(stem + "/"), values.lower(stem + "0"))
    return join_codes(itself) + below


_INTERVALS: Mapping[str, Callable[[Dictionary, Any], list[Interval]]] = {
    "eq": _equal,
    "gt": lambda values, wanted: _range(values.upper(wanted), len(values) + 1),
    "gte": lambda values, wanted: _range(values.lower(wanted), len(values) + 1),
    "lt": lambda values, wanted: _range(1, values.lower(wanted)),
    "lte": lambda values, wanted: _range(1, values.upper(wanted)),
    "in": _listed,
    "contains_any": _listed,
    "under": _under,
    "exists": _everything,
}


def merge_columns(parts: Sequence[Columns], keep: Sequence[NDArray[np.bool_]]) -> Arrays:
    """The columns of the kept rows of several segments, part after part, without their rows.

    ``keep`` has one boolean array for each part. Equal to ``build_columns`` of the kept rows.
    """
    names = dict.fromkeys(name for part in parts for name in part.fields)
    columns = ((name, *_merged(name, parts, keep)) for name in names)
    return _assemble(sum(int(kept.sum()) for kept in keep), columns)


def _merged(
    name: str, parts: Sequence[Columns], keep: Sequence[NDArray[np.bool_]]
) -> tuple[Field, Cells]:
    base = 0
    found: list[tuple[int, Cells]] = []
    field: Field | None = None
    for part, kept in zip(parts, keep, strict=True):
        if name in part.fields:
            field = field or part.fields[name]
            part._column(name, field)  # raises when the parts disagree on the type
            found.append((base, part.cells(name, kept)))
        base += int(kept.sum())
    assert field is not None
    return field, _joined(found)


def _joined(found: Sequence[tuple[int, Cells]]) -> Cells:
    used = [np.flatnonzero(np.bincount(cells.codes)) for _, cells in found]
    values: list[Any] = sorted(
        {
            cells.values[code - 1]
            for (_, cells), codes in zip(found, used, strict=True)
            for code in codes.tolist()
        }
    )
    rank = {value: at for at, value in enumerate(values, 1)}
    rows, codes = [], []
    for (base, cells), present in zip(found, used, strict=True):
        table = np.zeros(len(cells.values) + 1, dtype=np.uint32)
        table[present] = [rank[cells.values[code - 1]] for code in present.tolist()]
        rows.append(cells.rows + np.uint32(base))
        codes.append(table[cells.codes])
    return _in_row_order(values, np.concatenate(rows), np.concatenate(codes))


def _in_row_order(values: list[Any], rows: NDArray[np.uint32], codes: NDArray[np.uint32]) -> Cells:
    if bool(np.all(rows[1:] > rows[:-1])):
        return Cells(values, rows, codes)
    order = np.lexsort((codes, rows))
    return Cells(values, rows[order], codes[order])
