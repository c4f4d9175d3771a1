"""``pincite.open``: from a store URI to a library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pincite.errors import InvalidArgument
from pincite.library.core import Library
from pincite.stores.uri import open_sync_store, parse_uri

if TYPE_CHECKING:
    from pincite.embedding.embedder import Embedder
    from pincite.indexing.originals import Originals
    from pincite.model.fields import Field

__all__ = ["open_library"]


def open_library(
    uri: str = "local:.pincite",
    *,
    collection: str = "default",
    subject: str = "local",
    embedder: Embedder | str | None = None,
    fields: Mapping[str, Field] | None = None,
    keep_originals: bool = False,
    create: bool = True,
) -> Library:
    """Open one collection of a store.

    ``embedder`` is a model name or an ``Embedder``; None is the collection's own model, and
    ``local--static`` for a new one. ``fields`` declares types of metadata. ``keep_originals``
    copies indexed files into the store's folder; bytes are copied there always.

    Raises ``StoreNotFound`` when ``create`` is False and nothing is there, ``InvalidArgument``
    for a URI or a name that cannot be used.
    """
    for name, value in (("collection", collection), ("subject", subject)):
        if not value.strip():
            raise InvalidArgument(f"The {name} is blank; give it a name.")
    scheme, place = parse_uri(uri)
    folder = Path(place) if scheme == "local" else None
    if keep_originals and folder is None:
        raise InvalidArgument("keep_originals needs a local: store, whose folder holds the copies.")
    library = Library(
        open_sync_store(uri, create=create),
        collection=collection,
        subject=subject,
        embedder=embedder,
        originals=_originals(folder),
        keep_originals=keep_originals,
        exclude=(folder,) if folder else (),
    )
    if fields:
        library.declare(fields)
    return library


def _originals(folder: Path | None) -> Originals | None:
    if folder is None:
        return None
    from pincite.indexing.originals import Originals

    return Originals(folder / "originals")
