"""The compact layout: the same postings, made and read alike by compiled and pure code."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from pincite.bm25.index import BM25Index
from pincite.bm25.packing import LONG, WINDOW
from pincite.bm25.reader import Reader
from pincite.bm25.segment import KeywordSegment, build_arrays, compact_arrays
from pincite.errors import InvalidArgument, StoreCorrupt
from pincite.segments import kernels
from pincite.segments.file import SegmentFile, write_segment

ROWS = 3 * WINDOW + 100
PATHS = ["1"] if kernels.native() is None else ["", "1"]
FREQUENCIES = [1, 2, 3, 4, 5, 8, 9, 131, 132, 20_000, 2**32 - 1]


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    """Windows with 511 and with 512 postings of a term, gaps of all sizes, odd frequencies."""

    def terms(row: int) -> dict[str, int]:
        found = {"every": row % 3 + 1}
        window, local = divmod(row, WINDOW)
        if (window == 0 and local < 511) or (window == 1 and local < 512) or window == 2:
            found["edges"] = FREQUENCIES[row % len(FREQUENCIES)]
        if row % 1499 == 0:
            found["seldom"] = 4
        if row == ROWS - 1 or row % 254 < 2:
            found["far"] = 1
        if row % 3 and row % 700 > 300:
            found["waves"] = row % 7 + 1
        if row == 5000:
            found["once"] = 1
        return found

    return build_arrays((terms(row), row % 90 + 1) for row in range(ROWS))


@pytest.mark.parametrize("path", PATHS)
def test_postings_are_read_back(arrays, path, monkeypatch):
    whole = KeywordSegment.from_arrays(arrays)
    compact = KeywordSegment.from_arrays(compact_arrays(whole))
    assert len(whole.postings("edges")[0]) == LONG + 511 + 512

    monkeypatch.setenv("PINCITE_PURE", path)
    for name in (*whole.terms(), "absent"):
        for found, wanted in zip(compact.postings(name), whole.postings(name), strict=True):
            assert found.dtype == np.uint32
            assert found.tolist() == wanted.tolist()
    for found, wanted in zip(compact.inverted(), whole.inverted(), strict=True):
        assert found.tolist() == wanted.tolist()
    assert compact.total_length == whole.total_length


@pytest.mark.skipif(kernels.native() is None, reason="needs the compiled kernels")
def test_both_paths_write_the_same_bytes(arrays, monkeypatch):
    compiled = compact_arrays(KeywordSegment.from_arrays(arrays))
    monkeypatch.setenv("PINCITE_PURE", "1")
    pure = compact_arrays(KeywordSegment.from_arrays(arrays))

    assert compiled.keys() == pure.keys()
    for name, array in compiled.items():
        assert array.dtype == pure[name].dtype, name
        assert array.tobytes() == pure[name].tobytes(), name
    again = compact_arrays(KeywordSegment.from_arrays(compiled))
    assert all(again[name].tobytes() == array.tobytes() for name, array in compiled.items())


@pytest.mark.parametrize("path", PATHS)
def test_an_empty_segment_is_compact_too(path, monkeypatch):
    monkeypatch.setenv("PINCITE_PURE", path)
    for documents in ([], [({}, 0)], [({"a": 9}, 9)]):
        compact = KeywordSegment.from_arrays(
            compact_arrays(KeywordSegment.from_arrays(build_arrays(documents)))
        )
        assert compact.rows == len(documents)
        assert compact.postings("a")[1].tolist() == [9] * ("a" in str(documents))


@pytest.mark.parametrize("path", PATHS)
def test_bytes_that_are_no_postings_are_found(arrays, path, monkeypatch):
    monkeypatch.setenv("PINCITE_PURE", path)
    made = compact_arrays(KeywordSegment.from_arrays(arrays))
    for place in range(0, len(made["packed"]), 97):
        for value in (0, 128, 255):
            packed = made["packed"].copy()
            packed[place] = value
            forged = write_segment("keyword", 3, made | {"packed": packed})
            segment = KeywordSegment(SegmentFile.open(forged, name="forged"))
            with suppress(StoreCorrupt):
                rows, tfs = segment.inverted()[1:]
                assert len(rows) == len(tfs)
                assert rows.max() < ROWS
        if path and place > 2000:
            break


@pytest.fixture
def index() -> BM25Index:
    index = BM25Index(language="en", profile="small")
    index.add([f"n{n}" for n in range(700)], [f"sockets w{n % 9} closing {n}" for n in range(700)])
    return index


def test_a_small_index_answers_like_a_fast_one(index, tmp_path):
    queries = ["closing socket", "w3 w4", "17 closing", "absent", ""]
    before = [index.search(query, 20) for query in queries]
    index.save(tmp_path / "small")
    opened = BM25Index.open(tmp_path / "small")

    assert opened.profile == "small"
    assert [opened.search(query, 20) for query in queries] == before
    assert [Reader.open(tmp_path / "small").search(query, 20) for query in queries] == before
    assert (
        opened.explain("w3 closing", "n3").score
        == opened.search("w3 closing", 700)[1][opened.search("w3 closing", 700)[0].index("n3")]
    )


def test_a_small_index_is_changed_merged_and_made_fast(index, tmp_path):
    index.save(tmp_path / "small")
    opened = BM25Index.open(tmp_path / "small")
    opened.remove([f"n{n}" for n in range(0, 700, 2)])
    opened.add(["new"], ["closing w3"])
    wanted = opened.search("closing w3", 9)
    opened.save()
    assert BM25Index.open(tmp_path / "small").search("closing w3", 9) == wanted

    again = BM25Index.open(tmp_path / "small")
    again.merge()
    again.save()
    assert BM25Index.open(tmp_path / "small").search("closing w3", 9) == wanted

    fast = BM25Index(language="en")
    texts = {name: f"sockets w{int(name[1:]) % 9} closing {name[1:]}" for name in opened.ids()[:-1]}
    fast.add([*texts, "new"], [*texts.values(), "closing w3"])
    fast.save(tmp_path / "fast")
    assert BM25Index.open(tmp_path / "fast").profile == "fast"
    assert fast.search("closing w3", 9) == wanted


def test_an_unknown_profile_is_refused():
    with pytest.raises(InvalidArgument, match="fast, small"):
        BM25Index(profile="tiny")
