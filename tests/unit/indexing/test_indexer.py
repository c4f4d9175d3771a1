"""``Indexer`` and ``parse_and_chunk``: each default, each return value, each error of the page."""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from pincite import (
    ChunkResult,
    EmbeddedChunk,
    Embedder,
    Indexer,
    MarkdownChunker,
    Sink,
    UnsupportedFormat,
    parse_and_chunk,
)


class FakeClient:
    """Embeds every text as the same unit vector and counts its calls."""

    def __init__(self, vectors: Any = None, error: Exception | None = None) -> None:
        self.calls: list[list[str]] = []
        self._vectors, self._error = vectors, error

    async def embed(self, endpoint: str, texts: Sequence[str]) -> Any:
        self.calls.append(list(texts))
        if self._error is not None:
            raise self._error
        return [[1.0, 0.0] for _ in texts] if self._vectors is None else self._vectors


@dataclass
class FakeSink:
    """Keeps what it was given, with the page's one method."""

    error: Exception | None = None
    upserts: list[dict[str, Any]] = field(default_factory=list)

    async def upsert(
        self,
        *,
        subject: str,
        collection: str,
        document: str,
        title: str,
        chunks: list[EmbeddedChunk],
        endpoint: str,
    ) -> None:
        if self.error is not None:
            raise self.error
        self.upserts.append(
            {
                "subject": subject,
                "collection": collection,
                "document": document,
                "title": title,
                "chunks": chunks,
                "endpoint": endpoint,
            }
        )


def _index(indexer: Indexer, data: bytes = b"# A\n\nSome text.", **options: Any) -> tuple[str, int]:
    arguments = {"filename": "a.md", "collection": "c", "subject": "s", **options}

    async def call() -> tuple[str, int]:
        return await indexer.index(data, **arguments)

    return anyio.run(call)


def _indexer(**options: Any) -> tuple[Indexer, FakeClient, FakeSink]:
    client, sink = FakeClient(options.pop("vectors", None), options.pop("error", None)), FakeSink()
    return Indexer(Embedder(client, "host--model"), sink, **options), client, sink


def test_defaults_are_those_of_the_page() -> None:
    signature = inspect.signature(Indexer)

    assert list(signature.parameters) == ["embedder", "sink", "backend", "chunker"]
    assert signature.parameters["backend"].default == "pdfium"
    assert signature.parameters["chunker"].default is None
    assert inspect.signature(Indexer.index).parameters["document"].default is None
    assert inspect.signature(parse_and_chunk).parameters["backend"].default == "pdfium"
    assert inspect.signature(parse_and_chunk).parameters["chunker"].default is None


def test_the_fake_sink_is_a_sink() -> None:
    assert isinstance(FakeSink(), Sink)


@pytest.mark.parametrize("document", [None, ""])
def test_without_an_id_the_document_is_the_hash_of_its_bytes(document: str | None) -> None:
    indexer, _, sink = _indexer()
    data = b"# A\n\nSome text."

    assert _index(indexer, data, document=document) == (hashlib.sha256(data).hexdigest(), 1)
    assert sink.upserts[0]["document"] == hashlib.sha256(data).hexdigest()


def test_an_id_is_kept_as_given() -> None:
    indexer, _, sink = _indexer()

    assert _index(indexer, document=" A/b ")[0] == " A/b "
    assert sink.upserts[0]["document"] == " A/b "


@pytest.mark.parametrize("filename", ["x/y/report.MD", "x\\y\\report.MD", "report.MD"])
def test_the_title_is_the_name_part_with_its_extension(filename: str) -> None:
    indexer, _, sink = _indexer()
    _index(indexer, filename=filename)

    assert sink.upserts[0]["title"] == "report.MD"


