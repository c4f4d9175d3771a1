"""CSV and TSV as one Markdown table."""

from __future__ import annotations

import csv
import io
import threading
from collections import Counter
from collections.abc import Iterable
from itertools import islice

from pincite.errors import ParseError
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.decoding import decode
from pincite.parsing.plain import markdown_result

__all__ = ["TsvProcessor", "escape_cell", "markdown_table", "parse_csv"]

_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 100
_FIELD_LIMIT = threading.Lock()  # csv.field_size_limit is one number for the whole process


class TsvProcessor:
    """Reads tab-separated values; a tab inside quotes belongs to its cell."""

    def parse(self, data: bytes, filename: str) -> MarkdownParseResult:
        """Raises ``ParseError`` for binary data."""
        return markdown_result(markdown_table(_rows(decode(data, filename=filename), "\t")))


def parse_csv(data: bytes, filename: str) -> MarkdownParseResult:
    """Comma-, semicolon-, tab- or bar-separated values; which one is read from the data."""
    text = decode(data, filename=filename)
    return markdown_result(markdown_table(_rows(text, _delimiter(text))))


def markdown_table(rows: Iterable[list[str]]) -> str:
    """``rows``, the first as header, as a pipe table; "" without a cell that holds text.

    Rows shorter than the widest stay short, so that one wide row cannot inflate the table.
    """
    kept = [row for row in rows if any(cell.strip() for cell in row)]
    if not kept:
        return ""
    width = max(map(len, kept))
    header = kept[0] + [""] * (width - len(kept[0]))
    lines = [_line(header), "| " + " | ".join(["---"] * width) + " |"]
    lines += map(_line, kept[1:])
    return "\n".join(lines) + "\n"


def escape_cell(text: str) -> str:
    """``text`` on one line with its bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(map(escape_cell, cells)) + " |"


def _delimiter(text: str) -> str:
    """The delimiter whose rows agree best on a width above one; the comma when none does."""
    sample = text[:200_000]
    return max(_DELIMITERS, key=lambda d: (_agreement(sample, d), -_DELIMITERS.index(d)))


def _agreement(sample: str, delimiter: str) -> float:
    widths = Counter(len(row) for row in _rows(sample, delimiter, _SAMPLE_ROWS) if row)
    if not widths:
        return 0.0
    width, count = max(widths.items(), key=lambda pair: (pair[1], pair[0]))
    return count / widths.total() * (1 + min(width, 50) / 100) if width > 1 else 0.0


def _rows(text: str, delimiter: str, most: int | None = None) -> list[list[str]]:
    with _FIELD_LIMIT:
        before = csv.field_size_limit(max(len(text) + 1, 131_072))
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            return list(reader if most is None else islice(reader, most))
        except csv.Error as error:
            raise ParseError(
                f"The table cannot be read ({error}); save it again as CSV."
            ) from error
        finally:
            csv.field_size_limit(before)
