"""Open a store by its URI.

    local:PATH    a folder on this machine
    memory:       nothing on disk; gone with the process
    postgresql://USER@HOST/DATABASE    a PostgreSQL server; also pgvector:postgresql://...
    qdrant:http://HOST:PORT    a Qdrant server; qdrant:edge:FOLDER, qdrant:FOLDER and
                               qdrant::memory: without one
    chroma:FOLDER    a Chroma database; chroma:http://HOST:PORT?keyword=FOLDER on a server
    milvus:http://HOST:PORT    a Milvus server; milvus:PATH.db without one

A scheme may be written in any case and ends at the first colon. ``?subject=NAME`` at the end
names the subject that a domain reads; opening a store does not need it. In the URI of a server it
may stand among the other parameters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from pincite.errors import InvalidArgument
from pincite.stores.ports import ManagedSink, SyncStore

if TYPE_CHECKING:
    from pincite.stores.blocking import AsyncStore
    from pincite.stores.threaded import QueryEmbedder

__all__ = [
    "DEFAULT_SUBJECT",
    "StoreUri",
    "open_store",
    "open_sync_store",
    "parse_uri",
    "uri_subject",
]

DEFAULT_SUBJECT: Final = "local"

_FORMS = (
    "local:PATH or memory:, or postgresql://USER@HOST/DATABASE, or qdrant:, chroma: or milvus: with"
    " a path or http://HOST:PORT"
)

_SUBJECT = re.compile(r"([?&])subject=([^?&]*)(&?)")

_WITH_PARAMETERS: Final = frozenset(
    {"postgresql", "postgres", "pgvector", "qdrant", "chroma", "milvus"}
)


class StoreUri(NamedTuple):
    """A store's URI in parts: the scheme in lower case, and the place that it names."""

    scheme: str
    place: str


def parse_uri(uri: str) -> StoreUri:
    """Split a URI at its first colon; ``InvalidArgument`` listing the forms when malformed.

    The place comes without ``?subject=``, and a local one with ``~`` expanded.
    """
    scheme, place, _ = _split(uri)
    return StoreUri(scheme, os.path.expanduser(place) if scheme == "local" else place)


def uri_subject(uri: str) -> str:
    """The subject that ``?subject=`` names, "local" without it; errors as in ``parse_uri``."""
    _, _, subject = _split(uri)
    if subject is not None and not subject.strip():
        raise InvalidArgument(f"The subject in {uri!r} is blank; name one or leave it out.")
    return DEFAULT_SUBJECT if subject is None else subject


def _split(uri: str) -> tuple[str, str, str | None]:
    if not isinstance(uri, str):
        raise InvalidArgument(f"A store URI is a string, not {type(uri).__name__}; use {_FORMS}.")
    scheme, colon, rest = uri.strip().partition(":")
    scheme = scheme.lower()
    if not colon or not scheme:
        raise InvalidArgument(f"{uri!r} names no scheme; use {_FORMS}.")
    if scheme not in _OPENERS and scheme not in _SERVERS:
        raise InvalidArgument(f"Unknown scheme {scheme!r} in {uri!r}; use {_FORMS}.")
    if "\0" in rest:
        raise InvalidArgument(f"{uri!r} holds a NUL character; use {_FORMS}.")
    if scheme in _WITH_PARAMETERS:
        return _split_parameters(scheme, rest)
    place, mark, subject = rest.rpartition("?subject=")
    return (scheme, place, unquote(subject)) if mark else (scheme, rest, None)


def _split_parameters(scheme: str, rest: str) -> tuple[str, str, str | None]:
    """Take the subject out of a server's URI, wherever it stands among the parameters."""
    found = _SUBJECT.search(rest)
    if found is None:
        return scheme, rest, None
    kept = found[1] if found[3] else ""
    return scheme, rest[: found.start()] + kept + rest[found.end() :], unquote(found[2])


def open_sync_store(uri: str, *, create: bool = False) -> SyncStore:
    """Open a store for callers without an event loop; one on a server runs its own in a thread.

    Raises ``InvalidArgument`` for a malformed URI, ``MissingExtra`` for a scheme whose extra is
    not installed, and ``StoreNotFound`` when nothing is there and ``create`` is False (a server is
    asked at the first use).
    """
    parts = parse_uri(uri)
    if parts.scheme in _SERVERS:
        from pincite.stores.blocking import Blocking

        return Blocking(_SERVERS[parts.scheme](parts, create, None))
    return _OPENERS[parts.scheme](parts, create)


def open_store(
    uri: str, *, create: bool = False, embedder: QueryEmbedder | None = None
) -> ManagedSink:
    """Open a store as the async port; ``embedder`` lets its readers embed a query themselves.

    Errors as in ``open_sync_store``.
    """
    parts = parse_uri(uri)
    if parts.scheme in _SERVERS:
        return _SERVERS[parts.scheme](parts, create, embedder)
    store = open_sync_store(uri, create=create)
    from pincite.stores.threaded import Threaded

    return Threaded(store, embedder)


def _open_local(parts: StoreUri, create: bool) -> SyncStore:
    if not parts.place.strip():
        raise InvalidArgument("local: needs a folder; write local:PATH.")
    from pincite.stores.local.store import LocalStore

    return LocalStore(Path(parts.place), create=create)


def _open_memory(parts: StoreUri, create: bool) -> SyncStore:
    del create  # a memory store is always new
    if parts.place.strip():
        raise InvalidArgument(
            f"memory: takes no name, not {parts.place!r}; each one is a store of its own."
        )
    from pincite.stores.memory import MemoryStore

    return MemoryStore()


def _open_postgres(parts: StoreUri, create: bool, embedder: QueryEmbedder | None) -> AsyncStore:
    from pincite.stores.postgres.opening import open_postgres

    nested = parts.scheme == "pgvector"
    uri = parts.place if nested else f"{parts.scheme}:{parts.place}"
    return open_postgres(uri, create=create, embedder=embedder)


_SERVERS: Mapping[str, Callable[[StoreUri, bool, QueryEmbedder | None], AsyncStore]] = (
    MappingProxyType(
        {
            "postgresql": _open_postgres,
            "postgres": _open_postgres,
            "pgvector": _open_postgres,
        }
    )
)


def _open_qdrant(parts: StoreUri, create: bool) -> SyncStore:
    from pincite.stores.qdrant.opening import open_qdrant

    return open_qdrant(parts.place, create=create)


def _open_chroma(parts: StoreUri, create: bool) -> SyncStore:
    from pincite.stores.chroma.opening import open_chroma

    return open_chroma(parts.place, create=create)


def _open_milvus(parts: StoreUri, create: bool) -> SyncStore:
    from pincite.stores.milvus.opening import open_milvus

    return open_milvus(parts.place, create=create)


_OPENERS: Mapping[str, Callable[[StoreUri, bool], SyncStore]] = MappingProxyType(
    {
        "local": _open_local,
        "memory": _open_memory,
        "qdrant": _open_qdrant,
        "chroma": _open_chroma,
        "milvus": _open_milvus,
    }
)
