"""A Qdrant server, or its local mode, as a backend of points.

Targets share one collection for each dimension, apart by a tenant that is part of every filter.
Vectors are compared by dot product: those of unit length are so before they get here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from qdrant_client import models

from pincite.stores.points.backend import Held, Native, Point, Record, Scored, Space
from pincite.stores.points.keys import point_id
from pincite.stores.qdrant.errors import translated
from pincite.stores.qdrant.filters import restriction

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from qdrant_client import QdrantClient

    from pincite.stores.qdrant.edge import EdgeClient

__all__ = ["QdrantBackend"]

T = TypeVar("T")

_RECORDS: Final = "pincite_records"
_DENSE: Final = "dense"
_SPARSE: Final = "sparse"
_SEARCH_EF: Final = 256
_PAGE: Final = 10_000


class QdrantBackend:
    """The calls of ``Backend`` on a Qdrant client; ``local`` is a mode without a server, which is
    exact, and which one process and one thread at a time can use; ``indexed`` says that it has
    indexes of payloads all the same."""

    keeps_terms = True
    batch = 500
    longest_row = sys.maxsize

    def __init__(
        self, client: QdrantClient | EdgeClient, place: str, *, local: bool, indexed: bool = False
    ) -> None:
        self.place = place
        self.exclusive = local
        self.parallel = not local
        self.approximate = not local
        self._client = client
        self._local = local
        self._indexed = indexed or not local
        self._known: set[str] = set()

    def setup(self) -> None:
        with translated(self.place):
            self._records()

    # -- records

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        if not keys:
            return {}
        with translated(self.place):
            found = self._client.retrieve(
                self._records(), [_record_id(key) for key in keys], with_payload=True
            )
        return dict(_told(record) for record in found)

    def shelf(self, shelf: str) -> dict[str, str]:
        kept = models.FieldCondition(key="shelf", match=models.MatchValue(value=shelf))
        with translated(self.place):
            return dict(self._scroll(self._records(), models.Filter(must=[kept]), _told))

    def write(self, records: Sequence[Record]) -> None:
        if not records:
            return
        points = [
            models.PointStruct(id=_record_id(record.key), vector={}, payload=record._asdict())
            for record in records
        ]
        with translated(self.place):
            self._client.upsert(self._records(), points, wait=True)

    def drop(self, keys: Sequence[str]) -> None:
        if keys:
            ids: Any = [_record_id(key) for key in keys]
            with translated(self.place):
                self._client.delete(self._records(), ids, wait=True)

    # -- points

    def open(self, space: Space) -> None:
        with translated(self.place):
            self._created(
                _points(space),
                ("tenant", "tokens"),
                vectors_config={
                    _DENSE: models.VectorParams(size=space.dimension, distance=models.Distance.DOT)
                },
                sparse_vectors_config={_SPARSE: models.SparseVectorParams()},
            )

    def put(self, space: Space, points: Sequence[Point]) -> None:
        if points:
            made = [_struct(space, point) for point in points]
            with translated(self.place):
                self._client.upsert(_points(space), made, wait=True)

    def remove(self, space: Space, ids: Sequence[str]) -> None:
        if ids:
            listed: Any = list(ids)
            with translated(self.place):
                self._client.delete(_points(space), listed, wait=True)

    def clear(self, space: Space) -> None:
        with translated(self.place):
            own = models.FilterSelector(filter=restriction(space, None))
            self._client.delete(_points(space), own, wait=True)

    def get(self, space: Space, ids: Sequence[str], *, vectors: bool) -> dict[str, Held]:
        if not ids:
            return {}
        with translated(self.place):
            found = self._client.retrieve(
                _points(space),
                list(ids),
                with_payload=["row"],
                with_vectors=[_DENSE] if vectors else False,
            )
        return {str(record.id): _held(record) for record in found}

    def select(self, space: Space, where: Native | None, most: int | None = None) -> list[str]:
        with translated(self.place):
            kept = restriction(space, where)
            return self._scroll(_points(space), kept, lambda record: str(record.id), most=most)

    def near(
        self, space: Space, vector: NDArray[np.float32], limit: int, where: Native | None
    ) -> list[Scored]:
        # The local mode compares everything, and warns of parameters that it cannot use.
        search = None if self._local else models.SearchParams(hnsw_ef=max(_SEARCH_EF, limit))
        return self._found(space, vector.tolist(), _DENSE, limit, where, search)

    def match(
        self, space: Space, weights: Mapping[int, float], limit: int, where: Native | None
    ) -> list[Scored]:
        query = models.SparseVector(indices=list(weights), values=list(weights.values()))
        found = self._found(space, query, _SPARSE, limit, where, None)
        return [(name, score) for name, score in found if score > 0.0]

    def close(self) -> None:
        with translated(self.place):
            self._client.close()

    # -- calls

    def _found(
        self,
        space: Space,
        query: Any,
        using: str,
        limit: int,
        where: Native | None,
        search: models.SearchParams | None,
    ) -> list[Scored]:
        with translated(self.place):
            found = self._client.query_points(
                _points(space),
                query=query,
                using=using,
                limit=limit,
                query_filter=restriction(space, where),
                search_params=search,
                with_payload=False,
            )
        return [(str(point.id), float(point.score)) for point in found.points]

    def _scroll(
        self,
        collection: str,
        kept: models.Filter,
        read: Callable[[models.Record], T],
        *,
        most: int | None = None,
    ) -> list[T]:
        made: list[T] = []
        after: Any = None
        payload = collection == _RECORDS
        while True:
            page, after = self._client.scroll(
                collection, scroll_filter=kept, limit=_PAGE, offset=after, with_payload=payload
            )
            made += map(read, page)
            if after is None or (most is not None and len(made) >= most):
                return made

    def _records(self) -> str:
        self._created(_RECORDS, ("shelf",), vectors_config={}, sparse_vectors_config=None)
        return _RECORDS

    def _created(
        self, name: str, indexed: Sequence[str], *, vectors_config: Any, sparse_vectors_config: Any
    ) -> None:
        if name in self._known:
            return
        if not self._client.collection_exists(name):
            try:
                self._client.create_collection(
                    name,
                    vectors_config=vectors_config,
                    sparse_vectors_config=sparse_vectors_config,
                )
            except Exception:
                if not self._client.collection_exists(name):  # another process was first
                    raise
        if self._indexed:
            for field in indexed:
                self._client.create_payload_index(name, field, _index(field), wait=True)
        self._known.add(name)


def _index(field: str) -> models.KeywordIndexParams:
    tenant = True if field == "tenant" else None
    return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=tenant)


def _points(space: Space) -> str:
    return f"pincite_points_{space.dimension}"


def _record_id(key: str) -> str:
    return point_id("", "records", key)


def _told(record: models.Record) -> tuple[str, str]:
    payload = record.payload or {}
    return payload["key"], payload["text"]


def _held(record: models.Record) -> Held:
    vectors: Any = record.vector
    vector = None if vectors is None else np.asarray(vectors[_DENSE], dtype=np.float32)
    return Held((record.payload or {})["row"], vector)


def _struct(space: Space, point: Point) -> models.PointStruct:
    vector: dict[str, Any] = {_DENSE: point.vector.tolist()}
    if point.terms:
        indices, values = list(point.terms), list(point.terms.values())
        vector[_SPARSE] = models.SparseVector(indices=indices, values=values)
    payload = {
        "tenant": space.tenant,
        "tokens": list(point.tokens),
        "numbers": dict(point.numbers),
        "row": point.row,
    }
    return models.PointStruct(id=point.id, vector=vector, payload=payload)
