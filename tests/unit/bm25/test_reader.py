"""A saved index asked without NumPy: the same answers, the same refusals."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pincite.bm25.index import BM25Index
from pincite.bm25.reader import Reader
from pincite.errors import InvalidQueryError, StoreCorrupt, StoreNotFound
from pincite.segments import kernels

QUERIES = ["closing sockets", "socket socket tie", "socket", "nothing at all", "", "???"]


@pytest.fixture
def index(tmp_path) -> BM25Index:
    made = BM25Index(language="en", k1=1.5)
    made.add(["b", "a", "ü"], ["The socket closed.", "The socket closed.", "A tie to nothing"])
    made.add([f"n{n}" for n in range(40)], [f"socket tie {n} " * (n % 5 + 1) for n in range(40)])
    made.save(tmp_path / "index")
    return made


@pytest.mark.parametrize("query", QUERIES)
def test_a_reader_answers_like_the_index(index, tmp_path, query):
    reader = Reader.open(tmp_path / "index")

    for k in (1, 2, 7, 100):
        assert reader.search(query, k) == index.search(query, k)


def test_an_index_with_deleted_rows_is_read_too(index, tmp_path):
    index.remove(["a", "n3"])
    index.save()

    reader = Reader.open(tmp_path / "index")

    assert reader.search("closing socket", 50) == index.search("closing socket", 50)
    assert isinstance(reader, BM25Index)


def test_without_kernels_the_index_answers(index, tmp_path, monkeypatch):
    monkeypatch.setenv("PINCITE_PURE", "1")

    reader = Reader.open(tmp_path / "index")

    assert isinstance(reader, BM25Index)
    assert reader.search("socket", 3) == index.search("socket", 3)


def test_bad_requests_and_folders_are_refused(index, tmp_path):
    with pytest.raises(InvalidQueryError, match="at least 1"):
        Reader.open(tmp_path / "index").search("socket", 0)
    with pytest.raises(StoreNotFound):
        Reader.open(tmp_path / "elsewhere")
    for file in (tmp_path / "index").glob("*.seg"):
        data = bytearray(file.read_bytes())
        data[200] ^= 1
        file.write_bytes(data)
    with pytest.raises(StoreCorrupt):
        Reader.open(tmp_path / "index")


def test_a_search_does_without_numpy(index, tmp_path):
    if kernels.native() is None:
        pytest.skip("pincite._native is not built")
    script = (
        "import sys; from pincite.bm25.reader import Reader; "
        f"ids, _ = Reader.open({str(tmp_path / 'index')!r}).search('closed', 3); "
        "assert ids == ['a', 'b'], ids; assert 'numpy' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", script], check=True)
