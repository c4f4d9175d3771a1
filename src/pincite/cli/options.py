"""The options that every command takes, and the library they open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pincite.library.core import Library

__all__ = ["DEFAULT_STORE", "Place", "collection_option", "common_options", "place_options"]

DEFAULT_STORE = "local:.pincite"

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Place:
    """A collection as the command line names it."""

    store: str
    collection: str
    subject: str
    embedder: str | None = None

    def open(self, *, create: bool = False) -> Library:
        """The library at this place; without ``create`` a missing store is an error."""
        from pincite.library.opening import open_library

        return open_library(
            self.store,
            collection=self.collection,
            subject=self.subject,
            embedder=self.embedder,
            create=create,
        )


def place_options(command: _Command) -> _Command:
    """All shared options: ``--store --collection --subject --embedder --json``."""
    store = click.option(
        "--store",
        envvar="PINCITE_STORE",
        show_envvar=True,
        metavar="URI",
        default=DEFAULT_STORE,
        show_default=True,
        help="Where the index is.",
    )
    return store(collection_option("default")(common_options(command)))


def collection_option(default: str) -> Callable[[_Command], _Command]:
    """``--collection`` with its default."""
    return click.option(
        "--collection",
        metavar="NAME",
        default=default,
        show_default=True,
        help="The collection in the store.",
    )


def common_options(command: _Command) -> _Command:
    """``--subject --embedder --json``."""
    subject = click.option(
        "--subject",
        metavar="NAME",
        default="local",
        show_default=True,
        help="The owner of the collection.",
    )
    embedder = click.option(
        "--embedder",
        metavar="MODEL",
        help="The embedding model.  [default: the collection's]",
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
    return subject(embedder(as_json(command)))
