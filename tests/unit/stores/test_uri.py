"""Store URIs: what they open, and what is refused."""

import os
import sys

import anyio
import pytest

from pincite.errors import InvalidArgument, MissingExtra, StoreNotFound
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore
from pincite.stores.threaded import Threaded
from pincite.stores.uri import open_store, open_sync_store, parse_uri, uri_subject


def test_a_uri_is_split_at_its_first_colon():
    assert parse_uri("local:a:b/c") == ("local", "a:b/c")
    assert parse_uri(" memory: ") == ("memory", "")
    assert parse_uri("postgresql://user@host:5432/db") == (
        "postgresql",
        "//user@host:5432/db",
    )


@pytest.mark.parametrize("uri", ["LOCAL:x", "Local:x", "local:x"])
def test_a_scheme_may_be_in_any_case(uri):
    assert parse_uri(uri) == ("local", "x")


def test_a_local_path_has_its_home_expanded():
    assert parse_uri("local:~/notes").place == os.path.expanduser("~/notes")


def test_the_subject_is_apart_from_the_place():
    assert parse_uri("local:a?b?subject=ann") == ("local", "a?b")
    assert uri_subject("local:a?b?subject=ann%20b") == "ann b"
    assert uri_subject("local:a?b") == "local"
    with pytest.raises(InvalidArgument, match="blank"):
        uri_subject("local:a?subject=")


@pytest.mark.parametrize(
    "uri",
    ["", "   ", "notes", "/home/notes", ":x", "sqlite:x", "https://host/x", "local:a\0b", None, 7],
)
def test_a_malformed_uri_lists_the_forms(uri):
    with pytest.raises(InvalidArgument, match="local:PATH or memory:"):
        open_sync_store(uri)


@pytest.mark.parametrize(
    ("uri", "extra", "package"),
    [
        ("Qdrant:http://host", "qdrant", "qdrant_client"),
        ("qdrant::memory:", "qdrant", "qdrant_client"),
        ("chroma:folder", "chroma", "chromadb"),
        ("chroma:http://host", "chroma", "chromadb"),
        ("milvus:file.db", "milvus", "pymilvus"),
        ("milvus:http://host", "milvus", "pymilvus"),
    ],
)
def test_a_missing_extra_names_its_install_command(uri, extra, package, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    for opener in (open_store, open_sync_store):
        with pytest.raises(MissingExtra, match=rf"pip install 'pincite\[{extra}\]'"):
            opener(uri, create=True)
    assert list(tmp_path.iterdir()) == []


def test_memory_stores_share_nothing():
    one, two = open_sync_store("memory:"), open_sync_store("memory:", create=True)

    assert isinstance(one, MemoryStore)
    assert one is not two


@pytest.mark.parametrize("uri", ["memory:name", "local:", "local:  "])
def test_a_place_that_means_nothing_is_refused(uri):
    with pytest.raises(InvalidArgument):
        open_sync_store(uri, create=True)


def test_a_local_store_is_made_only_on_request(tmp_path):
    uri = f"local:{tmp_path / 'store'}"

    with pytest.raises(StoreNotFound):
        open_sync_store(uri)
    store = open_sync_store(uri, create=True)
    store.setup()
    store.close()
    assert isinstance(store, LocalStore)
    open_sync_store(uri).close()


def test_open_store_gives_the_async_port(tmp_path):
    store = open_store(f"local:{tmp_path / 'store'}", create=True)

    anyio.run(store.aclose)
    assert isinstance(store, Threaded)
    assert isinstance(store.sync_store, LocalStore)
