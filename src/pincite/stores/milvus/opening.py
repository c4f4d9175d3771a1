"""From the place in a ``milvus:`` URI to a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pincite.errors import InvalidArgument, MissingExtra, StoreNotFound
from pincite.stores.points.store import PointStore

__all__ = ["open_milvus"]

_FORM: Final = "write milvus:http://HOST:19530 or milvus:PATH.db"

# Lite's server, a thread of this process, takes the client's pings (one in 10 s) for an attack and
# closes the connection after the third while a call runs ("Too many pings"): nothing is pinged.
_NEVER: Final = 2**31 - 1
_QUIET: Final = {"grpc.keepalive_time_ms": _NEVER, "grpc.keepalive_permit_without_calls": 0}


def open_milvus(place: str, *, create: bool = False) -> PointStore:
    """Open a server, or Milvus Lite at a path that ends in ``.db``.

    A token, or ``USER:PASSWORD``, stands before the host. Raises ``StoreNotFound`` for a path that
    is absent unless ``create``, and ``MissingExtra`` without the client.
    """
    if place.lower().startswith(("http://", "https://")):
        return _over_http(place)
    if not place.strip().endswith(".db"):
        raise InvalidArgument(f"milvus: needs a server or a path that ends in .db; {_FORM}.")
    path = Path(os.path.expanduser(place)).absolute()
    if not create and not path.exists():
        raise StoreNotFound(f"There is no Milvus Lite database {path}; create it first.")
    client, backend, translated = _client()
    name = f"Milvus Lite in {path}"
    with translated(name):
        path.parent.mkdir(parents=True, exist_ok=True)
        made = client(str(path), grpc_options=_QUIET, dedicated=True)
        return PointStore(backend(made, name, lite=str(path)))


def _over_http(place: str) -> PointStore:
    parts = urlsplit(place)
    if not parts.hostname or parse_qsl(parts.query, keep_blank_values=True):
        raise InvalidArgument(f"{place!r} is no address of a Milvus server; {_FORM}.")
    client, backend, translated = _client()
    secret, _, host = parts.netloc.rpartition("@")
    name = f"Milvus at {parts.scheme}://{host}"
    with translated(name):
        made = client(uri=f"{parts.scheme}://{host}", token=unquote(secret))
        return PointStore(backend(made, name, lite=None))


def _client() -> tuple[Any, Any, Any]:
    try:
        from pymilvus import MilvusClient
    except ImportError as error:
        raise MissingExtra(
            "milvus: stores come with the extra [milvus], which is not installed:"
            " pip install 'pincite[milvus]'."
        ) from error
    from pincite.stores.milvus.backend import MilvusBackend
    from pincite.stores.milvus.errors import translated

    return MilvusClient, MilvusBackend, translated
