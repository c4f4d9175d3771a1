"""The page about stores is true: its code runs."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "stores.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))


def test_the_page_has_code():
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[-1][:40])
def test_a_block_of_the_page_runs(block):
    exec(compile(block, PAGE.name, "exec"), {"__name__": "page"})
