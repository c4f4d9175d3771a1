"""From a PDF's words to Markdown: order, headings, tables, lists, furniture, passwords."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from pincite.errors import InvalidArgument, ParseError
from pincite.model.geometry import WordBoxes
from pincite.parsing.pdf.backends import pdfium
from pincite.parsing.pdf.processor import PdfProcessor
from pincite.parsing.registry import parse

Pdf = Callable[[str], bytes]


def markdown(pdf: Pdf, stem: str) -> str:
    return parse(pdf(stem), f"{stem}.pdf").markdown


def test_columns_are_read_one_after_the_other(pdf: Pdf) -> None:
    text = markdown(pdf, "two_columns")

    places = [
        text.index(part) for part in ("1 History", "quarry at Penhale", "2 Commerce", "Table 1")
    ]
    assert places == sorted(places)
    assert "when the old quay had been carried away in a single night" in text


def test_a_hyphen_at_a_lines_end_is_joined(pdf: Pdf) -> None:
    result = parse(pdf("two_columns"), "a.pdf")

    at = result.markdown.index("dredged")
    words = WordBoxes.unpack(result.words).between(at, at + 7)
    assert [result.markdown[w.start_char : w.end_char] for w in words] == ["dred", "ged"]
    assert words[0].bbox.y1 < words[1].bbox.y1


def test_fonts_give_heading_levels(pdf: Pdf) -> None:
    result = parse(pdf("two_columns"), "a.pdf")

    headings = [
        (b.level, result.markdown[b.start_char : b.end_char].strip())
        for b in result.blocks
        if b.kind == "heading"
    ]
    assert headings == [(1, "# The Harbour of Marlow"), (2, "## 1 History"), (2, "## 2 Commerce")]


def test_a_ruled_table_stays_inline_with_its_cells_escaped(pdf: Pdf) -> None:
    result = parse(pdf("two_columns"), "a.pdf")

    table = next(b for b in result.blocks if b.kind == "table")
    assert result.markdown[table.start_char : table.end_char].strip().splitlines() == [
        "| Year | Cargo | Tonnes |",
        "| --- | --- | --- |",
        "| 1963 | Granite | 1,240 |",
        "| 1964 | Herring | 860 |",
        "| 1965 | Timber | 2,015 |",
        "| 1966 | A\\|B | 7 |",
    ]
    assert result.tables == {}


def test_a_table_without_rules_keeps_its_empty_cells(pdf: Pdf) -> None:
    text = markdown(pdf, "unruled")

    assert "| Code | Berth | Depth | State |\n| --- | --- | --- | --- |\n" in text
    assert "| MR-03 |  | 3.9 | open |" in text
    assert text.startswith("The harbour of Marlow")
    assert text.rstrip().endswith("historians of the coast.")


def test_sideways_headers_and_columns_without_a_rule_become_cells(pdf: Pdf) -> None:
    rows = [line for line in markdown(pdf, "grid").splitlines() if line.startswith("|")]

    assert rows == [
        "|  | Reading right | Tide gauges |  |",
        "| --- | --- | --- | --- |",
        "| Quay | yes | 4 | 8 |",
        "| Pier | no | 15 | 16 |",
        "| Mole | yes | 23 | 42 |",
    ]


def test_the_outline_decides_levels_that_no_font_shows(pdf: Pdf) -> None:
    found = [line for line in markdown(pdf, "outline").splitlines() if line.startswith("#")]

    assert found == ["# Instruments", "## Barometers", "## Clocks", "# Archives"]


def test_lists_nest_wrap_and_count_and_code_is_fenced(pdf: Pdf) -> None:
    text = markdown(pdf, "lists")

    assert (
        "- Ropes of hemp are kept in the dry store, and they are inspected by the mate at the"
        in text
    )
    assert "- Lanterns hang by the door.\n    - Spare wicks lie beside them." in text
    assert "1. Open the sluice.\n2. Wait for the bell.\n3. Close the sluice." in text
    assert "```\nfor boat in boats:\n    boat.sail()\n    boat.moor()\n```" in text


def test_running_lines_go_and_numbered_chapters_stay(pdf: Pdf) -> None:
    text = markdown(pdf, "running")

    assert "Annual Report" not in text
    assert "of 4" not in text
    assert [f"# Chapter {n}" in text for n in (1, 2, 4)] == [True, True, True]


def test_a_blank_page_keeps_the_numbers_of_the_others(pdf: Pdf) -> None:
    result = parse(pdf("running"), "a.pdf")

    at = result.markdown.index("Page 4 speaks")
    assert result.total_pages == 4
    assert [page for start, end, page in result.page_ranges if start <= at < end] == [4]
    assert result.pages_needing_ocr == [3]
    assert sorted(result.page_dimensions) == ["1", "2", "3", "4"]


def test_rotated_pages_read_in_order(pdf: Pdf) -> None:
    result = parse(pdf("rotated"), "a.pdf")

    pages = {page: result.markdown[start:end] for start, end, page in result.page_ranges}
    for page, turn in enumerate((0, 90, 180, 270), 1):
        assert pages[page].startswith(
            f"Turned by {turn} degrees. The harbour of Marlow was rebuilt"
        )
    assert pages[5].strip().endswith("Written along the margin")
    assert result.page_dimensions["2"][0] > result.page_dimensions["2"][1]


def test_arabic_is_in_logical_order_with_latin_words_inside(pdf: Pdf) -> None:
    text = markdown(pdf, "arabic")

    assert "مرحبا بكم في Marlow اليوم" in text
    assert "ميناء قديم على الساحل" in text


def test_invisible_text_is_kept_and_drawings_need_ocr(pdf: Pdf) -> None:
    result = parse(pdf("hidden"), "a.pdf")

    assert "An invisible layer of recognised text" in result.markdown
    assert result.pages_needing_ocr == [2]


def test_the_threshold_is_in_characters_a_page(pdf: Pdf) -> None:
    assert PdfProcessor(quality_threshold=0).parse(pdf("hidden"), "a.pdf").pages_needing_ocr == []
    assert PdfProcessor(quality_threshold=500).parse(pdf("hidden"), "a").pages_needing_ocr == [1, 2]
    with pytest.raises(InvalidArgument, match="quality_threshold"):
        PdfProcessor(quality_threshold=-1)


def test_a_password_opens_an_encrypted_file(pdf: Pdf) -> None:
    data = pdf("encrypted")

    assert "seven silver spoons" in parse(data, "a.pdf", password="sesame").markdown
    assert "spoons" in PdfProcessor().parse(data, "a.pdf", password="sesame").markdown
    with pytest.raises(
        ParseError, match=r"a\.pdf is encrypted; give its password \(password= or --password\)"
    ):
        parse(data, "a.pdf")
    with pytest.raises(ParseError, match="another password is needed"):
        parse(data, "a.pdf", password="wrong")


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0\0", b"%PDF-1.7\n%%EOF", b"%PDF-1.7\n" + b"\xff" * 5000, b"no PDF at all"],
    ids=["empty", "nul", "header only", "junk", "text"],
)
def test_a_broken_file_is_a_named_error(data: bytes) -> None:
    with pytest.raises(ParseError, match=r"broken\.pdf"):
        parse(data, "broken.pdf")


def test_torn_files_end_in_a_result_or_a_named_error(pdf: Pdf) -> None:
    whole = pdf("two_columns")

    for cut in range(0, len(whole), 97):
        for data in (whole[:cut], whole[:cut] + b"\x00\xff<<" + whole[cut + 4 :]):
            try:
                result = parse(data, "torn.pdf")
            except ParseError:
                continue
            assert (result.blocks[-1].end_char if result.blocks else 0) == len(result.markdown)


def test_too_many_pages_or_characters_are_refused(
    pdf: Pdf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pdfium, "MAX_CHARS", 100)
    with pytest.raises(ParseError, match="over 100 characters; split it"):
        parse(pdf("running"), "a.pdf")
    monkeypatch.setattr(pdfium, "MAX_PAGES", 3)
    with pytest.raises(ParseError, match="has 4 pages"):
        parse(pdf("running"), "a.pdf")


def test_threads_may_parse_at_the_same_time(pdf: Pdf) -> None:
    data = pdf("two_columns")
    expected = parse(data, "a.pdf")
    found = []

    threads = [
        threading.Thread(target=lambda: found.append(parse(data, "a.pdf"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 4


def test_metadata_tells_title_and_author(pdf: Pdf) -> None:
    assert parse(pdf("two_columns"), "a.pdf").metadata == {
        "title": "The Harbour of Marlow",
        "author": "Pincite",
    }
