"""Writing whole documents: announced in the head, written to the points, published in the head."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pincite.errors import InvalidArgument, StoreCorrupt
from pincite.model.fields import chunk_values, extend_spec, full_spec
from pincite.model.hits import chunk_id
from pincite.stores.aliases import add_alias, drop_aliases
from pincite.stores.checks import check_model, check_owner
from pincite.stores.codec import key_text, metadata_text
from pincite.stores.points.backend import Backend, Held, Point, Record
from pincite.stores.points.counts import Counts, TermCounts
from pincite.stores.points.gate import Gate
from pincite.stores.points.keyword import KeywordIndex, Text, drifted, weights_of
from pincite.stores.points.records import (
    Document,
    Head,
    Records,
    alias_key,
    change_key,
    document_key,
    geometry_key,
)
from pincite.stores.points.rows import Row
from pincite.stores.points.targets import State, Targets
from pincite.stores.points.tokens import facts
from pincite.stores.prepare import Prepared, prepare, stored_vectors
from pincite.text.analysis import default_analyzer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.documents import EmbeddedDocument
    from pincite.model.fields import Field

__all__ = ["Writer", "held_rows", "stored_vector", "whole_rows"]

_BATCH: Final = 512
_FEW_CHANGES: Final = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A document with all that is written of it."""

    document: Document
    rows: Sequence[Row]
    vectors: NDArray[np.float16]
    terms: Sequence[TermCounts]
    geometry: bytes | None = None


