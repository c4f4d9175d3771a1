"""Reciprocal rank fusion over sources, and the scores that each source gave."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from pincite.errors import InvalidArgument, InvalidQueryError
from pincite.fusion import RRF_K, rrf
from pincite.model.hits import Chunk

__all__ = [
    "PROVENANCES_KEY",
    "RRF_K",
    "SOURCE_SCORES_KEY",
    "DocumentLike",
    "format_source_scores",
    "rrf_merge",
]

SOURCE_SCORES_KEY: Final = "_source_scores"
"""Metadata key of a document's scores by source, as in ``{"vector store": 0.87, "BM25": 3.21}``."""

PROVENANCES_KEY: Final = "_provenances"
"""Metadata key of the places a document was found in: ``source_label, rank, score, id,
collection``, one for each list."""


class DocumentLike(Protocol):
    """A ``Chunk``, or any document with these two attributes."""

    @property
    def page_content(self) -> str: ...

    @property
    def metadata(self) -> Mapping[str, Any]: ...


D = TypeVar("D", bound=DocumentLike)
_Key = tuple[str, str]


class _Found(NamedTuple):
    document: Any
    label: str
    rank: int
    score: float


def rrf_merge(
    result_sets: Sequence[tuple[str, Sequence[tuple[D, float]]]], num_refs_max: int
) -> list[tuple[D, float]]:
    """Fuse ranked lists by rank alone: the sum of ``1 / (RRF_K + r)``, r from 1, best first.

    ``result_sets`` holds ``(source_label, results)`` for each list, which may be one of several of
    its label. Documents of one source and content are one: it counts once in a list, at its best
    rank, and is returned as the list that ranks it best has it. The returned copies keep the
    scores of each label under ``SOURCE_SCORES_KEY`` (the better one where two lists share a label)
    and every place under ``PROVENANCES_KEY``; what was passed in stays as it is. Equal scores are
    ordered by id.

    Raises ``InvalidQueryError`` for ``num_refs_max`` below 1.
    """
    if isinstance(num_refs_max, bool) or not isinstance(num_refs_max, int) or num_refs_max < 1:
        raise InvalidQueryError(f"num_refs_max is {num_refs_max!r}; ask for at least 1 document.")
    places: dict[_Key, list[_Found]] = {}
    for found in _each(result_sets):
        places.setdefault(_key(found.document), []).append(found)
    lists = [[_key(document) for document, _ in results] for _, results in result_sets]
    fused = rrf(lists, k=RRF_K)
    fused.sort(key=lambda pair: (-pair[1], _id(places[pair[0]][0].document)))
    return [(_merged(places[key]), score) for key, score in fused[:num_refs_max]]


def format_source_scores(doc: DocumentLike, precision: int = 2) -> str | None:
    """``"vector store 0.87, BM25 3.21"``; None for a document without scores of its sources.

    Raises ``InvalidArgument`` for a negative ``precision``.
    """
    if precision < 0:
        raise InvalidArgument(f"precision is {precision}; pass 0 or more decimal places.")
    scores = doc.metadata.get(SOURCE_SCORES_KEY)
    if not scores:
        return None
    return ", ".join(f"{label} {score:.{precision}f}" for label, score in scores.items())


def _each(result_sets: Sequence[tuple[str, Sequence[tuple[Any, float]]]]) -> Iterator[_Found]:
    """Every document of every list at its best rank there."""
    for label, results in result_sets:
        seen: set[_Key] = set()
        for rank, (document, score) in enumerate(results, start=1):
            key = _key(document)
            if key not in seen:
                seen.add(key)
                yield _Found(document, label, rank, float(score))


def _key(document: Any) -> _Key:
    """Where a document comes from, and what it says."""
    metadata = document.metadata
    places = (
        getattr(document, "source", ""),
        getattr(document, "document", ""),
        metadata.get("source"),
        metadata.get("file_name"),
    )
    return next((str(place) for place in places if place), ""), document.page_content


def _id(document: Any) -> str:
    return str(getattr(document, "id", None) or document.page_content)


def _merged(found: Sequence[_Found]) -> Any:
    scores: dict[str, float] = {}
    for place in found:
        scores[place.label] = max(place.score, scores.get(place.label, place.score))
    best = min(found, key=lambda place: place.rank).document
    metadata = {
        **best.metadata,
        SOURCE_SCORES_KEY: scores,
        PROVENANCES_KEY: [_provenance(place) for place in found],
    }
    if isinstance(best, Chunk):
        return replace(best, metadata=metadata)
    copied = copy.copy(best)
    copied.metadata = metadata
    return copied


def _provenance(found: _Found) -> dict[str, Any]:
    return {
        "source_label": found.label,
        "rank": found.rank,
        "score": found.score,
        "id": str(getattr(found.document, "id", None) or ""),
        "collection": str(getattr(found.document, "collection", "") or ""),
    }
