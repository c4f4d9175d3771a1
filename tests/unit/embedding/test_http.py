"""Embedding over HTTP, against a server of the test's own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Self

import pytest

from pincite.embedding.client import InferenceClient
from pincite.embedding.endpoints import Endpoint
from pincite.embedding.http import HttpModel
from pincite.errors import EmbeddingError, Unconfigured

Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


class Server:
    """A small HTTP/1.1 server; ``script`` answers the first calls, ``reply`` all others."""

    def __init__(self, script: list[Answer | None] | None = None, reply: Any = None) -> None:
        self.script = list(script or [])
        self.reply = reply or openai_reply
        self.paths: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                answer = await self._answer(head.decode(), reader)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: str, reader: asyncio.StreamReader) -> bytes | None:
        first, *lines = head.strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.paths.append(first.split()[1])
        self.headers.append(headers)
        self.bodies.append(body)
        answer: Answer | None = self.script.pop(0) if self.script else (200, self.reply(body))
        if answer is None:
            return None
        status, content, *more = answer
        payload = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        extra = "".join(f"{k}: {v}\r\n" for k, v in (more[0] if more else {}).items())
        return (
            f"HTTP/1.1 {status} X\r\ncontent-length: {len(payload)}\r\n{extra}\r\n".encode()
            + payload
        )


def openai_reply(body: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"index": at, "embedding": [float(len(text)), 1.0]} for at, text in enumerate(body["input"])
    ]
    return {"data": rows[::-1]}


def ollama_reply(body: dict[str, Any]) -> dict[str, Any]:
    return {"embeddings": [[3.0, 4.0] for _ in body["input"]]}


class Pauses:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def run(server: Server, use: Callable[[HttpModel], Awaitable[Any]], **options: Any) -> Any:
    pauses = Pauses()
    kind = options.pop("kind", "openai")

    async def main() -> Any:
        async with server:
            url = options.pop("url", server.url + "/v1")
            model = HttpModel(Endpoint("test--m", kind, "the-model", url, **options), sleep=pauses)
            try:
                return await use(model)
            finally:
                await model.aclose()
                server.pauses = pauses.seconds  # type: ignore[attr-defined]

    return asyncio.run(main())


def test_openai_batches_keep_order_over_one_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", " secret ")
    server = Server()
    texts = ["a" * n for n in range(1, 8)]
    vectors = run(
        server, lambda m: m.embed(texts), batch_size=3, normalize=False, api_key_env="TEST_KEY"
    )

    assert vectors[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert [len(body["input"]) for body in server.bodies] == [3, 3, 1]
    assert {body["model"] for body in server.bodies} == {"the-model"}
    assert set(server.paths) == {"/v1/embeddings"}
    assert {headers["authorization"] for headers in server.headers} == {"Bearer secret"}
    assert server.connections == 1


def test_ollama_and_normalisation() -> None:
    server = Server(reply=ollama_reply)
    vectors = run(server, lambda m: m.embed(["x"]), kind="ollama")

    assert vectors.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    assert server.paths == ["/v1/api/embed"]
    assert "authorization" not in server.headers[0]


def test_no_texts_make_no_call() -> None:
    server = Server()

    assert run(server, lambda m: m.embed([])).shape == (0, 0)
    assert server.paths == []


@pytest.mark.parametrize("failure", [(500, "no"), (429, "slow"), (503, "no"), None])
def test_passing_failures_are_tried_again(failure: Answer | None) -> None:
    server = Server([failure, failure])
    vectors = run(server, lambda m: m.embed(["abc"]))

    assert vectors.shape == (1, 2)
    assert len(server.bodies) == 3
    assert 0.37 < server.pauses[0] < 0.63 < server.pauses[1] < 1.26  # type: ignore[attr-defined]


def test_retry_after_is_heeded_up_to_a_limit() -> None:
    server = Server(
        [
            (429, "", {"retry-after": "7"}),
            (429, "", {"retry-after": "9999"}),
            (429, "", {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}),
        ]
    )
    run(server, lambda m: m.embed(["abc"]))

    assert server.pauses[:2] == [7, 20]  # type: ignore[attr-defined]
    assert 1.4 < server.pauses[2] < 2.6  # type: ignore[attr-defined]


def test_attempts_are_limited_and_the_error_says_what_to_do() -> None:
    server = Server([(503, "down")] * 9)

    with pytest.raises(
        EmbeddingError, match=r"test--m.*3 attempts \(HTTP 503\).*check that it runs"
    ):
        run(server, lambda m: m.embed(["abc"]), attempts=3)
    assert len(server.bodies) == 3


def test_nobody_listening_is_an_embedding_error() -> None:
    with pytest.raises(EmbeddingError, match=r"2 attempts \(ConnectError"):
        run(Server(), lambda m: m.embed(["abc"]), url="http://127.0.0.1:9", attempts=2)


def test_a_silent_host_times_out() -> None:
    class Silent(Server):
        async def _answer(self, head: str, reader: asyncio.StreamReader) -> bytes | None:
            await asyncio.sleep(0.3)
            return None

    with pytest.raises(EmbeddingError, match="ReadTimeout"):
        run(Silent(), lambda m: m.embed(["abc"]), attempts=1, timeout=0.05)


@pytest.mark.parametrize("status", [400, 401, 404, 302])
def test_refusals_are_not_tried_again(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "secret")
    server = Server([(status, "model not found")])

    with pytest.raises(EmbeddingError, match=f"HTTP {status}.*model not found") as caught:
        run(server, lambda m: m.embed(["abc"]), api_key_env="TEST_KEY")
    assert len(server.bodies) == 1
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<html>", "no JSON"),
        ({"error": "x"}, "without embeddings"),
        ([], "without embeddings"),
        ({"data": [{"embedding": [1.0]}]}, "without embeddings"),
        ({"data": [{"index": "x", "embedding": [1.0]}]}, "without embeddings"),
        ({"data": []}, "0 vectors for 2 texts"),
        ('{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}', "finite"),
    ],
)
def test_unreadable_answers(content: Any, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        run(Server([(200, content)]), lambda m: m.embed(["a", "b"]))


def test_another_dimension_than_promised_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="2 dimensions instead of 3"):
        run(Server(), lambda m: m.embed(["a"]), dimension=3)


def test_a_dimension_that_changes_between_batches_is_refused() -> None:
    server = Server([(200, {"data": [{"index": 0, "embedding": [1.0]}]})])

    with pytest.raises(EmbeddingError, match="changed the vectors' length"):
        run(server, lambda m: m.embed(["a", "b"]), batch_size=1)


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    server = Server()

    with pytest.raises(Unconfigured, match="set the environment variable TEST_KEY"):
        run(server, lambda m: m.embed(["a"]), api_key_env="TEST_KEY")
    assert server.bodies == []


def test_one_client_serves_several_event_loops_and_after_closing() -> None:
    client = InferenceClient()

    async def once() -> float:
        async with Server() as server:
            name = f"custom:the-model:{server.url}"
            await client.embed(name, ["abc"])
            await client.aclose()
            vectors = await client.embed(name, ["abc"])
            await client.aclose()
            return float(vectors[0, 0])

    assert asyncio.run(once()) == asyncio.run(once()) == pytest.approx(0.9486833)


def test_the_same_endpoint_in_two_loops() -> None:
    model = HttpModel(Endpoint("test--m", "openai", "m", "http://127.0.0.1:1", attempts=1))

    async def fail() -> None:
        with pytest.raises(EmbeddingError):
            await model.embed(["x"])
        await model.aclose()

    asyncio.run(fail())
    asyncio.run(fail())
