"""Retrieved passages as text for a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pincite.model.fields import RESERVED_FIELDS, chunk_values
from pincite.model.hits import Chunk
from pincite.retrieval.merge import DocumentLike, format_source_scores

__all__ = ["serialize_vs_retrieval"]

_SHOWN_APART: Final = frozenset({*RESERVED_FIELDS, "file_hash"})


def serialize_vs_retrieval(
    reference_material: Mapping[str, Sequence[tuple[DocumentLike, float]]],
) -> str:
    """References as text, a group for each key (a query or a domain), the best first in each.

    A reference starts with its number, file name, headings (the most specific last), pages, and
    its score with those of its sources; a line for each further key of its metadata follows, then
    its content. Keys that begin with ``_`` and empty values are left out. "" without documents.

    >>> from pincite.model.hits import Chunk
    >>> rope = Chunk("Dry it.", source="ropes.md", context_header="Care", metadata={"year": 2024})
    >>> print(serialize_vs_retrieval({"ropes": [(rope, 0.5)]}))
    ## ropes
    <BLANKLINE>
    [1] ropes.md | Care | score 0.5000
    year: 2024
    <BLANKLINE>
    Dry it.
    """
    groups = (
        "\n\n".join([f"## {_line(name)}", *_references(documents)])
        for name, documents in reference_material.items()
        if documents
    )
    return "\n\n".join(groups)


def _references(documents: Sequence[tuple[DocumentLike, float]]) -> Iterator[str]:
    ranked = sorted(documents, key=lambda pair: -pair[1])  # stable: ties stay as they came
    for number, (document, score) in enumerate(ranked, start=1):
        values = _values(document)
        head = [f"[{number}] {_line(values.get('file_name') or 'unnamed')}"]
        if values.get("headings"):
            head.append(" > ".join(map(_line, values["headings"])))
        if values.get("pages"):
            head.append("page " + ", ".join(map(str, values["pages"])))
        sources = format_source_scores(document)
        head.append(f"score {score:.4f}" + (f" ({_line(sources)})" if sources else ""))
        yield "\n".join([" | ".join(head), *_custom(values), "", document.page_content.strip()])


def _values(document: DocumentLike) -> dict[str, Any]:
    if isinstance(document, Chunk):
        return chunk_values(document)
    values = dict(document.metadata)
    if isinstance(values.get("headings"), str):
        values["headings"] = [values["headings"]]
    return values


def _custom(values: Mapping[str, Any]) -> list[str]:
    return [
        f"{_line(key)}: {_shown(value)}"
        for key, value in values.items()
        if not key.startswith("_") and key not in _SHOWN_APART and value not in (None, "", [], {})
    ]


def _shown(value: Any) -> str:
    return ", ".join(map(_line, value)) if isinstance(value, list | tuple) else _line(value)


def _line(value: Any) -> str:
    """One line, so that no heading or name can pose as another reference."""
    return " ".join(str(value).split())
