"""The commands, put together. Nothing here may import NumPy, pydantic or the library."""

from __future__ import annotations

import click

from pincite.cli.collection import fields, status
from pincite.cli.demo import demo
from pincite.cli.documents import get, list_documents, rm
from pincite.cli.evaluate import evaluate
from pincite.cli.indexing import index
from pincite.cli.maintenance import backup, compact, doctor, export_file, import_file
from pincite.cli.map_lint import map_lint
from pincite.cli.searching import search
from pincite.cli.terminal import write

__all__ = ["app"]


class _InOrder(click.Group):
    """Lists its commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self.commands)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            write(f"pincite {version('pincite')}")
        except PackageNotFoundError:
            write("pincite (not installed)")
        ctx.exit()


@click.group(
    cls=_InOrder,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `pincite demo`, then `pincite index FOLDER` and `pincite search QUERY`.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Search your own documents; every passage comes with its file, page and rectangle."""


for _command in (
    index,
    search,
    get,
    list_documents,
    rm,
    status,
    fields,
    doctor,
    compact,
    backup,
    export_file,
    import_file,
    map_lint,
    evaluate,
    demo,
):
    app.add_command(_command)
