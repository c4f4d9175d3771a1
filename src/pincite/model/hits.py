"""What a search returns. Slotted dataclasses, so that a process that only searches stays light."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from pincite.model.geometry import BboxRect, TableSpan

__all__ = [
    "Chunk",
    "Explanation",
    "Hit",
    "LegScore",
    "Results",
    "Span",
    "Spans",
    "TermScore",
    "chunk_id",
]

Span = tuple[int, int]


class Spans(Sequence[Span]):
    """Spans that are found when they are first looked at; equal to a tuple of the same spans.

    >>> spans = Spans(lambda: [(0, 3)])
    >>> spans == ((0, 3),), spans.shifted(7)[0]
    (True, (7, 10))
    """

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], Iterable[Span]]) -> None:
        self._find = find
        self._found: tuple[Span, ...] | None = None

    def shifted(self, by: int) -> Spans:
        """The same spans in a text that begins ``by`` characters earlier."""
        return Spans(lambda: ((start + by, end + by) for start, end in self))

    def _all(self) -> tuple[Span, ...]:
        if self._found is None:
            self._found = tuple(self._find())
        return self._found

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Span, ...]: ...
    def __getitem__(self, index: int | slice) -> Span | tuple[Span, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Span]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Spans):
            return self._all() == other._all()
        return self._all() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type, tuple[tuple[Span, ...]]]:
        return tuple, (self._all(),)  # copies and pickles hold what was found


def chunk_id(document: str, chunk_index: int) -> str:
    """The id of a chunk, unique within its (subject, collection)."""
    return f"{document}-{chunk_index}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored passage with its place in the document it comes from.

    ``content`` is the document's Markdown in ``[start_char, end_char)``. Without an ``id`` it is
    ``<document>-<chunk_index>``, and without a document too a SHA-256 hex of the content.
    """

    content: str
    id: str = ""
    document: str = ""
    collection: str = ""
    subject: str = ""
    title: str = ""
    source: str = ""
    context_header: str = ""
    chunk_index: int = 0
    start_char: int = 0
    end_char: int = 0
    pages: Sequence[int] = ()
    bboxes: Sequence[BboxRect] = ()
    tables: Sequence[TableSpan] = ()
    language: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.id:
            return
        if self.document:
            made = chunk_id(self.document, self.chunk_index)
        else:
            made = hashlib.sha256(self.content.encode("utf-8", "surrogatepass")).hexdigest()
        object.__setattr__(self, "id", made)

    @property
    def page_content(self) -> str:
        """``content``, under the name that LangChain documents use."""
        return self.content


@dataclass(frozen=True, slots=True)
class LegScore:
    """One leg's part in a fused score: its own score, rank (from 1), weight and contribution."""

    raw: float
    rank: int
    weight: float = 1.0
    contribution: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked passage. ``highlights`` are spans in ``content``, ``spans`` the same places in the
    document's Markdown; ``legs`` has the keys "keyword" and "vector"."""

    chunk: Chunk
    score: float
    rank: int = 0
    legs: Mapping[str, LegScore] = field(default_factory=dict)
    highlights: Sequence[Span] = ()
    spans: Sequence[Span] = ()
    retriever: str = ""


@dataclass(frozen=True, slots=True)
class TermScore:
    """A group's part in a keyword score: its frequency in the text, its live df and idf, the
    text's length in terms.

    ``count`` is how often the query says it. ``contribution`` is 0 when the text holds none of
    ``terms``.
    """

    terms: tuple[str, ...]
    tf: int
    df: int
    idf: float
    length: int
    contribution: float
    count: int = 1


@dataclass(frozen=True, slots=True)
class Explanation:
    """A keyword score, the query's groups in dictionary order, and the statistics behind them.

    ``score`` is the sum of the contributions in that order, rounded to float32, and equals the
    score of the search; 0 for a text that does not match.
    """

    score: float
    terms: tuple[TermScore, ...]
    rows: int
    average_length: float


@dataclass(frozen=True, slots=True)
class Results(Sequence[Hit]):
    """Hits, best first, with what the caller should know about them.

    ``explanations`` says by chunk id how a keyword score came about; filled by ``explain=True``.
    """

    hits: list[Hit]
    warnings: list[str] = field(default_factory=list)
    took_ms: float = 0.0
    explanations: Mapping[str, Explanation] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def texts(self) -> list[str]:
        """The contents of the hits."""
        return [hit.chunk.content for hit in self.hits]