def test_the_sink_gets_subject_collection_endpoint_and_chunks_in_order() -> None:
    indexer, client, sink = _indexer(chunker=MarkdownChunker(size=40, overlap=0))
    _, count = _index(indexer, b"one sentence here. " * 20)
    got = sink.upserts[0]

    assert (got["subject"], got["collection"], got["endpoint"]) == ("s", "c", "host--model")
    assert [c.chunk.chunk_index for c in got["chunks"]] == list(range(count))
    assert count > 1
    assert len(client.calls) == 1


@pytest.mark.parametrize("name", ["collection", "subject"])
@pytest.mark.parametrize("blank", ["", "  ", "\t\n"])
def test_a_blank_owner_is_refused_before_any_work(name: str, blank: str) -> None:
    indexer, client, sink = _indexer()

    with pytest.raises(ValueError, match=name):
        _index(indexer, **{name: blank})
    assert client.calls == []
    assert sink.upserts == []


@pytest.mark.parametrize("data", [b"", b"  \n\t "])
def test_a_document_without_text_is_refused(data: bytes) -> None:
    indexer, _, sink = _indexer()

    with pytest.raises(ValueError, match="no text"):
        _index(indexer, data)
    assert sink.upserts == []


def test_an_unsupported_extension_is_refused_with_the_formats() -> None:
    indexer, _, _ = _indexer()

    with pytest.raises(UnsupportedFormat, match=r"md.*pdf"):
        _index(indexer, b"\x00\x01\x02\x03 binary", filename="a.xyz")


def test_a_pdf_that_cannot_be_opened_is_a_value_error() -> None:
    indexer, _, _ = _indexer()

    with pytest.raises(ValueError, match=r"a\.pdf"):
        _index(indexer, b"%PDF-1.7 and then nothing", filename="a.pdf")


def test_an_unknown_backend_is_a_value_error_that_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="pdfium"):
        parse_and_chunk(b"%PDF-1.7", "a.pdf", backend="acrobat")


@pytest.mark.parametrize(
    "vectors", [[], [[1.0], [2.0]], [[]], [[float("nan")]]], ids=["none", "many", "empty", "nan"]
)
def test_invalid_embeddings_are_a_value_error(vectors: list[list[float]]) -> None:
    indexer, _, sink = _indexer(vectors=vectors)

    with pytest.raises(ValueError, match=r"."):
        _index(indexer)
    assert sink.upserts == []


def test_errors_of_the_client_and_of_the_sink_pass_unchanged() -> None:
    boom = RuntimeError("boom")
    indexer, _, _ = _indexer(error=boom)
    with pytest.raises(RuntimeError) as caught:
        _index(indexer)
    assert caught.value is boom

    refusing = Indexer(Embedder(FakeClient(), "host--model"), FakeSink(error=boom))
    with pytest.raises(RuntimeError) as caught:
        _index(refusing)
    assert caught.value is boom


def test_the_parse_runs_in_another_thread() -> None:
    seen: list[int] = []

    class Spy:
        fingerprint = "spy"

        def chunk(self, result: Any) -> list[ChunkResult]:
            seen.append(threading.get_ident())
            return MarkdownChunker().chunk(result)

    indexer, _, _ = _indexer(chunker=Spy())
    _index(indexer)

    assert seen != []
    assert seen[0] != threading.get_ident()


@pytest.mark.parametrize(
    "name", ["a.txt", "a.TEXT", "a.md", "a.Markdown", "a.rst", "a.json", "a.tsv", "a.csv"]
)
def test_every_text_format_of_the_page_is_read_in_any_case(name: str) -> None:
    assert parse_and_chunk(b'{"a": "words here"}', name)[0].content != ""


def test_a_json_file_becomes_a_fenced_block() -> None:
    content = parse_and_chunk(b'{"a": 1}', "a.json")[0].content

    assert content.startswith("```json")
    assert content.rstrip().endswith("```")


def test_a_file_without_text_gives_no_chunks() -> None:
    assert parse_and_chunk(b" \n", "a.txt") == []
