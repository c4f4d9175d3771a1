"""Parse, chunk and embed one document, and hand it to any sink."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from anyio import to_thread

from pincite.errors import InvalidArgument, ParseError
from pincite.model.chunks import ChunkResult
from pincite.parsing.registry import parse

if TYPE_CHECKING:
    from pincite.embedding.embedder import Embedder
    from pincite.model.layout import MarkdownParseResult
    from pincite.stores.ports import Sink

__all__ = ["Chunker", "Indexer", "file_name", "parse_and_chunk"]


class Chunker(Protocol):
    """Splits a parse result; ``fingerprint`` changes whenever the same input splits otherwise."""

    @property
    def fingerprint(self) -> str: ...

    def chunk(self, result: MarkdownParseResult) -> list[ChunkResult]: ...


def parse_and_chunk(
    data: bytes, filename: str, *, backend: str = "pdfium", chunker: Chunker | None = None
) -> list[ChunkResult]:
    """Parse a file into Markdown and split it into chunks, in document order.

    ``chunker=None`` means ``MarkdownChunker()``. The content of the file and then the extension of
    ``filename``, in any case, select the parser. The list is empty when the file has no text. The
    function uses the CPU; an async caller runs it in a thread, as ``Indexer.index`` does.

    Raises ``UnsupportedFormat``, ``InvalidArgument`` for an unknown backend, ``ParseError`` for a
    file that its parser cannot open, ``MissingExtra`` for a backend whose extra is not installed.
    """
    if chunker is None:
        from pincite.chunking.markdown import MarkdownChunker

        chunker = MarkdownChunker()
    return chunker.chunk(parse(data, filename, backend=backend))


def file_name(filename: str) -> str:
    """The last component of a path written with ``/`` or ``\\``, extension kept."""
    return filename.replace("\\", "/").rstrip("/").rpartition("/")[2]


@dataclass
class Indexer:
    """A pipeline that parses, chunks and embeds a document and writes its chunks to a sink.

    ``backend`` is the PDF backend: "pdfium", "pymupdf" or "liteparse".
    """

    embedder: Embedder
    sink: Sink
    backend: str = "pdfium"
    chunker: Chunker | None = None

    async def index(
        self,
        data: bytes,
        *,
        filename: str,
        collection: str,
        subject: str,
        document: str | None = None,
    ) -> tuple[str, int]:
        """Index one document in place of the chunks that it had: ``(document, chunks)``.

        ``document`` None or "" means the SHA-256 hex of ``data``. The parse and the chunking run
        in a thread. An error of the embedding client or of the sink passes through unchanged.

        Raises ``UnsupportedFormat``, ``MissingExtra``, and a ``ValueError`` when ``collection`` or
        ``subject`` is blank, the file has no text or cannot be opened, or the vectors are invalid.
        """
        for name, value in (("collection", collection), ("subject", subject)):
            if not value.strip():
                raise InvalidArgument(f"The {name} is blank; give it a name.")
        chunks = await to_thread.run_sync(
            lambda: parse_and_chunk(data, filename, backend=self.backend, chunker=self.chunker)
        )
        if not chunks:
            raise ParseError(f"{file_name(filename)} has no text; nothing was indexed.")
        document = document or hashlib.sha256(data).hexdigest()
        embedded = await self.embedder.embed(chunks)
        await self.sink.upsert(
            subject=subject,
            collection=collection,
            document=document,
            title=file_name(filename),
            chunks=embedded,
            endpoint=self.embedder.endpoint,
        )
        return document, len(embedded)
