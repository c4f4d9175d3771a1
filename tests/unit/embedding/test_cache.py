"""Vectors that are kept by model and text: what is asked once is not asked again, and damage costs
a call."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

import pincite
from pincite.embedding.cache import VectorCache
from pincite.embedding.client import InferenceClient
from pincite.embedding.embedder import Embedder
from pincite.embedding.identity import PROBES
from pincite.errors import EmbeddingError
from pincite.model.documents import ModelIdentity

ENDPOINT = "test--host"
MODEL = ModelIdentity("m", 4, probe=((1.0, 0.0, 0.0, 0.0),) * 3)


class Host:
    """An OpenAI-compatible host whose vectors come from its model's number and the text."""

    def __init__(self) -> None:
        self.model, self.dimension = 1, 8
        self.asked: list[str] = []
        self.fails_after = 10**9

    def vector(self, text: str) -> list[float]:
        seed = hashlib.sha256(f"{self.model} {text}".encode()).digest()
        rng = np.random.default_rng(list(seed))
        row: list[float] = rng.normal(size=self.dimension).astype(np.float32).tolist()
        return row

    def answer(self, texts: list[str]) -> tuple[int, Any]:
        if len(self.asked) + len(texts) > self.fails_after:
            return 400, {}
        self.asked += texts
        return 200, {
            "data": [{"index": at, "embedding": self.vector(t)} for at, t in enumerate(texts)]
        }

    def passages(self) -> list[str]:
        """What was asked for since the last time, without the sentences that tell the model."""
        found = [text for text in self.asked if text not in PROBES]
        self.asked.clear()
        return found


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, content = made.answer(body["input"])
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    (tmp_path / f"{ENDPOINT}.toml").write_text(
        f'kind = "openai"\nmodel = "m"\nurl = "http://127.0.0.1:{server.server_port}"\n'
        "batch_size = 4\nattempts = 1\n"
    )
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "vectors.db"


def embed(cache: Path | None, texts: list[str], folder: Path | None = None) -> np.ndarray:
    """As a process of its own would: with a new client."""

    async def go() -> np.ndarray:
        root = folder or (cache.parents[1] if cache else Path())
        client = InferenceClient([root], cache=cache)
        try:
            return await client.embed(ENDPOINT, texts)
        finally:
            await client.aclose()

    return anyio.run(go)


