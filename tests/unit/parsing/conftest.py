"""Files for the parsing tests: PDFs from ``tests/fixtures/parsing``, small archives made here."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "parsing"

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_CONTENT_TYPES = """<?xml version="1.0" encoding="UTF-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>
<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/>
</Types>"""  # noqa: E501
_RELS = """<?xml version="1.0" encoding="UTF-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>
</Relationships>"""  # noqa: E501
_STYLES = f"""<w:styles xmlns:w="{_W}"><w:style w:type="paragraph" w:styleId="Heading1">
<w:name w:val="heading 1"/></w:style></w:styles>"""


def _paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def _row(*cells: str) -> str:
    return "<w:tr>" + "".join(f"<w:tc>{_paragraph(c)}</w:tc>" for c in cells) + "</w:tr>"


def zipped(parts: Mapping[str, str | bytes]) -> bytes:
    """An archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def pdf() -> Callable[[str], bytes]:
    """The bytes of a PDF fixture by its stem."""
    return lambda stem: (FIXTURES / f"{stem}.pdf").read_bytes()


@pytest.fixture
def make_zip() -> Callable[[Mapping[str, str | bytes]], bytes]:
    """Builds archives."""
    return zipped


@pytest.fixture
def docx() -> bytes:
    """A heading, a paragraph and a table."""
    body = (
        _paragraph("Harbour rules", "Heading1")
        + _paragraph("Boats keep to the left of the pier.")
        + "<w:tbl>"
        + _row("Boat", "Length")
        + _row("Tern", "14 m")
        + "</w:tbl>"
    )
    document = f'<w:document xmlns:w="{_W}"><w:body>{body}</w:body></w:document>'
    return zipped(
        {
            "[Content_Types].xml": _CONTENT_TYPES,
            "_rels/.rels": _RELS,
            "word/document.xml": document,
            "word/styles.xml": _STYLES,
        }
    )


_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def _relations(kind: str, target: str) -> str:
    return (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/{kind}" Target="{target}"/></Relationships>'
    )


@pytest.fixture
def make_xlsx() -> Callable[[str], bytes]:
    """Builds a workbook of one sheet, "Tides", from the XML of its rows."""
    types = (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>'
    )
    workbook = (
        f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Tides" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    return lambda rows: zipped(
        {
            "[Content_Types].xml": types,
            "_rels/.rels": _relations("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": workbook,
            "xl/_rels/workbook.xml.rels": _relations("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": (
                f'<worksheet xmlns="{_SHEET}"><sheetData>{rows}</sheetData></worksheet>'
            ),
        }
    )


@pytest.fixture
def make_ods() -> Callable[[str], bytes]:
    """Builds an OpenDocument spreadsheet of one sheet from the XML of its rows."""
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return lambda rows: zipped(
        {
            "mimetype": kind,
            "META-INF/manifest.xml": (
                f'<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0"><manifest:file-entry '
                f'manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
            ),
            "content.xml": (
                f'<office:document-content xmlns:office="{_ODF}:office:1.0" '
                f'xmlns:table="{_ODF}:table:1.0" xmlns:text="{_ODF}:text:1.0"><office:body>'
                f'<office:spreadsheet><table:table table:name="Tides">{rows}</table:table>'
                "</office:spreadsheet></office:body></office:document-content>"
            ),
        }
    )
