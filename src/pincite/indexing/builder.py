"""Stores from a folder of documents: converted once, then written to a store and to BM25."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pincite.embedding.blocking import BlockingEmbedder, blocking_embedder
from pincite.errors import InvalidArgument, PinciteError, UnsupportedFormat
from pincite.indexing.cache import CACHE_FOLDER, CachedFile, ChunkCache
from pincite.indexing.converting import Converter, local_tokenizer
from pincite.indexing.corpus import chunks_of, document_of, template_of, texts_of
from pincite.indexing.metadata_map import MetadataMap, load_metadata_map
from pincite.indexing.pipeline import base_fingerprint
from pincite.indexing.roots import Roots, walk
from pincite.model.documents import DocumentInfo, EmbeddedDocument, Failure, ModelIdentity
from pincite.model.hits import Chunk
from pincite.stores.checks import check_model
from pincite.stores.uri import open_sync_store, parse_uri, uri_subject

if TYPE_CHECKING:
    from pincite.indexing.bibliographic import DoiLookup
    from pincite.stores.ports import SyncStore

__all__ = ["TEMPLATE_NAME", "FileResult", "StoresBuilder"]

FileResult = tuple[str, list[Chunk], Path]
"""What ``chunk_all`` returns for a file: hash of its bytes, its chunks, its path."""

TEMPLATE_NAME = "metadata_map.template.json"
"""The file that ``write_heading_template`` writes into the source folder."""


class StoresBuilder:
    """Builds stores from a directory of source documents.

    Files are parsed and cut into passages of at most ``max_tokens`` tokens (``merge_peers=False``:
    block by block), which are embedded, ``embed_batch_size`` in a call, and written to a store;
    optionally also to a BM25 store. ``embedding_model`` is an endpoint name,
    ``ollama:<model>[:tag]``, ``custom:<model>:<url>`` or ``huggingface:<model>:local``; anything
    else is ``InvalidArgument``. ``tokenizer_model`` counts tokens if it is in the local cache,
    else the embedding model's own tokenizer does. ``do_ocr`` warns of pages that need OCR.

    ``doi_lookup`` (None) may be set to complete extracted metadata, such as ``CrossrefLookup()``.
    ``failed`` and ``skipped`` list the files that the last ``chunk_all`` left out, with reasons.
    """

    DEFAULT_EMBED_BATCH_SIZE: ClassVar[int] = 256
    """Number of chunks embedded in one call."""

    def __init__(
        self,
        embedding_model: str,
        logger: Logger,
        max_tokens: int = 450,
        merge_peers: bool = True,
        tokenizer_model: str = "BAAI/bge-m3",
        do_ocr: bool = True,
        embed_batch_size: int = DEFAULT_EMBED_BATCH_SIZE,
    ) -> None:
        if embed_batch_size < 1:
            raise InvalidArgument(f"embed_batch_size is {embed_batch_size}; pass 1 or more.")
        self.embedder: BlockingEmbedder = blocking_embedder(embedding_model)
        self.logger = logger
        self.max_tokens = max_tokens
        self.merge_peers = merge_peers
        self.tokenizer_model = tokenizer_model
        self.do_ocr = do_ocr
        self.embed_batch_size = embed_batch_size
        self.doi_lookup: DoiLookup | None = None
        self.failed: list[Failure] = []
        self.skipped: list[Failure] = []
        self._entries: dict[tuple[str, str], CachedFile] = {}

    def build(
        self,
        source_dir: str,
        store_uri: str,
        collection_name: str,
        force: bool = False,
        metadata_map_path: str | None = None,
        bm25_path: str | None = None,
    ) -> None:
        """``chunk_all`` and ``store_all``: chunk the documents of a folder and write them.

        Nothing is written when the metadata map cannot be used (``InvalidArgument``).
        """
        metadata_map = load_metadata_map(metadata_map_path) if metadata_map_path else None
        scheme, place = parse_uri(store_uri)
        own = [bm25_path, place if scheme in ("local", "chroma", "qdrant", "milvus") else None]
        exclude = [Path(path) for path in own if path and "://" not in path]
        results, _ = self._chunk_all(Path(source_dir).resolve(), metadata_map, force, exclude)
        self.store_all(results, store_uri, collection_name, force, bm25_path)

    def chunk_all(
        self,
        source_path: Path,
        metadata_map: dict[str, dict[str, Any]] | None = None,
        force: bool = False,
    ) -> tuple[list[FileResult], dict[str, dict[str, Any]]]:
        """Convert and chunk all files of a folder, and give their chunks the map's metadata.

        A file that is in the cache is not converted again unless ``force``. A file that cannot be
        read is logged and listed in ``failed``; the others go on.

        Returns ``(results, file_headings)``: a ``(file_hash, docs, path)`` for each file with
        text, and by file, named by its POSIX path relative to the folder, the extracted metadata
        under "DEFAULT" and an empty place for each chain of headings. Raises ``InvalidArgument``
        for what is no folder, or a map of the wrong shape.
        """
        return self._chunk_all(source_path, metadata_map, force, ())

    def store_all(
        self,
        results: Sequence[FileResult],
        store_uri: str,
        collection_name: str,
        force: bool = False,
        bm25_path: str | None = None,
    ) -> None:
        """Write chunked documents to a store, and with ``bm25_path`` to a BM25 store too.

        A file whose content is stored already is not embedded again unless ``force``: it is left
        alone, or where only its metadata, title or name differ, written with its stored vectors.
        Another model than the collection's is refused before anything is written. The subject is
        the URI's ``?subject=``, or "local".
        """
        subject = uri_subject(store_uri)
        documents = [self._document(result) for result in results]
        store = open_sync_store(store_uri, create=True)
        try:
            store.setup()
            _Writing(self, store, subject, collection_name).write(documents, force=force)
        finally:
            store.close()
        if bm25_path is not None:
            self.write_bm25_store(results, bm25_path)

    def write_bm25_store(self, results: Sequence[FileResult], bm25_path: str) -> None:
        """Write the chunks of all files to a BM25 store, a folder that ``BM25RetrieverManager``
        opens. It holds all it needs: the cache and the files may go.

        Raises ``InvalidArgument`` when two results are of one file.
        """
        from pincite.bm25.chunk_store import write_chunk_store

        pairs = [pair for r in results for pair in texts_of(r[1], self._document(r))]
        write_chunk_store(bm25_path, [chunk for chunk, _ in pairs], [text for _, text in pairs])
        self.logger.info("Wrote %d chunks to the BM25 store %s.", len(pairs), bm25_path)

    def write_heading_template(
        self, file_headings: Mapping[str, Mapping[str, Any]], source_dir: Path
    ) -> None:
        """Write ``metadata_map.template.json`` into the source folder, to be filled in.

        Without headings nothing is written, and a template that is there stays as it is.
        """
        if not file_headings:
            self.logger.warning("No file was chunked; no template is written.")
            return
        path = Path(source_dir) / TEMPLATE_NAME
        half = path.with_name(f".{TEMPLATE_NAME}.{os.getpid()}.part")
        half.write_text(json.dumps(file_headings, indent=2, ensure_ascii=False) + "\n", "utf-8")
        half.replace(path)

    def close(self) -> None:
        """Close the embedding model's connections."""
        self.embedder.close()

    # -- how

    @cached_property
    def _converter(self) -> Converter:
        from pincite.chunking.adaptive import AdaptiveChunker

        embedder = self.embedder.embedder
        tokenizer = local_tokenizer(self.tokenizer_model, self.logger) or embedder.tokenizer
        limit = min(self.max_tokens, embedder.max_tokens or self.max_tokens)
        chunker = AdaptiveChunker(limit, tokenizer=tokenizer, merge_peers=self.merge_peers)
        return Converter(chunker, embedder.model_name, self.embedder.endpoint, self.doi_lookup)

    def _chunk_all(
        self,
        source: Path,
        metadata_map: Mapping[str, Mapping[str, Any]] | None,
        force: bool,
        exclude: Sequence[Path],
    ) -> tuple[list[FileResult], dict[str, dict[str, Any]]]:
        if not source.is_dir():
            raise InvalidArgument(f"{source} is no folder; pass the folder of the documents.")
        chosen = None if metadata_map is None else MetadataMap(metadata_map)
        cache = ChunkCache(source / CACHE_FOLDER, self.logger)
        self.failed, self.skipped = [], []
        results: list[FileResult] = []
        headings: dict[str, dict[str, Any]] = {}
        scanned: dict[str, Sequence[int]] = {}
        for path, name in self._files(source, exclude):
            found = self._convert(path, cache, force)
            if found is None:
                continue
            file_hash, entry = found
            if entry.pages_needing_ocr:
                scanned[name] = entry.pages_needing_ocr
            if not entry.chunks:
                self.skipped.append(Failure(str(path), "no text"))
                continue
            rules = None if chosen is None else chosen.rules(name)
            docs = chunks_of(entry, document=name, path=path, file_hash=file_hash, rules=rules)
            self._entries[name, file_hash] = entry
            results.append((file_hash, docs, path))
            headings[name] = template_of(entry)
        self._warn_of_scans(scanned)
        return results, headings

    def _files(self, source: Path, exclude: Sequence[Path]) -> list[tuple[Path, str]]:
        roots = Roots(())
        files = []
        for found in walk(source, exclude=exclude):
            if found.reason:
                self.skipped.append(Failure(str(found.path), found.reason))
            else:
                files.append((found.path, roots.document_id(found.path, source)))
        return files

    def _convert(self, path: Path, cache: ChunkCache, force: bool) -> tuple[str, CachedFile] | None:
        try:
            return self._converter.convert(path, cache, force=force)
        except UnsupportedFormat:
            self.skipped.append(Failure(str(path), "no parser reads this kind of file"))
        except (PinciteError, OSError) as error:
            self._fail(path, str(error))
        except Exception as error:  # noqa: BLE001 - one hostile file costs one failure, by name
            self._fail(path, f"The parser failed ({type(error).__name__}: {error}).")
        return None

    def _fail(self, path: Path, reason: str) -> None:
        self.failed.append(Failure(str(path), reason))
        self.logger.error("%s is left out: %s", path, reason)

    def _warn_of_scans(self, scanned: Mapping[str, Sequence[int]]) -> None:
        if not self.do_ocr or not scanned:
            return
        pages = "; ".join(f"{name} {', '.join(map(str, p))}" for name, p in scanned.items())
        self.logger.warning(
            "These pages are pictures of text and were not read, as no OCR is installed: %s", pages
        )

    def _document(self, result: FileResult) -> EmbeddedDocument:
        file_hash, docs, path = result
        name = docs[0].document if docs and isinstance(docs[0], Chunk) else path.name
        return document_of(
            file_hash,
            docs,
            path,
            endpoint=self.embedder.endpoint,
            fingerprint=self._converter.fingerprint,
            entry=self._entries.get((name, file_hash)),
        )


