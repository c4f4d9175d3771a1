"""The writing side of a store over points: what a caller asks for, as changes of a target."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pincite.errors import InvalidArgument
from pincite.model.fields import extend_spec, full_spec
from pincite.stores.aliases import add_alias, drop_aliases
from pincite.stores.checks import check_model, check_owner
from pincite.stores.codec import key_text, metadata_text
from pincite.stores.points.backend import Backend
from pincite.stores.points.changes import Changes, Placed
from pincite.stores.points.counts import TermCounts
from pincite.stores.points.gate import Gate
from pincite.stores.points.held import stored_vector, whole_rows
from pincite.stores.points.keyword import KeywordIndex
from pincite.stores.points.records import (
    Document,
    Head,
    Records,
)
from pincite.stores.points.rows import Row
from pincite.stores.points.targets import State, Targets
from pincite.stores.prepare import Prepared, prepare, stored_vectors

if TYPE_CHECKING:
    from pincite.model.documents import EmbeddedDocument
    from pincite.model.fields import Field

__all__ = ["Writer"]

_BATCH: Final = 512


class Writer:
    """The writing side of a store: one writer at a time in this process."""

    def __init__(
        self, backend: Backend, targets: Targets, gate: Gate, keyword: KeywordIndex | None
    ) -> None:
        self._backend = backend
        self._records = Records(backend)
        self._targets = targets
        self._gate = gate
        self._changes = Changes(backend, targets, keyword)
        self._turn = threading.RLock()

    # -- documents

    def commit(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write whole documents; what is stored just so writes nothing.

        Everything is checked before the first write, so that a refused document refuses all.
        """
        self._check_owner(subject, collection)
        # The last of two documents with one id stands, as if they had come one after the other.
        latest = {document.document: prepare(document) for document in documents}
        rows = {name: self._rows(prepared) for name, prepared in latest.items()}
        terms = {name: prepared.terms() for name, prepared in latest.items()}
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            head = _adopted(state.head, latest.values())
            old = self._records.named(head, latest)
            changed = [
                _placed(head, prepared, rows[name], terms[name])
                for name, prepared in latest.items()
                if name not in old or old[name].digest != prepared.digest.hex()
            ]
            for batch in _batches(changed):
                names = [placed.document.document for placed in batch]
                gone = [old[name] for name in names if name in old]
                aliases = {a: n for a, n in state.aliases.items() if a not in names}
                state = self._changes.apply(state, head, gone=gone, placed=batch, aliases=aliases)
                head = state.head

    def rewrite(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write a collection anew, whatever model its vectors were of."""
        self._check_owner(subject, collection)
        latest = {document.document: prepare(document) for document in documents}
        if not latest:
            raise InvalidArgument("rewrite needs documents; delete those that are to go instead.")
        made = [(each, self._rows(each), each.terms()) for each in latest.values()]
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            empty = Head(subject, collection, alpha=state.head.alpha, spec=state.head.spec)
            head = _adopted(empty, latest.values())
            state = self._changes.emptied(state, empty, kept=latest)
            for batch in _batches([_placed(head, *each) for each in made]):
                state = self._changes.apply(
                    state, head, gone=[], placed=batch, aliases=state.aliases
                )
                head = state.head

    def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents; unknown ids are passed over; how many chunks went."""
        if isinstance(documents, str):
            raise InvalidArgument("delete takes a sequence of document ids; put the id in a list.")
        count = 0
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            names = dict.fromkeys(state.aliases.get(name, name) for name in documents)
            found = [self._records.named(state.head, [n]).get(n) for n in names if _is_text(n)]
            for batch in _batches([document for document in found if document is not None]):
                aliases: Mapping[str, str] = state.aliases
                for document in batch:
                    aliases = drop_aliases(aliases, document.document)
                    count += len(document.indexes)
                state = self._changes.apply(
                    state, state.head, gone=batch, placed=[], aliases=aliases
                )
        return count

    def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; the old one becomes an alias."""
        if not isinstance(new, str) or not new:
            raise InvalidArgument("A document needs an id; pass the new one.")
        key_text(new, "document id")
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            old = _named(state, document)
            if old.document == new:
                return
            if self._records.document(state.head, new) is not None:
                raise InvalidArgument(f"Document {new!r} is there already; delete it first.")
            placed = self._moved(state.head, old, lambda row: row.renamed(new))
            aliases = add_alias(state.aliases, old.document, new)
            self._changes.apply(state, state.head, gone=[old], placed=[placed], aliases=aliases)

    def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata; that of its chunks still goes over it."""
        text = metadata_text(metadata, f"document {document!r}")
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            old = _named(state, document)
            placed = self._moved(state.head, old, lambda row: row.described(text))
            head = replace(state.head, spec=extend_spec(state.head.spec, metadata))
            self._changes.apply(state, head, gone=[old], placed=[placed], aliases=state.aliases)

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over."""
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            named = {key_text(a, "document id"): _named(state, n) for a, n in aliases.items()}
            taken = self._records.named(state.head, named)
            fresh = {a: d.document for a, d in named.items() if a not in taken}
            if not fresh:
                return
            self._records.write(self._records.alias_records(state.head, fresh))
            stamp = uuid.uuid4().hex
            head = replace(state.head, stamp=stamp, renamed=stamp)
            self._changes.published(
                replace(state, head=head, aliases={**state.aliases, **fresh}), []
            )

    # -- the collection

    def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields; one that differs from a stored type is refused."""
        self._check_owner(subject, collection)
        declared = full_spec(fields).fields
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            known = state.head.spec.fields
            for name, wanted in declared.items():
                if (stored := known.get(name, wanted)) != wanted:
                    raise InvalidArgument(
                        f"Field {name!r} is {stored.type} already, not {wanted.type};"
                        " use another name, or write the collection anew."
                    )
            self._changes.publish(state, replace(state.head, spec=full_spec({**known, **declared})))

    def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None:
        """The weight of the vector side where a query gives none."""
        self._check_owner(subject, collection)
        with self._turn, self._gate.writing():
            state = self._changes.sound(subject, collection)
            self._changes.publish(state, replace(state.head, alpha=alpha))

    def recover(self, subject: str, collection: str) -> tuple[str, ...]:
        """Finish what a crash left half written; the documents that went, to be indexed again."""
        with self._turn, self._gate.writing():
            state = self._targets.state(subject, collection)
            pending = state.head.pending
            if pending:
                self._changes.recovered(state)
            return pending

    def restore(self, subject: str, collection: str, lost: Iterable[str]) -> None:
        """Remove documents whose chunks are not whole, and points of no document; count anew."""
        with self._turn, self._gate.writing():
            state = self._targets.state(subject, collection)
            gone = tuple(dict.fromkeys([*state.head.pending, *lost]))
            self._changes.recovered(replace(state, head=replace(state.head, pending=gone)))

    # -- small ones

    def _rows(self, prepared: Prepared) -> list[Row]:
        given = prepared.given
        about = (given.document, given.title, given.source, given.language, prepared.metadata)
        rows = [Row(*about, columns) for columns in prepared.rows]
        longest = max(len(row.text()) for row in rows)
        if longest > self._backend.longest_row:
            raise InvalidArgument(
                f"A chunk of document {given.document!r} takes {longest} bytes, and"
                f" {self._backend.place} keeps {self._backend.longest_row}; use smaller chunks."
            )
        return rows

    def _moved(self, head: Head, old: Document, change: Callable[[Row], Row]) -> Placed:
        """A stored document with its rows changed; vectors and geometry stay."""
        ids = old.points(head)
        found = dict(zip(ids, whole_rows(self._backend, head, old), strict=True))
        rows = [change(row) for row, _ in found.values()]
        vectors = np.array([stored_vector(held) for _, held in found.values()])
        moved = replace(
            old,
            document=rows[0].document,
            metadata=rows[0].metadata,
            digest=old.digest if rows[0].metadata == old.metadata else "",
            indexes=sorted(old.indexes),
        )
        geometry = self._records.geometry(head, old.document) if old.geometry else None
        return Placed(moved, rows, vectors, [row.terms() for row in rows], geometry)

    def _check_owner(self, subject: str, collection: str) -> None:
        check_owner(subject, collection)
        key_text(subject, "subject")
        key_text(collection, "collection")


def _adopted(head: Head, documents: Iterable[Prepared]) -> Head:
    """The head with the documents' model and fields; refused before anything is written."""
    for prepared in documents:
        given = prepared.given
        dimension = int(np.asarray(given.vectors).shape[1])
        check_model(
            head.collection,
            head.stored_model,
            endpoint=given.endpoint,
            model=given.model,
            dimension=dimension,
            stored_dimension=head.dimension or None,
        )
        spec = head.spec
        for metadata in (given.metadata, *given.chunk_metadata):
            spec = extend_spec(spec, metadata)
        head = replace(
            head,
            endpoint=head.endpoint or given.endpoint,
            dimension=dimension,
            model=head.model or given.model,
            spec=spec,
        )
    return head


def _placed(
    head: Head, prepared: Prepared, rows: Sequence[Row], terms: Sequence[TermCounts]
) -> Placed:
    given = prepared.given
    order = sorted(range(len(rows)), key=lambda place: rows[place].columns[0])
    vectors = stored_vectors(given.vectors, normalized=head.normalized)
    document = Document(
        document=given.document,
        title=given.title,
        source=given.source,
        content_hash=given.content_hash,
        fingerprint=given.fingerprint,
        language=given.language,
        metadata=prepared.metadata,
        digest=prepared.digest.hex(),
        indexes=[rows[place].columns[0] for place in order],
        geometry=bool(prepared.geometry),
    )
    return Placed(
        document,
        [rows[place] for place in order],
        vectors[order],
        [terms[place] for place in order],
        prepared.geometry or None,
    )


def _named(state: State, document: str) -> Document:
    found = state.named(document)
    if found is None:
        raise InvalidArgument(
            f"There is no document {document!r} in this collection; documents() lists them."
        )
    return found


def _is_text(name: object) -> bool:
    return isinstance(name, str)


def _batches(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Runs of documents with some hundred points each."""
    batch: list[Any] = []
    size = 0
    for item in items:
        count = len(item.rows) if isinstance(item, Placed) else len(item.indexes)
        if batch and size + count > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += count
    if batch:
        yield batch
