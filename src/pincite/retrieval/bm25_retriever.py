"""BM25 lexical retrieval.

Exact Okapi BM25 over an inverted index. It stands beside vector search because the two fail in
opposite ways: embeddings miss exact identifiers (error codes, part numbers, function names), which
BM25 finds, and BM25 misses paraphrases. Hybrid retrieval combines both.

    score(q, d) = sum over t in q of  IDF(t) f(t,d) (k1 + 1) / (f(t,d) + k1 (1 - b + b |d|/avgdl))

>>> from pincite.model.hits import Chunk
>>> r = BM25Retriever()
>>> r.index([
...     Chunk(content="error E1042 occurs when the socket closes"),
...     Chunk(content="the network layer handles reconnection"),
... ])
2
>>> r.retrieve("E1042").hits[0].chunk.content.startswith("error E1042")
True
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

from pincite.bm25.index import Allowed, BM25Index
from pincite.errors import InvalidArgument, InvalidQueryError
from pincite.model.algebra import Filter
from pincite.model.fields import FieldSpec, chunk_values, extend_spec, full_spec
from pincite.model.filters import compile_filter, simplify, validate
from pincite.model.hits import Chunk, Hit, LegScore
from pincite.retrieval.base import (
    MetadataFilter,
    Reranker,
    Retriever,
    ScoredChunk,
    as_filter,
)
from pincite.retrieval.records import decode_chunk, encode_chunk
from pincite.retrieval.words import WordAnalysis
from pincite.text.stopwords import STOPWORDS

__all__ = ["STOPWORDS", "BM25Retriever", "ChunkSource", "MetadataFilter", "ScoredChunk"]

_FILTERS_KEPT: Final = 16


class ChunkSource(Protocol):
    """What a retriever can be seeded from: a store, a reader, or any object like them."""

    def all_chunks(self) -> Iterable[Chunk]: ...


class BM25Retriever(Retriever):
    """Keyword retrieval over chunks in memory, exact and always current.

    ``top_k`` results by default; ``k1`` is the saturation of term frequency, ``b`` in [0, 1] the
    length normalisation, ``method`` "okapi", "lucene" or "bm25+": the three can be set at any
    time. ``remove_stopwords`` drops ``STOPWORDS`` from texts and queries, ``min_token_length``
    shorter tokens; ``language`` stems and takes that language's stop words. ``vectorstore`` seeds
    the index with its ``all_chunks()``.

    Searches take no lock and run in parallel; one thread changes the index at a time.
    """

    default_name = "bm25"

    def __init__(
        self,
        *,
        top_k: int = 5,
        k1: float = 1.5,
        b: float = 0.75,
        remove_stopwords: bool = True,
        min_token_length: int = 1,
        vectorstore: ChunkSource | None = None,
        language: str | None = None,
        method: str = "okapi",
        score_threshold: float | None = None,
        rerank: Reranker | None = None,
        fetch_k: int | None = None,
        name: str = "bm25",
    ) -> None:
        super().__init__(top_k, score_threshold, rerank, fetch_k, name)
        self._analysis = WordAnalysis(
            language=language or "",
            remove_stopwords=remove_stopwords,
            min_token_length=min_token_length,
        )
        self._remove_stopwords = remove_stopwords
        self._index = BM25Index(k1=k1, b=b, method=method, analysis=self._analysis)
        self._lock = threading.RLock()
        self._chunks: dict[str, Chunk] = {}
        self._selection = _Selection(self._chunks)
        if vectorstore is not None:
            self.index(_seed(vectorstore))

    @property
    def k1(self) -> float:
        return self._index.k1

    @k1.setter
    def k1(self, value: float) -> None:
        self._index.k1 = value

    @property
    def b(self) -> float:
        return self._index.b

    @b.setter
    def b(self, value: float) -> None:
        self._index.b = value

    @property
    def method(self) -> str:
        return self._index.method

    @method.setter
    def method(self, value: str) -> None:
        self._index.method = value

    @property
    def remove_stopwords(self) -> bool:
        return self._remove_stopwords

    @property
    def min_token_length(self) -> int:
        return self._analysis.min_token_length

    @property
    def language(self) -> str | None:
        """The language that stems; None when words stay as they are."""
        return self._analysis.language or None

    @property
    def chunks(self) -> Mapping[str, Chunk]:
        """Indexed chunks by id, read-only."""
        return MappingProxyType(self._chunks)

    def index(self, chunks: Sequence[Chunk]) -> int:
        """Add chunks and return how many; an id that is there is replaced."""
        given = list(chunks)
        if not given:
            return 0
        ids = [chunk.id for chunk in given]
        with self._lock:
            self._chunks.update(zip(ids, given, strict=True))
            self._index.add(ids, [chunk.content for chunk in given])
            self._selection = _Selection(self._chunks)
        return len(given)

    async def aindex(self, chunks: Sequence[Chunk]) -> int:
        """``index`` in a thread."""
        import anyio

        return await anyio.to_thread.run_sync(self.index, chunks)

    def remove(self, chunk_ids: Sequence[str]) -> int:
        """Remove chunks and return how many were there."""
        with self._lock:
            removed = self._index.remove(chunk_ids)
            for chunk_id in chunk_ids:
                self._chunks.pop(chunk_id, None)
            self._selection = _Selection(self._chunks)
        return removed

    def clear(self) -> None:
        """Empty the index."""
        with self._lock:
            self._index.clear()
            self._chunks = {}
            self._selection = _Selection(self._chunks)

    def stats(self) -> dict[str, Any]:
        """``documents``, ``vocabulary``, ``total_tokens`` and ``average_length``."""
        found = self._index.stats()
        names = ("documents", "vocabulary", "total_tokens", "average_length")
        return {name: found[name] for name in names}

    def retrieve_chunks(
        self, query: str, k: int, *, filters: MetadataFilter | None = None
    ) -> list[Hit]:
        """The ``k`` best chunks, best first; those without a word of the query are left out.

        ``filters`` restrict the candidates before they are ranked. Raises ``InvalidQueryError``
        for k below 1 or a filter that does not fit the chunks' metadata.
        """
        if k < 1:
            raise InvalidQueryError(f"k is {k}; ask for at least 1 result.", field="k")
        chunks, selection = self._chunks, self._selection
        allow = selection.allowed(as_filter(filters))
        ids, scores = self._index.search(query, k, allow)
        # A chunk that was removed a moment ago is found no more.
        pairs = [(chunks[i], s) for i, s in zip(ids, scores, strict=True) if i in chunks]
        return [
            Hit(
                chunk,
                score,
                rank,
                legs={"keyword": LegScore(score, rank, contribution=score)},
                retriever=self.name,
            )
            for rank, (chunk, score) in enumerate(pairs, start=1)
        ]

    def save(self, path: str | Path) -> None:
        """Make index and chunks durable in a folder; see ``BM25Index.save``."""
        with self._lock:
            self._index.save(path, record_of=lambda name: encode_chunk(self._chunks[name]))

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        top_k: int = 5,
        remove_stopwords: bool = True,
        min_token_length: int = 1,
        language: str | None = None,
        score_threshold: float | None = None,
        rerank: Reranker | None = None,
        fetch_k: int | None = None,
        name: str = "bm25",
    ) -> Self:
        """Open what ``save`` wrote; ``k1``, ``b`` and ``method`` are those that were saved.

        Raises ``InvalidArgument`` when the options of the analysis are not those of the index.
        """
        made = cls(
            top_k=top_k,
            remove_stopwords=remove_stopwords,
            min_token_length=min_token_length,
            language=language,
            score_threshold=score_threshold,
            rerank=rerank,
            fetch_k=fetch_k,
            name=name,
        )
        made._index = BM25Index.open(path, analysis=made._analysis)
        records = made._index.records()
        made._chunks = {key: decode_chunk(record, name=key) for key, record in records.items()}
        made._selection = _Selection(made._chunks)
        return made


class _Selection:
    """Which of some chunks a filter keeps; the last filters are remembered."""

    def __init__(self, chunks: Mapping[str, Chunk]) -> None:
        self._chunks = chunks
        self._known: dict[str, Allowed] = {}
        self._read: tuple[FieldSpec, dict[str, dict[str, Any]]] | None = None

    def allowed(self, where: Filter | None) -> Allowed | None:
        """None when every chunk passes."""
        if where is None:
            return None
        spec, values = self._values()
        validate(where, spec)
        simple = simplify(where)
        if simple is None:
            return None
        key = repr(simple)
        known = self._known.get(key)
        if known is None:
            passes = compile_filter(simple, spec)
            known = Allowed(name for name, value in values.items() if passes(value))
            if len(self._known) >= _FILTERS_KEPT:
                self._known.clear()
            self._known[key] = known
        return known

    def _values(self) -> tuple[FieldSpec, dict[str, dict[str, Any]]]:
        """The fields of the chunks' metadata, and each chunk's values."""
        if self._read is None:
            chunks = list(self._chunks.values())
            spec = full_spec({})
            for chunk in chunks:
                spec = extend_spec(spec, chunk.metadata)
            self._read = spec, {chunk.id: chunk_values(chunk) for chunk in chunks}
        return self._read


def _seed(source: ChunkSource) -> list[Chunk]:
    read = getattr(source, "all_chunks", None)
    if not callable(read):
        raise InvalidArgument(
            f"A {type(source).__name__} has no all_chunks(); pass a store, a reader, or nothing."
        )
    found: Any = None if inspect.iscoroutinefunction(read) else read()
    if found is None or inspect.isawaitable(found) or hasattr(found, "__aiter__"):
        if inspect.iscoroutine(found):
            found.close()
        raise InvalidArgument(
            f"The all_chunks() of a {type(source).__name__} is async; build the retriever without "
            "vectorstore= and then `await retriever.aindex(await reader.all_chunks())`."
        )
    return list(found)
