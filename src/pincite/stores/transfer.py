"""A collection as one file and back: every document with its vectors, nothing embedded anew."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np

from pincite.errors import InvalidArgument, PinciteError, Unconfigured
from pincite.model.documents import EmbeddedDocument, IndexReport, Progress
from pincite.model.fields import RESERVED_FIELDS
from pincite.stores.checks import check_document, check_model
from pincite.stores.ports import SyncStore
from pincite.stores.record_files import Place, read_records, record_writer, torn
from pincite.stores.records import (
    Header,
    Record,
    chunk_records,
    document_of,
    document_record,
    header_of,
    header_record,
)

__all__ = ["ExportReport", "Transferable", "Weighted", "export_collection", "import_collection"]

Report = Callable[[Progress], None]
Held = tuple[EmbeddedDocument, list[str]]

_BATCH_CHUNKS: Final = 2000


@runtime_checkable
class Transferable(Protocol):
    """A store that hands out documents as it holds them."""

    def stored_documents(self, subject: str, collection: str) -> Iterator[EmbeddedDocument]:
        """Every document of one committed state, ordered by id, with its vectors as stored."""
        ...

    def aliases(self, subject: str, collection: str) -> Mapping[str, str]:
        """Old document ids and what they are called now."""
        ...

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over."""
        ...


