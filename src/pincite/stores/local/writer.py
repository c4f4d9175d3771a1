"""Writing: whole documents, one transaction at a time, under the writer's lock."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pincite.errors import InvalidArgument, PinciteError
from pincite.model.documents import Progress
from pincite.model.fields import extend_spec, full_spec
from pincite.segments.merge import plan_merge
from pincite.stores.checks import check_owner
from pincite.stores.codec import key_text, metadata_text
from pincite.stores.local.documents import (
    document_names,
    find_document,
    is_stored,
    remove_document,
    rewrite_rows,
    write_documents,
)
from pincite.stores.local.edit import Edit
from pincite.stores.local.home import Home
from pincite.stores.local.lost import LOST
from pincite.stores.local.merging import (
    merge_segments,
    rebuild_columns,
    rebuild_keyword,
    stale_collections,
    stale_keyword,
)
from pincite.stores.local.seals import seal
from pincite.stores.prepare import Prepared, prepare

if TYPE_CHECKING:
    from pincite.model.documents import EmbeddedDocument
    from pincite.model.fields import Field

__all__ = ["Writer"]

_log = logging.getLogger(__name__)


class Writer:
    """The writing side of a store."""

    def __init__(self, home: Home, progress: Callable[[Progress], None] | None) -> None:
        self._home = home
        self._progress = progress

    def commit(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write whole documents in one transaction; what is stored already writes nothing."""
        self._check_owner(subject, collection)
        # The last of two documents with one id stands, as if they had come one after the other.
        latest = {document.document: prepare(document) for document in documents}
        changed = self._changed(subject, collection, list(latest.values()))
        if not changed:
            return
        with self.editing(subject, collection) as edit:
            write_documents(edit, changed)

    def rewrite(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write a collection anew in one transaction, whatever model its vectors were of."""
        self._check_owner(subject, collection)
        prepared = list({document.document: prepare(document) for document in documents}.values())
        if not prepared:
            raise InvalidArgument("rewrite needs documents; delete those that are to go instead.")
        self._home.bring_up_to_date()
        kept = {each.given.document for each in prepared}
        with self.editing(subject, collection) as edit:
            for name in document_names(edit):
                if name not in kept:
                    remove_document(edit, name)
            edit.set_record(replace(edit.record, endpoint="", dimension=0, model=None))
            write_documents(edit, prepared)

    def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents; unknown ids are passed over; how many chunks went."""
        if isinstance(documents, str):
            raise InvalidArgument("delete takes a sequence of document ids; put the id in a list.")
        self._home.bring_up_to_date()
        with self._home.session(subject, collection) as session:
            names = [session.snapshot.aliases.get(name, name) for name in documents]
            key = session.snapshot.collection.key
            if not any(find_document(session.connection, key, name) for name in names):
                return 0
        with self.editing(subject, collection) as edit:
            aliases = edit.session.snapshot.aliases
            return sum(remove_document(edit, aliases.get(name, name)) for name in documents)

    def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; the old one stays an alias of it.

        Raises ``InvalidArgument`` when the document is not there or ``new`` is taken or blank.
        """
        if not isinstance(new, str) or not new:
            raise InvalidArgument("A document needs an id; pass the new one.")
        key_text(new, "document id")
        with self.editing(subject, collection) as edit:
            key, old, first, count = self._named(edit, document)
            if old == new:
                edit.abandon()
                return
            if find_document(edit.connection, edit.key, new):
                raise InvalidArgument(f"Document {new!r} is there already; delete it first.")
            run = edit.connection.execute
            run("DELETE FROM aliases WHERE collection = ? AND alias = ?", (edit.key, new))
            run("INSERT INTO aliases VALUES (?, ?, ?)", (edit.key, old, key))
            run("UPDATE documents SET document = ? WHERE id = ?", (new, key))
            seal(edit.connection, key)
            rewrite_rows(edit, first, count)

    def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata; that of its chunks still goes over it."""
        text = metadata_text(metadata, f"document {document!r}")
        with self.editing(subject, collection) as edit:
            key, _, first, count = self._named(edit, document)
            edit.set_spec(extend_spec(edit.record.spec, metadata))
            # The digest was that of the old metadata.
            edit.connection.execute(
                "UPDATE documents SET metadata = ?,"
                " digest = CASE digest WHEN ? THEN digest ELSE x'' END WHERE id = ?",
                (text, LOST, key),
            )
            seal(edit.connection, key)
            rewrite_rows(edit, first, count)

    def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields; one that differs from a stored type is refused."""
        self._check_owner(subject, collection)
        declared = full_spec(fields).fields
        with self.editing(subject, collection) as edit:
            known = edit.record.spec.fields
            for name, wanted in declared.items():
                if (stored := known.get(name, wanted)) != wanted:
                    raise InvalidArgument(
                        f"Field {name!r} is {stored.type} already, not {wanted.type};"
                        " use another name, or write the collection anew."
                    )
            if declared.keys() <= known.keys():
                edit.abandon()
                return
            edit.set_spec(full_spec({**known, **declared}))
            rebuild_columns(edit)

    def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None:
        """Change the collection's default weight of the vector side."""
        self._check_owner(subject, collection)
        with self.editing(subject, collection) as edit:
            edit.set_record(replace(edit.record, alpha=alpha))

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over."""
        with self.editing(subject, collection) as edit:
            for alias, document in aliases.items():
                key_text(alias, "document id")
                key, *_ = self._named(edit, document)
                if not find_document(edit.connection, edit.key, alias):
                    edit.connection.execute(
                        "INSERT OR REPLACE INTO aliases VALUES (?, ?, ?)", (edit.key, alias, key)
                    )

    def setup(self) -> None:
        """Create the store, bring its format up to date, and rebuild what another version of the
        analyser derived."""
        self._home.bring_up_to_date()
        if not self._home.database.exists():
            with self._home.locked():
                pass
        with self._home.reading() as connection:
            assert connection is not None
            stale = stale_collections(connection)
        for subject, name in stale:
            with self.editing(subject, name):
                pass

    @contextmanager
    def editing(self, subject: str, collection: str) -> Iterator[Edit]:
        """An edit of a collection, published at the end; then merges, each for itself."""
        with self._home.locked():
            with self._home.write_session(subject, collection) as session:
                edit = Edit(session)
                if stale_keyword(edit):
                    _log.warning(
                        "Collection %s of %s was indexed by another version of the analyser; its "
                        "keyword side is built anew from the stored texts.",
                        collection,
                        subject,
                    )
                    rebuild_keyword(edit, self._progress)
                    # What is in the manifest now is newer than the session.
                    edit.finish()
                    edit = Edit(self._home.reload(session))
                yield edit
                edit.finish()
            self._merge(subject, collection)

    def merge_once(self, subject: str, collection: str) -> bool:
        """Do the next merge that is due, for the holder of the lock; whether there was one."""
        with self._home.session(subject, collection) as session:
            if not plan_merge([s.record for s in session.snapshot.segments]):
                return False
        with self._home.write_session(subject, collection) as session:
            segments = {s.record.number: s for s in session.snapshot.segments}
            due = plan_merge([s.record for s in segments.values()])
            if due:
                edit = Edit(session)
                merge_segments(edit, [segments[record.number] for record in due])
                edit.finish()
        return bool(due)

    def compact(self, subject: str | None, collection: str | None) -> None:
        """Write the live rows of each collection as one segment; of all, or of those named."""
        with self._home.locked():
            names = self._names(subject, collection)
            for done, (owner, name) in enumerate(names, start=1):
                self._compact(owner, name)
                if self._progress is not None:
                    self._progress(Progress("compact", done, len(names), f"{owner}/{name}"))
            self._home.shrink()

    def _names(self, subject: str | None, collection: str | None) -> list[tuple[str, str]]:
        with self._home.reading() as connection:
            assert connection is not None  # the lock's holder has made it
            return connection.execute(
                "SELECT subject, name FROM collections WHERE (?1 IS NULL OR subject = ?1)"
                " AND (?2 IS NULL OR name = ?2) ORDER BY subject, name",
                (subject, collection),
            ).fetchall()

    def _compact(self, subject: str, collection: str) -> None:
        with self._home.write_session(subject, collection) as session:
            segments = session.snapshot.segments
            if len(segments) > 1 or any(s.record.dead for s in segments):
                edit = Edit(session)
                merge_segments(edit, segments)
                edit.finish()

    def _merge(self, subject: str, collection: str) -> None:
        """What was committed is durable, so a merge that fails is only put off."""
        try:
            while self.merge_once(subject, collection):
                pass
        except (PinciteError, OSError) as error:
            _log.warning("Merging segments was put off: %s", error)

    def _changed(self, subject: str, collection: str, prepared: list[Prepared]) -> list[Prepared]:
        """Without the documents that are stored just so, in the same order."""
        self._home.bring_up_to_date()
        with self._home.session(subject, collection) as session:
            key = session.snapshot.collection.key
            if key is None:
                return prepared
            return [p for p in prepared if not is_stored(session.connection, key, p)]

    def _named(self, edit: Edit, document: str) -> tuple[int, str, int, int]:
        name = edit.session.snapshot.aliases.get(document, document)
        found = find_document(edit.connection, edit.record.key, name)
        if found is None:
            raise InvalidArgument(
                f"There is no document {document!r} in this collection; documents() lists them."
            )
        return found

    def _check_owner(self, subject: str, collection: str) -> None:
        check_owner(subject, collection)
        key_text(subject, "subject")
        key_text(collection, "collection")
