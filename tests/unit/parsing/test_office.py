"""Office files, HTML, e-mail and notebooks, and what hostile archives get."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping

import pytest

from pincite.errors import ParseError, UnsupportedFormat
from pincite.parsing import archives
from pincite.parsing.office import OfficeProcessor
from pincite.parsing.registry import parse

MakeZip = Callable[[Mapping[str, str | bytes]], bytes]


def test_headings_and_tables_of_a_word_file_survive(docx: bytes) -> None:
    result = parse(docx, "rules.docx")

    assert "# Harbour rules" in result.markdown
    assert "| Boat | Length |" in result.markdown
    assert "| Tern | 14 m |" in result.markdown
    assert {"heading", "paragraph", "table"} <= {block.kind for block in result.blocks}
    assert (result.page_ranges, result.total_pages) == ([], 1)


def test_content_goes_before_a_wrong_extension(docx: bytes) -> None:
    assert "# Harbour rules" in parse(docx, "rules.pdf").markdown
    assert "# Harbour rules" in parse(docx, "rules").markdown


PAGE = """<!DOCTYPE html><html><head><title>Tides &amp; times</title>
<meta name="description" content="secret"><script>var x = "hidden";</script></head><body>
<h1>Tides</h1><p>High water is at <b>noon</b>, see <a href="http://x.example/y">the table</a>.</p>
<table><tr><th>Day</th><th>Level</th></tr><tr><td>Mon</td><td>4.1</td></tr></table>
<h2>Notes</h2><ul><li>One</li><li>Two</li></ul></body></html>"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
def test_html_keeps_headings_tables_and_lists(encoding: str) -> None:
    result = parse(PAGE.encode(encoding), "page.html")

    assert result.markdown.startswith("# Tides\n")
    assert "High water is at noon, see the table." in result.markdown
    assert "| Day | Level |\n| --- | --- |\n| Mon | 4.1 |" in result.markdown
    assert "## Notes" in result.markdown
    assert "- One\n- Two" in result.markdown
    assert "hidden" not in result.markdown
    assert result.metadata["title"] == "Tides & times"


def test_html_in_a_declared_charset() -> None:
    page = '<html><head><meta charset="iso-8859-1"></head><body><p>Un café.</p></body></html>'

    assert "Un café." in parse(page.encode("latin-1"), "a.htm").markdown


def test_mail_shows_its_decoded_subject_and_body() -> None:
    mail = (
        b"From: a@example.com\r\nTo: b@example.com\r\nSubject: =?utf-8?q?Caf=C3=A9_am_Kai?=\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n\r\nWe meet at nine.\r\n"
    )

    markdown = parse(mail, "m.eml").markdown

    assert "Café am Kai" in markdown
    assert "We meet at nine." in markdown


def test_a_notebook_shows_text_and_code() -> None:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Plan\n", "words"]},
        {
            "cell_type": "code",
            "metadata": {},
            "source": ["print(1)"],
            "outputs": [],
            "execution_count": 1,
        },
    ]
    book = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})

    markdown = parse(book.encode(), "n.ipynb").markdown

    assert "# Plan" in markdown
    assert "print(1)" in markdown
    assert parse(book.encode(), "n.json").markdown == markdown


def test_rtf_is_read() -> None:
    assert (
        "Hello World café" in parse(b"{\\rtf1\\ansi Hello World caf\\'e9\\par}", "a.rtf").markdown
    )


def test_a_journal_article_has_headings_and_other_xml_is_fenced() -> None:
    article = (
        "<?xml version='1.0'?><article><front><article-meta><title-group><article-title>On tides"
        "</article-title></title-group></article-meta></front><body><sec><title>Methods</title>"
        "<p>We measured.</p></sec></body></article>"
    )
    catalog = "<?xml version='1.0'?><catalog><title>Sea tales</title></catalog>"

    assert "# Methods" in parse(article.encode(), "a.xml").markdown
    assert parse(article.encode(), "a").markdown == parse(article.encode(), "a.xml").markdown
    assert parse(catalog.encode(), "c.xml").markdown == f"```xml\n{catalog}\n```\n"


@pytest.mark.parametrize(
    "name", ["a.docx", "a.xlsx", "a.pptx", "a.odt", "a.epub", "a.doc", "a.xls", "a.ppt", "a.msg"]
)
@pytest.mark.parametrize("data", [b"junk", b"PK\x03\x04" + b"\xff" * 60, b""])
def test_a_damaged_file_is_a_named_error(name: str, data: bytes) -> None:
    with pytest.raises(ParseError, match=name.replace(".", r"\.")):
        parse(data, name)


def test_a_torn_archive_is_a_named_error(docx: bytes) -> None:
    for cut in range(0, len(docx), 53):
        with pytest.raises(ParseError, match=r"a\.docx"):
            parse(docx[:cut], "a.docx")


def test_a_shifted_archive_ends_in_a_result_or_a_named_error(docx: bytes) -> None:
    whole = parse(docx, "a.docx").markdown
    messages = []

    for cut in range(0, len(docx), 29):
        try:
            assert parse(docx[:cut] + docx[cut + 7 :], "a.docx").markdown in (whole, "")
        except ParseError as error:
            messages.append(str(error))

    assert messages
    assert all("a.docx" in message for message in messages)


def test_an_archive_that_inflates_too_far_is_refused(
    make_zip: MakeZip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_INFLATED_BYTES", 2 << 20)
    bomb = make_zip({"word/document.xml": b"<a>" + b" " * (3 << 20)})

    with pytest.raises(ParseError, match=r"bomb\.docx inflates to more than 2 MiB; split it"):
        parse(bomb, "bomb.docx")


def test_the_stated_size_of_a_member_is_not_believed(
    make_zip: MakeZip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_INFLATED_BYTES", 1 << 20)
    bomb = bytearray(make_zip({"word/document.xml": b" " * (3 << 20)}))
    entry = bomb.rindex(b"PK\x01\x02")
    bomb[entry + 24 : entry + 28] = struct.pack("<I", 10)

    with pytest.raises(ParseError, match=r"bomb\.docx"):
        parse(bytes(bomb), "bomb.docx")


def test_an_archive_of_too_many_members_is_refused(
    make_zip: MakeZip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    many = make_zip({"word/document.xml": "x", "a": "", "b": "", "c": ""})

    with pytest.raises(ParseError, match="4 members, more than 3"):
        parse(many, "a.docx")


def test_an_encrypted_word_file_says_so() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 500 + "EncryptedPackage".encode("utf-16-le")

    with pytest.raises(ParseError, match=r"a\.docx is encrypted; save a copy without a password"):
        parse(ole, "a.docx")


def test_an_html_page_without_text_is_empty() -> None:
    assert parse(b"<html><body></body></html>", "a.html").markdown == ""


def test_the_office_processor_refuses_other_kinds() -> None:
    with pytest.raises(UnsupportedFormat, match=r"a\.pdf is none of csv, doc, docx"):
        OfficeProcessor().parse(b"%PDF-1.7", "a.pdf")
