"""Columns of text."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pincite.cli.terminal import cut, escape, is_terminal, paint, terminal_width, text_width, write

__all__ = ["write_pairs", "write_table"]

_GAP = "  "


def write_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[str] = frozenset()
) -> None:
    """A table under its headers; on a terminal the widest columns are cut to fit the screen, all
    but the first, which is what other commands take.

    Cells are escaped here. ``right`` names the columns that align to the right.
    """
    cells = [[escape(cell) for cell in row] for row in rows]
    widths = [max(map(text_width, column)) for column in zip(headers, *cells, strict=True)]
    if is_terminal(sys.stdout):
        _shrink(widths, [len(header) for header in headers], terminal_width())
    sides = [header in right for header in headers]
    write(paint(_line(headers, widths, sides), "bold"))
    for row in cells:
        write(_line(row, widths, sides))


def write_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one pair a line."""
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        write(f"{paint(name.ljust(width), 'bold')}{_GAP}{escape(value)}")


def _shrink(widths: list[int], least: list[int], screen: int) -> None:
    room = screen - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room:
        widest = max(range(1, len(widths)), key=widths.__getitem__, default=0)
        if widths[widest] <= max(least[widest], 8):
            return
        widths[widest] -= 1


def _line(cells: Sequence[str], widths: Sequence[int], sides: Sequence[bool]) -> str:
    padded = [_pad(*cell) for cell in zip(cells, widths, sides, strict=True)]
    return _GAP.join(padded).rstrip()


def _pad(cell: str, width: int, right: bool) -> str:
    shown = cut(cell, width)
    space = " " * (width - text_width(shown))
    return space + shown if right else shown + space
