"""Qdrant: places, locks, the tenant that is part of every filter, errors."""

import signal
import subprocess
import sys

import httpx
import pytest
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import (
    ApiException,
    ResponseHandlingException,
    UnexpectedResponse,
)

from pincite.errors import InvalidArgument, StoreLocked, StoreNotFound, StoreUnavailable
from pincite.model.where import F
from pincite.stores.points.backend import Compare, Every, Has, Negated, OneOf, Some, Space
from pincite.stores.qdrant.errors import translated
from pincite.stores.qdrant.filters import restriction
from pincite.stores.qdrant.opening import open_qdrant
from pincite.testing.samples import embed, whole

S, C = "ann", "papers"


# The client does not close the lock file that it could not lock.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_folder_is_kept_and_locked(tmp_path):
    place = str(tmp_path / "db")
    with pytest.raises(StoreNotFound, match="create it first"):
        open_qdrant(place)
    store = open_qdrant(place, create=True)
    store.commit(S, C, [whole("m", "quartz", "mica")])
    with pytest.raises(StoreLocked, match="in use"):
        open_qdrant(place)
    store.close()
    again = open_qdrant(place)
    hits = again.reader(S, [C]).hybrid(C, query="quartz", vector=embed("quartz"), limit=9)
    assert [hit.chunk.id for hit in hits] == ["m-0", "m-1"]
    assert again.doctor() == []
    again.close()


def test_the_engine_keeps_and_locks_a_folder(tmp_path):
    pytest.importorskip("qdrant_edge", reason="comes with the extra [qdrant-edge]")
    place = f"edge:{tmp_path / 'db'}"
    with pytest.raises(StoreNotFound, match="create it first"):
        open_qdrant(place)
    store = open_qdrant(place, create=True)
    store.commit(S, C, [whole("m", "quartz", "mica", metadata={"n": 1}), whole("n", "gold")])
    store.commit("bob", C, [whole("m", "quartz of bob")])
    with pytest.raises(StoreLocked, match="in use"):
        open_qdrant(place)
    store.close()
    again = open_qdrant(place)
    port = again.reader(S, [C])
    hits = port.hybrid(C, query="quartz", vector=embed("quartz"), limit=9, where=F("n") >= 1)
    assert [hit.chunk.id for hit in hits] == ["m-0", "m-1"]
    assert again.doctor() == []
    again.rewrite(S, C, [whole("o", "salt")])
    assert [hit.chunk.content for hit in again.reader("bob", [C]).bm25(C, query="quartz", limit=9)]
    with pytest.raises(StoreNotFound):
        again.backend.select(Space("t", S, C, 99, True), None)
    again.close()


def test_what_the_engine_wrote_outlives_its_process(tmp_path):
    pytest.importorskip("qdrant_edge", reason="comes with the extra [qdrant-edge]")
    place = f"edge:{tmp_path / 'db'}"
    code = f"""
import os, signal
from pincite.stores.qdrant.opening import open_qdrant
from pincite.testing.samples import whole
store = open_qdrant({place!r}, create=True)
for number in range(5):
    store.commit({S!r}, {C!r}, [whole(f"d{{number}}", "quartz", f"mica {{number}}")])
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    store = open_qdrant(place)
    assert store.doctor() == []
    port = store.reader(S, [C])
    assert len(port.bm25(C, query="quartz", limit=9)) == 5
    assert len(port.near_vector(C, vector=embed("mica 3"), limit=20)) == 10
    store.close()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="is a file"):
        open_qdrant(str(tmp_path / "file"), create=True)


@pytest.mark.parametrize("place", ["", "  ", "http://", "http://host?x=1"])
def test_a_place_that_means_nothing_is_refused(place):
    with pytest.raises(InvalidArgument, match="write qdrant:"):
        open_qdrant(place, create=True)


def test_the_tenant_is_part_of_every_filter():
    space = Space("t" * 32, S, C, 8, True)
    filters = [None, Has("a"), Negated(Has("a")), Compare("n", "gt", 1.0), OneOf(("i",))]
    filters += [Every((Has("a"), Has("b"))), Some((Has("a"), Has("b")))]
    for where in filters:
        first = restriction(space, where).must[0]
        assert (first.key, first.match.value) == ("tenant", space.tenant)


def test_no_server_is_unavailable():
    store = open_qdrant("http://127.0.0.1:9")
    with pytest.raises(StoreUnavailable, match="check that it runs"):
        store.setup()
    store.close()


def test_tenants_share_a_collection_and_nothing_else():
    store = open_qdrant(":memory:")
    store.commit(S, C, [whole("m", "quartz of ann")])
    store.commit("bob", C, [whole("m", "quartz of bob")])
    client: QdrantClient = store.backend._client
    assert client.count("pincite_points_32").count == 2
    assert store.delete("bob", C, ["m"]) == 1
    assert [hit.chunk.content for hit in store.reader(S, [C]).bm25(C, query="quartz", limit=9)] == [
        "quartz of ann"
    ]
    store.close()


@pytest.mark.parametrize(
    ("status", "ours"),
    [(400, InvalidArgument), (409, InvalidArgument), (422, InvalidArgument), (404, StoreNotFound),
     (401, StoreUnavailable), (403, StoreUnavailable), (429, StoreUnavailable),
     (500, StoreUnavailable), (503, StoreUnavailable)],
)  # fmt: skip
def test_every_answer_is_one_of_our_errors(status, ours):
    error = UnexpectedResponse(status, "reason", b"told \xff", httpx.Headers())
    with pytest.raises(ours, match=r"^Here .*\.$"), translated("Here"):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        ApiException("x"),
        ResponseHandlingException(ValueError("x")),
        QdrantException("x"),
        ResourceExhaustedResponse("x", 3),
        httpx.ReadTimeout("x"),
        ConnectionResetError("x"),
        RuntimeError("closed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_of_the_client_is_one_of_ours(error):
    with pytest.raises(StoreUnavailable, match=r"\.$"), translated("Here"):
        raise error


def test_what_the_local_mode_refuses_is_ours_too():
    with pytest.raises(StoreNotFound), translated("Here"):
        raise ValueError("Collection x not found")
    with pytest.raises(InvalidArgument), translated("Here"):
        raise ValueError("odd")
