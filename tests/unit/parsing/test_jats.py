"""The front matter of a journal article."""

from __future__ import annotations

from pincite.indexing.bibliographic import Extracted, extract_metadata
from pincite.parsing.jats import jats_metadata
from pincite.parsing.registry import parse

ARTICLE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving and Interchange DTD v1.2//EN"
 "JATS-archivearticle1.dtd">
<article article-type="research-article"><front><journal-meta>
<journal-title-group><journal-title>Marlow Letters &amp; Notes</journal-title></journal-title-group>
</journal-meta><article-meta>
<article-id pub-id-type="pmid">1</article-id><article-id pub-id-type="doi">10.1000/m.1</article-id>
<title-group><article-title>Of <italic>sheep</italic>
 and masks</article-title></title-group>
<contrib-group>
<contrib contrib-type="author"><name><surname>de Iaco</surname><given-names>Ann</given-names></name>
</contrib>
<contrib contrib-type="author"><collab>The Team</collab></contrib>
<contrib contrib-type="editor"><name><surname>Doe</surname><given-names>Ed</given-names></name>
</contrib>
<contrib contrib-type='author'><name><surname>Sun</surname>
<given-names>Ming-An B</given-names></name></contrib></contrib-group>
<pub-date pub-type="epub"><day>1</day><year>2020</year></pub-date>
<kwd-group><title>Words</title><kwd>wool</kwd><kwd>sheep</kwd></kwd-group>
</article-meta></front><body><sec><title>Intro</title><p>Sheep sleep.</p></sec></body></article>
"""


def test_the_front_matter_is_read_whole() -> None:
    assert jats_metadata(ARTICLE) == {
        "title": "Of sheep and masks",
        "author": "Ann de Iaco; Ming-An B Sun",
        "keywords": "wool; sheep",
        "journal": "Marlow Letters & Notes",
        "doi": "10.1000/m.1",
        "date": "2020",
    }


def test_an_article_without_front_matter_says_nothing() -> None:
    assert jats_metadata("<article><body/></article>") == {}
    assert jats_metadata("</front><front>") == {}
    assert jats_metadata("<front>" + "x" * 1_000_001 + "</front>") == {}


def test_the_parser_passes_it_on() -> None:
    found = extract_metadata(parse(ARTICLE.encode(), "article.xml"))

    assert found == {
        "title": Extracted("Of sheep and masks", "file info"),
        "authors": Extracted(["Ann de Iaco", "Ming-An B Sun"], "file info"),
        "year": Extracted(2020, "file info"),
        "doi": Extracted("10.1000/m.1", "file info"),
        "journal": Extracted("Marlow Letters & Notes", "file info"),
        "keywords": Extracted(["wool", "sheep"], "file info"),
    }
