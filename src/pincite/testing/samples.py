"""Documents for the contract: short texts with vectors of hashed words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

import anyio
import numpy as np
import pytest

from pincite.errors import InvalidQueryError
from pincite.model.chunks import ChunkResult, EmbeddedChunk
from pincite.model.documents import EmbeddedDocument, Geometry, ModelIdentity
from pincite.model.filters import DeclaredFilter
from pincite.model.hits import Hit
from pincite.stores.ports import VectorStore
from pincite.testing.contract import skip_without
from pincite.testing.embedding import HashEmbedder
from pincite.testing.filter_cases import FIELDS, ROWS

__all__ = [
    "METHODS",
    "call",
    "contents",
    "minerals",
    "predicate",
    "refused",
    "together",
    "typed_rows",
    "whole",
    "COLLECTION",
    "ENDPOINT",
    "SUBJECT",
    "embed",
    "ids",
    "passages",
    "put",
    "reader",
    "search_all",
]

METHODS = ("bm25", "near_vector", "hybrid", "fetch")

SUBJECT = "ann"
COLLECTION = "papers"
ENDPOINT = "test--hash"

_EMBEDDER = HashEmbedder(32)


def embed(text: str) -> list[float]:
    """The vector of a text, length 32."""
    return _EMBEDDER.vector(text)


def passages(
    texts: Sequence[str],
    *,
    vectors: Sequence[Sequence[float]] | None = None,
    own: Sequence[Mapping[str, Any]] | None = None,
    embed_texts: Sequence[str] | None = None,
) -> list[EmbeddedChunk]:
    """Chunks that lie one behind the other in a document."""
    made, start = [], 0
    for index, text in enumerate(texts):
        indexed = embed_texts[index] if embed_texts else ""
        chunk = ChunkResult(
            content=text,
            chunk_index=index,
            start_char=start,
            end_char=start + len(text),
            embed_text=indexed,
        )
        vector = vectors[index] if vectors else embed(indexed or text)
        made.append(EmbeddedChunk(chunk, tuple(vector), own[index] if own else {}))
        start += len(text) + 1
    return made


async def put(
    store: Any,
    document: str,
    *texts: str,
    subject: str = SUBJECT,
    collection: str = COLLECTION,
    title: str = "",
    vectors: Sequence[Sequence[float]] | None = None,
    own: Sequence[Mapping[str, Any]] | None = None,
    embed_texts: Sequence[str] | None = None,
    endpoint: str = ENDPOINT,
    metadata: Mapping[str, Any] | None = None,
    source: str | None = None,
) -> None:
    """Write one document; only ``Sink.upsert``'s own arguments unless more is asked for."""
    more = {"metadata": metadata, "source": source}
    await store.upsert(
        subject=subject,
        collection=collection,
        document=document,
        title=title or document,
        chunks=passages(texts, vectors=vectors, own=own, embed_texts=embed_texts),
        endpoint=endpoint,
        **{name: value for name, value in more.items() if value is not None},
    )


def reader(store: Any, *collections: str, subject: str = SUBJECT) -> VectorStore:
    """A search port over collections, the one of the samples unless others are named."""
    port: VectorStore = store.reader(subject, list(collections or (COLLECTION,)))
    return port


def ids(found: Iterable[Any]) -> list[str]:
    """The chunk ids of hits or of chunks."""
    return [item.chunk.id if isinstance(item, Hit) else item.id for item in found]


async def search_all(
    port: VectorStore,
    text: str,
    where: Any = None,
    *,
    limit: int = 50,
    target: str = COLLECTION,
) -> dict[str, set[str]]:
    """The ids that each method keeps for one filter."""
    vector = embed(text)
    return {
        "bm25": set(ids(await port.bm25(target, query=text, limit=limit, where=where))),
        "near_vector": set(
            ids(await port.near_vector(target, vector=vector, limit=limit, where=where))
        ),
        "hybrid": set(
            ids(await port.hybrid(target, query=text, vector=vector, limit=limit, where=where))
        ),
        "fetch": set(ids(await port.fetch(target, limit=limit, where=where))),
    }


async def call(
    port: VectorStore,
    method: str,
    *,
    target: str = COLLECTION,
    text: str = "quartz",
    vector: Sequence[float] | None = None,
    limit: Any = 10,
    where: Any = None,
) -> Sequence[Any]:
    """Call one of the four methods with the arguments it takes."""
    vector = embed(text) if vector is None else vector
    if method == "bm25":
        return await port.bm25(target, query=text, limit=limit, where=where)
    if method == "near_vector":
        return await port.near_vector(target, vector=vector, limit=limit, where=where)
    if method == "hybrid":
        return await port.hybrid(target, query=text, vector=vector, limit=limit, where=where)
    return await port.fetch(target, limit=limit, where=where)


async def refused(work: Awaitable[Any], why: str = "") -> InvalidQueryError:
    """The refusal that ``work`` ends with."""
    with pytest.raises(InvalidQueryError) as caught:
        await work
    assert str(caught.value), f"a refusal says why: {why}"
    return caught.value


async def minerals(store: Any) -> VectorStore:
    """Six short documents, some of several chunks."""
    await put(store, "m1", "quartz is a hard mineral", "quartz veins hold gold")
    await put(store, "m2", "granite holds quartz and mica")
    await put(store, "m3", "basalt cools quickly", "pumice floats on water")
    await put(store, "m4", "limestone dissolves in rain")
    await put(store, "m5", "mica splits into sheets")
    await put(store, "m6", "gold is a soft metal")
    return reader(store)


async def typed_rows(store: Any) -> VectorStore:
    """The rows of ``filter_cases``, ids "a-0" to "d-0"."""
    skip_without(store, "declare")
    await store.declare(SUBJECT, COLLECTION, FIELDS)
    for name, metadata in ROWS.items():
        await put(store, name, f"quartz sample {name}", metadata=metadata)
    return reader(store)


def predicate(field: str, operator: str, value: Any) -> DeclaredFilter:
    """A filter of one comparison."""
    return DeclaredFilter(field, operator, value)


async def together(work: Callable[[int], Coroutine[Any, Any, None]], count: int) -> None:
    """Run ``work(0)`` to ``work(count - 1)`` at the same time."""
    async with anyio.create_task_group() as group:
        for place in range(count):
            group.start_soon(work, place)


async def contents(port: VectorStore) -> list[str]:
    """What is stored, sorted."""
    return sorted(chunk.content for chunk in await port.fetch(COLLECTION, limit=100))


def whole(
    name: str,
    *texts: str,
    model: ModelIdentity | None = None,
    metadata: dict[str, Any] | None = None,
    geometry: Geometry | None = None,
) -> EmbeddedDocument:
    """A document as a stage hands it over."""
    chunks: Sequence[ChunkResult] = [passage.chunk for passage in passages(texts)]
    return EmbeddedDocument(
        document=name,
        title=name,
        chunks=chunks,
        vectors=np.array([embed(text) for text in texts], dtype=np.float32),
        endpoint=ENDPOINT,
        model=model,
        metadata=metadata or {},
        geometry=geometry,
    )
