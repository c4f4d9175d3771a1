"""The examples of the page about the retriever."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "bm25-retriever.md"


def test_the_examples_of_the_page_run():
    result = doctest.testfile(str(PAGE), module_relative=False)

    assert result.attempted > 15
    assert result.failed == 0
