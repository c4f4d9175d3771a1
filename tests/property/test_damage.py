"""Damaged segments: an error of ours or an answer, never a crash, whatever was changed.

Under ``tools/asan.sh`` the compiled kernels also prove that they read nothing beyond an array.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.bm25.index import BM25Index
from pincite.bm25.packing import LONG, WINDOW
from pincite.bm25.reader import Reader
from pincite.bm25.search import search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays, compact_arrays, merge_arrays
from pincite.dense.index import DenseIndex
from pincite.errors import StoreCorrupt, StoreNotFound
from pincite.segments.file import SegmentFile, write_segment

ROWS = WINDOW + LONG + 5
QUERIES = [[("common",)], [("common",), ("t3",)], [("t1", "t2"), ("rare", "absent")], [("zz",)]]


@pytest.fixture(scope="module", params=["fast", "small"])
def arrays(request) -> dict[str, np.ndarray]:
    """Two windows, a term that has bounds, frequencies of every kind."""
    documents = [
        (
            {"common": row % 12 + 1, f"t{row % 7}": 1, **({"rare": 400} if row % 999 == 0 else {})},
            row,
        )
        for row in range(ROWS)
    ]
    made = build_arrays(documents)
    if request.param == "fast":
        return made
    return compact_arrays(KeywordSegment.from_arrays(made))


edits = st.lists(
    st.tuples(
        st.integers(0, 2**16),
        st.sampled_from([0, 1, 2, 7, 254, 255, 2**16 - 1, 2**31, 2**32 - 1])
        | st.integers(0, 10_000),
    ),
    min_size=1,
    max_size=4,
)


def _forged(array: np.ndarray, changes: list[tuple[int, int]], cut: int) -> np.ndarray:
    flat = array.reshape(-1).copy()
    for place, value in changes if flat.size else []:
        at = (0, -1, place % flat.size)[place % 3]
        flat[at] = value & np.iinfo(flat.dtype).max
    return flat[: max(flat.size - cut, 0)] if cut else flat.reshape(array.shape)


def _row_id(_: int, row: int) -> str:
    return f"{row:09d}"


@given(data=st.data(), changes=edits, cut=st.sampled_from([0, 0, 0, 1, 5000]))
@settings(max_examples=200)
def test_arrays_that_lie_under_good_checksums(arrays, data, changes, cut):
    """What a checksum cannot find: each array in turn says something else than was built."""
    name = data.draw(st.sampled_from(sorted(arrays)))
    forged = write_segment("keyword", 2, arrays | {name: _forged(arrays[name], changes, cut)})
    allow = np.arange(ROWS) % 50 == 0

    with suppress(StoreCorrupt):
        segment = KeywordSegment(SegmentFile.open(forged, name="forged"))
        masks = [None, allow] if segment.rows == ROWS else [None]
        for groups in QUERIES:
            for mask in masks:
                search_segments([segment], [None], [mask], groups, 10, row_id=_row_id)
        list(segment.terms())
        merge_arrays([segment], [np.ones(segment.rows, dtype=bool)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A saved keyword index with deleted rows, and a saved index of vectors."""
    path = tmp_path_factory.mktemp("damage")
    index = BM25Index(language="en")
    index.add([f"n{n}" for n in range(300)], [f"socket w{n % 9} closing" for n in range(300)])
    index.remove([f"n{n}" for n in range(9)])
    index.save(path / "keyword")
    vectors = DenseIndex()
    made = np.random.default_rng(5).normal(size=(300, 24)).astype(np.float32)
    vectors.add([f"v{n}" for n in range(300)], made)
    vectors.save(path / "dense")
    return path


def _keyword_answers(path: Path):
    opened = BM25Index.open(path)
    read = Reader.open(path)
    return opened.search("closing sockets w3", 9), read.search("closing sockets w3", 9)


def _dense_answers(path: Path):
    return DenseIndex.open(path).search(np.ones(24, dtype=np.float32), 9)


@pytest.mark.parametrize(
    ("kind", "ask"), [("keyword", _keyword_answers), ("dense", _dense_answers)]
)
@given(data=st.data())
@settings(max_examples=100)
def test_files_that_were_overwritten_cut_or_made_longer(folder, kind, ask, data):
    wanted = ask(folder / kind)
    path = data.draw(st.sampled_from(sorted(p for p in (folder / kind).iterdir() if p.is_file())))
    whole = path.read_bytes()
    place = data.draw(st.integers(0, len(whole)))
    piece = data.draw(st.binary(min_size=1, max_size=80))
    damaged = data.draw(
        st.sampled_from(
            [whole[:place], whole[:place] + piece + whole[place + len(piece) :], whole + piece]
        )
    )
    path.write_bytes(damaged)
    try:
        with suppress(StoreCorrupt, StoreNotFound):
            assert ask(folder / kind) == wanted
    finally:
        path.write_bytes(whole)
