"""The state of each target as this process knows it, read again when another process wrote."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pincite.errors import StoreUnavailable
from pincite.model.hits import chunk_id
from pincite.stores.points.backend import Backend
from pincite.stores.points.counts import Counts
from pincite.stores.points.keys import tenant_of
from pincite.stores.points.records import Document, Head, Records, change_key

__all__ = ["State", "Targets"]

_ATTEMPTS = 4


@dataclass(frozen=True)
class State:
    """A target at one moment: its head, counts and aliases; its documents when they are asked."""

    head: Head
    counts: Counts
    aliases: Mapping[str, str]
    records: Records

    @cached_property
    def documents(self) -> dict[str, Document]:
        """Every document by id, in order."""
        return {each.document: each for each in self.records.documents(self.head)}

    @cached_property
    def chunks(self) -> dict[str, tuple[str, int]]:
        """Document and chunk index of every point, by the point's id, in reading order."""
        return {
            self.head.point(chunk_id(document.document, index)): (document.document, index)
            for document in self.documents.values()
            for index in sorted(document.indexes)
        }

    def named(self, document: str) -> Document | None:
        """A document by its id or by an old one."""
        return self.records.document(self.head, self.aliases.get(document, document))


class Targets:
    """Loads states, and keeps them as long as they are true."""

    def __init__(self, backend: Backend, records: Records) -> None:
        self._backend = backend
        self._records = records
        self._states: dict[str, State] = {}
        self._lock = threading.Lock()

    def state(self, subject: str, collection: str) -> State:
        """The state of a target, an empty one when nothing was written."""
        known = self._states.get(tenant_of(subject, collection))
        if known is not None and self._backend.exclusive:
            return known
        for _ in range(_ATTEMPTS):
            head = self._records.head(subject, collection)
            if known is not None and known.head == head:
                return known
            loaded = self._load(head, known)
            if loaded is not None:
                self.keep(loaded)
                return loaded
        raise StoreUnavailable(
            f"Collection {collection!r} in {self._backend.place} changes too quickly to be read;"
            " try again, and if it stays so, run doctor with repair."
        )

    def keep(self, state: State) -> None:
        """Remember a state, as loaded or as just written."""
        with self._lock:
            self._states[state.head.tenant] = state

    def forget(self, subject: str, collection: str) -> None:
        """Read a target anew next time."""
        with self._lock:
            self._states.pop(tenant_of(subject, collection), None)

    def _load(self, head: Head, known: State | None) -> State | None:
        """None when a change that the head names is gone: the head was replaced meanwhile."""
        log = [stamp for stamp, _ in head.log]
        seen = [stamp for stamp, _ in known.head.log] if known is not None else []
        fresh = [stamp for stamp in log if stamp not in seen]
        parts = [known.counts] if known is not None else []
        if known is None or not set(seen) <= set(log):
            fresh, parts = log, []
        keys = [change_key(head.tenant, stamp) for stamp in fresh]
        texts = self._records.read(keys)
        if len(texts) < len(keys):
            return None
        parts += [Counts.read(texts[key], key) for key in keys]
        if known is not None and known.head.renamed == head.renamed:
            aliases = known.aliases
        else:
            aliases = self._records.aliases(head)
        return State(head, Counts.sum(parts) if parts else Counts(), aliases, self._records)
