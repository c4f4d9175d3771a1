"""From the place in a ``qdrant:`` URI to a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pincite.errors import InvalidArgument, MissingExtra, StoreNotFound
from pincite.stores.points.store import PointStore

__all__ = ["open_qdrant"]

_FORM: Final = "write qdrant:http://HOST:PORT, qdrant:edge:FOLDER, qdrant:FOLDER or qdrant::memory:"
_MEMORY: Final = ":memory:"
_EDGE: Final = "edge:"
_TIMEOUT: Final = 60


def open_qdrant(place: str, *, create: bool = False) -> PointStore:
    """Open a server, a folder (with ``edge:`` by Qdrant's engine, else in the client's local
    mode), or nothing but memory.

    An API key stands before the host: ``http://KEY@HOST:6333``. Raises ``StoreNotFound`` for a
    folder that is absent unless ``create``, ``StoreLocked`` for one that another process uses, and
    ``MissingExtra`` without the client.
    """
    if place.lower().startswith(("http://", "https://")):
        return _over_http(place)
    if place == _MEMORY:
        return _local("Qdrant in memory", location=_MEMORY)
    embedded = place.startswith(_EDGE)
    place = place.removeprefix(_EDGE)
    if not place.strip():
        raise InvalidArgument(f"qdrant: needs a server or a folder; {_FORM}.")
    folder = Path(os.path.expanduser(place)).absolute()
    if folder.exists() and not folder.is_dir():
        raise StoreNotFound(f"{folder} is a file; name a folder: {_FORM}.")
    if not create and not folder.exists():
        raise StoreNotFound(f"There is no Qdrant folder {folder}; create it first.")
    if embedded:
        return _edge(f"Qdrant's engine in {folder}", folder)
    return _local(f"Qdrant in {folder}", path=str(folder))


def _local(name: str, *, location: str | None = None, path: str | None = None) -> PointStore:
    client = _client()
    from pincite.stores.qdrant.backend import QdrantBackend
    from pincite.stores.qdrant.errors import translated

    with translated(name):
        # Calls come from many threads, one at a time.
        opened = client(location=location, path=path, force_disable_check_same_thread=True)
    return PointStore(QdrantBackend(opened, name, local=True))


def _edge(name: str, folder: Path) -> PointStore:
    try:
        import qdrant_edge  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "qdrant:edge: stores come with the extra [qdrant-edge], which is not installed:"
            " pip install 'pincite[qdrant-edge]'."
        ) from error
    _client()
    from pincite.stores.qdrant.backend import QdrantBackend
    from pincite.stores.qdrant.edge import EdgeClient
    from pincite.stores.qdrant.errors import translated

    with translated(name):
        folder.mkdir(parents=True, exist_ok=True)
        opened = EdgeClient(folder)
    return PointStore(QdrantBackend(opened, name, local=True, indexed=True))


def _over_http(place: str) -> PointStore:
    parts = urlsplit(place)
    if not parts.hostname or parse_qsl(parts.query, keep_blank_values=True):
        raise InvalidArgument(f"{place!r} is no address of a Qdrant server; {_FORM}.")
    client = _client()
    from pincite.stores.qdrant.backend import QdrantBackend
    from pincite.stores.qdrant.errors import translated

    secure = parts.scheme.lower() == "https"
    name = f"Qdrant at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    with translated(name):
        opened = client(
            host=parts.hostname,
            port=parts.port or (443 if secure else 6333),
            prefix=parts.path.strip("/") or None,
            https=secure,
            api_key=unquote(parts.username) if parts.username else None,
            timeout=_TIMEOUT,
            check_compatibility=False,
        )
    return PointStore(QdrantBackend(opened, name, local=False))


def _client() -> Any:
    try:
        from qdrant_client import QdrantClient
    except ImportError as error:
        raise MissingExtra(
            "qdrant: stores come with the extra [qdrant], which is not installed:"
            " pip install 'pincite[qdrant]'."
        ) from error
    return QdrantClient
