"""The exact reference store: nothing on disk, every search by brute force.

It is what the other stores are compared with, and it serves small collections well. A writer
builds a new state of a collection and puts it in place at once, so that a reader always sees one
committed state. What goes in and what comes out are copies.
"""

from __future__ import annotations

import builtins
import copy
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from pincite.bm25.explain import explain_row
from pincite.bm25.search import Statistics
from pincite.bm25.segment import KeywordSegment, build_arrays
from pincite.errors import InvalidArgument
from pincite.model.documents import Collection, DocumentInfo, EmbeddedDocument, Geometry
from pincite.model.fields import FieldSpec, chunk_values, extend_spec, full_spec
from pincite.model.filters import Filter, Nothing, compile_filter
from pincite.model.hits import Chunk, Explanation, Hit, chunk_id
from pincite.stores import checks, hybrid
from pincite.stores._brute import Counted, bm25_scores, vector_rows, vector_scores
from pincite.stores.aliases import add_alias, drop_aliases, resolve_filter
from pincite.stores.intake import document_language, plain_metadata, stored_chunks
from pincite.stores.ordering import reading_order, sort_by_field
from pincite.text.analysis import default_analyzer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.documents import ModelIdentity
    from pincite.model.fields import Field
    from pincite.stores.ports import Target

__all__ = ["MemoryReader", "MemoryStore"]

