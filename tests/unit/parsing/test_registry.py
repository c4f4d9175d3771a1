"""Which processor reads a file, and what is refused."""

from __future__ import annotations

import pytest

from pincite.errors import InvalidArgument, ParseError, UnsupportedFormat
from pincite.parsing.detection import detect_format
from pincite.parsing.office import OfficeProcessor
from pincite.parsing.pdf.processor import PdfProcessor
from pincite.parsing.plain import TextProcessor
from pincite.parsing.registry import (
    SUPPORTED_EXTENSIONS,
    SUPPORTED_FORMATS,
    parse,
    processor_for,
    processor_for_extension,
)
from pincite.parsing.tabular import TsvProcessor


@pytest.mark.parametrize(
    ("extension", "processor"),
    [
        ("pdf", PdfProcessor),
        *[(e, TextProcessor) for e in ("txt", "text", "md", "markdown", "rst", "json")],
        ("tsv", TsvProcessor),
        *[(e, OfficeProcessor) for e in ("csv", "docx", "xlsx", "pptx", "odt", "epub", "html")],
    ],
)
def test_the_extension_selects_a_processor_in_any_case(extension: str, processor: type) -> None:
    for name in (f"a.{extension}", f"A.{extension.upper()}", f"dir.x/a.{extension}"):
        assert isinstance(processor_for_extension(name), processor)


@pytest.mark.parametrize("name", ["a.xyz", "a", ".pdf", "a.pdf/b", "pdf", "C:\\x.pdf\\y"])
def test_an_extension_without_processor_is_unsupported(name: str) -> None:
    with pytest.raises(UnsupportedFormat, match="convert to one of: csv, "):
        processor_for_extension(name)


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.4", "a.txt", "pdf"),
        (b"\n\n%PDF-1.4", "a", "pdf"),
        (b"{\\rtf1 x}", "a.doc", "rtf"),
        (b"<!doctype HTML><p>x", "a.txt", "html"),
        (b"<?xml version='1.0'?><article><p>x</p></article>", "a.xml", "xml"),
        (b"words", "a.md", "text"),
        (b"words", "README", "text"),
        (b"a,b", "a.CSV", "csv"),
        (b"words", "a.xyz", ""),
        (b"\x89PNG\r\n\x1a\n\0\0", "a.png", ""),
        (b"\x89PNG\r\n\x1a\n\0\0", "a.txt", ""),
        (b"\x7fELF\x02\0\0\0", "program", ""),
        (b"\xff\xfe\xff", "noise", ""),
        (b"", "nothing", ""),
    ],
)
def test_content_decides_first(data: bytes, name: str, kind: str) -> None:
    assert detect_format(data, name) == kind


def test_a_refusal_names_the_supported_formats() -> None:
    with pytest.raises(UnsupportedFormat) as caught:
        parse(b"\x89PNG\r\n\x1a\n\0\0", "photo.png")

    assert "photo.png" in str(caught.value)
    assert str(caught.value).endswith(f"convert to one of: {SUPPORTED_FORMATS}.")
    assert {"pdf", "docx", "md", "csv", "html"} <= set(SUPPORTED_EXTENSIONS)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UnsupportedFormat):
        processor_for("sculpture")


def test_an_unknown_backend_is_refused_even_for_text() -> None:
    with pytest.raises(InvalidArgument, match="pdfium"):
        parse(b"words", "a.txt", backend="nosuch")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.json", "a.rst", "a.csv", "a.tsv"])
@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_a_blank_text_has_no_text(name: str, data: bytes) -> None:
    assert parse(data, name).markdown.strip() == ""


def test_binary_data_under_the_name_of_a_text_is_an_error() -> None:
    with pytest.raises(ParseError, match=r"a\.txt holds binary data"):
        parse(b"\x01\x02\0\0\0\x03\0\0\x04", "a.txt")


def test_text_under_the_name_of_a_pdf_is_an_error() -> None:
    with pytest.raises(ParseError, match=r"a\.pdf is not a readable PDF"):
        parse(b"just words", "a.pdf")
