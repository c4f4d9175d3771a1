"""The library: one collection of one store, with its embedding model."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from pincite.errors import InvalidArgument, InvalidQueryError, PinciteError
from pincite.library import maintenance
from pincite.library.maintenance import bring_up_to_date, heard
from pincite.library.model import LibraryModel, make_embedder
from pincite.model.documents import Collection, DocumentInfo, Geometry, IndexReport, Progress
from pincite.model.fields import Field, FieldSpec
from pincite.model.filters import DeclaredFilter, Filter
from pincite.model.geometry import BboxRect
from pincite.model.hits import Chunk, Explanation, Hit, Results
from pincite.stores.checks import check_alpha, check_model
from pincite.stores.hybrid import depth_warning
from pincite.text.analysis import default_analyzer

if TYPE_CHECKING:
    from pincite.embedding.embedder import Embedder
    from pincite.indexing.indexer import Chunker
    from pincite.indexing.originals import Originals
    from pincite.indexing.pipeline import Pipeline
    from pincite.stores.findings import Finding
    from pincite.stores.ports import SyncReader, SyncStore
    from pincite.stores.transfer import ExportReport

__all__ = ["Library", "Mode", "Where", "as_filter"]

Mode = Literal["hybrid", "keyword", "vector"]
Where = Filter | str | Mapping[str, Any] | None
"""A filter, or its text or dict form."""
_ALL = 2**31 - 1


class Library:
    """Documents that can be searched; made by ``pincite.open``.

    Safe to use from several threads. Close it, or use it as a context manager.
    """

    def __init__(
        self,
        store: SyncStore,
        *,
        collection: str,
        subject: str,
        embedder: Embedder | str | None = None,
        originals: Originals | None = None,
        keep_originals: bool = False,
        exclude: tuple[Path, ...] = (),
    ) -> None:
        self.collection = collection
        self.subject = subject
        self._store = store
        self._given_embedder = embedder
        self._model: LibraryModel | None = None
        self._originals = originals
        self._keep_originals = keep_originals
        self._exclude = exclude
        self._checked = False
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- writing

    def add(
        self,
        source: str | Path | bytes,
        *,
        filename: str | None = None,
        document: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        metadata_map: Mapping[str, Mapping[str, Any]] | None = None,
        language: str | None = None,
        password: str | None = None,
        backend: str | None = None,
        chunker: Chunker | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> IndexReport:
        """Index a file, a folder, or bytes with ``filename=``; what has not changed is left alone.

        A file's id is its path relative to the folder that was added (or ``document``); bytes
        without ``document`` get the SHA-256 hex of the bytes. In a folder a file that cannot be
        read fails by name in the report; the others are indexed. ``metadata`` replaces what was
        stored with the document; None leaves that as it is. ``metadata_map`` gives each passage
        metadata by file and heading (``{"a.md": {"DEFAULT": {...}, "Part > Sub": {...}}}``); an
        edit of it is written without embedding anything. Documents whose file is gone stay, and
        the report's warnings name them.

        Raises ``InvalidArgument`` for a source that is not there or metadata that does not fit
        the fields, ``CollectionMismatch`` before any write when the model is another one, and,
        for bytes, the error of the parser.
        """
        from pincite.library.adding import Adding, source_options

        options = source_options(
            title=title,
            language=language,
            password=password,
            metadata=metadata,
            metadata_map=metadata_map,
        )
        pipeline = self._pipeline(backend, chunker)
        with heard(self._store, progress):
            bring_up_to_date(self._store)
            adding = Adding(
                self._store,
                self.subject,
                self.collection,
                self.fields(),
                pipeline,
                options,
                self._originals,
                self._keep_originals,
                self._exclude,
            )
            if isinstance(source, bytes | bytearray | memoryview):
                return adding.data(bytes(source), filename, document)
            if not isinstance(source, str | Path) or not str(source):
                raise InvalidArgument(
                    f"source is {source!r}; pass the path of a file or folder, or bytes with "
                    "filename=."
                )
            if filename is not None:
                raise InvalidArgument("filename= goes with bytes; a path has its own name.")
            return adding.path(Path(source), document, progress)

    def remove(self, document: str) -> int:
        """Remove a document from rows and both legs; how many chunks went (0: not there)."""
        return self._open().delete(self.subject, self.collection, [document])

    def declare(self, fields: Mapping[str, Field]) -> None:
        """Declare the types of metadata fields before values come."""
        self._open().declare(self.subject, self.collection, fields)

    # -- looking after the store

    def doctor(
        self, repair: bool = False, *, progress: Callable[[Progress], None] | None = None
    ) -> list[Finding]:
        """What is wrong with the whole store: checksums, rows against both legs.

        ``repair`` builds anew what is derived from the stored texts, lost vectors included where
        the collection's model is at hand; a ``Finding`` that is not ``repaired`` says what to do.
        Raises ``Unconfigured`` for a store that has no such checks.
        """
        return maintenance.examine(
            self._open(), repair=repair, given=self._given_embedder, progress=progress
        )

    def compact(self, *, progress: Callable[[Progress], None] | None = None) -> None:
        """Rewrite the whole store without what was deleted, and give the space back."""
        maintenance.compact(self._open(), progress)

    def backup(
        self, path: str | Path, *, progress: Callable[[Progress], None] | None = None
    ) -> None:
        """Copy the whole store to a folder that is absent or empty, while others use it."""
        maintenance.back_up(self._open(), path, progress)

    def export(
        self, path: str | Path, *, progress: Callable[[Progress], None] | None = None
    ) -> ExportReport:
        """Write the collection, vectors included, to a file that is not there yet.

        JSON Lines, or Parquet for a name that ends in ``.parquet`` (extra ``[parquet]``).
        """
        from pincite.stores.transfer import export_collection

        return export_collection(self._open(), self.subject, self.collection, Path(path), progress)

    def import_from(
        self, path: str | Path, *, progress: Callable[[Progress], None] | None = None
    ) -> IndexReport:
        """Take in the documents of an exported file, each in place of what it had.

        The file is checked to its end before the first write: ``InvalidArgument`` names the line
        where it is torn, ``CollectionMismatch`` both models when they differ.
        """
        from pincite.stores.transfer import import_collection

        with heard(self._open(), progress):
            return import_collection(
                self._store, self.subject, self.collection, Path(path), progress
            )

    # -- reading

    def search(
        self,
        query: str,
        *,
        k: int = 10,
        offset: int = 0,
        mode: Mode = "hybrid",
        where: Where = None,
        alpha: float | None = None,
        explain: bool = False,
        partial: bool = False,
    ) -> Results:
        """The passages that answer ``query``, best first.

        ``where`` (a filter, its text or its dict form) restricts candidates before scoring.
        ``alpha`` weighs the vector side of hybrid (None: the collection's default). ``explain``
        fills ``Results.explanations``: how each hit's keyword score came about. ``partial`` turns
        a failing leg into a warning. ``Results.warnings`` says so when the collection is empty.

        Raises ``InvalidQueryError`` for a blank query, ``k < 1``, ``offset < 0``, ``alpha``
        outside [0, 1] or a filter that the fields cannot serve.
        """
        started = time.perf_counter()
        _check_search(query, k, offset, mode)
        check_alpha(alpha)
        warnings: list[str] = []
        hits = self._hits(query, k, offset, mode, as_filter(where), alpha, partial, warnings)
        if mode == "hybrid" and (deep := depth_warning(k, offset)):
            warnings.append(deep)
        if mode != "vector" and not _has_words(query, hits):
            warnings.append("The query has no words to look up; the keyword side found nothing.")
        if not hits:
            warnings += self._emptiness()
        took = (time.perf_counter() - started) * 1000
        return Results(hits, warnings, took, self._explain(query, hits) if explain else {})

    def documents(self, where: Where = None) -> list[DocumentInfo]:
        """The documents (with ``where``: those with a chunk that matches), ordered by id."""
        return self._open().documents(self.subject, self.collection, as_filter(where))

    def collections(self) -> list[Collection]:
        """The collections of this subject in the store, in name order."""
        return self._open().list(self.subject)

    def get(self, document: str) -> DocumentInfo:
        """One document; raises ``InvalidQueryError`` when it is not there."""
        for info in self.documents(DeclaredFilter("document", "eq", document)):
            return info
        raise self._missing(document)

    def chunks(self, document: str) -> list[Chunk]:
        """The chunks of a document in index order; ``InvalidQueryError`` when it is not there."""
        where = DeclaredFilter("document", "eq", document)
        found = self._reader().fetch(self.collection, where=where, limit=_ALL)
        if not found:
            raise self._missing(document)
        return sorted(found, key=lambda chunk: chunk.chunk_index)

    def markdown(self, document: str) -> str:
        """The Markdown that the document's offsets point into."""
        return self._geometry(document).markdown

    def locate(self, document: str, start: int, end: int) -> list[BboxRect]:
        """The rectangles of the words in a span of the document's Markdown, line by line.

        Points, top-left origin, 1-based pages; empty where the format has no geometry.
        """
        from pincite.pages.locate import locate

        return locate(self._geometry(document), start, end)

    def fields(self) -> FieldSpec:
        """The fields that a filter may name, with their types."""
        return self._reader().fields(self.collection)

    def stats(self) -> dict[str, Any]:
        """Counts, sizes, the model and the kernels in use."""
        stored = self._open().model(self.subject, self.collection)
        stats = self._store.stats(self.subject, self.collection)
        return {**stats, "model": stored[0] if stored else None}

    def close(self) -> None:
        """Release the store and the model; calls after it are refused."""
        self._closed = True
        if self._model is not None:
            self._model.close()
        self._store.close()

    # -- how

    def _open(self) -> SyncStore:
        if self._closed:
            raise InvalidArgument("This library is closed; open it again with pincite.open.")
        return self._store

    def _reader(self) -> SyncReader:
        return self._open().reader(self.subject, [self.collection])

    def _geometry(self, document: str) -> Geometry:
        geometry = self._open().geometry(self.subject, self.collection, document)
        if geometry is None:
            raise self._missing(document)
        return geometry

    def _missing(self, document: str) -> InvalidQueryError:
        near = get_close_matches(document, [info.document for info in self.documents()], n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return InvalidQueryError(
            f"No document {document!r} in collection {self.collection!r}; {hint}"
            "`pincite list` shows what is there.",
            field="document",
        )

    def _embedding(self) -> LibraryModel:
        """The model, checked once against the collection's before it is used."""
        stored = self._open().model(self.subject, self.collection)
        if self._model is None:
            endpoint = stored[0] if stored else None
            self._model = LibraryModel(make_embedder(self._given_embedder, endpoint))
        if stored is not None and not self._checked:
            check_model(
                self.collection, stored, endpoint=self._model.endpoint, model=self._model.identity
            )
            self._checked = True
        return self._model

    def _pipeline(self, backend: str | None, chunker: Chunker | None) -> Pipeline:
        from pincite.indexing.pipeline import Pipeline
        from pincite.parsing.backends import backend_named

        backend_named(backend or "pdfium")  # an unknown name is refused before any work
        model = self._embedding()
        return Pipeline(
            chunker=chunker or model.chunker(),
            embed=model.texts,
            model=model.identity,
            endpoint=model.endpoint,
            backend=backend or "pdfium",
        )

    def _emptiness(self) -> list[str]:
        """What to say of a collection without documents, as one that was never written has none."""
        names = [collection.name for collection in self.collections()]
        if self.collection in names:
            return []
        near = get_close_matches(self.collection, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        known = f"; this store has {', '.join(map(repr, names))}" if names else ""
        fill = "`pincite index` or `Library.add` fills it."
        return [f"Collection {self.collection!r} is empty{known}.{hint} {fill}"]

    def _explain(self, query: str, hits: list[Hit]) -> dict[str, Explanation]:
        chunks = [hit.chunk for hit in hits]
        found = self._reader().explain(self.collection, query=query, chunks=chunks)
        return {chunk.id: how for chunk, how in zip(chunks, found, strict=True)}

    def _hits(
        self,
        query: str,
        k: int,
        offset: int,
        mode: Mode,
        where: Filter | None,
        alpha: float | None,
        partial: bool,
        warnings: list[str],
    ) -> list[Hit]:
        reader, name = self._reader(), self.collection
        if mode == "keyword":
            return reader.bm25(name, query=query, limit=k + offset, where=where)[offset:]
        try:
            vector = [float(x) for x in self._embedding().query(query)]
        except (PinciteError, OSError) as error:
            if mode == "vector" or not partial:
                raise
            warnings.append(f"The vector side failed ({error}); these are keyword results.")
            return reader.bm25(name, query=query, limit=k + offset, where=where)[offset:]
        if mode == "vector":
            return reader.near_vector(name, vector=vector, limit=k + offset, where=where)[offset:]
        return reader.hybrid(
            name, query=query, vector=vector, limit=k, where=where, alpha=alpha, offset=offset
        )


def as_filter(where: Where) -> Filter | None:
    """The filter of any of the three ways to write one."""
    if where is None:
        return None
    if isinstance(where, str):
        from pincite.model.where import parse_where

        return parse_where(where)
    if isinstance(where, Mapping):
        from pincite.model.where import filter_from_dict

        return filter_from_dict(where)
    return where


def _has_words(query: str, hits: list[Hit]) -> bool:
    """Whether there was something to look up, which is plain where keywords found a hit."""
    return any("keyword" in hit.legs for hit in hits) or bool(
        default_analyzer().query_groups(query)
    )


def _check_search(query: str, k: int, offset: int, mode: str) -> None:
    if not isinstance(query, str) or not query.strip():
        raise InvalidQueryError("The query is empty; say what to look for.")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidQueryError(f"k is {k!r}; it must be 1 or more.")
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise InvalidQueryError(f"offset is {offset!r}; it must be 0 or more.")
    if not isinstance(mode, str) or mode not in {"hybrid", "keyword", "vector"}:
        raise InvalidQueryError(f"mode is {mode!r}; it is hybrid, keyword or vector.")
