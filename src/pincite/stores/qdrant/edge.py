"""Qdrant's engine in this process (``qdrant-edge-py``), under the calls of its client.

Only what ``QdrantBackend`` calls is here: a collection is a shard in a folder of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import qdrant_edge as edge
from qdrant_client import models

__all__ = ["EdgeClient"]

_FAST_ENOUGH: Final = 2**40
"""Kilobytes of vectors up to which no graph is built: a scan is exact, and here it is quick."""


class _Found(NamedTuple):
    points: list[Any]


class EdgeClient:
    """Shards in a folder; one process and one thread at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: dict[str, Any] = {}
        try:
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                if path.is_dir():
                    self._shards[path.name] = _asked(edge.EdgeShard.load, str(path))
        except BaseException:
            self.close()
            raise

    def collection_exists(self, name: str) -> bool:
        return name in self._shards

    def create_collection(
        self, name: str, *, vectors_config: Any, sparse_vectors_config: Any
    ) -> None:
        # A shard keeps at least one kind of vector, also where its points have none.
        sparse = sparse_vectors_config or {"none": None}
        config = edge.EdgeConfig(
            vectors={
                key: edge.EdgeVectorParams(size=given.size, distance=edge.Distance.Dot)
                for key, given in vectors_config.items()
            },
            sparse_vectors={key: edge.EdgeSparseVectorParams() for key in sparse},
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=_FAST_ENOUGH),
        )
        path = self._folder / name
        path.mkdir(parents=True, exist_ok=True)
        self._shards[name] = _asked(edge.EdgeShard.create, str(path), config)

    def create_payload_index(
        self, name: str, field: str, schema: models.KeywordIndexParams, *, wait: bool
    ) -> None:
        del wait
        made = edge.KeywordIndexParams(is_tenant=schema.is_tenant)
        self._update(name, edge.UpdateOperation.create_field_index(field, made))

    def upsert(self, name: str, points: Sequence[models.PointStruct], *, wait: bool) -> None:
        del wait  # what ``update`` returned from is in the log
        made = [edge.Point(point.id, _vectors(point.vector), point.payload) for point in points]
        self._update(name, edge.UpdateOperation.upsert_points(made))

    def delete(self, name: str, selected: Any, *, wait: bool) -> None:
        del wait
        if isinstance(selected, models.FilterSelector):
            kept = _filter(selected.filter)
            self._update(name, edge.UpdateOperation.delete_points_by_filter(kept))
        else:
            self._update(name, edge.UpdateOperation.delete_points(list(selected)))

    def retrieve(
        self,
        name: str,
        ids: Sequence[Any],
        *,
        with_payload: Any,
        with_vectors: Any = False,
    ) -> list[Any]:
        return list(_asked(self._shard(name).retrieve, list(ids), with_payload, with_vectors))

    def scroll(
        self, name: str, *, scroll_filter: models.Filter, limit: int, offset: Any, with_payload: Any
    ) -> tuple[list[Any], Any]:
        asked = edge.ScrollRequest(
            offset=offset, limit=limit, filter=_filter(scroll_filter), with_payload=with_payload
        )
        found: tuple[list[Any], Any] = _asked(self._shard(name).scroll, asked)
        return found

    def query_points(
        self,
        name: str,
        *,
        query: Any,
        using: str,
        limit: int,
        query_filter: models.Filter,
        search_params: Any,
        with_payload: Any,
    ) -> _Found:
        del search_params  # there is no graph to walk
        asked = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(_vector(query), using=using),
            filter=_filter(query_filter),
            with_payload=with_payload,
        )
        return _Found(list(_asked(self._shard(name).query, asked)))

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()
        self._shards.clear()

    def _update(self, name: str, operation: Any) -> None:
        _asked(self._shard(name).update, operation)

    def _shard(self, name: str) -> Any:
        found = self._shards.get(name)
        if found is None:
            raise ValueError(f"Collection {name} not found")
        return found


def _asked(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call the engine; what it raises without a type of its own becomes a ``RuntimeError``."""
    try:
        return call(*arguments)
    except Exception as error:
        if type(error) is not Exception:
            raise
        held = "already accessed: " if "WouldBlock" in str(error) else ""
        raise RuntimeError(f"{held}{error}") from error


def _vectors(given: Any) -> dict[str, Any]:
    return {name: _vector(vector) for name, vector in given.items()}


def _vector(given: Any) -> Any:
    if isinstance(given, models.SparseVector):
        return edge.SparseVector(indices=given.indices, values=given.values)
    return given


def _filter(given: models.Filter) -> Any:
    return edge.Filter(
        must=_conditions(given.must),
        must_not=_conditions(given.must_not),
        should=_conditions(given.should),
    )


def _conditions(given: Any) -> list[Any] | None:
    return None if given is None else [_condition(each) for each in given]


def _condition(given: Any) -> Any:
    if isinstance(given, models.Filter):
        return _filter(given)
    if isinstance(given, models.HasIdCondition):
        return edge.HasIdCondition(set(given.has_id))
    assert isinstance(given, models.FieldCondition)
    if isinstance(given.match, models.MatchValue):
        return edge.FieldCondition(given.key, match=edge.MatchValue(given.match.value))
    bounds: Any = given.range
    return edge.FieldCondition(
        given.key,
        range=edge.RangeFloat(gt=bounds.gt, gte=bounds.gte, lt=bounds.lt, lte=bounds.lte),
    )
