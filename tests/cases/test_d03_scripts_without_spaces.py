"""Chinese, Japanese and Korean words are found inside runs without spaces."""

from __future__ import annotations

import pytest

from pincite import Library

from .conftest import fill

TEXTS = {
    "1": "大阪で会議を開く",
    "2": "東京の天気は晴れ",
    "3": "中文分词测试文档",
    "4": "회의실예약방법안내",
    "5": "服务器GPU温度监控",
}


@pytest.fixture(scope="module")
def texts(shared: Library) -> Library:
    fill(shared, TEXTS)
    return shared


@pytest.mark.parametrize(
    ("query", "first"), [("会議", "1"), ("天気", "2"), ("分词", "3"), ("예약", "4"), ("GPU", "5")]
)
def test_a_word_inside_a_run_finds_its_text_alone(texts: Library, query: str, first: str) -> None:
    hits = texts.search(query, mode="keyword")

    assert [hit.chunk.document for hit in hits] == [first]
    assert hits[0].score > 0


@pytest.mark.parametrize(("query", "first"), [("会議", "1"), ("GPU", "5")])
def test_its_highlight_is_the_word_itself(texts: Library, query: str, first: str) -> None:
    hit = texts.search(query, mode="keyword")[0]

    assert "".join(hit.chunk.content[s:e] for s, e in hit.highlights) == query