def unit(host: Host, texts: list[str]) -> np.ndarray:
    rows = np.array([host.vector(text) for text in texts], dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_a_text_is_asked_for_once(host: Host, cache: Path) -> None:
    texts = ["quartz", "mica", "quartz", "a\udc80b", ""]
    first = embed(cache, texts)
    assert host.passages() == ["quartz", "mica", "ab", ""]
    again = embed(cache, ["gold", *texts])
    assert host.passages() == ["gold"]

    assert again[1:].tobytes() == first.tobytes()
    assert np.allclose(again[0], unit(host, ["gold"])[0], atol=1e-6)
    assert embed(cache, []).shape == (0, 0)


def test_a_library_that_is_indexed_again_asks_for_nothing(
    host: Host, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text(f"All about {name}.\n")
    found = []
    for _ in range(2):
        embedder = Embedder(InferenceClient([tmp_path], cache=cache), ENDPOINT)
        with pincite.open("memory:", embedder=embedder) as library:
            assert len(library.add(folder).added) == 2
            found.append([hit.score for hit in library.search("about b", mode="vector")])
    assert found[0] == found[1]
    assert sorted(host.passages()) == ["All about a.", "All about b.", "about b"]


def test_the_sentences_that_tell_the_model_are_asked_for_once(host: Host, cache: Path) -> None:
    async def go() -> None:
        client = InferenceClient([cache.parents[1]], cache=cache)
        embedder = Embedder(client, ENDPOINT)
        identity = await pincite.embedding.identity.identify(embedder)
        await embedder.embed_query("quartz")
        assert identity.dimension == host.dimension
        await client.aclose()

    import pincite.embedding.identity

    anyio.run(go)
    assert host.asked == [*PROBES, "quartz"]


@pytest.mark.parametrize(("model", "dimension"), [(2, 8), (1, 16)])
def test_another_model_behind_the_name_gets_nothing_of_before(
    host: Host, cache: Path, model: int, dimension: int
) -> None:
    before = embed(cache, ["quartz"])
    host.passages()
    host.model, host.dimension = model, dimension
    after = embed(cache, ["quartz"])
    assert host.passages() == ["quartz"]
    assert np.allclose(after, unit(host, ["quartz"]), atol=1e-6)
    host.model, host.dimension = 1, 8
    assert embed(cache, ["quartz"]).tobytes() == before.tobytes()
    assert host.passages() == []


def test_what_was_embedded_before_a_failure_is_kept(host: Host, cache: Path) -> None:
    texts = [f"text {number}" for number in range(10)]
    host.fails_after = len(PROBES) + 8
    with pytest.raises(EmbeddingError):
        embed(cache, texts)
    host.fails_after = 10**9
    host.passages()
    embed(cache, texts)
    assert host.passages() == texts[8:]


def test_the_variable_names_a_cache_and_without_it_there_is_none(
    host: Host, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PINCITE_EMBEDDING_CACHE", raising=False)
    for _ in range(2):
        embed(None, ["quartz"], cache.parents[1])
    assert host.asked == ["quartz", "quartz"]
    assert not cache.exists()
    monkeypatch.setenv("PINCITE_EMBEDDING_CACHE", str(cache))
    host.passages()
    for _ in range(2):
        embed(None, ["quartz"], cache.parents[1])
    assert host.passages() == ["quartz"]
    assert cache.exists()


def test_models_in_this_process_that_are_slow_are_kept_too(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pincite.embedding.sentence import SentenceModel

    calls = []

    def encode(self: SentenceModel, texts: list[str]) -> np.ndarray:
        calls.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    monkeypatch.setattr(SentenceModel, "encode", encode)
    for _ in range(2):
        client = InferenceClient(cache=cache)
        assert client.encode("huggingface:m:local", ["ab"]).tolist() == [[2.0, 1.0]]
        client.encode("local--static", ["quartz"])
        anyio.run(client.aclose)
    assert calls == [list(PROBES), ["ab"], list(PROBES)]


# -- damage


def _filled(path: Path, count: int = 200, dimension: int = 32) -> tuple[int, list[str], Any]:
    texts = [f"text {number}" for number in range(count)]
    rows = np.random.default_rng(1).normal(size=(count, dimension)).astype(np.float32)
    held = VectorCache(path)
    model = held.model(MODEL)
    assert model is not None
    held.put(model, texts, rows)
    held.close()
    return model, texts, rows


def test_no_damage_gives_a_wrong_vector_or_an_error(cache: Path) -> None:
    _, texts, rows = _filled(cache)
    whole = cache.read_bytes()
    rng = random.Random(7)
    lost = 0
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 1, 20])):
            data[rng.randrange(len(data))] ^= rng.randrange(1, 256)
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        cache.write_bytes(data)
        for end in ("-wal", "-shm"):
            Path(f"{cache}{end}").unlink(missing_ok=True)
        held = VectorCache(cache)
        model = held.model(MODEL)
        found = {} if model is None else held.get(model, texts)
        lost += len(found) < len(texts)
        for text, row in found.items():
            assert row.tobytes() == rows[texts.index(text)].tobytes()
        if model is not None:
            held.put(model, ["new"], rows[:1])
        held.close()
    assert lost


def test_a_damaged_cache_begins_anew(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    _, texts, rows = _filled(cache)
    data = bytearray(cache.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    cache.write_bytes(data)
    held = VectorCache(cache)
    with caplog.at_level(logging.WARNING):
        model = held.model(MODEL)
        assert model is not None
        assert held.get(model, texts) == {}
        held.put(model, texts, rows)
    assert len(held.get(model, texts)) == len(texts)
    assert "begins anew" in caplog.text
    held.close()


@pytest.mark.parametrize("content", [b"my thesis", b"", "database"])
def test_a_file_that_is_no_cache_is_left_alone(
    tmp_path: Path, content: bytes | str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "thesis"
    if content == "database":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE vectors (mine TEXT)")
            connection.execute("INSERT INTO vectors VALUES ('quartz')")
        connection.close()
    else:
        path.write_bytes(content)  # type: ignore[arg-type]
    before = path.read_bytes()
    held = VectorCache(path)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            model = held.model(MODEL)
    held.close()
    if before:
        assert (model, path.read_bytes()) == (None, before)
        assert caplog.text.count("cannot be used") == 1
    else:
        assert model is not None


def test_a_place_that_cannot_be_written_costs_a_warning(
    host: Host, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        rows = embed(tmp_path / "file" / "vectors.db", ["quartz", "mica"], tmp_path)
    assert np.allclose(rows, unit(host, ["quartz", "mica"]), atol=1e-6)
    assert caplog.text.count("cannot be used") == 1


_WRITER = """
import sys
import numpy as np
from pincite.embedding.cache import VectorCache
from pincite.model.documents import ModelIdentity
held = VectorCache(sys.argv[1])
model = held.model(ModelIdentity("m", 4, probe=((1.0, 0.0, 0.0, 0.0),) * 3))
for number in range(10**6):
    held.put(model, [f"{number} {at}" for at in range(20)], np.full((20, 256), number, "float32"))
    print(number, flush=True)
"""


def test_a_killed_process_leaves_whole_batches(cache: Path) -> None:
    for _ in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(cache)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline()
        time.sleep(random.random() / 10)
        writer.send_signal(signal.SIGKILL)
        told = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
        held = VectorCache(cache)
        model = held.model(MODEL)
        assert model is not None
        for number in range(int(told[-1]) + 1 if told else 1):
            found = held.get(model, [f"{number} {at}" for at in range(20)])
            assert len(found) == 20
            assert all((row == number).all() for row in found.values())
        held.close()


def test_connections_and_threads_share_a_cache(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A cache that waits too long goes on without what it was to keep; here none may.
    monkeypatch.setattr("pincite.embedding.cache._WAIT_SECONDS", 300)
    held = [VectorCache(cache), VectorCache(cache)]
    assert len({each.model(MODEL) for each in held}) == 1
    wrong = []

    def work(number: int) -> None:
        mine = held[number % 2]
        model = mine.model(MODEL)
        assert model is not None
        for step in range(40):
            name = f"{number} {step}"
            mine.put(model, [name, "both"], np.array([[number, step], [1, 1]], dtype=np.float32))
            found = mine.get(model, [name, "both"])
            if not np.array_equal(found.get(name, ()), [number, step]):
                wrong.append(name)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    with sqlite3.connect(cache) as connection:
        assert connection.execute("SELECT count(*) FROM models").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (161,)
    connection.close()
    for each in held:
        each.close()


def test_a_cache_stays_within_its_size_and_keeps_what_is_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = [20_000]
    monkeypatch.setattr("pincite.embedding.cache._today", lambda: day[0])
    held = VectorCache(cache, most_bytes=1_000_000)
    model = held.model(MODEL)
    assert model is not None
    rows = np.ones((50, 256), dtype=np.float32)
    for number in range(100):  # 5 MB in all
        day[0] += 1
        held.put(model, [f"{number} {at}" for at in range(50)], rows)
        assert len(held.get(model, ["0 0", "0 1"])) == 2
    assert held.get(model, ["1 0", "40 0"]) == {}
    assert len(held.get(model, [f"99 {at}" for at in range(50)])) == 50
    held.close()
    assert cache.stat().st_size < 1_200_000
