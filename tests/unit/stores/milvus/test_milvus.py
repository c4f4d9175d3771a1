"""Milvus: places, the tenant that is part of every filter, errors."""

import inspect
import time

import grpc
import pytest
from milvus_lite.adapter.grpc.servicer import MilvusServicer
from pymilvus import exceptions

from pincite.errors import InvalidArgument, StoreLocked, StoreNotFound, StoreUnavailable
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.stores.milvus.errors import translated
from pincite.stores.milvus.filters import expression, restriction
from pincite.stores.milvus.opening import open_milvus
from pincite.stores.points.backend import Compare, Every, Has, Negated, OneOf, Some, Space
from pincite.testing.samples import embed, whole

S, C = "ann", "papers"


def test_a_file_is_kept(tmp_path):
    place = str(tmp_path / "folder" / "m.db")
    with pytest.raises(StoreNotFound, match="create it first"):
        open_milvus(place)
    store = open_milvus(place, create=True)
    store.commit(S, C, [whole("m", "quartz", "mica")])
    store.close()
    again = open_milvus(place)
    hits = again.reader(S, [C]).hybrid(C, query="quartz", vector=embed("quartz"), limit=9)
    assert [hit.chunk.id for hit in hits] == ["m-0", "m-1"]
    long = ChunkResult(content="quartz " * 20_000, chunk_index=0, end_char=140_000)
    document = EmbeddedDocument("long", "", [long], [embed("x")], "test--hash")
    with pytest.raises(InvalidArgument, match="smaller chunks"):
        again.commit(S, C, [whole("before", "mica"), document])
    assert [info.document for info in again.documents(S, C)] == ["m"]
    assert again.doctor() == []
    again.close()


def test_a_call_that_takes_long_is_answered(tmp_path, monkeypatch):
    """Lite's server cuts off a client that pings it during a call, here ten times as often."""
    connect, query = grpc.insecure_channel, MilvusServicer.Query
    calls = []

    def pinging_often(address, options=()):
        given = dict(options)
        given["grpc.keepalive_time_ms"] = max(1_000, given["grpc.keepalive_time_ms"] // 10)
        return connect(address, options=[*given.items(), ("grpc.http2.max_pings_without_data", 0)])

    def slow(servicer, request, context):
        calls.append(request)
        time.sleep(6)
        return query(servicer, request, context)

    monkeypatch.setattr(grpc, "insecure_channel", pinging_often)
    monkeypatch.setattr(MilvusServicer, "Query", slow)
    store = open_milvus(str(tmp_path / "m.db"), create=True)
    store.setup()

    assert store.backend.read(["absent"]) == {}
    assert len(calls) == 1
    store.close()


@pytest.mark.parametrize("place", ["", "  ", "folder", "http://", "http://host?x=1"])
def test_a_place_that_means_nothing_is_refused(place):
    with pytest.raises(InvalidArgument, match="write milvus:"):
        open_milvus(place, create=True)


def test_expressions_hold_nothing_but_what_we_made():
    where = Every((Some((Has("aa"), Negated(Has("bb")))), Compare("ncc", "gte", -2.5)))
    assert expression(where) == (
        '((array_contains(tokens, "aa")) or (not array_contains(tokens, "bb")))'
        ' and (numbers["ncc"] >= -2.5)'
    )
    space = Space("t" * 32, "\"'; ann", "\\", 8, True)
    assert restriction(space, None) == f'tenant == "{space.tenant}"'
    assert restriction(space, OneOf(("i", "j"))).endswith('(id in ["i", "j"])')


def _every_error():
    kinds = inspect.getmembers(exceptions, inspect.isclass)
    return [kind for _, kind in kinds if issubclass(kind, exceptions.MilvusException)]


@pytest.mark.parametrize("kind", _every_error(), ids=lambda kind: kind.__name__)
def test_every_error_of_the_client_is_one_of_ours(kind):
    ours = (InvalidArgument, StoreUnavailable, StoreNotFound)
    with pytest.raises(ours, match=r"^Here .*\.$"), translated("Here"):
        raise kind(message="told")


@pytest.mark.parametrize(
    ("code", "message", "ours"),
    [(100, "x", StoreNotFound), (1100, "x", InvalidArgument), (5, "x", StoreUnavailable),
     (9, "the LOCK is held", StoreLocked)],
)  # fmt: skip
def test_codes_tell_what_is_wrong(code, message, ours):
    with pytest.raises(ours), translated("Here"):
        raise exceptions.MilvusException(code, message)


def test_errors_below_the_client_are_ours_too():
    for error in (grpc.RpcError("x"), ConnectionResetError("x")):
        with pytest.raises(StoreUnavailable), translated("Here"):
            raise error
