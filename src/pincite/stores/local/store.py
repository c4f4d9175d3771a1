"""The local store: a folder on this machine, the default."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from pincite.errors import InvalidArgument, StoreCorrupt
from pincite.model.documents import Collection, DocumentInfo, Geometry, Progress
from pincite.model.filters import Filter, Nothing
from pincite.model.hits import Chunk
from pincite.stores import checks
from pincite.stores.codec import geometry_of, is_text, value_of
from pincite.stores.local.home import Home
from pincite.stores.local.lock import lock_patience
from pincite.stores.local.reader import LocalReader, attempt
from pincite.stores.local.snapshot import Session
from pincite.stores.local.statistics import collection_stats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.documents import EmbeddedDocument, ModelIdentity
    from pincite.model.fields import Field
    from pincite.stores.findings import Finding
    from pincite.stores.local.lost import Embed
    from pincite.stores.local.writer import Writer

__all__ = ["LocalStore"]

T = TypeVar("T")

_BATCH: Final = 500
_DOCUMENTS: Final = (
    "SELECT document, title, source, content_hash, chunks, metadata, language, fingerprint"
    " FROM documents WHERE collection = ?"
)


class LocalStore:
    """Collections of any number of subjects in one folder, for many readers and one writer at a
    time, across threads and processes.

    ``path`` is the folder; nothing is written before the first write. ``lock_timeout`` is how many
    seconds a writer waits for another one; None means ``PINCITE_LOCK_TIMEOUT``, else 10.
    ``progress`` hears of rebuilding. It implements ``SyncStore``; ``stores.threaded.Threaded``
    makes the async port of it.

    Raises ``StoreNotFound`` when nothing is there and ``create`` is False or ``read_only`` True,
    ``InvalidArgument`` for a timeout that is no number of seconds.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = True,
        read_only: bool = False,
        lock_timeout: float | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._home = Home(
            Path(path).absolute(),
            create=create,
            read_only=read_only,
            lock_timeout=lock_patience(lock_timeout),
        )
        self._progress = progress

    @property
    def path(self) -> Path:
        """The store's folder."""
        return self._home.path

    @cached_property
    def _writer(self) -> Writer:
        # A process that only searches does not load what writing needs.
        from pincite.stores.local.writer import Writer

        return Writer(self._home, self._report)

    @contextmanager
    def reporting(self, progress: Callable[[Progress], None] | None) -> Iterator[None]:
        """Let ``progress`` (unless None) hear of long work while the block runs."""
        before = self._progress
        self._progress = progress or before
        try:
            yield
        finally:
            self._progress = before

    def _report(self, progress: Progress) -> None:
        if self._progress is not None:
            self._progress(progress)

    def setup(self) -> None:
        """Create the store where there is none, and bring an older one up to date: its format, and
        what another version of the analyser derived. One that is up to date is not locked."""
        self._writer.setup()

    def bring_up_to_date(self) -> None:
        """``setup`` where there is a store already."""
        if self._home.database.exists():
            self.setup()

    def commit(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write whole documents, each in place of what it had; all of them or none, durable on
        return. Documents that are stored just so are passed over."""
        self._writer.commit(subject, collection, documents)

    def rewrite(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write a collection anew, in place of all that it held: the way to another model.

        One transaction: readers see the old collection or the new one. Fields, aliases of documents
        that stay and the weight of the vector side are kept.
        """
        self._writer.rewrite(subject, collection, documents)

    def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents; unknown ids are passed over; how many chunks went."""
        return self._writer.delete(subject, collection, documents)

    def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; the old one stays an alias of it.

        Raises ``InvalidArgument`` when the document is not there or ``new`` is taken or blank.
        """
        self._writer.rename(subject, collection, document, new)

    def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata; that of its chunks still goes over it."""
        self._writer.set_metadata(subject, collection, document, metadata)

    def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields; one that differs from a stored type is refused."""
        self._writer.declare(subject, collection, fields)

    def set_alpha(self, subject: str, collection: str, alpha: float | None) -> None:
        """The weight of the vector side in ``hybrid`` where a query gives none; None is the
        default of all stores."""
        checks.check_alpha(alpha)
        self._writer.set_alpha(subject, collection, alpha)

    def alpha(self, subject: str, collection: str) -> float | None:
        """The weight that ``set_alpha`` gave."""
        return self._run(subject, collection, lambda session: session.snapshot.collection.alpha)

    def aliases(self, subject: str, collection: str) -> dict[str, str]:
        """Old document ids and what they are called now."""
        return self._run(subject, collection, lambda session: dict(session.snapshot.aliases))

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over."""
        if aliases:
            self._writer.add_aliases(subject, collection, aliases)

    def compact(self, subject: str | None = None, collection: str | None = None) -> None:
        """Write each collection (or the one named) as one segment without deleted rows, and give
        the space back to the disk."""
        self._writer.compact(subject, collection)

    def doctor(self, *, repair: bool = False, embed: Embed | None = None) -> builtins.list[Finding]:
        """What is wrong with the store: checksums, and the ids of rows and both legs.

        ``repair`` builds anew what is derived. Lost vectors are made by ``embed`` (endpoint, model,
        texts) of the stored texts; without it, or when it raises, their documents lose their
        content hash, so that the next indexing embeds them, and stay findings until then.
        """
        from pincite.stores.local.doctor import examine

        renewed = self._renewed() if repair else []
        return renewed + examine(self._home, repair=repair, embed=embed, report=self._report)

    def _renewed(self) -> builtins.list[Finding]:
        """What was out of date and is not any more."""
        from pincite.stores.local.doctor import outdated

        # What is too damaged to be renewed is named by the examination.
        with suppress(StoreCorrupt):
            if before := outdated(self._home):
                self.setup()
                left = outdated(self._home)
                return [
                    replace(finding, repaired=True) for finding in before if finding not in left
                ]
        return []

    def backup(self, path: str | Path) -> None:
        """Copy the store, whole, to a folder that is absent or empty; writers wait meanwhile."""
        from pincite.stores.local.backup import copy_store

        copy_store(self._home, Path(path).absolute(), self._report)

    def list(self, subject: str) -> builtins.list[Collection]:
        """The collections of a subject that hold chunks, in name order."""
        with self._home.reading() as connection:
            if connection is None:
                return []
            rows = connection.execute(
                "SELECT name, count(*), sum(chunks) FROM collections"
                " JOIN documents ON collection = collections.id WHERE subject = ?"
                " GROUP BY name ORDER BY name",
                (subject,),
            )
            return [Collection(*row) for row in rows]

    def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> builtins.list[DocumentInfo]:
        """The documents (those with a chunk that matches ``where``), ordered by id."""

        def read(session: Session) -> builtins.list[DocumentInfo]:
            record = session.snapshot.collection
            folded = checks.check_where(where, record.spec)
            if isinstance(folded, Nothing) or record.key is None:
                return []
            if folded is None:
                rows = session.connection.execute(f"{_DOCUMENTS} ORDER BY document", (record.key,))
                return [_info(*row) for row in rows]
            return _matching(session, folded)

        return self._run(subject, collection, read)

    def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]:
        """The document's vectors as stored, in chunk order, shape (chunks, dimension).

        Raises ``InvalidArgument`` when the document is not there.
        """

        def read(session: Session) -> NDArray[np.float32]:
            found = _document(session, document)
            if found is None:
                raise InvalidArgument(
                    f"There is no document {document!r} in this collection; documents() lists them."
                )
            _, first, count = found
            parts = session.find(first, count, lambda segment: segment.mask)
            rows = [segment.vectors(session)[places] for segment, places in parts]
            return np.concatenate(rows).astype(np.float32)

        return self._run(subject, collection, read)

    def geometry(self, subject: str, collection: str, document: str) -> Geometry | None:
        """What the parser found of the document's pages and words; None when nothing was given,
        and for a document that is not there."""

        def read(session: Session) -> Geometry | None:
            found = _document(session, document)
            row = (
                found
                and session.connection.execute(
                    "SELECT data FROM geometry WHERE document = ?", (found[0],)
                ).fetchone()
            )
            return geometry_of(row[0], f"geometry of {document!r}") if row else None

        return self._run(subject, collection, read)

    def model(self, subject: str, collection: str) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity of the collection's vectors, None before the first write."""
        return self._run(
            subject, collection, lambda session: session.snapshot.collection.stored_model
        )

    def stats(self, subject: str, collection: str) -> dict[str, Any]:
        """Counts of a collection, sizes in bytes, its model, and the kernels that run."""
        return self._run(subject, collection, collection_stats)

    def reader(self, subject: str, collections: Sequence[str]) -> LocalReader:
        """A search port over some collections of a subject; it sees later writes."""
        if isinstance(collections, str):
            raise InvalidArgument("reader takes a sequence of collections; put the name in a list.")
        for collection in collections:
            checks.check_owner(subject, collection)
        return LocalReader(self._home, subject, tuple(collections))

    def stored_documents(self, subject: str, collection: str) -> Iterator[EmbeddedDocument]:
        """Every document of one committed state, ordered by id, with its vectors as stored
        (float16). Readers and writers go on meanwhile."""
        from pincite.stores.local.stored import stored_documents

        return stored_documents(self._home, subject, collection)

    def all_chunks(self) -> Iterator[Chunk]:
        """Every chunk of every subject, in the order of subject, collection and document."""
        with self._home.reading() as connection:
            names = (
                []
                if connection is None
                else connection.execute(
                    "SELECT subject, name FROM collections ORDER BY subject, name"
                ).fetchall()
            )
        for subject, name in names:
            yield from LocalReader(self._home, subject, (name,)).all_chunks()

    def close(self) -> None:
        """Release connections and mapped files; the store can be used again afterwards."""
        self._home.close()

    def _run(self, subject: str, collection: str, task: Callable[[Session], T]) -> T:
        return attempt(self._home, subject, collection, task)


def _document(session: Session, name: str) -> tuple[int, int, int] | None:
    """Key, first chunk and number of chunks of a document, by its id or an old one."""
    snapshot = session.snapshot
    if snapshot.collection.key is None or not is_text(name):
        return None
    found: tuple[int, int, int] | None = session.connection.execute(
        "SELECT id, first_chunk, chunks FROM documents WHERE collection = ? AND document = ?",
        (snapshot.collection.key, snapshot.aliases.get(name, name)),
    ).fetchone()
    return found


def _matching(session: Session, where: Filter) -> list[DocumentInfo]:
    kept = zip(session.snapshot.segments, session.kept(where), strict=True)
    names = sorted({n for s, mask in kept for n in s.rows(session).document_names(mask)})
    found = []
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        marks = ",".join("?" * len(batch))
        rows = session.connection.execute(
            f"{_DOCUMENTS} AND document IN ({marks}) ORDER BY document",
            (session.snapshot.collection.key, *batch),
        )
        found += [_info(*row) for row in rows]
    return found


def _info(
    document: str,
    title: str,
    source: str,
    content_hash: str,
    chunks: int,
    metadata: str,
    language: str,
    fingerprint: str,
) -> DocumentInfo:
    return DocumentInfo(
        document, title, source, content_hash, chunks, value_of(metadata), language, fingerprint
    )
