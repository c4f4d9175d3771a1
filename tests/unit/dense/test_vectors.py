"""The vectors of a segment in lists: the same answers as in the order of rows, and of before."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

from pincite.dense import codes, vectors
from pincite.dense.codes import vector_arrays
from pincite.dense.search import search_vectors
from pincite.dense.vectors import Vectors
from pincite.errors import StoreCorrupt
from pincite.segments.file import SegmentFile, write_segment
from pincite.segments.kernels import native

ROWS, DIMENSION = 3000, 24

pytestmark = pytest.mark.skipif(native() is None, reason="the pure path writes no lists")


@pytest.fixture(scope="module")
def rows(clustered) -> np.ndarray:
    return clustered(4, (ROWS, DIMENSION), centres=40, every=100)


@pytest.fixture(scope="module")
def arrays(rows, listed) -> dict[str, np.ndarray]:
    return listed(rows)


@pytest.fixture(scope="module")
def older(rows, arrays, by_rows) -> dict[str, np.ndarray]:
    return by_rows(rows, arrays)


def _held(arrays: dict[str, np.ndarray]) -> Vectors:
    return Vectors(SegmentFile.open(write_segment("v", 1, arrays), name="v"), ROWS)


def _row_id(part: int, row: int) -> str:
    return f"{part}-{row:05}"


def _answers(part: Vectors, rows: np.ndarray) -> list[list[tuple[int, int, float]]]:
    generator = np.random.default_rng(6)
    masks = [None, *(generator.random(ROWS) < share for share in (0.9, 0.3, 0.02, 0.002, 0.0))]
    queries = rows[generator.integers(0, ROWS, 6)].astype(np.float32)
    queries += generator.normal(scale=0.1, size=queries.shape)
    return [
        search_vectors([part], [None], [mask], query, k, row_id=_row_id)
        for mask in masks
        for query in queries
        for k in (1, 10)
    ]


def test_rows_are_found_wherever_they_lie(rows, arrays):
    part = _held(arrays)

    assert part.lists > 1
    assert not np.array_equal(arrays["vectors"], rows)
    chosen = np.array([2999, 0, 7, 7])
    assert np.array_equal(part[chosen], rows[chosen])
    mask = np.arange(ROWS) % 7 == 3
    assert np.array_equal(part[mask], rows[mask])
    assert np.array_equal(part[np.ones(ROWS, bool)], rows)


def test_a_segment_of_before_answers_the_same(rows, arrays, older):
    assert np.array_equal(_held(older)[np.arange(ROWS)], rows)
    assert _answers(_held(older), rows) == _answers(_held(arrays), rows)


def test_the_pure_path_reads_lists(rows, arrays, older, monkeypatch):
    few = _answers(_held(arrays), rows)[-3 * 12 :]  # what keeps so little is exact
    monkeypatch.setenv("PINCITE_PURE", "1")

    assert _answers(_held(arrays), rows) == _answers(_held(older), rows)
    assert _answers(_held(arrays), rows)[-3 * 12 :] == few


def test_how_long_a_query_is_changes_no_product_that_is_found(rows, arrays):
    generator = np.random.default_rng(8)
    stretched = (rows * generator.uniform(0.5, 3.0, (ROWS, 1))).astype(np.float16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codes, "LIST_ROWS", 2000)
        part = _held(vector_arrays(stretched))
    wide, right = stretched.astype(np.float64), 0

    for query in generator.normal(size=(40, DIMENSION)):
        found = [
            search_vectors(
                [part], [None], [None], query * times, 10, row_id=_row_id, normalized=False
            )
            for times in (1.0, 1.9, 30.0)
        ]
        rows_found = [[row for _, row, _ in hits] for hits in found]
        assert rows_found[0] == rows_found[1] == rows_found[2]
        right += len(set(np.argsort(-(wide @ query))[:10]) & set(rows_found[0]))
    assert right >= 0.97 * 400


def test_pages_that_are_gone_change_no_answer(rows, arrays, tmp_path, monkeypatch):
    """A segment too large to be read whole asks for the pages it needs."""
    wanted = _answers(_held(arrays), rows)
    monkeypatch.setattr(vectors, "_READ_WHOLE", 0)
    path = tmp_path / "v"
    path.write_bytes(write_segment("v", 1, arrays))
    file = SegmentFile.open(path, name="v")
    part = Vectors(file, ROWS)

    for _ in range(3):
        file.contents.obj.madvise(mmap.MADV_DONTNEED)
        if hasattr(os, "posix_fadvise"):
            with path.open("rb") as handle:
                os.fsync(handle.fileno())
                os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert _answers(part, rows) == wanted
    assert np.array_equal(part[np.arange(ROWS)], rows)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (np.zeros(ROWS - 1, np.uint32), "does not fit"),
        (np.zeros(ROWS, np.int32), "does not fit"),
        (np.full(ROWS, ROWS, np.uint32), "do not exist"),
    ],
)
def test_an_order_that_fits_no_rows_is_named(arrays, order, message):
    with pytest.raises(StoreCorrupt, match=message):
        _held(arrays | {"vector_order": order})


def test_an_order_that_names_a_row_twice_is_no_harm_to_a_search(rows, arrays):
    forged = arrays["vector_order"].copy()
    forged[: ROWS // 2] = forged[0]
    part = _held(arrays | {"vector_order": forged})

    _answers(part, rows)
    with pytest.raises(StoreCorrupt, match="a row twice"):
        part[np.arange(3)]
