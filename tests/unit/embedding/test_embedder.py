"""The embedder: one call, order, checks, prefixes, both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import numpy as np
import pytest

from pincite.embedding.client import InferenceClient
from pincite.embedding.embedder import Embedder
from pincite.errors import EmbeddingError, InvalidArgument
from pincite.model.chunks import ChunkResult


@dataclass
class Recorder:
    """A client that keeps what it was asked and answers with what it was given, or lengths."""

    answer: Any = None
    calls: list[tuple[str, list[str]]] = field(default_factory=list)

    async def embed(self, endpoint: str, texts: Sequence[str]) -> Any:
        self.calls.append((endpoint, list(texts)))
        return [[float(len(text)), 1.0] for text in texts] if self.answer is None else self.answer


class Prefixed(Recorder):
    def prefixes(self, endpoint: str) -> tuple[str, str]:
        return "query: ", "passage: "


def chunk(content: str, embed_text: str = "") -> ChunkResult:
    return ChunkResult(content=content, chunk_index=0, embed_text=embed_text)


def test_no_chunks_make_no_call() -> None:
    client = Recorder()

    assert anyio.run(Embedder(client, "a--b").embed, []) == []
    assert anyio.run(Embedder(client, "a--b").embed_texts, []).shape[0] == 0
    assert client.calls == []


def test_one_call_in_order_with_normalised_indexed_text() -> None:
    client = Recorder()
    chunks = [chunk("ﬁrst"), chunk("body", "Head\n\nbody"), chunk("x" * 9)]
    embedded = anyio.run(Embedder(client, "local--embedding").embed, chunks)

    assert client.calls == [("local--embedding", ["first", "Head\n\nbody", "x" * 9])]
    assert [e.chunk for e in embedded] == chunks
    assert [e.vector for e in embedded] == [(5.0, 1.0), (10.0, 1.0), (9.0, 1.0)]
    assert all(type(value) is float for e in embedded for value in e.vector)


@pytest.mark.parametrize(
    "answer", [[[1.0]], [[], []], [[1.0], [1.0, 2.0]], [[1.0], [float("nan")]]]
)
def test_count_emptiness_length_and_finiteness_are_checked(answer: list[list[float]]) -> None:
    embedder = Embedder(Recorder(answer), "a--b")

    with pytest.raises(EmbeddingError):
        anyio.run(embedder.embed, [chunk("a"), chunk("b")])
    with pytest.raises(ValueError):
        anyio.run(embedder.embed_texts, ["a", "b"])


def test_the_clients_error_passes_as_the_same_object() -> None:
    problem = RuntimeError("the client's own")

    class Failing:
        async def embed(self, endpoint: str, texts: Sequence[str]) -> Any:
            raise problem

    with pytest.raises(RuntimeError) as caught:
        anyio.run(Embedder(Failing(), "a--b").embed, [chunk("a")])

    assert caught.value is problem


def test_prefixes_go_before_queries_and_passages() -> None:
    client = Prefixed()
    embedder = Embedder(client, "a--b")
    vector = anyio.run(embedder.embed_query, "ﬁnd")
    anyio.run(embedder.embed_texts, ["text"])

    assert vector.tolist() == [11.0, 1.0]
    assert [texts for _, texts in client.calls] == [["query: find"], ["passage: text"]]


def test_a_plain_client_has_defaults_and_no_synchronous_side() -> None:
    embedder = Embedder(Recorder(), "a--b")

    assert (embedder.model_name, embedder.prefixes) == ("a--b", ("", ""))
    assert (embedder.normalized, embedder.max_tokens, embedder.tokenizer) == (False, None, None)
    assert not embedder.supports_sync
    with pytest.raises(InvalidArgument, match="async methods"):
        embedder.encode_query("x")


def test_both_sides_agree() -> None:
    embedder = Embedder(InferenceClient(), "local--static")
    texts = ["one text", "another text"]

    assert embedder.supports_sync
    assert np.array_equal(embedder.encode_texts(texts), anyio.run(embedder.embed_texts, texts))
    assert np.array_equal(embedder.encode_query("one"), anyio.run(embedder.embed_query, "one"))
    assert embedder.encode_texts([]).shape[0] == 0
    assert (embedder.normalized, embedder.model_name) == (True, "pincite-static-256")
    assert embedder.tokenizer("Two WORDS") == 2
