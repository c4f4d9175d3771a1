"""``DenseIndex``: vectors by id, found by direction or by product, in memory or in a folder."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from pincite.dense.indexed import KIND, Segment, build_segment, index_corrupt, merge_segments
from pincite.dense.search import Searcher, normalize_rows
from pincite.errors import EmbeddingError, InvalidArgument
from pincite.segments.commits import Commit, publish, read_commit
from pincite.segments.ids import Allowed, repeated
from pincite.segments.kernels import kernels_in_use
from pincite.segments.live import LiveSegments, allowed_ids, id_list
from pincite.segments.ranking import Ranked
from pincite.segments.tombstones import Mask

__all__ = ["METRICS", "Allowed", "DenseIndex"]

METRICS: Final = ("cosine", "dot")

_ROWS_AT_ONCE: Final = 16_384
_FLOAT16_MAX: Final = float(np.finfo(np.float16).max)

Vector = Sequence[float] | NDArray[np.floating]


class _State(LiveSegments[Segment]):
    """What searches see: replaced as a whole, never changed."""

    @cached_property
    def cosines(self) -> Searcher:
        return self._searcher(normalized=True)

    @cached_property
    def products(self) -> Searcher:
        return self._searcher(normalized=False)

    def _searcher(self, *, normalized: bool) -> Searcher:
        vectors = tuple(segment.vectors for segment in self.segments)
        return Searcher(vectors, self.live, normalized=normalized)

    def ids(self, found: Sequence[Ranked]) -> list[str]:
        if len(self.segments) == 1:
            return self.segments[0].ids.ids([row for _, row, _ in found])
        return [self.row_id(number, row) for number, row, _ in found]


class DenseIndex:
    """Vectors by id, for the nearest of a query; can be changed at any time.

    ``metric`` is "cosine" (vectors and queries are brought to unit length) or "dot". Vectors are
    kept as float16. Up to a thousand vectors a segment is scored exactly; above that, codes of two
    bits a dimension choose what is scored exactly, at a recall that each segment is calibrated to.
    The pure path scores all.

    Safe to share between threads: a search sees the index as it was at one moment and takes no
    lock; one thread changes it at a time.

    >>> index = DenseIndex()
    >>> index.add(["a", "b"], [[1.0, 0.0], [0.6, 0.8]])
    2
    >>> ids, scores = index.search([1.0, 0.1], 1)
    >>> ids
    ['a']
    """

    def __init__(self, *, metric: str = "cosine") -> None:
        """Raises ``InvalidArgument`` for another metric."""
        if metric not in METRICS:
            raise InvalidArgument(f"The metric is {metric!r}; choose one of {', '.join(METRICS)}.")
        self._metric = metric
        self._dimension = 0
        self._lock = threading.RLock()
        self._state = _State()
        self._next = 0
        self._folder: Path | None = None
        self._token = ""

    @property
    def metric(self) -> str:
        """ "cosine" or "dot"."""
        return self._metric

    @property
    def dimension(self) -> int:
        """Numbers of a vector; 0 until the first is added."""
        return self._dimension

    def __len__(self) -> int:
        return self._state.rows

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._state.find([name]))

    def ids(self) -> list[str]:
        """Every id, in the order in which they were added."""
        return self._state.all_ids()

    def add(self, ids: Sequence[str], vectors: Sequence[Vector] | NDArray[np.floating]) -> int:
        """Keep vectors under ids and return how many; an id that is there is replaced.

        ``vectors`` has shape (n, dimension). Of an id given twice the last counts. Raises
        ``InvalidArgument`` for arguments that do not fit each other or the index, and
        ``EmbeddingError`` for numbers that are not finite or, with "dot", beyond float16.
        """
        matrix = _matrix(vectors)
        _check_ids(ids, len(matrix))
        if not len(ids):
            return 0
        drop = repeated(ids)
        if drop:
            keep = [place for place in range(len(ids)) if place not in drop]
            ids, matrix = [ids[place] for place in keep], matrix[keep]
        rows = _stored(matrix, normalized=self._metric == "cosine")
        with self._lock:
            if self._dimension not in (0, rows.shape[1]):
                raise InvalidArgument(
                    f"The vectors have {rows.shape[1]} dimensions and the index has "
                    f"{self._dimension}; embed with the index's model, or use another index."
                )
            self._dimension = rows.shape[1]
            built = build_segment(self._numbered(), ids, rows)
            state = self._state
            changed = state.without(state.find(ids).values()).plus(built)
            self._state = changed.merged(self._merge)
        return len(ids)

    def remove(self, ids: Iterable[str]) -> int:
        """Delete ids and return how many were there."""
        wanted = id_list(ids)
        with self._lock:
            found = self._state.find(wanted)
            if found:
                self._state = self._state.without(found.values()).merged(self._merge)
        return len(found)

    def search(
        self, vector: Vector, k: int, allow: Collection[str] | Allowed | None = None
    ) -> tuple[list[str], array[float]]:
        """The ids of the ``k`` best and their scores, best first, ties by id.

        Scores are exact: the cosine or the product with the stored float16 vector, summed in
        float64. ``allow`` restricts what is returned; an ``Allowed`` serves many searches. Raises
        ``InvalidQueryError`` for k below 1 and a vector that is not finite, all zero or of another
        dimension.
        """
        state = self._state
        searcher = state.cosines if self._metric == "cosine" else state.products
        masks = None if allow is None else allowed_ids(allow).masks(state.segments)
        found = searcher.search(vector, k, allow=masks, row_id=state.row_id)
        return state.ids(found), array("f", [score for _, _, score in found])

    def stats(self) -> dict[str, Any]:
        """``vectors`` that are live, ``deleted`` rows not yet merged away, ``segments``, ``lists``,
        ``dimension, metric, kernels``, and the bytes of codes and of vectors."""
        state = self._state
        return {
            "vectors": state.rows,
            "deleted": sum(state.dead),
            "segments": len(state.segments),
            "lists": sum(segment.vectors.lists for segment in state.segments),
            "dimension": self._dimension,
            "metric": self._metric,
            "kernels": kernels_in_use(),
            "code_bytes": sum(segment.vectors.codes_nbytes for segment in state.segments),
            "vector_bytes": sum(2 * s.rows * self._dimension for s in state.segments),
        }

    def merge(self) -> None:
        """Write all segments as one, without deleted rows: the fastest index to search."""
        with self._lock:
            self._state = self._state.whole(self._merge)

    def save(self, path: str | Path | None = None) -> None:
        """Make the index durable in a folder; without ``path`` in the one it was opened from.

        Writes what the folder does not have yet and swaps the manifest: after a crash at any
        instant the folder holds the old index or the new one. An index of other origin in the
        folder is replaced. Raises ``StoreLocked`` when another process has saved there since.
        """
        with self._lock:
            folder = self._folder if path is None else Path(path).absolute()
            if folder is None:
                raise InvalidArgument("The index has no folder yet; pass save() a path.")
            known = self._token if folder == self._folder else ""
            state = self._state
            settings = {"metric": self._metric, "dimension": self._dimension}
            commit = publish(
                KIND,
                folder,
                Commit(state.segments, state.live, settings),
                known=known,
                place=lambda _, segment: segment.placed(folder),
            )
            self._state = _State(tuple(commit.segments), state.live)
            self._folder, self._token = folder, commit.token

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a saved index; its files are mapped, not read.

        Raises ``StoreNotFound``, and ``StoreCorrupt`` for damage.
        """
        folder = Path(path).absolute()
        commit = read_commit(
            KIND, folder, lambda number, entry: Segment.open(number, folder, entry.file)
        )
        try:
            index = cls(metric=str(commit.settings["metric"]))
            index._dimension = int(commit.settings["dimension"])
        except (KeyError, TypeError, ValueError) as error:
            raise index_corrupt(str(folder), f"its settings cannot be read ({error})") from error
        if any(s.vectors.shape[1] != index._dimension for s in commit.segments):
            raise index_corrupt(str(folder), "its segments differ in dimension")
        index._state = _State(tuple(commit.segments), tuple(commit.live))
        index._next, index._folder, index._token = len(commit.segments), folder, commit.token
        return index

    def _numbered(self) -> int:
        self._next += 1
        return self._next

    def _merge(self, segments: Sequence[Segment], live: Sequence[Mask | None]) -> Segment:
        return merge_segments(self._numbered(), segments, live)


