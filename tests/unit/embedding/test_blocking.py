"""An embedder without an event loop, over clients of both kinds."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pincite.embedding.blocking import BlockingEmbedder, blocking_embedder
from pincite.embedding.client import InferenceClient
from pincite.embedding.embedder import Embedder
from pincite.testing import HashEmbedder


class Remote(InferenceClient):
    """A client that is reached in an event loop alone, which notes the threads it runs in."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()
        self.closed = 0
        self.hash = HashEmbedder(8)

    async def embed(self, endpoint: str, texts: Sequence[str]) -> Any:
        self.threads.add(threading.get_ident())
        return self.hash.encode(endpoint, texts)

    def supports_sync(self, endpoint: str) -> bool:
        return False

    def model_name(self, endpoint: str) -> str:
        return endpoint

    def prefixes(self, endpoint: str) -> tuple[str, str]:
        return "", ""

    async def aclose(self) -> None:
        self.closed += 1


def test_a_local_client_runs_in_the_callers_thread() -> None:
    client = HashEmbedder(8)
    made = BlockingEmbedder(Embedder(client, "test--hash"))

    assert made.endpoint == "test--hash"
    assert made.texts(["a", "b"]).shape == (2, 8)
    assert made.query("a").shape == (8,)
    assert made.identity is made.identity
    assert client.calls == 3
    made.close()


def test_a_remote_client_runs_in_one_loop_of_its_own() -> None:
    client = Remote()
    made = BlockingEmbedder(Embedder(client, "test--remote"))
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda _: made.query("a").tolist(), range(8)))

    assert all(row == rows[0] for row in rows)
    assert made.texts(["a"])[0].tolist() == rows[0]
    assert made.identity.dimension == 8
    assert len(client.threads) == 1
    assert threading.get_ident() not in client.threads
    made.close()
    made.close()
    assert client.closed == 1
    assert made.query("a").tolist() == rows[0]  # another loop
    made.close()


def test_a_client_of_another_kind_stays_open() -> None:
    class Own:
        closed = False

        async def embed(self, endpoint: str, texts: Sequence[str]) -> Any:
            return [[1.0, 0.0] for _ in texts]

        async def aclose(self) -> None:
            self.closed = True

    client = Own()
    made = BlockingEmbedder(Embedder(client, "test--own"))
    made.query("a")
    made.close()
    assert client.closed is False


def test_a_name_is_one_of_the_forms() -> None:
    assert blocking_embedder(" local--static ").endpoint == "local--static"
    with pytest.raises(ValueError, match="huggingface:<model>:local"):
        blocking_embedder("bge")


def test_a_program_that_forgets_to_close_ends() -> None:
    code = (
        "from pincite.embedding.blocking import BlockingEmbedder\n"
        "from pincite.embedding.embedder import Embedder\n"
        "class C:\n"
        "    async def embed(self, endpoint, texts): return [[1.0, 0.0]] * len(texts)\n"
        "print(BlockingEmbedder(Embedder(C(), 'x--y')).query('a'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "[1. 0.]\n"
