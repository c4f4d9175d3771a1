"""``merge_peers=False``: a passage for each block."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.chunking.adaptive import AdaptiveChunker
from pincite.model.layout import MarkdownParseResult

TEXT = """# A

One.

Two.

## B

- x
- y

| a | b |
| - | - |
| 1 | 2 |

```
code

more
```

### C

#### D

last
"""


def parsed(markdown: str) -> MarkdownParseResult:
    return MarkdownParseResult(markdown=markdown, page_ranges=[], total_pages=1)


def test_every_block_has_a_passage_and_a_heading_goes_with_the_one_below_it() -> None:
    chunks = AdaptiveChunker(merge_peers=False).chunk(parsed(TEXT))

    assert [chunk.content for chunk in chunks] == [
        "# A\n\nOne.",
        "Two.",
        "## B\n\n- x",
        "- y",
        "| a | b |\n| - | - |\n| 1 | 2 |",
        "```\ncode\n\nmore\n```",
        "### C\n\n#### D\n\nlast",
    ]
    assert [chunk.context_header for chunk in chunks[2:]] == ["A > B"] * 4 + ["A > B > C > D"]
    assert len(AdaptiveChunker().chunk(parsed(TEXT))) == 3


def test_only_the_setting_that_cuts_otherwise_changes_the_fingerprint() -> None:
    assert AdaptiveChunker(merge_peers=True).fingerprint == AdaptiveChunker().fingerprint
    assert AdaptiveChunker(merge_peers=False).fingerprint != AdaptiveChunker().fingerprint


@pytest.mark.parametrize("limit", [40, 200])
@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(TEXT.split("\n\n")), max_size=12), st.booleans())
def test_nothing_is_lost_and_offsets_hold(limit: int, blocks: list[str], crlf: bool) -> None:
    text = "\n\n".join(blocks).replace("\n", "\r\n" if crlf else "\n")
    chunks = AdaptiveChunker(limit, merge_peers=False).chunk(parsed(text))

    assert all(text[c.start_char : c.end_char] == c.content for c in chunks)
    assert re.sub(r"\s", "", "".join(c.content for c in chunks)) == re.sub(r"\s", "", text)
    assert all(a.end_char <= b.start_char for a, b in pairwise(chunks))
