"""Scripts without spaces, Unicode forms and identifiers, searched for as people search."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pincite.bm25.search import search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays
from pincite.text.analysis import default_analyzer

UNSPACED = [
    "大阪で会議を開く",
    "東京の天気は晴れ",
    "中文分词测试文档",
    "회의실예약방법안내",
    "服务器GPU温度监控",
]
IDENTIFIERS = ["ERR-4021", "foo_bar.baz", "C++", "v2.10.3", "state-of-the-art"]
DECOYS = ["ERR-4022", "foo bar", "C", "v2.10.4", "the state of the art", "foo_bar.qux", "C#"]


def search(
    texts: Sequence[str], query: str, languages: Sequence[str] = ()
) -> list[tuple[int, float]]:
    """(row, score) of every text found, best first."""
    analyzer = default_analyzer()
    language = languages[0] if languages else ""
    segment = KeywordSegment.from_arrays(
        build_arrays([analyzer.document_terms(text, language) for text in texts])
    )
    found = search_segments(
        [segment],
        [None],
        [None],
        analyzer.query_groups(query, languages),
        len(texts),
        row_id=lambda _segment, row: f"{row:03}",
    )
    return [(row, score) for _, row, score in found]


@pytest.mark.parametrize(
    ("query", "row"), [("会議", 0), ("天気", 1), ("分词", 2), ("예약", 3), ("GPU", 4)]
)
def test_scripts_without_spaces_find_their_text_alone(query: str, row: int) -> None:
    found = search(UNSPACED, query)

    assert [where for where, _ in found] == [row]
    assert found[0][1] > 0


@pytest.mark.parametrize("query", ["résumé", "re\u0301sume\u0301", "RÉSUMÉ", "resume", "strasse"])
@pytest.mark.parametrize("language", ["", "en", "fr"])
def test_unicode_forms_and_case_find_each_other(query: str, language: str) -> None:
    languages = [language] if language else []

    assert search(["Re\u0301sume\u0301 and STRASSE", "nothing"], query, languages)[0][0] == 0
    assert search(["R\u00e9sum\u00e9, Straße", "nothing"], query, languages)[0][0] == 0


@pytest.mark.parametrize("identifier", IDENTIFIERS)
@pytest.mark.parametrize("languages", [[], ["en"], ["en", "de"]])
def test_an_identifier_finds_its_own_text_first(identifier: str, languages: list[str]) -> None:
    texts = [f"The text about {name} is here." for name in [*DECOYS, *IDENTIFIERS, *DECOYS]]

    found = search(texts, identifier, languages)

    assert texts[found[0][0]] == f"The text about {identifier} is here."
    assert len(found) == 1 or found[0][1] > found[1][1]


def test_a_part_finds_the_identifier() -> None:
    assert [row for row, _ in search(["call foo_bar.baz now", "other"], "baz")] == [0]
    assert [row for row, _ in search(["call foo_bar.baz now", "other"], "foo_bar")] == [0]


def test_only_stop_words_still_find() -> None:
    assert [row for row, _ in search(["the end", "an end"], "the of and")] == [0]
