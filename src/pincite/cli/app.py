"""The commands, put together. Nothing here may import NumPy, pydantic or the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from pincite.cli.collection import fields, status
from pincite.cli.demo import demo
from pincite.cli.documents import get, list_documents, rm
from pincite.cli.failures import guarded
from pincite.cli.indexing import index
from pincite.cli.searching import search
from pincite.cli.terminal import write

__all__ = ["app"]

app = typer.Typer(
    name="pincite",
    help="Search your own documents; every passage comes with its file, page and rectangle.",
    epilog="Start with `pincite demo`, then `pincite index FOLDER` and `pincite search QUERY`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_COMMANDS: dict[str, Callable[..., int]] = {
    "index": index,
    "search": search,
    "get": get,
    "list": list_documents,
    "rm": rm,
    "status": status,
    "fields": fields,
    "demo": demo,
}

for _name, _command in _COMMANDS.items():
    app.command(_name)(guarded(_command))


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            write(f"pincite {version('pincite')}")
        except PackageNotFoundError:
            write("pincite (not installed)")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version."),
    ] = False,
) -> None:
    """Search your own documents; every passage comes with its file, page and rectangle."""
