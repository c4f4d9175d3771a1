"""``pincite status`` and ``fields``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.failures import guarded
from pincite.cli.options import Place, place_options
from pincite.cli.terminal import write_json
from pincite.errors import InvalidArgument

if TYPE_CHECKING:
    from pincite.model.fields import Field

__all__ = ["fields", "parse_fields", "status"]


@click.command()
@place_options
@guarded
def status(
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """Show counts, sizes, the model and the kernels in use."""
    from pincite.cli.tables import write_pairs

    with Place(store, collection, subject, embedder).open() as lib:
        stats = {"store": store, "subject": subject, "collection": collection, **lib.stats()}
    if as_json:
        write_json(stats)
        return 0
    write_pairs(list(_lines(stats)))
    return 0


def _lines(stats: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, value in stats.items():
        label = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from _lines(value, f"{label} ")
        else:
            yield label.replace("bytes", "size"), _value(label, value)


def _value(label: str, value: Any) -> str:
    if value is None:
        return "none yet"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _size(value) if label.endswith("bytes") else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value) or "none"
    return str(value)


def _size(count: int) -> str:
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


@click.command()
@click.argument("declarations", metavar="[NAME=TYPE]...", nargs=-1)
@place_options
@guarded
def fields(
    declarations: tuple[str, ...],
    store: str,
    collection: str,
    subject: str,
    embedder: str | None,
    as_json: bool,
) -> int:
    """List the fields for --where, or declare their types.

    pincite fields year=integer tags=keyword,many
    """
    from pincite.cli.shapes import field_shape
    from pincite.cli.tables import write_table
    from pincite.model.fields import RESERVED_FIELDS

    declared = parse_fields(declarations)
    with Place(store, collection, subject, embedder).open(create=bool(declared)) as lib:
        if declared:
            lib.declare(declared)
        known = lib.fields().fields
    shapes = [field_shape(name, field, RESERVED_FIELDS) for name, field in sorted(known.items())]
    if as_json:
        write_json(shapes)
        return 0
    headers = ("FIELD", "TYPE", "MANY", "FILTERABLE", "RESERVED")
    keys = ("field", "type", "many", "filterable", "reserved")
    write_table(headers, [[_value("", shape[key]) for key in keys] for shape in shapes])
    return 0


def parse_fields(declarations: Iterable[str]) -> dict[str, Field]:
    """Field types from ``NAME=TYPE``, with ``,many`` for lists and ``,unfilterable``."""
    from pincite.model.fields import Field, FieldType

    types = [str(kind) for kind in FieldType]
    declared = {}
    for declaration in declarations:
        name, _, rest = declaration.partition("=")
        kind, *flags = (part.strip() for part in rest.split(","))
        if not name.strip() or kind not in types or set(flags) - {"many", "unfilterable"}:
            raise InvalidArgument(
                f"{declaration!r} declares no field; write NAME=TYPE, such as year=integer or "
                f"tags=keyword,many. Types: {', '.join(types)}."
            )
        declared[name.strip()] = Field(
            FieldType(kind), many="many" in flags, filterable="unfilterable" not in flags
        )
    return declared
