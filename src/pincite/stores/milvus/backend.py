"""A Milvus server, or Milvus Lite in a file, as a backend of points.

Targets share one collection for each dimension, apart by a tenant that is part of every filter.
Vectors are compared by inner product: those of unit length are so before they get here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from pymilvus import DataType, MilvusClient

from pincite.stores.milvus.errors import translated
from pincite.stores.milvus.filters import listed, restriction
from pincite.stores.points.backend import Held, Native, Point, Record, Scored, Space

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MilvusBackend"]

_RECORDS: Final = "pincite_records"
_MOST: Final = 16_384
_LONGEST: Final = 65_000
_NO_TERM: Final = 2**32 - 2
_STRONG: Final = "Strong"
_SPARSE: Final = ("sparse", "SPARSE_INVERTED_INDEX")
_EXACT: Final = "FLAT"

# Lite looks through the rows of its log one by one for each search, and through those of a segment
# with NumPy: a log of this many rows becomes one before the next search.
_LOGGED: Final = 500


class MilvusBackend:
    """The calls of ``Backend`` on a Milvus client; ``lite`` is the path of the engine in this
    process, None for a server."""

    keeps_terms = True
    batch = 500
    longest_row = _LONGEST

    def __init__(self, client: MilvusClient, place: str, *, lite: str | None) -> None:
        self.place = place
        self.exclusive = lite is not None
        self.parallel = lite is None
        self.approximate = lite is None
        self._lite = lite
        self._dense = ("dense", "AUTOINDEX" if lite is None else _EXACT)
        self._client = client
        self._logged: dict[str, int] = {}

    def setup(self) -> None:
        with translated(self.place):
            self._records()

    # -- records

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        if not keys:
            return {}
        with translated(self.place):
            found = self._client.query(
                self._records(),
                filter=listed("id", list(keys)),
                output_fields=["id", "text"],
                consistency_level=_STRONG,
            )
        return {row["id"]: row["text"] for row in found}

    def shelf(self, shelf: str) -> dict[str, str]:
        with translated(self.place):
            kept = f'shelf == "{shelf}"'
            rows = self._every(self._records(), kept, ["id", "text"])
            return {row["id"]: row["text"] for row in rows}

    def write(self, records: Sequence[Record]) -> None:
        if not records:
            return
        rows: list[dict[str, Any]] = [
            {"id": r.key, "shelf": r.shelf, "text": r.text, "dense": [1.0, 0.0]} for r in records
        ]
        with translated(self.place):
            self._client.upsert(self._records(), rows)

    def drop(self, keys: Sequence[str]) -> None:
        if keys:
            with translated(self.place):
                self._client.delete(self._records(), ids=list(keys))

    # -- points

    def open(self, space: Space) -> None:
        schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=36)
        schema.add_field("tenant", DataType.VARCHAR, max_length=32)
        schema.add_field(
            "tokens",
            DataType.ARRAY,
            element_type=DataType.VARCHAR,
            max_capacity=4096,
            max_length=32,
        )
        schema.add_field("numbers", DataType.JSON)
        schema.add_field("row", DataType.VARCHAR, max_length=65_535)
        schema.add_field("dense", DataType.FLOAT_VECTOR, dim=space.dimension)
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        with translated(self.place):
            self._created(_points(space), schema, (self._dense, _SPARSE))

    def put(self, space: Space, points: Sequence[Point]) -> None:
        if points:
            with translated(self.place):
                name = self._points(space)
                self._client.upsert(name, [_row(space, point) for point in points])
                self._logged[name] += len(points)

    def remove(self, space: Space, ids: Sequence[str]) -> None:
        if ids:
            with translated(self.place):
                self._client.delete(self._points(space), ids=list(ids))

    def clear(self, space: Space) -> None:
        with translated(self.place):
            self._client.delete(self._points(space), filter=restriction(space, None))

    def get(self, space: Space, ids: Sequence[str], *, vectors: bool) -> dict[str, Held]:
        if not ids:
            return {}
        wanted = ["id", "row", "dense"] if vectors else ["id", "row"]
        with translated(self.place):
            found = self._client.query(
                self._points(space),
                filter=listed("id", list(ids)),
                output_fields=wanted,
                consistency_level=_STRONG,
            )
        return {row["id"]: _held(row) for row in found}

    def select(self, space: Space, where: Native | None, most: int | None = None) -> list[str]:
        with translated(self.place):
            rows = self._every(self._points(space), restriction(space, where), ["id"], most)
        return [row["id"] for row in rows]

    def near(
        self, space: Space, vector: NDArray[np.float32], limit: int, where: Native | None
    ) -> list[Scored]:
        return self._found(space, vector.tolist(), "dense", limit, where)

    def match(
        self, space: Space, weights: Mapping[int, float], limit: int, where: Native | None
    ) -> list[Scored]:
        found = self._found(space, dict(weights), "sparse", limit, where)
        return [(name, score) for name, score in found if score > 0.0]

    def close(self) -> None:
        with translated(self.place):
            self._client.close()
            if self._lite is not None:
                _stop_lite(self._lite)

    # -- calls

    def _found(
        self, space: Space, query: Any, field: str, limit: int, where: Native | None
    ) -> list[Scored]:
        with translated(self.place):
            name = self._points(space)
            if self._lite is not None and self._logged[name] >= _LOGGED:
                self._client.flush(name)
                self._logged[name] = 0
            found: Any = self._client.search(
                name,
                data=[query],
                anns_field=field,
                limit=min(limit, _MOST),
                filter=restriction(space, where),
                search_params={"metric_type": "IP"},
                output_fields=["id"],
                consistency_level=_STRONG,
            )
        return [(hit["id"], float(hit["distance"])) for hit in found[0]]

    def _every(
        self, collection: str, kept: str, fields: list[str], most: int | None = None
    ) -> list[dict[str, Any]]:
        """All rows that ``kept`` holds for; a server gives them page by page."""
        if self._lite is not None:
            return list(self._client.query(collection, filter=kept, output_fields=fields))
        pages = self._client.query_iterator(
            collection, batch_size=1_000, filter=kept, output_fields=fields,
            consistency_level=_STRONG,
        )  # fmt: skip
        found: list[dict[str, Any]] = []
        try:
            while page := pages.next():
                found += page
                if most is not None and len(found) >= most:
                    break
        finally:
            pages.close()
        return found

    def _records(self) -> str:
        if _RECORDS not in self._logged:
            schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
            schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=256)
            schema.add_field("shelf", DataType.VARCHAR, max_length=64)
            schema.add_field("text", DataType.VARCHAR, max_length=65_535)
            schema.add_field("dense", DataType.FLOAT_VECTOR, dim=2)
            self._created(_RECORDS, schema, (self._dense,))
        return _RECORDS

    def _created(self, name: str, schema: Any, indexes: Sequence[tuple[str, str]]) -> None:
        if name in self._logged:
            return
        if not self._client.has_collection(name):
            made = self._client.prepare_index_params()
            for field, kind in indexes:
                made.add_index(field, index_type=kind, metric_type="IP")
            try:
                self._client.create_collection(
                    name, schema=schema, index_params=made, consistency_level=_STRONG
                )
            except Exception:
                if not self._client.has_collection(name):  # another process was first
                    raise
        self._load(name)

    def _points(self, space: Space) -> str:
        """The collection of a target's points, which Lite wants loaded in each process."""
        name = _points(space)
        if name not in self._logged:
            self._load(name)
        return name

    def _load(self, name: str) -> None:
        self._client.load_collection(name)
        self._logged[name] = 0
        if self._lite is not None:
            # All may stand in the log, for all that can be asked.
            self._logged[name] = int(self._client.get_collection_stats(name)["row_count"])
            kind = self._client.describe_index(name, "dense")["index_type"]
            self.approximate |= kind != _EXACT


def _stop_lite(path: str) -> None:
    """Let other processes have the file: the client keeps its engine until the process ends."""
    from milvus_lite.server_manager import server_manager_instance

    server_manager_instance.release_server(path)


def _points(space: Space) -> str:
    return f"pincite_points_{space.dimension}"


def _held(row: Mapping[str, Any]) -> Held:
    vector = row.get("dense")
    return Held(row["row"], None if vector is None else np.asarray(vector, dtype=np.float32))


def _row(space: Space, point: Point) -> dict[str, Any]:
    return {
        "id": point.id,
        "tenant": space.tenant,
        "tokens": list(point.tokens),
        "numbers": dict(point.numbers),
        "row": point.row,
        "dense": point.vector.tolist(),
        "sparse": dict(point.terms) or {_NO_TERM: 1e-6},
    }