def _matrix(vectors: Sequence[Vector] | NDArray[np.floating]) -> NDArray[np.floating]:
    try:
        matrix = np.asarray(vectors)
    except ValueError as error:
        raise InvalidArgument(
            "The vectors differ in length; embed them all with one model."
        ) from error
    if matrix.size == 0:
        return np.empty((len(matrix), 0), dtype=np.float32)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        raise InvalidArgument(
            f"The vectors have shape {matrix.shape} and type {matrix.dtype}; pass numbers of shape "
            "(n, dimension)."
        )
    return matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)


def _check_ids(ids: Sequence[str], count: int) -> None:
    if isinstance(ids, str):
        raise InvalidArgument(f"ids is the string {ids!r}; pass a list of ids.")
    if len(ids) != count:
        raise InvalidArgument(f"{len(ids)} ids were given for {count} vectors; pass one for each.")
    for name in ids:
        if not isinstance(name, str):
            raise InvalidArgument(f"An id is a {type(name).__name__}; pass strings.")


def _stored(matrix: NDArray[np.floating], *, normalized: bool) -> NDArray[np.float16]:
    """The vectors as they are kept."""
    if not matrix.shape[1]:
        raise InvalidArgument("The vectors are empty; pass numbers of shape (n, dimension).")
    rows = np.empty(matrix.shape, dtype=np.float16)
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        if normalized:
            rows[block] = normalize_rows(matrix[block])
        else:
            rows[block] = _narrow(matrix[block])
    return rows


def _narrow(matrix: NDArray[np.floating]) -> NDArray[np.float16]:
    if not bool((np.abs(matrix) <= _FLOAT16_MAX).all()):
        raise EmbeddingError(
            f"A vector holds a number that is not finite or beyond {_FLOAT16_MAX:g}; scale the "
            "vectors, or use the cosine."
        )
    return matrix.astype(np.float16)
