"""Spreadsheets: their tables survive, and far cells do not exhaust the memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.errors import ParseError
from pincite.parsing import sheets
from pincite.parsing.registry import parse

Make = Callable[[str], bytes]


def cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def ods_cell(text: str, attributes: str = "") -> str:
    return (
        f'<table:table-cell office:value-type="string" {attributes}><text:p>{text}</text:p>'
        "</table:table-cell>"
    )


def test_a_workbook_becomes_a_heading_and_a_table(make_xlsx: Make) -> None:
    rows = f'<row r="1">{cell("A1", "Day")}{cell("B1", "Level")}</row>'
    rows += f'<row r="2">{cell("A2", "Mon")}{cell("B2", "4.1")}</row>'

    result = parse(make_xlsx(rows), "tides.xlsx")

    assert result.markdown == "## Tides\n\n| Day | Level |\n| --- | --- |\n| Mon | 4.1 |\n"
    assert [block.kind for block in result.blocks] == ["heading", "table"]


def test_an_opendocument_sheet_becomes_a_table(make_ods: Make) -> None:
    rows = f"<table:table-row>{ods_cell('Day')}{ods_cell('Level')}</table:table-row>"
    rows += f"<table:table-row>{ods_cell('Mon')}{ods_cell('4.1')}</table:table-row>"

    assert (
        "| Day | Level |\n| --- | --- |\n| Mon | 4.1 |" in parse(make_ods(rows), "t.ods").markdown
    )


@pytest.mark.parametrize("place", ["ZZ100000", "XFD1048576", "B2600000"])
def test_a_far_cell_is_refused_before_it_takes_memory(make_xlsx: Make, place: str) -> None:
    data = make_xlsx(f'<row r="1">{cell("A1", "Day")}</row><row>{cell(place, "far")}</row>')

    with pytest.raises(ParseError, match=r"far\.xlsx has a sheet that spans [\d,]+ cells"):
        parse(data, "far.xlsx")


def test_a_far_cell_with_a_style_alone_is_no_reason_to_refuse(make_xlsx: Make) -> None:
    rows = f'<row r="1">{cell("A1", "Day")}</row><row r="1048576"><c r="XFD1048576" s="0"/></row>'

    assert "| Day |" in parse(make_xlsx(rows), "a.xlsx").markdown


def test_repeated_text_of_an_opendocument_sheet_is_bounded(make_ods: Make) -> None:
    many = 'table:number-columns-repeated="9000"'
    row = 'table:number-rows-repeated="9000"'
    rows = f"<table:table-row {row}>{ods_cell('x', many)}</table:table-row>"

    with pytest.raises(ParseError, match="spans 81,000,000 cells"):
        parse(make_ods(rows), "a.ods")


def test_empty_repetitions_at_the_end_of_a_sheet_are_usual(make_ods: Make) -> None:
    rows = (
        f"<table:table-row>{ods_cell('Day')}"
        '<table:table-cell table:number-columns-repeated="16383"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="1048575">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
    )

    assert "| Day |" in parse(make_ods(rows), "a.ods").markdown


def test_a_reference_across_two_blocks_is_seen(
    make_xlsx: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sheets, "_STEP", 100)
    rows = "".join(f'<row r="{n}">{cell(f"A{n}", "v")}</row>' for n in range(1, 40))

    with pytest.raises(ParseError, match="spans"):
        parse(make_xlsx(rows + f"<row>{cell('ZZ99999', 'v')}</row>"), "a.xlsx")