@runtime_checkable
class Weighted(Protocol):
    """A store that keeps a collection's weight of the vector side."""

    def alpha(self, subject: str, collection: str) -> float | None: ...

    def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None: ...


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote, and how large the file is."""

    path: str
    documents: int
    chunks: int
    bytes: int
    seconds: float


def export_collection(
    store: SyncStore, subject: str, collection: str, path: Path, report: Report | None = None
) -> ExportReport:
    """Write a collection to a file that is not there yet; it appears whole or not at all.

    A name that ends in ``.parquet`` makes a Parquet file, any other JSON Lines. Raises
    ``InvalidArgument`` for a file that is there, ``MissingExtra`` without pyarrow, and
    ``Unconfigured`` for a store that does not hand out its documents.
    """
    started = time.monotonic()
    held = _transferable(store)
    if path.exists():
        raise InvalidArgument(f"{path} is there already; name another file, or remove it first.")
    documents = held.stored_documents(subject, collection)
    first = next(documents, None)
    if first is None:
        raise InvalidArgument(
            f"Collection {collection!r} of {subject!r} holds no documents; nothing to export. "
            "Check the names."
        )
    header = _header(store, subject, collection, first)
    draft = path.with_name(path.name + ".part")
    try:
        with record_writer(draft, kind=path.suffix.lower()) as writer:
            writer.write(header_record(header))
            counts = _write_documents(writer.write, held, header, chain([first], documents), report)
            writer.write({"end": counts})
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        size = draft.stat().st_size
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return ExportReport(str(path), **counts, bytes=size, seconds=time.monotonic() - started)


def _header(store: SyncStore, subject: str, collection: str, sample: EmbeddedDocument) -> Header:
    endpoint, model = store.model(subject, collection) or (sample.endpoint, sample.model)
    return Header(
        subject=subject,
        collection=collection,
        endpoint=endpoint,
        model=model,
        fields=store.reader(subject, [collection]).fields(collection),
        documents=len(store.documents(subject, collection)),
        alpha=store.alpha(subject, collection) if isinstance(store, Weighted) else None,
        dtype="float16" if np.asarray(sample.vectors).dtype == np.float16 else "float32",
    )


def _write_documents(
    write: Callable[[Record], None],
    store: Transferable,
    header: Header,
    documents: Iterable[EmbeddedDocument],
    report: Report | None,
) -> dict[str, int]:
    names: dict[str, list[str]] = {}
    for alias, owner in store.aliases(header.subject, header.collection).items():
        names.setdefault(owner, []).append(alias)
    done = chunks = 0
    for done, document in enumerate(documents, start=1):
        write(document_record(document, sorted(names.get(document.document, ()))))
        for record in chunk_records(document, header.dtype):
            write(record)
        chunks += len(document.chunks)
        if report is not None:
            total = max(header.documents, done)
            report(Progress("export", done, total, document.document, chunks))
    return {"documents": done, "chunks": chunks}


def import_collection(
    store: SyncStore, subject: str, collection: str, path: Path, report: Report | None = None
) -> IndexReport:
    """Write the documents of an exported file, each in place of what it had.

    The whole file is checked before the first write. Raises ``InvalidArgument`` naming the line
    for a torn file, ``CollectionMismatch`` for vectors of another model than the collection's.
    """
    started = time.monotonic()
    target = _transferable(store)
    header = _checked(path, report)
    stored = store.model(subject, collection)
    if header.endpoint:
        check_model(collection, stored, endpoint=header.endpoint, model=header.model)
    known = {info.document for info in store.documents(subject, collection)}
    own = {n: f for n, f in header.fields.fields.items() if n not in RESERVED_FIELDS}
    if own:
        store.declare(subject, collection, own)
    documents: list[str] = []
    chunks = 0
    for batch in _batches(_held(path)):
        store.commit(subject, collection, [document for document, _ in batch])
        target.add_aliases(
            subject, collection, {alias: d.document for d, names in batch for alias in names}
        )
        documents += [document.document for document, _ in batch]
        chunks += sum(len(document.chunks) for document, _ in batch)
        if report is not None:
            report(Progress("import", len(documents), header.documents, documents[-1], chunks))
    return IndexReport(
        added=tuple(name for name in documents if name not in known),
        updated=tuple(name for name in documents if name in known),
        warnings=_weigh(store, subject, collection, header.alpha),
        chunks=chunks,
        seconds=time.monotonic() - started,
    )


def _weigh(store: SyncStore, subject: str, collection: str, alpha: float | None) -> tuple[str, ...]:
    if alpha is None:
        return ()
    if isinstance(store, Weighted):
        store.set_alpha(subject, collection, alpha)
        return ()
    return (f"This kind of store keeps no weight of the vector side; pass alpha={alpha:g}.",)


def _checked(path: Path, report: Report | None) -> Header:
    """Read the file to its end."""
    header = None
    for done, held in enumerate(_held(path), start=1):
        header, document, _ = held
        if report is not None:
            report(Progress("check", done, max(header.documents, done), document.document))
    return header or _first(path)


def _first(path: Path) -> Header:
    place, record = next(read_records(path))
    return _header_at(path, place, record)


def _header_at(path: Path, place: Place, record: Record) -> Header:
    try:
        return header_of(record)
    except InvalidArgument as error:
        raise InvalidArgument(f"{path}: {error}.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise torn(path, place, f"the header is damaged ({error!r})") from error


def _batches(held: Iterator[tuple[Header, EmbeddedDocument, list[str]]]) -> Iterator[list[Held]]:
    batch: list[Held] = []
    size = 0
    for _, document, aliases in held:
        batch.append((document, aliases))
        size += len(document.chunks)
        if size >= _BATCH_CHUNKS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _held(path: Path) -> Iterator[tuple[Header, EmbeddedDocument, list[str]]]:
    """The documents of a file, with its header and their aliases."""
    records = _records(path)
    place, first = next(records, ("line 1", {}))
    header = _header_at(path, place, first)
    counted = {"documents": 0, "chunks": 0}
    for place, record in records:
        if "end" in record:
            if record["end"] != counted:
                raise torn(path, place, f"it speaks of {record['end']}, not of {counted}")
            break
        try:
            parts = [part for _, part in islice(records, _natural(record["chunks"]))]
            document, aliases = document_of(record, parts, header)
            check_document(document)
        except InvalidArgument:
            raise
        except (PinciteError, KeyError, TypeError, ValueError) as error:
            raise torn(path, f"the document at {place}", _brief(error)) from error
        counted["documents"] += 1
        counted["chunks"] += len(document.chunks)
        yield header, document, aliases
    for place, _ in records:
        raise torn(path, place, "more follows after the end")


def _records(path: Path) -> Iterator[tuple[Place, Record]]:
    if not path.is_file():
        raise InvalidArgument(f"{path} is no file; name one that `export` wrote.")
    return read_records(path)


def _natural(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError(f"{value!r:.40} is no number of chunks")
    return value


def _brief(error: Exception) -> str:
    text = str(error) if not isinstance(error, KeyError) else f"{error} is missing"
    return " ".join(text.split())[:200]


def _transferable(store: object) -> Transferable:
    if not isinstance(store, Transferable):
        raise Unconfigured(
            f"A {type(store).__name__} does not hand out documents with their vectors; export from "
            "a local: store, or use the backup of the server."
        )
    return store
