"""The options that every command takes, and the library they open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pincite.library import Library

__all__ = [
    "DEFAULT_STORE",
    "CollectionOption",
    "EmbedderOption",
    "JsonOption",
    "Place",
    "StoreOption",
    "SubjectOption",
]

DEFAULT_STORE = "local:.pincite"

StoreOption = Annotated[
    str, typer.Option("--store", envvar="PINCITE_STORE", metavar="URI", help="Where the index is.")
]
CollectionOption = Annotated[
    str, typer.Option("--collection", metavar="NAME", help="The collection in the store.")
]
SubjectOption = Annotated[
    str, typer.Option("--subject", metavar="NAME", help="The owner of the collection.")
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder", metavar="MODEL", help="The embedding model. [default: the collection's]"
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]


@dataclass(frozen=True, slots=True)
class Place:
    """A collection as the command line names it."""

    store: str
    collection: str
    subject: str
    embedder: str | None = None

    def open(self, *, create: bool = False) -> Library:
        """The library at this place; without ``create`` a missing store is an error."""
        from pincite.library import open_library

        return open_library(
            self.store,
            collection=self.collection,
            subject=self.subject,
            embedder=self.embedder,
            create=create,
        )
