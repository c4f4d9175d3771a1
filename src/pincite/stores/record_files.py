"""Files of records: JSON Lines, and Parquet for names that end in ``.parquet``.

JSON Lines: one record a line, a vector as base64 of its little-endian values, and in the last
line the SHA-256 of all lines before it. Parquet: one row a record, with the columns ``kind``,
``document``, ``content``, ``vector`` (list of float) and ``record`` (all but the vector, as JSON),
the header and the end among the file's metadata.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import numpy as np

from pincite.errors import InvalidArgument, MissingExtra
from pincite.stores.codec import clean_text
from pincite.stores.records import Record

__all__ = ["Place", "RecordWriter", "read_records", "record_writer", "torn"]

Place = str
"""Where in a file a record is: "line 7"."""

_BUFFER: Final = 1 << 20
_ROWS: Final = 1000


class RecordWriter(Protocol):
    """Writes one record after the other; as a context manager it closes the file."""

    def write(self, record: Record) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...


def record_writer(path: Path, *, kind: str) -> AbstractContextManager[RecordWriter]:
    """A writer of the format that ``kind``, a file's ending, names.

    Raises ``MissingExtra`` for Parquet without pyarrow.
    """
    return _ParquetWriter(path) if kind == ".parquet" else _LinesWriter(path)


def read_records(path: Path) -> Iterator[tuple[Place, Record]]:
    """Every record with its place; a vector comes as an array.

    Raises ``InvalidArgument`` naming the place for what is torn or changed.
    """
    with path.open("rb") as file:
        parquet = file.read(4) == b"PAR1"
    return _read_parquet(path) if parquet else _read_lines(path)


def torn(path: Path, place: Place, what: object) -> InvalidArgument:
    """What is said of a file that cannot be read whole."""
    return InvalidArgument(
        f"{path}, {place}: {what}. The file is torn or was changed and nothing was imported; "
        "export again."
    )


class _LinesWriter:
    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=_BUFFER)
        self._digest = hashlib.sha256()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()

    def write(self, record: Record) -> None:
        if "vector" in record:
            record = {**record, "vector": base64.b64encode(record["vector"].tobytes()).decode()}
        if "end" in record:
            record = {**record, "sha256": self._digest.hexdigest()}
        line = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        self._digest.update(line)
        self._file.write(line)


def _read_lines(path: Path) -> Iterator[tuple[Place, Record]]:
    digest = hashlib.sha256()
    dtype, record, number = np.dtype("<f2"), {}, 0
    with path.open("rb", buffering=_BUFFER) as file:
        for number, line in enumerate(file, start=1):
            place = f"line {number}"
            record = _parsed(path, place, line)
            if number == 1:
                dtype = _dtype(record)
            if "end" in record and record.get("sha256") != digest.hexdigest():
                raise torn(path, place, "the checksum of the lines before it is another one")
            digest.update(line)
            try:
                if "vector" in record:
                    data = base64.b64decode(record["vector"], validate=True)
                    record["vector"] = np.frombuffer(data, dtype=dtype)
            except (ValueError, TypeError) as error:
                raise torn(path, place, error) from error
            yield place, record
    if "end" not in record:
        raise torn(path, f"line {number + 1}", "the file ends before its last line")


def _dtype(header: Record) -> np.dtype[Any]:
    wide = header.get("dtype") == "float32"
    return np.dtype("<f4" if wide else "<f2")


def _parsed(path: Path, place: Place, line: bytes) -> Record:
    try:
        record = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise torn(path, place, f"it is no JSON ({error})") from error
    if not isinstance(record, dict):
        raise torn(path, place, "it is no JSON object")
    return record


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra(
            "Parquet files need the extra [parquet], which is not installed: pip install "
            "'pincite[parquet]'. Without it use a name that ends in .jsonl."
        ) from error
    return pyarrow, pyarrow.parquet


class _ParquetWriter:
    def __init__(self, path: Path) -> None:
        self._arrow, self._parquet = _pyarrow()
        self._path = path
        self._rows: list[dict[str, Any]] = []
        self._header: Record = {}
        self._document = ""
        self._writer: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._writer is not None:
            self._writer.close()

    def write(self, record: Record) -> None:
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._path, self._schema())
            self._writer.add_key_value_metadata({"pincite": json.dumps(record)})
        elif "end" in record:
            self._flush()
            self._writer.add_key_value_metadata({"pincite_end": json.dumps(record)})
        else:
            self._add(record)

    def _add(self, record: Record) -> None:
        self._document = record.get("document", self._document)
        rest = {name: value for name, value in record.items() if name != "vector"}
        vector = record.get("vector")
        self._rows.append(
            {
                "kind": "document" if vector is None else "chunk",
                "document": self._document,
                "content": None if vector is None else clean_text(record["chunk"]["content"]),
                "vector": None if vector is None else vector.astype(np.float32).tolist(),
                "record": json.dumps(rest),
            }
        )
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            table = self._arrow.Table.from_pylist(self._rows, schema=self._schema())
            self._writer.write_table(table)
            self._rows = []

    def _schema(self) -> Any:
        text = self._arrow.string()
        return self._arrow.schema(
            [
                ("kind", text),
                ("document", text),
                ("content", text),
                ("vector", self._arrow.list_(self._arrow.float32())),
                ("record", text),
            ]
        )


def _read_parquet(path: Path) -> Iterator[tuple[Place, Record]]:
    arrow, parquet = _pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            about = file.schema_arrow.metadata or {}
            metadata = {**about, **(file.metadata.metadata or {})}
            if b"pincite" not in metadata or b"pincite_end" not in metadata:
                raise torn(path, "its metadata", "it has not the header and end of an export")
            yield "its header", _parsed(path, "its header", metadata[b"pincite"])
            number = 0
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    record = _parsed(path, f"row {number}", row["record"].encode())
                    if row["vector"] is not None:
                        record["vector"] = np.array(row["vector"], dtype=np.float32)
                    yield f"row {number}", record
            yield "its end", _parsed(path, "its end", metadata[b"pincite_end"])
    except (arrow.ArrowException, OSError, KeyError, AttributeError, TypeError) as error:
        raise torn(path, "its rows", error) from error
