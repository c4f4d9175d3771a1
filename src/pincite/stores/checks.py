"""The checks that every store makes, in the one order that every store keeps.

Unknown target, ``validate(where)``, arguments, ``Unconfigured``, and last NOTHING, which the
caller answers empty without touching its backend. A search method reads::

    checks.check_target(target, self.collections)
    folded = checks.check_bm25(spec, query=query, limit=limit, where=where)
    if isinstance(folded, Nothing):
        return []
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pincite.embedding.identity import same_model
from pincite.embedding.names import BUNDLED
from pincite.errors import (
    CollectionMismatch,
    EmbeddingError,
    InvalidArgument,
    InvalidQueryError,
    Unconfigured,
)
from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter, simplify, validate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pincite.model.documents import EmbeddedDocument, ModelIdentity

__all__ = [
    "MAX_LIMIT",
    "check_alpha",
    "check_bm25",
    "check_document",
    "check_fetch",
    "check_hybrid",
    "check_limit",
    "check_model",
    "check_near_vector",
    "check_offset",
    "check_owner",
    "check_query",
    "check_target",
    "check_vector",
    "check_where",
]


_FLOAT32_END: Final = 2.0**128 - 2.0**103
"""What float32 rounds to infinity, from here on."""

MAX_LIMIT: Final = 2**63 - 1
"""The largest limit: what a backend's integers hold."""


def check_bm25(
    spec: FieldSpec, *, query: str, limit: int, where: Filter | None = None
) -> Filter | None:
    """Check a keyword search of a known target; the folded filter."""
    validate(where, spec)
    check_query(query)
    check_limit(limit)
    return simplify(where)


def check_near_vector(
    spec: FieldSpec,
    *,
    vector: Sequence[float],
    dimension: int | None,
    limit: int,
    where: Filter | None = None,
) -> Filter | None:
    """Check a vector search of a known target; the folded filter.

    ``dimension`` is the length of the collection's vectors, None while it has none.
    """
    validate(where, spec)
    check_vector(vector, dimension)
    check_limit(limit)
    return simplify(where)


def check_hybrid(
    spec: FieldSpec,
    *,
    query: str,
    vector: Sequence[float] | None,
    dimension: int | None,
    limit: int,
    where: Filter | None = None,
    alpha: float | None = None,
    offset: int = 0,
    can_embed: bool = False,
) -> Filter | None:
    """Check a hybrid search of a known target; the folded filter.

    Raises ``Unconfigured`` when there is neither a vector nor an embedder, at every ``alpha``.
    """
    validate(where, spec)
    check_query(query)
    if vector is not None:
        check_vector(vector, dimension, zero=bool(query.strip()) and alpha != 1)
    check_limit(limit)
    check_alpha(alpha)
    check_offset(offset)
    if vector is None and not can_embed:
        raise Unconfigured(
            "hybrid needs a vector and this store has no embedder; pass vector=, open the store"
            " with embedder=, or search with bm25."
        )
    return simplify(where)


def check_fetch(
    spec: FieldSpec,
    *,
    limit: int,
    where: Filter | None = None,
    order_by: str | None = None,
    descending: bool = False,
) -> Filter | None:
    """Check a fetch of a known target; the folded filter."""
    validate(where, spec)
    check_limit(limit)
    if order_by is not None and (not isinstance(order_by, str) or order_by not in spec.fields):
        known = ", ".join(sorted(spec.fields))
        raise InvalidQueryError(
            f"Cannot order by {order_by!r}: it is no stored field; choose one of {known}."
        )
    if not isinstance(descending, bool):
        raise InvalidQueryError(f"descending must be True or False, not {descending!r}.")
    return simplify(where)


def check_target(target: str, known: Iterable[str]) -> None:
    """Refuse a target that the reader was not opened for; the message names the known ones."""
    names = tuple(known)
    if isinstance(target, str) and target in names:
        return
    listed = ", ".join(map(repr, sorted(names))) or "none"
    raise InvalidQueryError(
        f"Unknown target {target!r}; this reader knows {listed}."
        " Open the reader with this collection to search it."
    )


def check_where(where: Filter | None, spec: FieldSpec) -> Filter | None:
    """Validate and fold a filter."""
    validate(where, spec)
    return simplify(where)


