"""CSV and TSV: delimiters, quotes, odd rows, huge cells."""

from __future__ import annotations

import csv

import pytest

from pincite.errors import ParseError
from pincite.parsing.office import OfficeProcessor
from pincite.parsing.registry import parse
from pincite.parsing.tabular import TsvProcessor


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_read_from_the_data(delimiter: str) -> None:
    rows = [["name", "sum", "note"], ["Möwe", "1.234,5" if delimiter == ";" else "12", "x y"]]
    data = "\r\n".join(delimiter.join(row) for row in rows).encode("cp1252")

    markdown = parse(data, "a.csv").markdown

    assert markdown.splitlines() == [
        "| name | sum | note |",
        "| --- | --- | --- |",
        f"| Möwe | {rows[1][1]} | x y |",
    ]


def test_quoted_cells_keep_delimiters_quotes_and_lines() -> None:
    markdown = parse(b'a,b\n"x,y","he said ""no""\nthen left"\n', "a.csv").markdown

    assert markdown.splitlines()[2] == '| x,y | he said "no" then left |'


def test_bars_are_escaped() -> None:
    assert "| p\\|q | r |" in parse(b"a,b\np|q,r\n", "a.csv").markdown


def test_a_comma_inside_semicolon_rows_is_no_delimiter() -> None:
    assert parse(b"a;b\n1,5;2,5\n3,5;4,5\n", "x.CSV").markdown.splitlines()[2] == "| 1,5 | 2,5 |"


def test_one_column_is_a_table_too() -> None:
    assert parse(b"city\nOslo\n", "a.csv").markdown == "| city |\n| --- |\n| Oslo |\n"


def test_a_huge_cell_survives_and_the_limit_of_csv_stays() -> None:
    before = csv.field_size_limit()
    cell = "word " * 100_000

    markdown = parse(f"a,b\n1,{cell}\n".encode(), "a.csv").markdown

    assert cell.strip() in markdown
    assert csv.field_size_limit() == before


def test_one_wide_row_does_not_inflate_the_table() -> None:
    data = ("x\n" * 2000 + ",".join("y" * 2000) + "\n").encode()

    assert len(parse(data, "a.csv").markdown) < 10 * len(data)


def test_an_unclosed_quote_is_read_to_the_end() -> None:
    assert "open to the end" in parse(b'a,b\n1,"open to\nthe end', "a.csv").markdown


@pytest.mark.parametrize("data", [b"", b"\n\n", b" , ,\n", b"\xef\xbb\xbf"])
def test_a_table_without_text_is_empty(data: bytes) -> None:
    result = parse(data, "a.csv")

    assert result.markdown == ""
    assert result.blocks == []


def test_tabs_split_and_quoted_tabs_do_not() -> None:
    markdown = TsvProcessor().parse(b'a\tb\n"1\t2"\t3,4\n', "a.tsv").markdown

    assert markdown.splitlines()[2] == "| 1 2 | 3,4 |"


def test_the_whole_table_is_one_block() -> None:
    result = OfficeProcessor().parse(b"a,b\n1,2\n3,4\n", "a.csv")

    assert [block.kind for block in result.blocks] == ["table"]


def test_binary_data_is_no_table() -> None:
    with pytest.raises(ParseError, match=r"a\.tsv holds binary data"):
        TsvProcessor().parse(b"a\0\0\x01b\0\0", "a.tsv")
