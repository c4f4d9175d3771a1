"""The rows part: which chunk each row is."""

from __future__ import annotations

import numpy as np
import pytest

from pincite.errors import StoreCorrupt
from pincite.segments.file import SegmentFile, write_segment
from pincite.segments.rows import RowTable, build_rows, merge_rows


def table(keys: list[int], documents: list[str], indexes: list[int]) -> RowTable:
    arrays = build_rows(keys, documents, indexes)
    return RowTable(SegmentFile.open(write_segment("rows", 2, arrays), name="r"))


def test_rows_know_their_chunks() -> None:
    rows = table([5, 6, 9], ["größe.md", "größe.md", "b"], [0, 1, 7])

    assert len(rows) == 3
    assert [rows.id(row) for row in range(3)] == ["größe.md-0", "größe.md-1", "b-7"]
    assert rows.document(2) == "b"
    assert rows.document_names() == ["größe.md", "b"]
    assert rows.document_names(np.array([False, True, False])) == ["größe.md"]


def test_keys_are_found_in_any_order_of_rows() -> None:
    rows = table([9, 2, 5, 3], ["a", "b", "c", "b"], [0, 0, 0, 1])

    assert rows.find(2, 2).tolist() == [1, 3]
    assert rows.find(5, 100).tolist() == [2, 0]
    assert rows.find(4, 1).tolist() == []


def test_merging_keeps_the_marked_rows_in_order() -> None:
    one = table([1, 2, 3], ["a", "b", "c"], [0, 0, 0])
    two = table([7, 8], ["b", "d"], [1, 0])

    arrays = merge_rows([one, two], [np.array([True, False, True]), np.array([True, True])])
    merged = RowTable(SegmentFile.open(write_segment("rows", 2, arrays), name="m"))

    assert merged.chunks.tolist() == [1, 3, 7, 8]
    assert [merged.id(row) for row in range(4)] == ["a-0", "c-0", "b-1", "d-0"]
    assert merged.document_names() == ["a", "c", "b", "d"]


def test_merging_nothing_kept_is_empty() -> None:
    one = table([1], ["a"], [0])

    arrays = merge_rows([one], [np.array([False])])
    merged = RowTable(SegmentFile.open(write_segment("rows", 2, arrays), name="m"))

    assert len(merged) == 0
    assert merged.document_names() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("run_indexes", np.zeros(1, dtype=np.uint32)),
        ("run_documents", np.array([0, 9], dtype=np.uint32)),
        ("run_starts", np.array([0, 2, 2], dtype=np.uint32)),
        ("run_starts", np.array([1, 1, 2], dtype=np.uint32)),
        ("run_starts", np.zeros(0, dtype=np.uint32)),
        ("name_offsets", np.array([0, 99], dtype=np.uint64)),
        ("name_offsets", np.array([1, 1], dtype=np.uint64)),
        ("name_offsets", np.zeros(0, dtype=np.uint64)),
        ("names", b"other"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(name: str, value: object) -> None:
    arrays = {**build_rows([1, 3], ["a", "a"], [0, 1]), name: value}
    segment = SegmentFile.open(write_segment("rows", 2, arrays), name="bad one")

    with pytest.raises(StoreCorrupt, match="bad one"):
        RowTable(segment).check()


def test_rows_beyond_the_names_are_refused_when_they_are_read() -> None:
    documents = np.array([0, 9], dtype=np.uint32)
    arrays = {**build_rows([1, 3], ["a", "a"], [0, 1]), "run_documents": documents}
    rows = RowTable(SegmentFile.open(write_segment("rows", 2, arrays), name="bad one"))

    assert rows.id(0) == "a-0"
    for read in (lambda: rows.id(1), lambda: rows.documents, rows.document_names):
        with pytest.raises(StoreCorrupt, match="bad one"):
            read()


def test_one_row_reads_only_its_blocks() -> None:
    count = 200_000
    arrays = build_rows(range(count), [f"d{n}" for n in range(count)], [0] * count)
    data = bytearray(write_segment("rows", 2, arrays))
    rows = RowTable(SegmentFile.open(bytes(data), name="r"))
    assert (rows.id(150_000), rows.chunk(150_000)) == ("d150000-0", 150_000)
    # Damage far from the row is not seen until it is read.
    at = data.index(np.arange(8, dtype=np.int64).tobytes())
    data[at] ^= 1
    rows = RowTable(SegmentFile.open(bytes(data), name="r"))

    assert (rows.id(150_000), rows.chunk(150_000)) == ("d150000-0", 150_000)
    with pytest.raises(StoreCorrupt, match="checksum"):
        rows.chunk(0)
    with pytest.raises(StoreCorrupt, match="checksum"):
        rows.find(3, 4)


def test_chunks_that_follow_each_other_are_stored_as_one_run() -> None:
    keys = [5, 6, 7, 8, 20, 21, 3]
    documents = ["a", "a", "a", "b", "b", "b", "b"]
    indexes = [0, 1, 2, 0, 1, 2, 3]

    arrays = build_rows(keys, documents, indexes)
    rows = RowTable(SegmentFile.open(write_segment("rows", 2, arrays), name="r"))

    assert arrays["run_starts"].tolist() == [0, 3, 4, 6, 7]
    assert rows.chunks.tolist() == [rows.chunk(row) for row in range(7)] == keys
    assert rows.indexes.tolist() == indexes
    assert [rows.id(row) for row in range(7)] == [
        f"{name}-{n}" for name, n in zip(documents, indexes, strict=True)
    ]


def test_rows_of_version_1_are_still_read() -> None:
    arrays = {
        "chunks": np.array([5, 6, 9], dtype=np.int64),
        "indexes": np.array([0, 1, 7], dtype=np.uint32),
        "documents": np.array([0, 0, 1], dtype=np.uint32),
        "names": "größe.mdb".encode(),
        "name_offsets": np.array([0, 10, 11], dtype=np.uint64),
    }
    rows = RowTable(SegmentFile.open(write_segment("rows", 1, arrays), name="r"))

    rows.check()
    assert [rows.id(row) for row in range(3)] == ["größe.md-0", "größe.md-1", "b-7"]
    assert rows.chunks.tolist() == [rows.chunk(row) for row in range(3)] == [5, 6, 9]
    merged = merge_rows([rows], [np.array([False, True, True])])
    again = RowTable(SegmentFile.open(write_segment("rows", 2, merged), name="m"))
    assert [again.id(row) for row in range(2)] == ["größe.md-1", "b-7"]
