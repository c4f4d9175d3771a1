"""One change of a target, step by step, and what to do when the steps broke off.

A change is announced in the head, written to the points and the records, and published in the
head. Callers hold the writers' side of the gate.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pincite.model.checking import listing
from pincite.model.fields import chunk_values
from pincite.model.hits import chunk_id
from pincite.stores.points.backend import Backend, Point, Record
from pincite.stores.points.counts import Counts, TermCounts
from pincite.stores.points.held import held_rows, stored_vector
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
from pincite.text.analysis import default_analyzer

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Changes", "Placed"]

_FEW_CHANGES: Final = 8
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Placed:
    """A document with all that is written of it."""

    document: Document
    rows: Sequence[Row]
    vectors: NDArray[np.float16]
    terms: Sequence[TermCounts]
    geometry: bytes | None = None


class Changes:
    """Makes changes of the targets of one store."""

    def __init__(self, backend: Backend, targets: Targets, keyword: KeywordIndex | None) -> None:
        self._backend = backend
        self._records = Records(backend)
        self._targets = targets
        self._keyword = keyword

    def apply(
        self,
        state: State,
        head: Head,
        *,
        gone: Sequence[Document],
        placed: Sequence[Placed],
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
        return self.published(made, obsolete)

    def _put(self, head: Head, gone: Sequence[Document], placed: Sequence[Placed]) -> Head:
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
        placed: Sequence[Placed],
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
        self, head: Head, stamp: str, gone: Sequence[Document], placed: Sequence[Placed]
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

    def published(self, state: State, obsolete: Sequence[str]) -> State:
        """Write the head: from now on this is the target."""
        state = replace(state, head=replace(state.head, pending=()))
        self._records.write([self._records.head_record(state.head)])
        self._records.drop(obsolete)
        self._targets.keep(state)
        return state

    def publish(self, state: State, head: Head) -> None:
        head = replace(head, stamp=uuid.uuid4().hex)
        self.published(replace(state, head=head), [])

    def sound(self, subject: str, collection: str) -> State:
        """The state of a target, after what a crash left half written was cleared away."""
        state = self._targets.state(subject, collection)
        if not state.head.pending:
            return state
        _log.warning(
            "A writer of %s/%s was stopped; index these documents again: %s",
            subject,
            collection,
            listing(state.head.pending),
        )
        return self.recovered(state)

    def recovered(self, state: State) -> State:
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
        return self.published(State(head, counts, aliases, records), keys)

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

    def _counted_rows(self, head: Head, documents: Sequence[Document]) -> Counts:
        ids = [i for document in documents for i in document.points(head)]
        rows = (row for row, _ in held_rows(self._backend, head, ids, vectors=False))
        return Counts.of((row.terms(), row.language) for row in rows)

    def emptied(self, state: State, empty: Head, *, kept: Mapping[str, Any]) -> State:
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
        return self.published(State(head, Counts(), aliases, records), changes)


def _point(
    head: Head, row: Row, vector: NDArray[np.float32], terms: TermCounts, loose: set[str]
) -> Point:
    told = facts(chunk_values(row.chunk(head.subject, head.collection)), head.spec)
    loose |= told.loose
    weights = weights_of(terms, head.average)
    return Point(head.point(row.id), told.tokens, told.numbers, row.text(), vector, weights)


def _counted(placed: Sequence[Placed]) -> Counts:
    return Counts.of(
        (terms, row.language)
        for each in placed
        for row, terms in zip(each.rows, each.terms, strict=True)
    )


def _text(row: Row) -> Text:
    return row.id, row.columns[4] or row.columns[3], row.language
