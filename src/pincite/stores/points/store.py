"""A store over a database of points: it implements ``SyncStore``."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pincite.errors import InvalidArgument
from pincite.model.documents import Collection, DocumentInfo, EmbeddedDocument, Geometry
from pincite.model.filters import Filter, Nothing
from pincite.model.hits import Chunk
from pincite.stores import checks
from pincite.stores.codec import geometry_of, given_chunk, key_text, value_of
from pincite.stores.points.backend import Backend
from pincite.stores.points.doctor import examine
from pincite.stores.points.gate import Gate
from pincite.stores.points.held import stored_vector, whole_rows
from pincite.stores.points.keyword import KeywordIndex
from pincite.stores.points.reader import PointReader
from pincite.stores.points.records import Document, Records
from pincite.stores.points.search import Search
from pincite.stores.points.targets import State, Targets
from pincite.stores.points.writer import Writer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.documents import ModelIdentity
    from pincite.model.fields import Field
    from pincite.stores.findings import Finding

__all__ = ["PointStore"]


class PointStore:
    """Collections of any number of subjects in one database, for many readers and one writer of a
    collection at a time.

    Safe to share between threads. A document is written whole as this process sees it; another
    process can see one half written for a moment, and a crash in that moment leaves its name
    behind, so that the next writer, or ``doctor``, clears it away to be indexed again.
    ``stores.threaded.Threaded`` makes the async port of it.
    """

    def __init__(self, backend: Backend, keyword: KeywordIndex | None = None) -> None:
        self.backend = backend
        self._keyword = keyword
        self._records = Records(backend)
        self._targets = Targets(backend, self._records)
        self._gate = Gate(parallel=backend.parallel)
        self._writer = Writer(backend, self._targets, self._gate, keyword)

    def setup(self) -> None:
        """Create what the store needs; safe to call again."""
        with self._gate.writing():
            self.backend.setup()

    def commit(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write whole documents, each in place of what it had; durable on return.

        All of them are checked before the first is written. Documents that are stored just so are
        passed over.
        """
        self._writer.commit(subject, collection, documents)

    def rewrite(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write a collection anew, in place of all that it held: the way to another model.

        Fields, aliases of documents that stay and the weight of the vector side are kept.
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
        """The weight of the vector side in ``hybrid`` where a query gives none."""
        checks.check_alpha(alpha)
        self._writer.set_alpha(subject, collection, alpha)

    def doctor(self, *, repair: bool = False) -> builtins.list[Finding]:
        """What is wrong with the store: half-written documents, points of no document, counts and
        keyword index that do not fit the points. ``repair`` mends what can be mended."""
        return examine(
            self.backend, self._targets, self._gate, self._keyword, self._writer, repair=repair
        )

    def list(self, subject: str) -> builtins.list[Collection]:
        """The collections of a subject that hold chunks, in name order."""
        with self._gate.reading():
            found = []
            for head in self._records.heads():
                if head.subject == subject and head.dimension:
                    documents = self._records.documents(head)
                    chunks = sum(len(document.indexes) for document in documents)
                    found.append(Collection(head.collection, len(documents), chunks))
            return [each for each in found if each.documents]

    def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> builtins.list[DocumentInfo]:
        """The documents (those with a chunk that matches ``where``), ordered by id."""
        with self._gate.reading():
            state = self._targets.state(subject, collection)
            folded = checks.check_where(where, state.head.spec)
            if isinstance(folded, Nothing) or not state.head.dimension:
                return []
            if folded is None:
                return [document.info for document in state.documents.values()]
            kept = Search(self.backend, state, None, folded).kept_ids()
            names = sorted({state.chunks[name][0] for name in kept})
            return [state.documents[name].info for name in names]

    def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]:
        """The document's vectors as stored, in chunk order, shape (chunks, dimension).

        Raises ``InvalidArgument`` when the document is not there.
        """
        with self._gate.reading():
            state = self._targets.state(subject, collection)
            found = state.named(document)
            if found is None:
                raise InvalidArgument(
                    f"There is no document {document!r} in this collection; documents() lists them."
                )
            rows = whole_rows(self.backend, state.head, found)
            return np.array([stored_vector(held) for _, held in rows]).astype(np.float32)

    def stored_documents(self, subject: str, collection: str) -> Iterator[EmbeddedDocument]:
        """Every document, ordered by id, with its vectors as stored (float16), each as it is when
        its turn comes; one that goes meanwhile is passed over."""
        with self._gate.reading():
            names = builtins.list(self._targets.state(subject, collection).documents)
        for name in names:
            with self._gate.reading():
                state = self._targets.state(subject, collection)
                found = self._records.document(state.head, name)
                made = None if found is None else self._stored(state, found)
            if made is not None:
                yield made

    def _stored(self, state: State, found: Document) -> EmbeddedDocument:
        rows = whole_rows(self.backend, state.head, found)
        given = [given_chunk(row.columns) for row, _ in rows]
        own = [metadata for _, metadata in given]
        data = self._records.geometry(state.head, found.document) if found.geometry else None
        return EmbeddedDocument(
            document=found.document,
            title=found.title,
            chunks=[chunk for chunk, _ in given],
            vectors=np.array([stored_vector(held) for _, held in rows]),
            endpoint=state.head.endpoint,
            source=found.source,
            content_hash=found.content_hash,
            fingerprint=found.fingerprint,
            language=found.language,
            model=state.head.model,
            metadata=value_of(found.metadata),
            chunk_metadata=own if any(own) else (),
            geometry=None if data is None else geometry_of(data, f"geometry of {found.document!r}"),
        )

    def aliases(self, subject: str, collection: str) -> dict[str, str]:
        """Old document ids and what they are called now."""
        with self._gate.reading():
            return dict(self._targets.state(subject, collection).aliases)

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over."""
        self._writer.add_aliases(subject, collection, aliases)

    def alpha(self, subject: str, collection: str) -> float | None:
        """The collection's own weight of the vector side, None for the default of all stores."""
        with self._gate.reading():
            return self._targets.state(subject, collection).head.alpha

    def geometry(self, subject: str, collection: str, document: str) -> Geometry | None:
        """What the parser found of the document's pages and words; None when nothing was given,
        and for a document that is not there."""
        with self._gate.reading():
            state = self._targets.state(subject, collection)
            name = state.aliases.get(document, document)
            data = self._records.geometry(state.head, name)
            return None if data is None else geometry_of(data, f"geometry of {name!r}")

    def model(self, subject: str, collection: str) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity of the collection's vectors, None before the first write."""
        with self._gate.reading():
            return self._targets.state(subject, collection).head.stored_model

    def stats(self, subject: str, collection: str) -> dict[str, Any]:
        """Counts of a collection, its model, and the database that holds it."""
        with self._gate.reading():
            state = self._targets.state(subject, collection)
            counts, head = state.counts, state.head
            return {
                "documents": len(state.documents),
                "chunks": counts.rows,
                "vocabulary": len(counts.hashes),
                "total_tokens": counts.length,
                "average_length": counts.length / counts.rows if counts.rows else 0.0,
                "dimension": head.dimension or None,
                "endpoint": head.endpoint or None,
                "languages": [code for code in counts.spoken if code],
                "database": self.backend.place,
            }

    def reader(self, subject: str, collections: Sequence[str]) -> PointReader:
        """A search port over some collections of a subject; it sees later writes."""
        if isinstance(collections, str):
            raise InvalidArgument("reader takes a sequence of collections; put the name in a list.")
        for collection in collections:
            checks.check_owner(subject, collection)
            key_text(subject, "subject")
            key_text(collection, "collection")
        return PointReader(
            self.backend, self._targets, self._gate, self._keyword, subject, tuple(collections)
        )

    def all_chunks(self) -> Iterator[Chunk]:
        """Every chunk of every subject, in the order of subject, collection and document."""
        with self._gate.reading():
            owners = [(head.subject, head.collection) for head in self._records.heads()]
        for subject, collection in owners:
            yield from self.reader(subject, [collection]).all_chunks()

    def close(self) -> None:
        """Release what the client holds."""
        with self._gate.writing():
            self.backend.close()
