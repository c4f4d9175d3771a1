"""A collection holds the vectors of one model; another one is refused before any write."""

from __future__ import annotations

import pytest

from pincite import CollectionMismatch

from .conftest import Open, embedder, found


@pytest.mark.parametrize(
    ("dimension", "seed"), [(32, 0), (64, 1)], ids=["shorter", "same length, another model"]
)
def test_another_model_neither_writes_nor_searches(
    open_lib: Open, dimension: int, seed: int
) -> None:
    first = open_lib()
    first.add(b"Quartz.", filename="a.md", document="a")
    other = open_lib(embedder=embedder(dimension, seed=seed))

    with pytest.raises(CollectionMismatch, match=r"hash-0.*64") as caught:
        other.add(b"Chalk.", filename="b.md", document="b")
    assert f"hash-{seed}" in str(caught.value)
    assert f"{dimension} dimensions" in str(caught.value)
    for mode in ("vector", "hybrid"):
        with pytest.raises(CollectionMismatch):
            other.search("quartz", mode=mode)
    assert [info.document for info in first.documents()] == ["a"]
    assert found(first, "quartz") == ["a"]


def test_unchanged_bytes_do_not_hide_another_model(open_lib: Open) -> None:
    open_lib().add(b"Quartz.", filename="a.md", document="a")

    with pytest.raises(CollectionMismatch):
        open_lib(embedder=embedder(seed=1)).add(b"Quartz.", filename="a.md", document="a")


def test_another_collection_may_have_another_model(open_lib: Open) -> None:
    open_lib().add(b"Quartz.", filename="a.md", document="a")
    other = open_lib(collection="other", embedder=embedder(32))
    other.add(b"Chalk.", filename="b.md", document="b")

    assert found(other, "chalk") == ["b"]


def test_the_host_is_no_part_of_a_model(open_lib: Open) -> None:
    from pincite import Embedder
    from pincite.testing import HashEmbedder

    open_lib().add(b"Quartz.", filename="a.md", document="a")
    moved = open_lib(embedder=Embedder(HashEmbedder(64), "elsewhere--hash"))

    assert found(moved, "quartz") == ["a"]