class Writer:
    """The writing side of a store: one writer at a time in this process."""

    def __init__(
        self, backend: Backend, targets: Targets, gate: Gate, keyword: KeywordIndex | None
    ) -> None:
        self._backend = backend
        self._records = Records(backend)
        self._targets = targets
        self._gate = gate
        self._keyword = keyword
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
            state = self._sound(subject, collection)
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
                state = self._apply(state, head, gone=gone, placed=batch, aliases=aliases)
                head = state.head

    def rewrite(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write a collection anew, whatever model its vectors were of."""
        self._check_owner(subject, collection)
        latest = {document.document: prepare(document) for document in documents}
        if not latest:
            raise InvalidArgument("rewrite needs documents; delete those that are to go instead.")
        made = [(each, self._rows(each), each.terms()) for each in latest.values()]
        with self._turn, self._gate.writing():
            state = self._sound(subject, collection)
            empty = Head(subject, collection, alpha=state.head.alpha, spec=state.head.spec)
            head = _adopted(empty, latest.values())
            state = self._emptied(state, empty, kept=latest)
            for batch in _batches([_placed(head, *each) for each in made]):
                state = self._apply(state, head, gone=[], placed=batch, aliases=state.aliases)
                head = state.head

    def _emptied(self, state: State, empty: Head, *, kept: Mapping[str, Any]) -> State:
        """Take everything out of a collection but the aliases of documents that are ``kept``."""
        old, tenant, records = state.head, state.head.tenant, self._records
        names = [document.document for document in records.documents(old)]
        records.write([records.head_record(replace(old, pending=tuple(names)))])
        stamp = uuid.uuid4().hex
        if old.dimension:
            self._backend.clear(old.space)
            if self._keyword is not None:
                self._keyword.rebuild(old.space, stamp, ())
        records.drop([document_key(tenant, name) for name in names])
        records.drop([geometry_key(tenant, name) for name in names])
        aliases = {a: n for a, n in state.aliases.items() if n in kept and a not in kept}
        records.drop([alias_key(tenant, a) for a in state.aliases if a not in aliases])
        changes = [change_key(tenant, name) for name, _ in old.log]
        head = replace(empty, stamp=stamp, renamed=stamp)
        return self._published(State(head, Counts(), aliases, records), changes)

    def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents; unknown ids are passed over; how many chunks went."""
        if isinstance(documents, str):
            raise InvalidArgument("delete takes a sequence of document ids; put the id in a list.")
        count = 0
        with self._turn, self._gate.writing():
            state = self._sound(subject, collection)
            names = dict.fromkeys(state.aliases.get(name, name) for name in documents)
            found = [self._records.named(state.head, [n]).get(n) for n in names if _is_text(n)]
            for batch in _batches([document for document in found if document is not None]):
                aliases: Mapping[str, str] = state.aliases
                for document in batch:
                    aliases = drop_aliases(aliases, document.document)
                    count += len(document.indexes)
                state = self._apply(state, state.head, gone=batch, placed=[], aliases=aliases)
        return count

    def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; the old one becomes an alias."""
        if not isinstance(new, str) or not new:
            raise InvalidArgument("A document needs an id; pass the new one.")
        key_text(new, "document id")
        with self._turn, self._gate.writing():
            state = self._sound(subject, collection)
            old = _named(state, document)
            if old.document == new:
                return
            if self._records.document(state.head, new) is not None:
                raise InvalidArgument(f"Document {new!r} is there already; delete it first.")
            placed = self._moved(state.head, old, lambda row: row.renamed(new))
            aliases = add_alias(state.aliases, old.document, new)
            self._apply(state, state.head, gone=[old], placed=[placed], aliases=aliases)

    def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata; that of its chunks still goes over it."""
        text = metadata_text(metadata, f"document {document!r}")
        with self._turn, self._gate.writing():
            state = self._sound(subject, collection)
            old = _named(state, document)
            placed = self._moved(state.head, old, lambda row: row.described(text))
            head = replace(state.head, spec=extend_spec(state.head.spec, metadata))
            self._apply(state, head, gone=[old], placed=[placed], aliases=state.aliases)

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over."""
        with self._turn, self._gate.writing():
            state = self._sound(subject, collection)
            named = {key_text(a, "document id"): _named(state, n) for a, n in aliases.items()}
            taken = self._records.named(state.head, named)
            fresh = {a: d.document for a, d in named.items() if a not in taken}
            if not fresh:
                return
            self._records.write(self._records.alias_records(state.head, fresh))
            stamp = uuid.uuid4().hex
            head = replace(state.head, stamp=stamp, renamed=stamp)
            self._published(replace(state, head=head, aliases={**state.aliases, **fresh}), [])

    # -- the collection

    def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields; one that differs from a stored type is refused."""
        self._check_owner(subject, collection)
        declared = full_spec(fields).fields
        with self._turn, self._gate.writing():
            state = self._sound(subject, collection)
            known = state.head.spec.fields
            for name, wanted in declared.items():
                if (stored := known.get(name, wanted)) != wanted:
                    raise InvalidArgument(
                        f"Field {name!r} is {stored.type} already, not {wanted.type};"
                        " use another name, or write the collection anew."
                    )
            self._publish(state, replace(state.head, spec=full_spec({**known, **declared})))

    def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None:
        """The weight of the vector side where a query gives none."""
        self._check_owner(subject, collection)
        with self._turn, self._gate.writing():
            state = self._sound(subject, collection)
            self._publish(state, replace(state.head, alpha=alpha))

    def recover(self, subject: str, collection: str) -> tuple[str, ...]:
        """Finish what a crash left half written; the documents that went, to be indexed again."""
        with self._turn, self._gate.writing():
            state = self._targets.state(subject, collection)
            pending = state.head.pending
            if pending:
                self._recovered(state)
            return pending

    def restore(self, subject: str, collection: str, lost: Iterable[str]) -> None:
        """Remove documents whose chunks are not whole, and points of no document; count anew."""
        with self._turn, self._gate.writing():
            state = self._targets.state(subject, collection)
            gone = tuple(dict.fromkeys([*state.head.pending, *lost]))
            self._recovered(replace(state, head=replace(state.head, pending=gone)))

    # -- the steps of a change

    def _apply(
        self,
        state: State,
        head: Head,
        *,
        gone: Sequence[Document],
        placed: Sequence[_Placed],
        aliases: Mapping[str, str],
    ) -> State:
        """Write one batch: documents that go, or are replaced, and those that come."""
        names = [*dict.fromkeys([d.document for d in gone] + [p.document.document for p in placed])]
        head = replace(head, analyzer=head.analyzer or default_analyzer().fingerprint)
        self._records.write([self._records.head_record(replace(state.head, pending=tuple(names)))])
        self._targets.forget(head.subject, head.collection)
        self._backend.open(head.space)
        change = _counted(placed).minus(self._counted_rows(head, gone))
        counts = Counts.sum([state.counts, change])
        stale = head.average
        if drifted(head.average, counts.average):
            head = replace(head, average=counts.average)
        head = self._put(head, gone, placed)
        stamp = uuid.uuid4().hex
        self._index(head, stamp, gone, placed)
        self._write_records(state, head, gone, placed, aliases)
        if stale != head.average and counts.rows > sum(len(p.rows) for p in placed):
            self._rebake(head, skip={i for p in placed for i in p.document.points(head)})
        head, obsolete = self._logged(head, stamp, change, counts)
        renamed = stamp if dict(aliases) != dict(state.aliases) else head.renamed
        made = State(replace(head, renamed=renamed), counts, dict(aliases), self._records)
        return self._published(made, obsolete)

    def _put(self, head: Head, gone: Sequence[Document], placed: Sequence[_Placed]) -> Head:
        """Write the points and remove those that nothing has any more; the head with what they
        told of its fields."""
        points: list[Point] = []
        loose = set(head.loose)
        for each in placed:
            vectors = each.vectors.astype(np.float32)
            for row, vector, terms in zip(each.rows, vectors, each.terms, strict=True):
                points.append(_point(head, row, vector, terms, loose))
        kept = {point.id for point in points}
        doomed = [i for document in gone for i in document.points(head) if i not in kept]
        for start in range(0, len(doomed), self._backend.batch):
            self._backend.remove(head.space, doomed[start : start + self._backend.batch])
        for start in range(0, len(points), self._backend.batch):
            self._backend.put(head.space, points[start : start + self._backend.batch])
        return replace(head, loose=frozenset(loose))

    def _write_records(
        self,
        state: State,
        head: Head,
        gone: Sequence[Document],
        placed: Sequence[_Placed],
        aliases: Mapping[str, str],
    ) -> None:
        records, tenant = self._records, head.tenant
        new = {each.document.document for each in placed}
        shaped = {each.document.document for each in placed if each.document.geometry}
        written = [records.document_record(head, each.document) for each in placed]
        written += [
            records.geometry_record(head, each.document.document, each.geometry)
            for each in placed
            if each.geometry
        ]
        fresh = {a: n for a, n in aliases.items() if state.aliases.get(a) != n}
        written += records.alias_records(head, fresh)
        dropped = [document_key(tenant, d.document) for d in gone if d.document not in new]
        dropped += [
            geometry_key(tenant, d.document)
            for d in gone
            if d.geometry and d.document not in shaped
        ]
        dropped += [alias_key(tenant, a) for a in state.aliases if a not in aliases]
        records.write(written)
        records.drop(dropped)

    def _index(
        self, head: Head, stamp: str, gone: Sequence[Document], placed: Sequence[_Placed]
    ) -> None:
        if self._keyword is None:
            return
        drop = {chunk_id(d.document, index) for d in gone for index in d.indexes}
        texts = [_text(row) for each in placed for row in each.rows]
        self._keyword.update(head.space, stamp, drop, texts)

    def _rebake(self, head: Head, skip: set[str]) -> None:
        """Make every stored weight anew with the head's mean length."""
        if not self._backend.keeps_terms:
            return
        ids = [i for i in self._backend.select(head.space, None) if i not in skip]
        for start in range(0, len(ids), self._backend.batch):
            some = ids[start : start + self._backend.batch]
            found = self._backend.get(head.space, some, vectors=True)
            rows = [(Row.read(held.row, self._backend.place), held) for held in found.values()]
            loose: set[str] = set()
            points = [
                _point(head, r, stored_vector(held).astype(np.float32), r.terms(), loose)
                for r, held in rows
            ]
            self._backend.put(head.space, points)

    def _logged(
        self, head: Head, stamp: str, change: Counts, counts: Counts
    ) -> tuple[Head, list[str]]:
        """Write a change of the counts, joined with its predecessors when they became many; the
        head that names it, and the keys of those that it replaces."""
        log = list(head.log)
        joined, terms = 0, len(change.hashes)
        while joined < len(log) and log[-joined - 1][1] <= 2 * terms:
            terms += log[-joined - 1][1]
            joined += 1
        if joined < _FEW_CHANGES:
            joined = 0
        replaced = log[len(log) - joined :]
        keys = [change_key(head.tenant, name) for name, _ in replaced]
        if joined == len(log):
            change = counts
        elif joined:
            texts = self._records.read(keys)
            change = Counts.sum([change, *(Counts.read(texts[key], key) for key in keys)])
        key = change_key(head.tenant, stamp)
        self._records.write([Record(key, f"changes-{head.tenant}", change.text())])
        kept = (*log[: len(log) - joined], (stamp, len(change.hashes)))
        return replace(head, stamp=stamp, log=kept), keys

    def _published(self, state: State, obsolete: Sequence[str]) -> State:
        """Write the head: from now on this is the target."""
        state = replace(state, head=replace(state.head, pending=()))
        self._records.write([self._records.head_record(state.head)])
        self._records.drop(obsolete)
        self._targets.keep(state)
        return state

    def _publish(self, state: State, head: Head) -> None:
        head = replace(head, stamp=uuid.uuid4().hex)
        self._published(replace(state, head=head), [])

    # -- after a crash

    def _sound(self, subject: str, collection: str) -> State:
        """The state of a target, after what a crash left half written was cleared away."""
        state = self._targets.state(subject, collection)
        if not state.head.pending:
            return state
        _log.warning(
            "A writer of %s/%s was stopped; index these documents again: %s",
            subject,
            collection,
            ", ".join(state.head.pending),
        )
        return self._recovered(state)

    def _recovered(self, state: State) -> State:
        head = state.head
        lost = set(head.pending)
        tenant = head.tenant
        if head.dimension:
            self._backend.open(head.space)
            self._sweep(state, lost)
        records = self._records
        records.drop([document_key(tenant, name) for name in lost])
        records.drop([geometry_key(tenant, name) for name in lost])
        aliases = {a: n for a, n in state.aliases.items() if n not in lost and a not in lost}
        records.drop([alias_key(tenant, a) for a in state.aliases if a not in aliases])
        stamp = uuid.uuid4().hex
        counts = self._recount(head, stamp)
        keys = [change_key(tenant, name) for name, _ in head.log]
        records.write([Record(change_key(tenant, stamp), f"changes-{tenant}", counts.text())])
        head = replace(head, stamp=stamp, renamed=stamp, log=((stamp, len(counts.hashes)),))
        return self._published(State(head, counts, aliases, records), keys)

    def _sweep(self, state: State, lost: set[str]) -> None:
        """Remove the points of lost documents, and those that belong to none."""
        head = state.head
        documents = (d for d in self._records.documents(head) if d.document not in lost)
        kept = {i for document in documents for i in document.points(head)}
        doomed = [i for i in self._backend.select(head.space, None) if i not in kept]
        for start in range(0, len(doomed), self._backend.batch):
            self._backend.remove(head.space, doomed[start : start + self._backend.batch])

    def _recount(self, head: Head, stamp: str) -> Counts:
        if not head.dimension:
            return Counts()
        ids = self._backend.select(head.space, None)
        rows = [row for row, _ in held_rows(self._backend, head, ids, vectors=False)]
        if self._keyword is not None:
            self._keyword.rebuild(head.space, stamp, map(_text, rows))
        return Counts.of((row.terms(), row.language) for row in rows)

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

    def _moved(self, head: Head, old: Document, change: Callable[[Row], Row]) -> _Placed:
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
        return _Placed(moved, rows, vectors, [row.terms() for row in rows], geometry)

    def _counted_rows(self, head: Head, documents: Sequence[Document]) -> Counts:
        ids = [i for document in documents for i in document.points(head)]
        rows = (row for row, _ in held_rows(self._backend, head, ids, vectors=False))
        return Counts.of((row.terms(), row.language) for row in rows)

    def _check_owner(self, subject: str, collection: str) -> None:
        check_owner(subject, collection)
        key_text(subject, "subject")
        key_text(collection, "collection")


def held_rows(
    backend: Backend, head: Head, ids: Sequence[str], *, vectors: bool
) -> Iterator[tuple[Row, Held]]:
    """The points that are there, decoded, in the order of ``ids``."""
    for start in range(0, len(ids), backend.batch):
        some = ids[start : start + backend.batch]
        found = backend.get(head.space, some, vectors=vectors)
        for name in some:
            if name in found:
                yield Row.read(found[name].row, backend.place), found[name]


def whole_rows(backend: Backend, head: Head, document: Document) -> list[tuple[Row, Held]]:
    """Every point of a document with its vector, in chunk order; ``StoreCorrupt`` otherwise."""
    ids = document.points(head)
    found = list(held_rows(backend, head, ids, vectors=True))
    if len(found) < len(ids):
        raise StoreCorrupt(
            f"Chunks of document {document.document!r} are missing in {backend.place};"
            " run doctor with repair, and index it again."
        )
    return found


def stored_vector(held: Held) -> NDArray[np.float16]:
    """A vector as it was written: a database that keeps float32 may have added noise to it."""
    assert held.vector is not None
    return held.vector.astype(np.float16)


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
) -> _Placed:
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
    return _Placed(
        document,
        [rows[place] for place in order],
        vectors[order],
        [terms[place] for place in order],
        prepared.geometry or None,
    )


def _point(
    head: Head, row: Row, vector: NDArray[np.float32], terms: TermCounts, loose: set[str]
) -> Point:
    told = facts(chunk_values(row.chunk(head.subject, head.collection)), head.spec)
    loose |= told.loose
    weights = weights_of(terms, head.average)
    return Point(head.point(row.id), told.tokens, told.numbers, row.text(), vector, weights)


def _counted(placed: Sequence[_Placed]) -> Counts:
    return Counts.of(
        (terms, row.language)
        for each in placed
        for row, terms in zip(each.rows, each.terms, strict=True)
    )


def _text(row: Row) -> Text:
    return row.id, row.columns[4] or row.columns[3], row.language


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
        count = len(item.rows) if isinstance(item, _Placed) else len(item.indexes)
        if batch and size + count > _BATCH:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += count
    if batch:
        yield batch
