"""Headings, fences, front matter and repeated paragraphs, by both chunkers."""

from __future__ import annotations

import pytest

from pincite import AdaptiveChunker, InvalidArgument, Library, MarkdownChunker, parse_and_chunk

SOURCE = """\
---
title: Stones
tags: [a, b]
---

# A

The same paragraph stands twice.

### A.x

Under the small heading.

## B

The same paragraph stands twice.

```python
# not a heading
def stone():
    if True:
        return "indented"
```

Words after the fence.

~~~
# neither is this
    four spaces
"""
CHUNKERS = [
    MarkdownChunker(60, 10),
    MarkdownChunker(),
    AdaptiveChunker(16),
    AdaptiveChunker(40),
    AdaptiveChunker(),
]


def header(content: str, chunks: list[tuple[str, str]]) -> str:
    """The heading path of the first chunk that holds ``content``."""
    return next(path for body, path in chunks if content in body)


@pytest.mark.parametrize("chunker", CHUNKERS, ids=lambda c: c.fingerprint[:40])
def test_bodies_are_slices_and_every_line_is_in_one(chunker: object) -> None:
    chunks = parse_and_chunk(SOURCE.encode(), "a.md", chunker=chunker)  # type: ignore[arg-type]
    covered = set()
    for chunk in chunks:
        assert chunk.content == SOURCE[chunk.start_char : chunk.end_char]
        covered |= set(range(chunk.start_char, chunk.end_char))

    missing = [i for i, char in enumerate(SOURCE) if not char.isspace() and i not in covered]
    assert "".join(SOURCE[i] for i in missing) == ""
    assert "".join(c.content for c in chunks).count("        return") >= 1


@pytest.mark.parametrize("chunker", CHUNKERS[2:4], ids=["16", "40"])
def test_heading_paths_are_those_of_the_text(chunker: AdaptiveChunker) -> None:
    found = [
        (c.content, c.context_header)
        for c in parse_and_chunk(SOURCE.encode(), "a.md", chunker=chunker)
    ]

    assert header("Under the small heading", found) == "A > A.x"
    assert header("Words after the fence", found) == "A > B"
    assert header("four spaces", found) == "A > B"
    assert not any("not a heading" in path or "neither" in path for _, path in found)


def test_the_library_keeps_every_chunk_a_slice_of_its_markdown(lib: Library) -> None:
    for number, chunker in enumerate(CHUNKERS):
        lib.add(SOURCE.encode(), filename="a.md", document=f"d{number}", chunker=chunker)
        markdown = lib.markdown(f"d{number}")

        assert markdown == SOURCE
        chunks = lib.chunks(f"d{number}")
        assert all(c.content == markdown[c.start_char : c.end_char] for c in chunks)
        assert [c.chunk_index for c in chunks] == list(range(len(chunks)))


def test_a_paragraph_that_stands_twice_is_found_at_both_places(lib: Library) -> None:
    lib.add(SOURCE.encode(), filename="a.md", document="d", chunker=AdaptiveChunker(16))
    spans = {
        hit.chunk.start_char
        for hit in lib.search("same paragraph stands twice", mode="keyword")
        if "stands twice" in hit.chunk.content
    }

    assert len(spans) == 2


@pytest.mark.parametrize(("size", "overlap"), [(10, 10), (10, 11), (0, 0), (10, -1)])
def test_an_overlap_that_would_never_end_is_refused(size: int, overlap: int) -> None:
    with pytest.raises(InvalidArgument):
        MarkdownChunker(size, overlap)
