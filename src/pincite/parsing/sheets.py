"""How far the sheets of a spreadsheet reach: a reader makes room for every cell in between."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator

from pincite.errors import ParseError

__all__ = ["MAX_CELLS", "check_extent"]

MAX_CELLS = 5_000_000
"""A sheet whose last row times last column is more than this is refused."""

_STEP = 1 << 20
_OVERLAP = 256
_CELL = re.compile(
    rb"""<(?:\w+:)?c\s[^<>]{0,200}?\br=["']([A-Z]{1,3})(\d{1,7})["'][^<>]{0,200}?(/?)>"""
)
_REPEATED = re.compile(rb"""number-(columns|rows)-repeated=["'](\d{1,9})["']""")


def check_extent(data: bytes, filename: str) -> None:
    """Raise ``ParseError`` when a sheet of an XLSX or ODS file spans over ``MAX_CELLS`` cells.

    ``data`` is an archive that ``check_inflated`` let pass.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name == "content.xml":
                _refuse_beyond(_cells_of_ods(archive, name), filename)
            elif not name.startswith("xl/media/"):  # a sheet may have any name
                _refuse_beyond(_cells_of_xlsx(archive, name), filename)


def _refuse_beyond(cells: int, filename: str) -> None:
    if cells > MAX_CELLS:
        raise ParseError(
            f"{filename} has a sheet that spans {cells:,} cells, more than {MAX_CELLS:,}; "
            "delete what stands far from the table, or save the sheet as CSV."
        )


def _cells_of_xlsx(archive: zipfile.ZipFile, name: str) -> int:
    rows = columns = 1
    for block in _blocks(archive, name):
        for found in _CELL.finditer(block):
            if not found[3]:  # a cell with a style alone takes no room
                columns = max(columns, _column_number(found[1]))
                rows = max(rows, int(found[2]))
    return rows * columns


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _cells_of_ods(archive: zipfile.ZipFile, name: str) -> int:
    """The largest repetition of a row times that of a cell, which bounds what one row can make.

    Empty rows and cells at the end of a sheet are repeated to its limits by every office
    program, and readers leave them out; only repetitions that are followed by text count.
    """
    rows = columns = 1
    for block in _blocks(archive, name):
        for found in _REPEATED.finditer(block):
            tail = block[found.end() : block.find(b">", found.end()) + 1]
            if tail.endswith(b"/>"):
                continue
            if found[1] == b"columns":
                columns = max(columns, int(found[2]))
            else:
                rows = max(rows, int(found[2]))
    return rows * columns


def _blocks(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    rest = b""
    with archive.open(name) as stream:
        while block := stream.read(_STEP):
            yield rest + block
            rest = block[-_OVERLAP:]
