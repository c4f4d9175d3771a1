"""From texts to the keyword part of a segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pincite.bm25.segment import build_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Analysis", "keyword_arrays"]


class Analysis(Protocol):
    """What an index needs of an analyser; ``pincite.text.analysis.Analyzer`` is one.

    ``fingerprint`` changes whenever the same text could give other terms.
    """

    @property
    def fingerprint(self) -> str: ...

    def document_terms(self, text: str, language: str = "") -> tuple[Mapping[str, int], int]: ...

    def query_groups(
        self, text: str, languages: Iterable[str] = ()
    ) -> tuple[tuple[str, ...], ...]: ...


def keyword_arrays(
    analysis: Analysis, texts: Sequence[str], languages: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """The arrays of a segment with a row for each text, analysed in its language."""
    pairs = zip(texts, languages, strict=True)
    return build_arrays(analysis.document_terms(text, language) for text, language in pairs)
