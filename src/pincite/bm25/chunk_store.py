"""A BM25 store: a folder of segments and chunk records, written whole and then only searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from pincite.bm25.index import BM25Index
from pincite.bm25.records import decode_chunk, encode_chunk
from pincite.errors import InvalidArgument
from pincite.model.hits import Chunk

__all__ = ["ChunkStore", "write_chunk_store"]

_BATCH: Final = 10_000


def write_chunk_store(path: str | Path, chunks: Sequence[Chunk], texts: Sequence[str]) -> None:
    """Write chunks to a folder, found by ``texts``; what the folder held before is replaced.

    The texts are analysed as the stores do it, each in its chunk's language; where a chunk names
    none, its words are not stemmed. After a crash at any instant the folder holds the old chunks
    or the new ones.

    Raises ``InvalidArgument`` for two chunks of one id, or metadata that cannot be kept.
    """
    if len(chunks) != len(texts):
        raise InvalidArgument(f"{len(texts)} texts for {len(chunks)} chunks; pass one for each.")
    by_id = {chunk.id: chunk for chunk in chunks}
    if len(by_id) != len(chunks):
        raise InvalidArgument("Two chunks have one id; give each an id of its own.")
    index = BM25Index()
    for at in range(0, len(chunks), _BATCH):
        part = chunks[at : at + _BATCH]
        index.add(
            [chunk.id for chunk in part],
            texts[at : at + _BATCH],
            language=[chunk.language for chunk in part],
        )
    index.save(path, record_of=lambda name: encode_chunk(by_id[name]))


class ChunkStore:
    """The chunks of a folder, found by keyword. Safe to share between threads."""

    def __init__(self, index: BM25Index) -> None:
        self._index = index
        self._records = index.records()

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a folder.

        Raises ``StoreNotFound``, ``StoreCorrupt`` for damage, and ``InvalidArgument`` when another
        analysis wrote it.
        """
        return cls(BM25Index.open(path))

    def __len__(self) -> int:
        return len(self._index)

    def search(self, query: str, k: int) -> list[tuple[Chunk, float]]:
        """The ``k`` best chunks with their scores, best first, ties by id; only such as have a
        word of the query. Raises ``InvalidQueryError`` for k below 1."""
        ids, scores = self._index.search(query, k)
        return [
            (decode_chunk(self._records[name], name=name), score)
            for name, score in zip(ids, scores, strict=True)
        ]
