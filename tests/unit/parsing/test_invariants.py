"""What holds of every parse result, whatever the file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pypdfium2
import pytest

from pincite.model.geometry import WordBoxes
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.pdf.backends import PdfiumBackend
from pincite.parsing.registry import parse

FIXTURES = Path(__file__).parents[2] / "fixtures" / "parsing"
PDFS = sorted(path.name for path in FIXTURES.glob("*.pdf"))
TEXTS = {
    "a.md": "---\ntitle: x\n---\n\n# A\n\ntext\n\n```\n# no heading\n",
    "b.txt": "\n\n  \nplain\n\n\n",
    "c.csv": "a,b\n1,2\n",
    "d.json": '{"a": [1, "`````"]}',
    "e.rst": "Title\n=====\n\ntext\n\nPart\n----\n",
    "f.html": "<html><body><h1>A</h1><p>text</p></body></html>",
    "g.md": "",
}


def read(name: str) -> MarkdownParseResult:
    return parse((FIXTURES / name).read_bytes(), name, password="sesame")


def check_blocks(result: MarkdownParseResult) -> None:
    blocks = result.blocks
    assert [b.start_char for b in blocks[:1]] == [0] * len(blocks[:1])
    assert all(a.end_char == b.start_char for a, b in pairwise(blocks))
    assert (blocks[-1].end_char if blocks else 0) == len(result.markdown)
    assert all(b.end_char > b.start_char for b in blocks)
    assert all((b.level > 0) == (b.kind == "heading") for b in blocks)


def test_there_are_fixtures() -> None:
    assert len(PDFS) >= 9


@pytest.mark.parametrize("name", PDFS)
def test_blocks_of_a_pdf_cover_its_markdown(name: str) -> None:
    check_blocks(read(name))


@pytest.mark.parametrize("name", TEXTS)
def test_blocks_of_a_text_cover_its_markdown(name: str) -> None:
    check_blocks(parse(TEXTS[name].encode(), name))


@pytest.mark.parametrize("name", PDFS)
def test_page_ranges_are_ordered_and_touch(name: str) -> None:
    result = read(name)

    ranges = result.page_ranges
    assert ranges[0][0] == 0
    assert ranges[-1][1] == len(result.markdown)
    assert all(a[1] == b[0] and a[2] < b[2] for a, b in pairwise(ranges))
    assert all(start < end and 1 <= page <= result.total_pages for start, end, page in ranges)


@pytest.mark.parametrize("name", PDFS)
def test_words_point_at_their_text_and_stand_on_their_page(name: str) -> None:
    result = read(name)
    source = PdfiumBackend().read((FIXTURES / name).read_bytes(), password="sesame")
    known = {
        (page.number, *np.float32(word.box)): word.text
        for page in source.pages
        for word in page.words
    }

    for word in WordBoxes.unpack(result.words):
        box = word.bbox
        text = known[(box.page, *np.float32((box.x0, box.y0, box.x1, box.y1)))]
        shown = result.markdown[word.start_char : word.end_char].replace("\\|", "|")
        assert shown in (text, text.removesuffix("-")) or (shown == "-" and not text.isalnum())
        width, height = result.page_dimensions[str(box.page)]
        assert 0 <= box.x0 < box.x1 <= width + 0.01
        assert 0 <= box.y0 < box.y1 <= height + 0.01


@pytest.mark.parametrize("name", [name for name in PDFS if name != "running.pdf"])
def test_every_word_is_kept(name: str) -> None:
    source = PdfiumBackend().read((FIXTURES / name).read_bytes(), password="sesame")

    assert len(WordBoxes.unpack(read(name).words)) == sum(len(p.words) for p in source.pages)


@pytest.mark.parametrize("name", PDFS)
def test_blocks_enclose_their_words(name: str) -> None:
    result = read(name)
    words = WordBoxes.unpack(result.words)

    for block in result.blocks:
        assert block.bbox is not None
        for word in words.between(block.start_char, block.end_char):
            assert word.bbox.page == block.page == block.bbox.page
            assert block.bbox.x0 - 0.01 <= word.bbox.x0 <= word.bbox.x1 <= block.bbox.x1 + 0.01
            assert block.bbox.y0 - 0.01 <= word.bbox.y0 <= word.bbox.y1 <= block.bbox.y1 + 0.01


@pytest.mark.parametrize("name", ["rotated.pdf", "two_columns.pdf", "arabic.pdf"])
def test_rendered_pages_have_ink_where_the_words_are(name: str) -> None:
    result = read(name)
    document = pypdfium2.PdfDocument((FIXTURES / name).read_bytes())
    dark = {}
    for index in range(len(document)):
        page = document[index]
        dark[index + 1] = page.render(scale=2).to_numpy().min(axis=2) < 128
        page.close()
    document.close()

    for word in WordBoxes.unpack(result.words):
        x0, y0, x1, y1 = (
            round(2 * v) for v in (word.bbox.x0, word.bbox.y0, word.bbox.x1, word.bbox.y1)
        )
        assert dark[word.bbox.page][y0:y1, x0:x1].any(), result.markdown[
            word.start_char : word.end_char
        ]
