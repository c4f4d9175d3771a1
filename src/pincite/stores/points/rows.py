"""A chunk as the text of a point, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pincite.errors import StoreCorrupt
from pincite.model.hits import Chunk, chunk_id
from pincite.stores.codec import ChunkRow, chunk_of, value_of
from pincite.stores.points.counts import TermCounts
from pincite.text.analysis import default_analyzer

__all__ = ["Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """A stored chunk; ``metadata`` is its document's, as text, and ``columns`` its own."""

    document: str
    title: str
    source: str
    language: str
    metadata: str
    columns: ChunkRow

    @property
    def id(self) -> str:
        """The chunk's id."""
        return chunk_id(self.document, self.columns[0])

    def text(self) -> str:
        """As one line of ASCII JSON."""
        about = (self.document, self.title, self.source, self.language, self.metadata)
        return json.dumps([*about, *self.columns], separators=(",", ":"))

    @classmethod
    def read(cls, text: str, place: str) -> Row:
        """What ``text`` wrote; ``StoreCorrupt`` naming ``place`` otherwise."""
        try:
            held: Sequence[Any] = json.loads(text)
            document, title, source, language, metadata, *columns = held
            index, start, end, content, embedded, header, extra = columns
        except (ValueError, TypeError) as error:
            raise StoreCorrupt(
                f"A chunk in {place} cannot be read ({error}). Run doctor with repair."
            ) from error
        row = (index, start, end, content, embedded, header, extra)
        return cls(document, title, source, language, metadata, row)

    def chunk(self, subject: str, collection: str) -> Chunk:
        """As readers return it."""
        row = (self.document, self.title, self.source, self.language, *self.columns)
        metadata = value_of(self.metadata)
        return chunk_of(row, subject=subject, collection=collection, metadata=metadata)

    def terms(self) -> TermCounts:
        """Terms and length of the text that both legs index."""
        text = self.columns[4] or self.columns[3]
        return default_analyzer().document_terms(text, self.language)

    def renamed(self, document: str) -> Row:
        """The same under another document id."""
        return replace(self, document=document)

    def described(self, metadata: str) -> Row:
        """The same with other metadata of its document."""
        return replace(self, metadata=metadata)
