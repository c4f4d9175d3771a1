"""A Chroma database, in a folder or behind HTTP, as a backend of points.

Each target has a collection of its own, whose name holds a hash of subject and collection, since
names are limited to 3-512 characters of an alphabet. Records are the documents of one more.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import httpx
import numpy as np

from pincite.stores.chroma import CHROMA_HNSW_SPACE
from pincite.stores.chroma.errors import translated
from pincite.stores.chroma.filters import restriction
from pincite.stores.points.backend import Held, Native, Point, Record, Scored, Space

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from numpy.typing import NDArray

__all__ = ["ChromaBackend", "collection_name"]

_RECORDS: Final = "pincite-records"
_SEARCH_EF: Final = 256
_BUILD_EF: Final = 200
_NEIGHBOURS: Final = 32
_BATCH: Final = 1_000
_SLUG: Final = 60


def collection_name(space: Space) -> str:
    """What a target's collection is called in Chroma: something to read, and its hash."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", space.collection).strip("-")[:_SLUG].strip("-")
    return f"pincite-{slug}-{space.tenant}" if slug else f"pincite-{space.tenant}"


class ChromaBackend:
    """The calls of ``Backend`` on a Chroma client."""

    exclusive = False
    parallel = True
    approximate = True
    keeps_terms = False
    batch = _BATCH
    longest_row = sys.maxsize

    def __init__(self, client: ClientAPI, place: str) -> None:
        self.place = place
        self._client = client
        self._opened: dict[str, Collection] = {}

    def setup(self) -> None:
        with translated(self.place):
            self._records()

    # -- records

    def read(self, keys: Sequence[str]) -> dict[str, str]:
        if not keys:
            return {}
        with translated(self.place):
            return _texts(self._records().get(ids=list(keys), include=["documents"]))

    def shelf(self, shelf: str) -> dict[str, str]:
        with translated(self.place):
            found: dict[str, str] = {}
            where: Any = {"shelf": shelf}
            while True:
                page = self._records().get(
                    where=where, limit=_BATCH, offset=len(found), include=["documents"]
                )
                found.update(_texts(page))
                if len(page["ids"]) < _BATCH:
                    return found

    def write(self, records: Sequence[Record]) -> None:
        if not records:
            return
        with translated(self.place):
            self._records().upsert(
                ids=[record.key for record in records],
                documents=[record.text for record in records],
                metadatas=[{"shelf": record.shelf} for record in records],
                embeddings=np.array([_place_of(record.key) for record in records]),
            )

    def drop(self, keys: Sequence[str]) -> None:
        if keys:
            with translated(self.place):
                self._records().delete(ids=list(keys))

    # -- points

    def open(self, space: Space) -> None:
        with translated(self.place):
            self._points(space)

    def put(self, space: Space, points: Sequence[Point]) -> None:
        if not points:
            return
        with translated(self.place):
            self._points(space).upsert(
                ids=[point.id for point in points],
                embeddings=np.array([point.vector for point in points], dtype=np.float32),
                documents=[point.row for point in points],
                metadatas=[_metadata(point) for point in points],
            )

    def remove(self, space: Space, ids: Sequence[str]) -> None:
        if ids:
            with translated(self.place):
                self._points(space).delete(ids=list(ids))

    def clear(self, space: Space) -> None:
        name = collection_name(space)
        self._opened.pop(name, None)
        with translated(self.place):
            self._client.delete_collection(name)

    def get(self, space: Space, ids: Sequence[str], *, vectors: bool) -> dict[str, Held]:
        if not ids:
            return {}
        include: Any = ["documents", "embeddings"] if vectors else ["documents"]
        with translated(self.place):
            found = self._points(space).get(ids=list(ids), include=include)
        rows = found["documents"] or []
        held: Any = found["embeddings"] if vectors else None
        arrays = [None] * len(rows) if held is None else np.asarray(held, dtype=np.float32)
        return {
            name: Held(row, array)
            for name, row, array in zip(found["ids"], rows, arrays, strict=True)
        }

    def select(self, space: Space, where: Native | None, most: int | None = None) -> list[str]:
        limits = restriction(where)
        found: list[str] = []
        with translated(self.place):
            points = self._points(space)
            if limits.ids is not None:
                for some in _parts(limits.ids):
                    found += points.get(ids=some, include=[])["ids"]
                return found
            while True:
                page = points.get(
                    where=limits.where, limit=_BATCH * 10, offset=len(found), include=[]
                )
                found += page["ids"]
                if len(page["ids"]) < _BATCH * 10 or (most is not None and len(found) >= most):
                    return found

    def near(
        self, space: Space, vector: NDArray[np.float32], limit: int, where: Native | None
    ) -> list[Scored]:
        limits = restriction(where)
        with translated(self.place):
            points = self._points(space)
            count = len(limits.ids) if limits.ids is not None else points.count()
            wanted = min(limit, count)
            if not wanted:
                return []
            found = points.query(
                query_embeddings=vector[None, :],
                n_results=wanted,
                where=limits.where,
                ids=limits.ids,
                include=["distances"],
            )
            far = self._distance(points)
        distances = (found["distances"] or [[]])[0]
        return [(name, far(d)) for name, d in zip(found["ids"][0], distances, strict=True)]

    def match(
        self, space: Space, weights: Mapping[int, float], limit: int, where: Native | None
    ) -> list[Scored]:
        raise NotImplementedError("Chroma keeps no terms here; ``keeps_terms`` says so.")

    def close(self) -> None:
        self._opened.clear()
        client: Any = self._client
        with translated(self.place):
            client.close()
        # Over HTTP the client, and the one inside it for tenants, leave their connections open.
        for each in (client, getattr(client, "_admin_client", None)):
            session = getattr(getattr(each, "_server", None), "_session", None)
            if isinstance(session, httpx.Client):
                session.close()

    # -- collections

    def _records(self) -> Collection:
        # Nobody searches their vectors: the index of them may be poor, and is built quickly.
        graph = {"space": "l2", "ef_construction": 8, "ef_search": 8, "max_neighbors": 4}
        return self._opened_as(_RECORDS, {"holds": "records of Pincite"}, graph)

    def _points(self, space: Space) -> Collection:
        about = {"subject": space.subject, "collection": space.collection}
        distance = CHROMA_HNSW_SPACE if space.normalized else "ip"
        graph = {
            "space": distance,
            "ef_search": _SEARCH_EF,
            "ef_construction": _BUILD_EF,
            "max_neighbors": _NEIGHBOURS,
        }
        return self._opened_as(collection_name(space), about, graph)

    def _opened_as(self, name: str, about: dict[str, Any], hnsw: Any) -> Collection:
        found = self._opened.get(name)
        if found is None:
            found = self._opened[name] = self._client.get_or_create_collection(
                name,
                embedding_function=None,
                metadata={key: ascii(value) for key, value in about.items()},
                configuration={"hnsw": hnsw},
            )
        return found

    def _distance(self, points: Collection) -> Any:
        """From the collection's own distance to a score, higher is better."""
        hnsw = points.configuration_json.get("hnsw") or {}
        halved = hnsw.get("space") == "l2"  # of unit vectors: 2 - 2 cos
        return lambda distance: 1.0 - (distance / 2.0 if halved else distance)


def _metadata(point: Point) -> Any:
    metadata: dict[str, Any] = dict(point.numbers)
    metadata["tokens"] = [*point.tokens, "-"]  # a list cannot be empty
    return metadata


def _texts(found: Any) -> dict[str, str]:
    return dict(zip(found["ids"], found["documents"], strict=True))


def _place_of(key: str) -> NDArray[np.float32]:
    """Some vector: Chroma wants one of every record, and its index wants them to differ."""
    seed = np.frombuffer(key.encode()[-16:].rjust(16), dtype=np.uint8)
    return (seed[:8] + seed[8:] / 256).astype(np.float32)


def _parts(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), _BATCH):
        yield list(ids[start : start + _BATCH])
