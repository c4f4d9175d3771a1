"""What has not changed costs nothing, and what went leaves no ghost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pincite import AdaptiveChunker, Embedder, InvalidQueryError, Library
from pincite.testing import HashEmbedder

from .conftest import MODES, Open, environment, found

SMALL = AdaptiveChunker(16)


def paragraphs(count: int) -> str:
    """A text that is cut into one passage for each paragraph."""
    return "\n\n".join(f"# Part {i}\n\nQuartz number word{i}." for i in range(count))


def test_a_second_run_over_an_unchanged_folder_embeds_nothing(open_lib: Open, folder: Path) -> None:
    client = HashEmbedder(64)
    library = open_lib(embedder=Embedder(client, "hash"))
    for name in ("a.md", "b.txt", "c.md"):
        (folder / name).write_text(f"Quartz {name}.")
    first = library.add(folder)
    before = (client.texts, library.stats()["chunks"])
    second = library.add(folder)

    assert (len(first.added), first.chunks) == (3, 3)
    assert (len(second.unchanged), second.chunks) == (3, 0)
    assert (client.texts, library.stats()["chunks"]) == before


def test_350_unchanged_chunks_embed_nothing(open_lib: Open, folder: Path) -> None:
    client = HashEmbedder(64)
    library = open_lib(embedder=Embedder(client, "hash"))
    (folder / "long.md").write_text(paragraphs(350))
    assert library.add(folder, chunker=SMALL).chunks >= 350
    before = client.texts

    assert library.add(folder, chunker=SMALL).unchanged == ("long.md",)
    assert client.texts == before


def test_a_shortened_file_keeps_no_word_and_no_chunk_of_what_went(
    lib: Library, folder: Path
) -> None:
    (folder / "a.md").write_text(paragraphs(5))
    lib.add(folder, chunker=SMALL)
    old = [chunk.id for chunk in lib.chunks("a.md")]
    (folder / "a.md").write_text(paragraphs(2))
    lib.add(folder, chunker=SMALL)
    chunks = lib.chunks("a.md")

    assert (len(old), len(chunks)) == (5, 2)
    assert found(lib, "word4", mode="keyword") == []
    assert lib.stats()["chunks"] == 2
    for mode in MODES:
        texts = [hit.chunk.content for hit in lib.search("word3 word4", mode=mode, k=50)]
        assert len(texts) <= 2
        assert not any("word4" in text for text in texts)


def test_a_removed_document_is_gone_from_both_legs(lib: Library, folder: Path) -> None:
    (folder / "a.md").write_text("Quartz.")
    (folder / "b.md").write_text("Chalk.")
    lib.add(folder)

    assert lib.remove("a.md") == 1
    with pytest.raises(InvalidQueryError):
        lib.chunks("a.md")
    for mode in MODES:
        assert "a.md" not in found(lib, "quartz", mode=mode)


def test_a_file_that_went_is_named_and_stays_until_it_is_removed(
    lib: Library, folder: Path
) -> None:
    (folder / "a.md").write_text("Quartz.")
    lib.add(folder)
    (folder / "a.md").rename(folder / "b.md")
    report = lib.add(folder)

    assert report.added == ("b.md",)
    assert any("a.md" in warning for warning in report.warnings)
    assert [info.document for info in lib.documents()] == ["a.md", "b.md"]


def test_ids_are_the_same_under_another_hash_seed(tmp_path: Path, folder: Path) -> None:
    for name in ("b.md", "a.md", "deep"):
        (folder / name).mkdir() if name == "deep" else (folder / name).write_text(f"Quartz {name}.")
    (folder / "deep" / "c.md").write_text("Quartz.")
    code = (
        "import sys, pincite; from pincite.testing import HashEmbedder\n"
        "lib = pincite.open('memory:', embedder=pincite.Embedder(HashEmbedder(64), 'hash'))\n"
        "lib.add(sys.argv[1]); lib.add(b'Quartz.', filename='x.md')\n"
        "print([h.chunk.id for h in lib.search('quartz', k=9)], [i.fingerprint for i in"
        " lib.documents()])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", code, str(folder)],
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "4021")
    }

    assert len(answers) == 1
    assert "deep/c.md-0" in answers.pop()