class _Writing:
    """One ``store_all`` into one collection."""

    def __init__(
        self, builder: StoresBuilder, store: SyncStore, subject: str, collection: str
    ) -> None:
        self._embedder = builder.embedder
        self._batch = builder.embed_batch_size
        self._logger = builder.logger
        self._store = store
        self._place = (subject, collection)
        self._stored = {info.document: info for info in store.documents(*self._place)}
        self._model = store.model(*self._place)

    def write(self, documents: Sequence[EmbeddedDocument], *, force: bool) -> None:
        names = {document.document for document in documents}
        new: list[EmbeddedDocument] = []
        kept = 0
        for document in documents:
            info = None if force else self._same_content(document, names)
            if info is None:
                new.append(document)
            elif _differs(info, document):
                self._rewrite(document)
            else:
                kept += 1
        self._logger.info("%d files are stored already, %d are new.", kept, len(new))
        self._embed(new)

    def _same_content(self, document: EmbeddedDocument, names: set[str]) -> DocumentInfo | None:
        """The stored document with these vectors; one whose file has moved gets the new name."""
        info = self._stored.get(document.document)
        if info is None:
            info = self._moved(document, names)
            if info is not None:
                self._store.rename(*self._place, info.document, document.document)
        return info if info is not None and _same_vectors(info, document) else None

    def _moved(self, document: EmbeddedDocument, names: set[str]) -> DocumentInfo | None:
        for info in self._stored.values():
            gone = info.document not in names and not os.path.lexists(info.source)
            if gone and _same_vectors(info, document):
                del self._stored[info.document]
                return info
        return None

    def _rewrite(self, document: EmbeddedDocument) -> None:
        """Write what is known of a document anew, with the vectors it has."""
        vectors = self._store.vectors(*self._place, document.document)
        if len(vectors) != len(document.chunks):
            self._embed([document])
            return
        endpoint, model = self._checked_model()
        made = replace(document, vectors=vectors, endpoint=endpoint, model=model)
        self._store.commit(*self._place, [made])

    def _embed(self, documents: Sequence[EmbeddedDocument]) -> None:
        """Embed and commit documents in groups of about a batch of chunks."""
        if not documents:
            return
        model = self._embedder.identity
        check_model(self._place[1], self._model, endpoint=self._embedder.endpoint, model=model)
        total, done = sum(len(d.chunks) for d in documents), 0
        for group in _groups(documents, self._batch):
            rows = self._vectors([c.indexed_text for d in group for c in d.chunks])
            made, at = [], 0
            for document in group:
                vectors = rows[at : at + len(document.chunks)]
                made.append(replace(document, vectors=vectors, model=model))
                at += len(document.chunks)
            self._store.commit(*self._place, made)
            done += at
            self._logger.info("Embedded and wrote %d of %d chunks.", done, total)

    def _vectors(self, texts: list[str]) -> Any:
        parts = [
            self._embedder.texts(texts[at : at + self._batch])
            for at in range(0, len(texts), self._batch)
        ]
        return np.concatenate(parts)

    def _checked_model(self) -> tuple[str, ModelIdentity | None]:
        """The collection's model, which is asked for nothing when its name is the builder's."""
        if self._model is not None and self._model[0] == self._embedder.endpoint:
            return self._model
        endpoint, model = self._embedder.endpoint, self._embedder.identity
        check_model(self._place[1], self._model, endpoint=endpoint, model=model)
        return endpoint, model


def _same_vectors(info: DocumentInfo, document: EmbeddedDocument) -> bool:
    wrote, reads = base_fingerprint(info.fingerprint), base_fingerprint(document.fingerprint)
    return (info.content_hash, wrote) == (document.content_hash, reads)


def _differs(info: DocumentInfo, document: EmbeddedDocument) -> bool:
    told = (info.document, info.title, info.source, info.fingerprint, dict(info.metadata))
    return told != (
        document.document,
        document.title,
        document.source,
        document.fingerprint,
        dict(document.metadata),
    )


def _groups(documents: Sequence[EmbeddedDocument], size: int) -> list[list[EmbeddedDocument]]:
    """Whole documents in order, each group as soon as it has ``size`` chunks."""
    groups: list[list[EmbeddedDocument]] = [[]]
    chunks = 0
    for document in documents:
        if chunks >= size:
            groups.append([])
            chunks = 0
        groups[-1].append(document)
        chunks += len(document.chunks)
    return groups
