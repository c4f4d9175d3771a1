"""One collection of a store, as every framework's store uses it: passages by id, searches by mode.

A passage is a document of one chunk. Its title and source are those of its metadata, so that
filters on these names read what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar, get_args

import anyio.to_thread
import numpy as np

from pincite.errors import InvalidArgument, InvalidQueryError
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, ModelIdentity
from pincite.model.filters import DeclaredFilter, Filter
from pincite.model.hits import Chunk, Hit
from pincite.stores.checks import MAX_LIMIT
from pincite.stores.uri import open_sync_store, uri_subject

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.stores.ports import SyncReader, SyncStore

__all__ = [
    "Mode",
    "OneCollection",
    "check_mode",
    "in_thread",
    "is_passage",
    "passage",
    "place_of",
    "refuse_options",
]

Mode = Literal["hybrid", "keyword", "vector"]

T = TypeVar("T")
P = ParamSpec("P")

_SOURCES = ("source", "file_path", "file_name")


def check_mode(mode: str) -> None:
    """Refuse a mode that is none of the three."""
    if mode not in get_args(Mode):
        raise InvalidArgument(f"mode is {mode!r}; choose hybrid, keyword or vector.")


def refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse what a framework's signature lets through and nothing here reads."""
    if options:
        names = ", ".join(sorted(options))
        raise InvalidArgument(f"There is no option {names}; leave it out, or correct its name.")


def in_thread(call: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A function or method as one that is awaited, so that an event loop does not wait for it."""

    @wraps(call)
    async def hop(*args: P.args, **kwargs: P.kwargs) -> T:
        return await anyio.to_thread.run_sync(partial(call, *args, **kwargs))

    return hop


def passage(
    name: str,
    text: str,
    metadata: Mapping[str, Any],
    vector: Sequence[float] | NDArray[np.float32],
    *,
    endpoint: str,
    model: ModelIdentity | None = None,
) -> EmbeddedDocument:
    """A text with its vector as the document that a store takes in."""
    row = np.asarray(vector)
    return EmbeddedDocument(
        document=name,
        title=_text(metadata, "title"),
        source=_source(metadata),
        chunks=[ChunkResult(content=text, chunk_index=0, end_char=len(text))],
        # A row of float16 is one that a store handed out, and stays bit for bit.
        vectors=(row if row.dtype == np.float16 else row.astype(np.float32))[None, :],
        endpoint=endpoint,
        model=model,
        metadata=metadata,
    )


def is_passage(chunk: Chunk) -> bool:
    """Whether ``passage`` made it: then the chunk says nothing that its metadata does not."""
    told = (_text(chunk.metadata, "title"), _source(chunk.metadata))
    placed = chunk.pages or chunk.context_header or chunk.chunk_index
    return (chunk.title, chunk.source) == told and not placed


def place_of(chunk: Chunk) -> dict[str, Any]:
    """Where a chunk that Pincite indexed stands, under the names that its metadata then has."""
    return {
        "document": chunk.document,
        "source": chunk.source,
        "title": chunk.title,
        "pages": list(chunk.pages),
        "headings": chunk.context_header.split(" > ") if chunk.context_header else [],
        "start_char": chunk.start_char,
        "end_char": chunk.end_char,
    }


def _text(metadata: Mapping[str, Any], name: str) -> str:
    value = metadata.get(name)
    return value if isinstance(value, str) else ""


def _source(metadata: Mapping[str, Any]) -> str:
    return next(filter(None, (_text(metadata, name) for name in _SOURCES)), "")


@dataclass(frozen=True, slots=True)
class OneCollection:
    """A collection of an open store; safe to share between threads as far as the store is."""

    store: SyncStore
    name: str
    subject: str

    @classmethod
    def open(cls, uri: str, name: str, *, create: bool = True) -> Self:
        """Open the store of a URI, made when it is not there unless ``create`` is False."""
        store = open_sync_store(uri, create=create)
        store.setup()
        return cls(store, name, uri_subject(uri))

    def reader(self) -> SyncReader:
        """The search port of the collection."""
        return self.store.reader(self.subject, [self.name])

    def write(self, passages: Sequence[EmbeddedDocument]) -> None:
        """Write passages, each in place of the one under its id; durable on return."""
        if passages:
            self.store.commit(self.subject, self.name, passages)

    def remove(self, ids: Sequence[str]) -> int:
        """Remove passages by id, unknown ones passed over; how many went."""
        return self.store.delete(self.subject, self.name, ids) if ids else 0

    def update(self, where: Filter | None, metadata: Mapping[str, Any]) -> int:
        """Put metadata over that of every passage that a filter keeps; how many there were."""
        model = self.store.model(self.subject, self.name)
        kept = [chunk for chunk in self.chunks(where) if is_passage(chunk)] if model else []
        self.write(
            [
                passage(
                    chunk.document,
                    chunk.content,
                    {**chunk.metadata, **metadata},
                    self.vector(chunk).astype(np.float16),
                    endpoint=model[0] if model else "",
                    model=model[1] if model else None,
                )
                for chunk in kept
            ]
        )
        return len(kept)

    def clear(self) -> int:
        """Remove every passage; how many went."""
        return self.remove(
            [info.document for info in self.store.documents(self.subject, self.name)]
        )

    def count(self) -> int:
        """How many passages there are."""
        listed = self.store.list(self.subject)
        return next((found.chunks for found in listed if found.name == self.name), 0)

    def chunks(self, where: Filter | None = None) -> list[Chunk]:
        """Every chunk that a filter keeps, in reading order."""
        port = self.reader()
        return self._answered(lambda: port.fetch(self.name, where=where, limit=MAX_LIMIT))

    def by_id(self, ids: Sequence[str]) -> list[Chunk]:
        """The chunks of documents, in the order of ``ids``; unknown ones are left out."""
        if not ids:
            return []
        places = {name: place for place, name in reversed(list(enumerate(ids)))}
        found = self.chunks(DeclaredFilter("document", "in", tuple(places)))
        return sorted(found, key=lambda chunk: places.get(chunk.document, len(places)))

    def vector(self, chunk: Chunk) -> NDArray[np.float32]:
        """The stored vector of a passage, shape (dimension,)."""
        return self.store.vectors(self.subject, self.name, chunk.document)[chunk.chunk_index]

    def search(
        self,
        mode: Mode,
        *,
        query: str = "",
        vector: Sequence[float] | None = None,
        limit: int,
        where: Filter | None = None,
        alpha: float | None = None,
    ) -> list[Hit]:
        """The best chunks, best first; ``keyword`` needs no vector and ``vector`` no query."""
        port = self.reader()
        if mode == "keyword":
            return self._answered(
                lambda: port.bm25(self.name, query=query, limit=limit, where=where)
            )
        if mode == "vector":
            near = vector if vector is not None else ()
            return self._answered(
                lambda: port.near_vector(self.name, vector=near, limit=limit, where=where)
            )
        return self._answered(
            lambda: port.hybrid(
                self.name, query=query, vector=vector, limit=limit, where=where, alpha=alpha
            )
        )

    def _answered(self, ask: Callable[[], list[T]]) -> list[T]:
        """What is found; nothing where nothing is, whatever fields a filter names."""
        try:
            return ask()
        except InvalidQueryError as error:
            if error.field is None or self.count():
                raise
            return []
