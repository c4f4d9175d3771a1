"""What is told of a document, where it was found, and what a DOI registry adds."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

import pytest

from pincite.errors import InvalidArgument
from pincite.indexing.bibliographic import Extracted, extract_metadata, plain_values
from pincite.indexing.crossref import CrossrefLookup
from pincite.model.layout import MarkdownParseResult

PAPER = """# Counting Sheep in Block Masks

Ada Lovelace∗, Jean-Luc de la Tour†, W. B. O’Neil 1 and Barlas Oguz ˘ ∗

University of Marlow, Harbour Research Centre, {ada,jl}@marlow.example

## Abstract

We count sheep. It was first done in May 3, 1911 by shepherds who had little else to do, and since
then the subject has not moved. We describe how.

**Keywords:** sheep · block masks; _counting_, sleep.

KDD ’22, August 14–18, 2022, Washington, DC, USA. https://doi.org/10.1145/3534678.3539043.

Copyright © 2021 ACM. Published in Proceedings of the Marlow Conference on Sheep, vol. 3.
"""


def parsed(markdown: str, first_page: int | None = None, **metadata: str) -> MarkdownParseResult:
    pages = [] if first_page is None else [(0, first_page, 1), (first_page, len(markdown), 2)]
    return MarkdownParseResult(
        markdown=markdown, page_ranges=pages, total_pages=1, metadata=metadata
    )


def values(markdown: str, **metadata: str) -> dict[str, Any]:
    return plain_values(extract_metadata(parsed(markdown, **metadata)))


def test_a_paper_without_file_info_is_read_from_its_first_page() -> None:
    assert extract_metadata(parsed(PAPER)) == {
        "title": Extracted("Counting Sheep in Block Masks", "headings"),
        "authors": Extracted(
            ["Ada Lovelace", "Jean-Luc de la Tour", "W. B. O’Neil", "Barlas Oguz"], "first page"
        ),
        "year": Extracted(2021, "first page"),
        "doi": Extracted("10.1145/3534678.3539043", "first page"),
        "journal": Extracted("Proceedings of the Marlow Conference on Sheep", "first page"),
        "keywords": Extracted(["sheep", "block masks", "counting", "sleep"], "first page"),
    }


def test_file_info_comes_first_where_it_can_be_trusted() -> None:
    info = {
        "title": "Of  Sheep",
        "author": "Grace Hopper; Alan M. Turing",
        "keywords": "wool, flocks",
        "subject": "DOI: 10.1000/x(1).y",
        "date": "01 6 2020",
    }

    assert extract_metadata(parsed(PAPER, **info)) == {
        "title": Extracted("Of Sheep", "file info"),
        "authors": Extracted(["Grace Hopper", "Alan M. Turing"], "file info"),
        "year": Extracted(2020, "file info"),
        "doi": Extracted("10.1000/x(1).y", "file info"),
        "journal": Extracted("Proceedings of the Marlow Conference on Sheep", "first page"),
        "keywords": Extracted(["wool", "flocks"], "file info"),
    }


@pytest.mark.parametrize("title", ["Microsoft Word - final_v3.docx", "paper.tex", "abc", ""])
def test_a_title_that_is_a_file_name_is_no_title(title: str) -> None:
    assert values(PAPER, title=title)["title"] == "Counting Sheep in Block Masks"


def test_the_author_of_a_file_without_a_title_only_fills_a_gap() -> None:
    assert values(PAPER, author="Tess Typist")["authors"][0] == "Ada Lovelace"
    found = extract_metadata(parsed("# Notes\n\nNothing.", author="Tess Typist"))
    assert found["authors"] == Extracted(["Tess Typist"], "file info")


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("## Front cover\n\n# The Guide\n\nText.", "The Guide"),
        ("## 1 Introduction\n\nText.", None),
        ("# Abstract\n\n# Late\n\nText.", None),
        ("Plain text only.", None),
        ("# *Marked* `up`\n\nText.", "Marked up"),
        (f"{'Running text. It goes on. ' * 20}\n\n# Results of the day\n", None),
        (f"# {'x' * 301}\n\nText.", None),
        ("", None),
    ],
)
def test_the_title_is_a_heading_before_the_text(markdown: str, title: str | None) -> None:
    assert values(markdown).get("title") == title


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Ada Lovelace", ["Ada Lovelace"]),
        ("## Qingyun Wu , Gagan Bansal , Li Jiang", ["Qingyun Wu", "Gagan Bansal", "Li Jiang"]),
        ("Ludwig van Beethoven & Émile Zola", ["Ludwig van Beethoven", "Émile Zola"]),
        ("Your Name January 3, 2024", ["Your Name"]),
        ("Mozilla Corporation∗", None),
        ("University of Washington", None),
        ("we thank nobody in particular for this", None),
        ("| a | b |", None),
    ],
)
def test_authors_are_a_line_of_names_below_the_title(line: str, names: list[str] | None) -> None:
    assert values(f"# The Title Itself\n\n{line}\n\n## Abstract\n\nX.").get("authors") == names


@pytest.mark.parametrize(
    ("line", "year"),
    [
        ("Copyright c 2009 ACM 978-1-60558-392-1/09/06", 2009),
        ("© 1987 The Press", 1987),
        ("© Copyright Marlow Corp. 2014.", 2014),
        ("arXiv:2004.04906v3 [cs.CL] 30 Sep 2020", 2020),
        ("PLDI’09, June 15–20, 2009, Dublin, Ireland.", 2009),
        ("Received 24 February 2018", 2018),
        ("12 mars 1999", 1999),
        ("The year 2020 was long.", None),
        ("Copyright 3020", None),
        (f"{'They met on June 16, 1911 and talked. ' * 8}", None),
    ],
)
def test_the_year_is_that_of_the_publication(line: str, year: int | None) -> None:
    assert values(f"# The Title Itself\n\n{line}").get("year") == year


@pytest.mark.parametrize(
    ("line", "doi"),
    [
        ("doi:10.7554/eLife.56337.", "10.7554/eLife.56337"),
        ("(https://doi.org/10.1000/182)", "10.1000/182"),
        ("funded by 10.13039/100009633", None),
        ("arXiv:2103.15348v2 [cs.CV]", "10.48550/arXiv.2103.15348"),
        ("version 10.2/3", None),
    ],
)
def test_a_doi_is_found_without_what_stands_around_it(line: str, doi: str | None) -> None:
    assert values(f"# T\n\n{line}").get("doi") == doi


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("## Keywords\n\nsheep, wool", ["sheep", "wool"]),
        ("Index Terms—sheep, wool.", ["sheep", "wool"]),
        ("Mots-clés : mouton ; laine", ["mouton", "laine"]),
        ("Schlüsselwörter: Schaf", ["Schaf"]),
        ("Keywords help search.", ["help search"]),
        ("No key here.", None),
    ],
)
def test_keywords_are_listed_after_their_word(text: str, keywords: list[str] | None) -> None:
    assert values(f"# T\n\n{text}").get("keywords") == keywords


def test_only_the_first_page_is_read() -> None:
    text = "# The Title Itself\n\nText.\n\nCopyright 2020. doi:10.1000/1"
    found = extract_metadata(parsed(text, first_page=28))

    assert list(found) == ["title"]


def test_a_copyright_notice_may_stand_on_a_page_after_the_first() -> None:
    first, second = "# The Guide\n\n", "© Copyright Marlow Corp. 2014. All rights reserved."
    found = extract_metadata(parsed(first + second, first_page=len(first)))

    assert found["year"] == Extracted(2014, "page 2")


def test_nothing_is_asked_unless_a_lookup_is_passed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    def refuse(*_: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    assert values(PAPER)["doi"] == "10.1145/3534678.3539043"


MESSAGE = {
    "DOI": "10.1145/3534678.3539043",
    "title": ["DocLayNet:  A Dataset"],
    "author": [{"given": "Birgit", "family": "Pfitzmann"}, {"name": "The Team"}, {}],
    "issued": {"date-parts": [[2022, 8, 14]]},
    "container-title": ["Proceedings of KDD"],
    "subject": ["Layout"],
}


class Registry(BaseHTTPRequestHandler):
    answer: ClassVar[Any] = {"status": "ok", "message": MESSAGE}
    status: ClassVar[int] = 200
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        body = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[tuple[str, type[Registry]]]:
    handler = type("Handler", (Registry,), {"asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_registry_in_crossrefs_form_goes_over_what_was_found(
    registry: tuple[str, type[Registry]],
) -> None:
    url, handler = registry
    lookup = CrossrefLookup(url, mailto="me@marlow.example")
    found = extract_metadata(parsed(PAPER), lookup=lookup)
    extract_metadata(parsed(PAPER), lookup=lookup)

    assert handler.asked == ["/works/10.1145%2F3534678.3539043?mailto=me%40marlow.example"]
    assert found == {
        "title": Extracted("DocLayNet: A Dataset", "DOI lookup"),
        "authors": Extracted(["Birgit Pfitzmann", "The Team"], "DOI lookup"),
        "year": Extracted(2022, "DOI lookup"),
        "doi": Extracted("10.1145/3534678.3539043", "DOI lookup"),
        "journal": Extracted("Proceedings of KDD", "DOI lookup"),
        "keywords": Extracted(["Layout"], "DOI lookup"),
    }


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (404, {"status": "not found"}),
        (500, b""),
        (200, b"<html>"),
        (200, []),
        (200, {"message": None}),
        (200, {"message": {"author": ["x"]}}),
    ],
)
def test_a_registry_that_fails_leaves_what_was_found_and_warns(
    registry: tuple[str, type[Registry]],
    status: int,
    answer: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    url, handler = registry
    handler.status, handler.answer = status, answer
    with caplog.at_level(logging.WARNING):
        found = extract_metadata(parsed(PAPER), lookup=CrossrefLookup(url))

    assert found["title"].source == "headings"
    assert "tells nothing of the DOI 10.1145/3534678.3539043" in caplog.text


def test_a_registry_that_is_not_there_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert CrossrefLookup("http://127.0.0.1:9", timeout=0.5)("10.1/x") is None
    assert "ConnectError" in caplog.text
    with pytest.raises(InvalidArgument, match="HTTP"):
        CrossrefLookup("file:///etc/passwd")
