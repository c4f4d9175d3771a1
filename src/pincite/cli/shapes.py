"""The JSON of the command line: plain values, in the documented key order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.model.documents import DocumentInfo, Failure, IndexReport
    from pincite.model.fields import Field
    from pincite.model.geometry import BboxRect
    from pincite.model.hits import Chunk, Explanation, Hit, LegScore, Results

__all__ = [
    "chunk_shape",
    "document_shape",
    "field_shape",
    "hit_shape",
    "rect_shape",
    "report_shape",
    "results_shape",
]


def rect_shape(rect: BboxRect) -> dict[str, Any]:
    """A rectangle in points."""
    return {"page": rect.page, "x0": rect.x0, "y0": rect.y0, "x1": rect.x1, "y1": rect.y1}


def hit_shape(hit: Hit) -> dict[str, Any]:
    """One passage of a search."""
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        "score": hit.score,
        "id": chunk.id,
        "document": chunk.document,
        "title": chunk.title,
        "source": chunk.source,
        "pages": list(chunk.pages),
        "bboxes": [rect_shape(rect) for rect in chunk.bboxes],
        "context_header": chunk.context_header,
        "content": chunk.content,
        "highlights": [list(span) for span in hit.highlights],
        "legs": {name: _leg_shape(leg) for name, leg in hit.legs.items()},
    }


def _leg_shape(leg: LegScore) -> dict[str, Any]:
    return {
        "raw": leg.raw,
        "rank": leg.rank,
        "weight": leg.weight,
        "contribution": leg.contribution,
    }


def results_shape(
    query: str,
    mode: str,
    results: Results,
    *,
    words: Callable[[Hit], Mapping[str, Sequence[BboxRect]]] | None = None,
) -> dict[str, Any]:
    """A whole search; ``words`` gives the rectangles of a hit's matched words."""
    hits = []
    for hit in results.hits:
        shape = hit_shape(hit)
        if words is not None:
            shape["words"] = {w: [rect_shape(r) for r in rs] for w, rs in words(hit).items()}
        if hit.chunk.id in results.explanations:
            shape["explanation"] = _explanation_shape(results.explanations[hit.chunk.id])
        hits.append(shape)
    return {
        "query": query,
        "mode": mode,
        "hits": hits,
        "warnings": list(results.warnings),
        "took_ms": round(results.took_ms, 3),
    }


def _explanation_shape(how: Explanation) -> dict[str, Any]:
    return {
        "score": how.score,
        "passages": how.rows,
        "average_length": how.average_length,
        "terms": [
            {
                "terms": list(term.terms),
                "count": term.count,
                "tf": term.tf,
                "df": term.df,
                "idf": term.idf,
                "length": term.length,
                "contribution": term.contribution,
            }
            for term in how.terms
        ],
    }


def chunk_shape(chunk: Chunk) -> dict[str, Any]:
    """One stored passage, with its place in the document's Markdown."""
    return {
        "id": chunk.id,
        "chunk_index": chunk.chunk_index,
        "start_char": chunk.start_char,
        "end_char": chunk.end_char,
        "pages": list(chunk.pages),
        "bboxes": [rect_shape(rect) for rect in chunk.bboxes],
        "context_header": chunk.context_header,
        "content": chunk.content,
        "metadata": dict(chunk.metadata),
    }


def document_shape(info: DocumentInfo) -> dict[str, Any]:
    """One document."""
    return {
        "document": info.document,
        "title": info.title,
        "chunks": info.chunks,
        "source": info.source,
        "content_hash": info.content_hash,
        "language": info.language,
        "metadata": dict(info.metadata),
    }


def report_shape(report: IndexReport) -> dict[str, Any]:
    """What a run of ``index`` did."""
    return {
        "added": list(report.added),
        "updated": list(report.updated),
        "moved": list(report.moved),
        "unchanged": list(report.unchanged),
        "removed": list(report.removed),
        "skipped": _failures(report.skipped),
        "failed": _failures(report.failed),
        "warnings": list(report.warnings),
        "chunks": report.chunks,
        "seconds": round(report.seconds, 3),
    }


def _failures(failures: Sequence[Failure]) -> list[dict[str, str]]:
    return [{"source": failure.source, "reason": failure.reason} for failure in failures]


def field_shape(name: str, field: Field, reserved: Mapping[str, Field]) -> dict[str, Any]:
    """One field of a collection."""
    return {
        "field": name,
        "type": str(field.type),
        "many": field.many,
        "filterable": field.filterable,
        "reserved": name in reserved,
    }