_NO_VECTORS = np.empty((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Row:
    chunk: Chunk
    values: Mapping[str, Any]
    counted: Counted
    vector: NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class _Document:
    given: EmbeddedDocument
    rows: tuple[_Row, ...]

    @property
    def info(self) -> DocumentInfo:
        given = self.given
        return DocumentInfo(
            document=given.document,
            title=given.title,
            source=given.source,
            content_hash=given.content_hash,
            chunks=len(self.rows),
            metadata=copy.deepcopy(dict(given.metadata)),
            language=given.language,
            fingerprint=given.fingerprint,
        )


@dataclass(frozen=True)
class _State:
    """One committed state of a collection; never changed, only replaced."""

    documents: Mapping[str, _Document] = field(default_factory=dict)
    spec: FieldSpec = field(default_factory=lambda: full_spec({}))
    model: tuple[str, ModelIdentity | None] | None = None
    dimension: int | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def rows(self) -> list[_Row]:
        return [row for document in self.documents.values() for row in document.rows]

    @cached_property
    def languages(self) -> list[str]:
        return sorted({document.given.language for document in self.documents.values()})

    @property
    def cosine(self) -> bool:
        """Whether vectors are compared by cosine; those of a model without unit length are not."""
        return self.model is None or self.model[1] is None or self.model[1].normalized

    def kept(self, where: Filter | None) -> list[int]:
        """The places in ``rows`` that a folded filter keeps."""
        holds = compile_filter(resolve_filter(where, self.aliases), self.spec)
        return [place for place, row in enumerate(self.rows) if holds(row.values)]

    def named(self, document: str) -> _Document:
        """A document by its id or by an old one."""
        found = self.documents.get(self.aliases.get(document, document))
        if found is None:
            raise InvalidArgument(
                f"There is no document {document!r} in this collection; documents() lists them."
            )
        return found


class MemoryStore:
    """Collections of any number of subjects, kept in this object alone; safe to share by threads.

    It implements ``SyncStore``; ``stores.threaded.Threaded`` makes the async port of it.
    """

    def __init__(self) -> None:
        self._states: dict[tuple[str, str], _State] = {}
        self._writing = threading.RLock()

    def setup(self) -> None:
        """Nothing to create."""

    def commit(self, subject: str, collection: str, documents: Sequence[EmbeddedDocument]) -> None:
        """Write whole documents, each in place of what it had; all of them or none."""
        checks.check_owner(subject, collection)
        with self._writing:
            state = self._state(subject, collection)
            for document in documents:
                state = _with_document(state, subject, collection, document)
            self._states[subject, collection] = state

    def list(self, subject: str) -> list[Collection]:
        """The collections of a subject that hold chunks, in name order."""
        return [
            Collection(name, len(state.documents), len(state.rows))
            for (owner, name), state in self._sorted()
            if owner == subject and state.documents
        ]

    def documents(
        self, subject: str, collection: str, where: Filter | None = None
    ) -> builtins.list[DocumentInfo]:
        """The documents (those with a chunk that matches ``where``), ordered by id."""
        state = self._state(subject, collection)
        folded = checks.check_where(where, state.spec)
        if isinstance(folded, Nothing):
            return []
        names = {state.rows[place].chunk.document for place in state.kept(folded)}
        return [state.documents[name].info for name in sorted(names)]

    def delete(self, subject: str, collection: str, documents: Sequence[str]) -> int:
        """Remove documents; unknown ids are passed over; how many chunks went."""
        if isinstance(documents, str):
            raise InvalidArgument("delete takes a sequence of document ids; put the id in a list.")
        with self._writing:
            before = state = self._state(subject, collection)
            for name in documents:
                state = _without(state, state.aliases.get(name, name))
            if state is not before:
                self._states[subject, collection] = state
        return len(before.rows) - len(state.rows)

    def rename(self, subject: str, collection: str, document: str, new: str) -> None:
        """Give a document another id; the old one stays an alias of it.

        Raises ``InvalidArgument`` when the document is not there or ``new`` is taken or blank.
        """
        if not isinstance(new, str) or not new:
            raise InvalidArgument("A document needs an id; pass the new one.")
        with self._writing:
            state = self._state(subject, collection)
            old = state.named(document).given.document
            if old == new:
                return
            if new in state.documents:
                raise InvalidArgument(f"Document {new!r} is there already; delete it first.")
            moved = _moved(state.named(old), new)
            others = {name: kept for name, kept in state.documents.items() if name != old}
            self._states[subject, collection] = replace(
                state,
                documents={**others, new: moved},
                aliases=add_alias(state.aliases, old, new),
            )

    def set_metadata(
        self, subject: str, collection: str, document: str, metadata: Mapping[str, Any]
    ) -> None:
        """Replace a document's metadata; that of its chunks still goes over it."""
        with self._writing:
            state = self._state(subject, collection)
            old = state.named(document)
            plain = plain_metadata(metadata, f"document {document!r}")
            changed = _described(old, plain)
            self._states[subject, collection] = replace(
                state,
                documents={**state.documents, old.given.document: changed},
                spec=extend_spec(state.spec, plain),
            )

    def vectors(self, subject: str, collection: str, document: str) -> NDArray[np.float32]:
        """The document's vectors as stored, in chunk order, shape (chunks, dimension)."""
        rows = self._state(subject, collection).named(document).rows
        return np.array([row.vector for row in rows], dtype=np.float32)

    def geometry(self, subject: str, collection: str, document: str) -> Geometry | None:
        """What the parser found of the document's pages and words; None when nothing was given,
        and for a document that is not there."""
        state = self._state(subject, collection)
        found = state.documents.get(state.aliases.get(document, document))
        return copy.deepcopy(found.given.geometry) if found is not None else None

    def model(self, subject: str, collection: str) -> tuple[str, ModelIdentity | None] | None:
        """Endpoint and identity of the collection's vectors, None before the first write."""
        return self._state(subject, collection).model

    def declare(self, subject: str, collection: str, fields: Mapping[str, Field]) -> None:
        """Declare the types of fields; one that differs from a stored type is refused."""
        checks.check_owner(subject, collection)
        declared = full_spec(fields).fields
        with self._writing:
            state = self._state(subject, collection)
            for name, wanted in declared.items():
                if (known := state.spec.fields.get(name, wanted)) != wanted:
                    raise InvalidArgument(
                        f"Field {name!r} is {known.type} already, not {wanted.type};"
                        " use another name, or write the collection anew."
                    )
            spec = full_spec({**state.spec.fields, **declared})
            self._states[subject, collection] = replace(state, spec=spec)

    def stored_documents(self, subject: str, collection: str) -> Iterator[EmbeddedDocument]:
        """Every document of the collection as it is now, ordered by id, with its vectors as
        stored (float16)."""
        for _, held in sorted(self._state(subject, collection).documents.items()):
            rows: NDArray[Any] = np.array([row.vector for row in held.rows], dtype=np.float16)
            yield replace(copy.deepcopy(held.given), vectors=rows)

    def aliases(self, subject: str, collection: str) -> dict[str, str]:
        """Old document ids and what they are called now."""
        return dict(self._state(subject, collection).aliases)

    def add_aliases(self, subject: str, collection: str, aliases: Mapping[str, str]) -> None:
        """Let old ids stand for documents; an id that a document has is passed over."""
        with self._writing:
            state = self._state(subject, collection)
            named = {old: state.named(new).given.document for old, new in aliases.items()}
            fresh = {old: new for old, new in named.items() if old not in state.documents}
            if fresh:
                made = replace(state, aliases={**state.aliases, **fresh})
                self._states[subject, collection] = made

    def stats(self, subject: str, collection: str) -> dict[str, Any]:
        """Counts of a collection, as its keyword side sees them."""
        state = self._state(subject, collection)
        total = sum(row.counted.length for row in state.rows)
        return {
            "documents": len(state.documents),
            "chunks": len(state.rows),
            "vocabulary": len(set(chain.from_iterable(row.counted.terms for row in state.rows))),
            "total_tokens": total,
            "average_length": total / len(state.rows) if state.rows else 0.0,
            "dimension": state.dimension,
            "endpoint": state.model[0] if state.model else None,
        }

    def all_chunks(self) -> builtins.list[Chunk]:
        """Every chunk of every subject, in the order of subject, collection and document."""
        return [chunk for _, state in self._sorted() for chunk in _all(state)]

    def reader(self, subject: str, collections: Sequence[str]) -> MemoryReader:
        """A search port over some collections of a subject; it sees later writes."""
        if isinstance(collections, str):
            raise InvalidArgument("reader takes a sequence of collections; put the name in a list.")
        for collection in collections:
            checks.check_owner(subject, collection)
        return MemoryReader(lambda name: self._state(subject, name), tuple(collections))

    def close(self) -> None:
        """Nothing to release."""

    def _state(self, subject: str, collection: str) -> _State:
        return self._states.get((subject, collection)) or _State()

    def _sorted(self) -> builtins.list[tuple[tuple[str, str], _State]]:
        # copy() is one step for other threads, iterating is not.
        return sorted(self._states.copy().items(), key=lambda item: item[0])


class MemoryReader:
    """The search side of a ``MemoryStore``: it implements ``SyncReader``."""

    def __init__(self, state: Callable[[str], _State], collections: tuple[str, ...]) -> None:
        self._state_of = state
        self._collections = collections

    def hybrid(
        self,
        target: Target,
        *,
        query: str,
        vector: Sequence[float] | None = None,
        limit: int,
        where: Filter | None = None,
        alpha: float | None = None,
        offset: int = 0,
    ) -> list[Hit]:
        """Both legs, fused; ``stores.hybrid`` says how."""
        state = self._target(target)
        folded = checks.check_hybrid(
            state.spec,
            query=query,
            vector=vector,
            dimension=state.dimension,
            limit=limit,
            where=where,
            alpha=alpha,
            offset=offset,
        )
        if isinstance(folded, Nothing):
            return []
        assert vector is not None
        return hybrid.run(
            hybrid.plan(query=query, limit=limit, alpha=alpha, vector=vector),
            lambda depth: _keyword(state, query, depth, folded),
            lambda depth: _near(state, vector, depth, folded),
            limit=limit,
            offset=offset,
        )

    def near_vector(
        self, target: Target, *, vector: Sequence[float], limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Every kept chunk by the cosine of its vector, best first, ties by chunk id."""
        state = self._target(target)
        folded = checks.check_near_vector(
            state.spec, vector=vector, dimension=state.dimension, limit=limit, where=where
        )
        return [] if isinstance(folded, Nothing) else _near(state, vector, limit, folded)

    def bm25(
        self, target: Target, *, query: str, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """The kept chunks with a term of the query, best first, ties by chunk id."""
        state = self._target(target)
        folded = checks.check_bm25(state.spec, query=query, limit=limit, where=where)
        return [] if isinstance(folded, Nothing) else _keyword(state, query, limit, folded)

    def fetch(
        self,
        target: Target,
        *,
        where: Filter | None = None,
        limit: int,
        order_by: str | None = None,
        descending: bool = False,
    ) -> list[Chunk]:
        """The kept chunks, in reading order or on a stored field."""
        state = self._target(target)
        folded = checks.check_fetch(
            state.spec, limit=limit, where=where, order_by=order_by, descending=descending
        )
        if isinstance(folded, Nothing):
            return []
        rows = [state.rows[place] for place in state.kept(folded)]
        if order_by is None:
            rows.sort(key=lambda row: reading_order(row.chunk))
        else:
            rows = sort_by_field(
                rows,
                order_by,
                state.spec,
                values=lambda row: row.values,
                chunk_id=lambda row: row.chunk.id,
                descending=descending,
            )
        return [_copied(row.chunk) for row in rows[:limit]]

    def fields(self, target: Target) -> FieldSpec:
        """The reserved fields and those declared or inferred."""
        return self._target(target).spec

    def explain(self, target: Target, *, query: str, chunks: Sequence[Chunk]) -> list[Explanation]:
        """How each chunk's keyword score comes about; all zero for one that is gone."""
        state = self._target(target)
        segment = KeywordSegment.from_arrays(build_arrays(row.counted for row in state.rows))
        groups = default_analyzer().query_groups(query, state.languages, repeats=True)
        places = {row.chunk.id: place for place, row in enumerate(state.rows)}
        statistics = Statistics.of([segment], [None])
        nothing = Explanation(0.0, (), statistics.rows, statistics.average)
        return [
            explain_row([segment], [None], groups, 0, places[chunk.id], statistics=statistics)
            if chunk.id in places
            else nothing
            for chunk in chunks
        ]

    def all_chunks(self) -> list[Chunk]:
        """Every chunk of the reader's collections, in reading order."""
        return [chunk for name in self._collections for chunk in _all(self._state_of(name))]

    def _target(self, target: Target) -> _State:
        checks.check_target(target, self._collections)
        return self._state_of(target)


def _with_document(
    state: _State, subject: str, collection: str, document: EmbeddedDocument
) -> _State:
    checks.check_document(document)
    dimension = int(np.asarray(document.vectors).shape[1])
    checks.check_model(
        collection,
        state.model,
        endpoint=document.endpoint,
        model=document.model,
        dimension=dimension,
        stored_dimension=state.dimension,
    )
    owner = f"document {document.document!r}"
    given = replace(
        document,
        chunks=tuple(document.chunks),
        language=document_language(document),
        metadata=plain_metadata(document.metadata, owner),
        chunk_metadata=tuple(plain_metadata(own, owner) for own in document.chunk_metadata),
        geometry=copy.deepcopy(document.geometry),
    )
    spec = state.spec
    for metadata in (given.metadata, *given.chunk_metadata):
        spec = extend_spec(spec, metadata)
    endpoint, identity = state.model or (document.endpoint, None)
    model = (endpoint, identity or document.model)
    state = replace(state, spec=spec, model=model, dimension=dimension)
    made = _document(subject, collection, given, cosine=state.cosine)
    return replace(
        state,
        documents={**state.documents, document.document: made},
        aliases={old: new for old, new in state.aliases.items() if old != document.document},
    )


def _without(state: _State, document: str) -> _State:
    if document not in state.documents:
        return state
    documents = {name: kept for name, kept in state.documents.items() if name != document}
    return replace(state, documents=documents, aliases=drop_aliases(state.aliases, document))


def _document(subject: str, collection: str, given: EmbeddedDocument, *, cosine: bool) -> _Document:
    analyzer = default_analyzer()
    rows = tuple(
        _Row(
            chunk,
            chunk_values(chunk),
            Counted(*analyzer.document_terms(result.indexed_text, given.language)),
            vector,
        )
        for chunk, result, vector in zip(
            stored_chunks(subject, collection, given),
            given.chunks,
            vector_rows(given.vectors, cosine=cosine),
            strict=True,
        )
    )
    kept = tuple(result.model_copy(deep=True) for result in given.chunks)
    return _Document(replace(given, chunks=kept, vectors=_NO_VECTORS), rows)


def _moved(old: _Document, new: str) -> _Document:
    chunks = (
        replace(row.chunk, document=new, id=chunk_id(new, row.chunk.chunk_index))
        for row in old.rows
    )
    return _Document(replace(old.given, document=new), _with_chunks(old.rows, chunks))


def _described(old: _Document, metadata: dict[str, Any]) -> _Document:
    own = old.given.chunk_metadata or [{}] * len(old.rows)
    chunks = (
        replace(row.chunk, metadata=copy.deepcopy({**metadata, **mine}))
        for row, mine in zip(old.rows, own, strict=True)
    )
    return _Document(replace(old.given, metadata=metadata), _with_chunks(old.rows, chunks))


def _with_chunks(rows: Sequence[_Row], chunks: Iterable[Chunk]) -> tuple[_Row, ...]:
    return tuple(
        replace(row, chunk=chunk, values=chunk_values(chunk))
        for row, chunk in zip(rows, chunks, strict=True)
    )


def _keyword(state: _State, query: str, limit: int, where: Filter | None) -> list[Hit]:
    analyzer = default_analyzer()
    groups = analyzer.query_groups(query, state.languages, repeats=True) if query.strip() else ()
    scores = bm25_scores([row.counted for row in state.rows], groups)
    found = [(scores[place], state.rows[place]) for place in state.kept(where) if place in scores]
    return [
        hybrid.leg_hit(
            "keyword",
            _copied(row.chunk),
            score,
            rank,
            analyzer.highlights(row.chunk.content, groups, row.chunk.language),
        )
        for rank, (score, row) in enumerate(_best(found, limit), start=1)
    ]


def _near(state: _State, vector: Sequence[float], limit: int, where: Filter | None) -> list[Hit]:
    rows = [state.rows[place] for place in state.kept(where)]
    scores = vector_scores((row.vector for row in rows), vector, cosine=state.cosine)
    best = _best(list(zip(scores, rows, strict=True)), limit)
    return [
        hybrid.leg_hit("vector", _copied(row.chunk), score, rank)
        for rank, (score, row) in enumerate(best, start=1)
    ]


def _best(found: list[tuple[float, _Row]], limit: int) -> list[tuple[float, _Row]]:
    return sorted(found, key=lambda pair: (-pair[0], pair[1].chunk.id))[:limit]


def _all(state: _State) -> Iterable[Chunk]:
    return map(_copied, sorted((row.chunk for row in state.rows), key=reading_order))


def _copied(chunk: Chunk) -> Chunk:
    return replace(chunk, metadata=copy.deepcopy(dict(chunk.metadata)))