def check_limit(limit: int, *, name: str = "limit") -> None:
    """Refuse anything but a whole number of at least 1 that backends can count to."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InvalidQueryError(f"{name} must be a whole number of at least 1, not {limit!r}.")
    if limit > MAX_LIMIT:
        raise InvalidQueryError(f"{name} must be at most {MAX_LIMIT} (2**63 - 1); ask for less.")


def check_offset(offset: int) -> None:
    """Refuse anything but a whole number of at least 0."""
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise InvalidQueryError(f"offset must be a whole number of at least 0, not {offset!r}.")


def check_alpha(alpha: float | None) -> None:
    """Refuse anything but None or a finite number from 0 to 1."""
    if alpha is None:
        return
    number = isinstance(alpha, int | float | np.floating) and not isinstance(alpha, bool)
    if not number or not 0 <= alpha <= 1:
        raise InvalidQueryError(
            f"alpha must be a number from 0 (keyword only) to 1 (vector only), not {alpha!r}."
        )


def check_query(query: str) -> None:
    """Refuse anything but a string."""
    if not isinstance(query, str):
        raise InvalidQueryError(f"query must be a string, not {type(query).__name__}.")


def check_vector(vector: Sequence[float], dimension: int | None, *, zero: bool = False) -> None:
    """Refuse a vector that is not flat, numeric, finite in float32 and of the right length.

    A vector of zeros has no direction, so that every chunk would tie: it is refused too, unless
    ``zero``. A model gives it for words that it does not know, which keywords may still find.
    """
    length, largest = _measured(vector)
    if not largest < _FLOAT32_END:
        raise InvalidQueryError("vector holds a value that is not finite; embed it again.")
    if not (zero or largest):
        raise InvalidQueryError("vector is all zero; embed a query that holds words.")
    if dimension is not None and length != dimension:
        raise InvalidQueryError(
            f"vector has {length} dimensions, the collection's vectors have {dimension};"
            " embed the query with the collection's own model."
        )


def _measured(vector: Sequence[float]) -> tuple[int, float]:
    """The length of a vector and its largest magnitude, infinity or nan when it is not finite."""
    if type(vector) is list and set(map(type, vector)) == {float}:  # NumPy takes longer to start
        finite = math.isfinite(sum(vector))
        return len(vector), max(max(vector), -min(vector)) if finite else math.inf
    if isinstance(vector, str | bytes | Mapping):
        raise InvalidQueryError(
            f"vector must be a sequence of numbers, not {type(vector).__name__}."
        )
    try:
        row = np.asarray(vector)
    except (TypeError, ValueError) as error:
        raise InvalidQueryError("vector must be a flat sequence of numbers.") from error
    if row.ndim != 1 or not len(row) or row.dtype.kind not in "fiu":
        raise InvalidQueryError("vector must be a flat, non-empty sequence of numbers.")
    return len(row), float(np.abs(row).max())


def check_owner(subject: str, collection: str) -> None:
    """Refuse a blank subject or collection."""
    for name, value in (("subject", subject), ("collection", collection)):
        if not isinstance(value, str) or not value.strip():
            raise InvalidArgument(f"{name} must not be blank; name one.")


def check_document(document: EmbeddedDocument) -> None:
    """Refuse a document that a store cannot take in whole.

    Raises ``InvalidArgument`` without id or chunks, for a chunk index used twice and for chunk
    metadata of another length; ``EmbeddingError`` for vectors that are missing, uneven, empty
    or not finite in float16's range when made unit length.
    """
    if not isinstance(document.document, str) or not document.document:
        raise InvalidArgument("A document needs an id; pass document=.")
    try:
        document.document.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"The document id {document.document!r} holds half of a surrogate pair; rename the"
            " file, or pass an id of whole characters."
        ) from error
    if not document.chunks:
        raise InvalidArgument(
            f"Document {document.document!r} has no chunks; delete it instead of writing it empty."
        )
    indexes = [chunk.chunk_index for chunk in document.chunks]
    if len(set(indexes)) != len(indexes):
        raise InvalidArgument(
            f"Document {document.document!r} uses a chunk_index twice; number its chunks from 0."
        )
    if document.chunk_metadata and len(document.chunk_metadata) != len(indexes):
        raise InvalidArgument(
            f"Document {document.document!r} has {len(indexes)} chunks but"
            f" {len(document.chunk_metadata)} chunk_metadata; give one mapping for each chunk."
        )
    _check_rows(document.document, document.vectors, len(indexes))


def _check_rows(document: str, vectors: NDArray[np.float32], count: int) -> None:
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EmbeddingError(
            f"Document {document!r} has {count} chunks but vectors of shape {rows.shape};"
            " embed every chunk with one model."
        )
    if not np.isfinite(rows).all():
        raise EmbeddingError(
            f"A vector of document {document!r} holds a value that is not finite; embed it again."
        )


def check_model(
    collection: str,
    stored: tuple[str, ModelIdentity | None] | None,
    *,
    endpoint: str,
    model: ModelIdentity | None = None,
    dimension: int | None = None,
    stored_dimension: int | None = None,
) -> None:
    """Refuse vectors of another model than the collection's, before anything is written.

    ``stored`` is what ``SyncStore.model`` says of the collection. When both sides know a model's
    identity it decides and endpoint names may differ; otherwise the endpoint names must be
    equal. Lengths must be equal wherever both are known. Raises ``CollectionMismatch`` naming
    both models, and ``EmbeddingError`` for vectors of another length than their own model's.
    """
    given = _Vectors(endpoint, model, dimension)
    if model is not None and dimension is not None and model.dimension != dimension:
        raise EmbeddingError(
            f"Model {model.name!r} has {model.dimension} dimensions but the vectors have"
            f" {dimension}; embed the chunks with that model."
        )
    if stored is None:
        return
    known = _Vectors(*stored, stored_dimension)
    if not _comparable(known, given):
        raise CollectionMismatch(
            f"Collection {collection!r} holds vectors of {known}; those of {given} cannot be"
            " compared with them and nothing was written. Use the collection's own model"
            f"{_served(known)}, or change it with `pincite reindex --model`."
        )


def _served(known: _Vectors) -> str:
    endpoint = BUNDLED.get(known.model.name) if known.model is not None else None
    return f" (`--embedder {endpoint}`)" if endpoint else ""


class _Vectors(NamedTuple):
    endpoint: str
    model: ModelIdentity | None
    dimension: int | None

    @property
    def length(self) -> int | None:
        return self.model.dimension if self.model is not None else self.dimension

    def __str__(self) -> str:
        name = self.model.name if self.model is not None else self.endpoint
        return f"{name!r} ({self.length or 'unknown'} dimensions)"


def _comparable(known: _Vectors, given: _Vectors) -> bool:
    if known.length is not None and given.length is not None and known.length != given.length:
        return False
    if known.model is not None and given.model is not None:
        return same_model(known.model, given.model)
    return known.endpoint == given.endpoint
