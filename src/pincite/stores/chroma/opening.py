"""From the place in a ``chroma:`` URI to a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pincite.errors import InvalidArgument, MissingExtra, StoreNotFound
from pincite.stores.points.store import PointStore

if TYPE_CHECKING:
    from pincite.stores.chroma.keyword import KeywordFolder

__all__ = ["open_chroma"]

_FORM: Final = "write chroma:FOLDER or chroma:http://HOST:PORT?keyword=FOLDER"
_DATABASE: Final = "chroma.sqlite3"
_KEYWORD: Final = "pincite-keyword"


def open_chroma(place: str, *, create: bool = False) -> PointStore:
    """Open the database in a folder, or behind HTTP.

    A folder's keyword index is in it. Behind HTTP it is in the folder of ``?keyword=``; without
    one ``bm25`` and ``hybrid`` raise ``Unconfigured``.

    Raises ``StoreNotFound`` for a path that is a file, and for one that is absent unless
    ``create``; ``MissingExtra`` without the client; ``StoreUnavailable`` when no server answers.
    """
    if place.lower().startswith(("http://", "https://")):
        return _over_http(place)
    if not place.strip():
        raise InvalidArgument(f"chroma: needs a folder; {_FORM}.")
    return _in_folder(Path(os.path.expanduser(place)).absolute(), create=create)


def _in_folder(folder: Path, *, create: bool) -> PointStore:
    if folder.exists() and not folder.is_dir():
        raise StoreNotFound(
            f"{folder} is a file; name the folder that holds {_DATABASE}, as in"
            f" chroma:{folder.parent}."
        )
    if not create and not (folder / _DATABASE).exists():
        raise StoreNotFound(f"There is no Chroma database in {folder}; create it first.")
    chromadb = _chromadb()
    from pincite.stores.chroma.backend import ChromaBackend
    from pincite.stores.chroma.errors import translated

    with translated(f"Chroma in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        client = chromadb.PersistentClient(path=str(folder), settings=_settings())
    backend = ChromaBackend(client, f"Chroma in {folder}")
    return PointStore(backend, _index(folder / _KEYWORD))


def _over_http(place: str) -> PointStore:
    parts = urlsplit(place)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    keyword = options.pop("keyword", None)
    if options or not parts.hostname or keyword == "":
        raise InvalidArgument(f"{place!r} is no address of a Chroma server; {_FORM}.")
    chromadb = _chromadb()
    from pincite.stores.chroma.backend import ChromaBackend
    from pincite.stores.chroma.errors import translated

    secure = parts.scheme.lower() == "https"
    name = f"Chroma at {parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    headers = {"Authorization": f"Bearer {unquote(parts.username)}"} if parts.username else {}
    with translated(name):
        client = chromadb.HttpClient(
            host=parts.hostname,
            port=parts.port or (443 if secure else 8000),
            ssl=secure,
            headers=headers,
            settings=_settings(),
        )
    index = None if keyword is None else _index(Path(os.path.expanduser(keyword)).absolute())
    return PointStore(ChromaBackend(client, name), index)


def _index(folder: Path) -> KeywordFolder:
    from pincite.stores.chroma.keyword import KeywordFolder

    return KeywordFolder(folder)


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def _chromadb() -> Any:
    try:
        import chromadb
    except ImportError as error:
        raise MissingExtra(
            "chroma: stores come with the extra [chroma], which is not installed:"
            " pip install 'pincite[chroma]'."
        ) from error
    return chromadb
