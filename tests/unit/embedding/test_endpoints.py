"""Endpoint files and the client's choice of endpoint."""

from __future__ import annotations

from pathlib import Path

import anyio
import numpy as np
import pytest

from pincite.embedding.client import InferenceClient
from pincite.embedding.endpoints import Endpoint, read_endpoint
from pincite.errors import EmbeddingError, InvalidArgument, MissingExtra

FULL = """
kind = "openai"
url = "https://host/v1"
model = "text-embedding-3-small"
dimension = 1536
max_tokens = 8191
query_prefix = "query: "
passage_prefix = "passage: "
api_key_env = "KEY"
batch_size = 8
timeout = 5
attempts = 2
normalize = false
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    endpoint = read_endpoint(write(tmp_path, "openai--small", FULL))

    assert endpoint == Endpoint(
        "openai--small", "openai", "text-embedding-3-small", "https://host/v1", 1536, 8191,
        "query: ", "passage: ", "KEY", 8, 5, 2, False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "url"),
    [("openai", "https://api.openai.com/v1"), ("ollama", "http://127.0.0.1:11434")],
)
def test_kinds_have_their_usual_url(kind: str, url: str) -> None:
    assert Endpoint("a--b", kind, "m").url == url


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind = ", "UTF-8 TOML"),
        ("model = 'm'", "does not set 'kind'"),
        ("kind = 'openai'", "does not set 'model'"),
        ("kind = 'openai'\nmodel = ' '", "names no model"),
        ("kind = 'pinecone'\nmodel = 'm'", "openai, ollama, sentence-transformers"),
        ("kind = 'openai'\nmodel = 'm'\napi_key = 'secret'", "unknown key 'api_key'"),
        ("kind = 'openai'\nmodel = 'm'\nbatch_size = '8'", "batch_size = '8' must be of type int"),
        ("kind = 'openai'\nmodel = 'm'\nbatch_size = true", "must be of type int"),
        ("kind = 'openai'\nmodel = 'm'\nbatch_size = 0", "at least 1"),
        ("kind = 'openai'\nmodel = 'm'\ntimeout = nan", "above 0"),
        ("kind = 'openai'\nmodel = 'm'\ntimeout = inf", "above 0"),
        ("kind = 'openai'\nmodel = 'm'\ndimension = -1", "negative"),
    ],
)
def test_a_wrong_file_is_named_with_its_fault(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, "a--b", text)

    with pytest.raises(InvalidArgument, match=message) as caught:
        read_endpoint(path)
    assert "a--b" in str(caught.value)


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a--b.toml"
    path.write_bytes("kind = 'openai' # é".encode("latin-1"))

    with pytest.raises(InvalidArgument, match="UTF-8"):
        read_endpoint(path)


def test_an_earlier_folder_wins_and_other_files_are_left_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    write(first, "x--m", "kind = 'ollama'\nmodel = 'first'")
    write(second, "x--m", "kind = 'ollama'\nmodel = 'second'")
    write(second, "y--m", "kind = 'ollama'\nmodel = 'third'\nquery_prefix = 'q '")
    write(second, "settings", "this is not ours")
    client = InferenceClient([first, str(second)])

    assert client.endpoints() == ["local--static", "local--wordllama", "x--m", "y--m"]
    assert client.model_name("x--m") == "first"
    assert (client.prefixes("y--m"), client.max_tokens("y--m")) == (("q ", ""), None)
    assert (client.supports_sync("y--m"), client.tokenizer("y--m")) == (False, None)


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="not a folder"):
        InferenceClient([tmp_path / "absent"])


def test_an_unknown_endpoint_lists_the_known_ones() -> None:
    client = InferenceClient()

    with pytest.raises(
        InvalidArgument,
        match=r"use local--static, local--wordllama, add a file local--embedding\.toml",
    ):
        anyio.run(client.embed, "local--embedding", ["x"])
    with pytest.raises(InvalidArgument, match="names no embedding model"):
        client.encode("static", ["x"])


def test_the_bundled_model_needs_no_file() -> None:
    client = InferenceClient()
    awaited = anyio.run(client.embed, "local--static", ["some text"])

    assert np.array_equal(awaited, client.encode("local--static", ["some text"]))
    assert client.prefixes("local--static") == ("", "")
    assert client.max_tokens("local--static") is None
    anyio.run(client.aclose)


def test_remote_models_have_no_synchronous_side() -> None:
    client = InferenceClient()

    assert not client.supports_sync("ollama:bge-m3")
    assert client.model_name("ollama:bge-m3:latest") == "bge-m3:latest"
    with pytest.raises(InvalidArgument, match="await"):
        client.encode("custom:m:http://127.0.0.1:1", ["x"])


STAND_IN = """
import numpy as np
class SentenceTransformer:
    max_seq_length = 128
    tokenizer = None
    def __init__(self, name, *, local_files_only):
        assert local_files_only
        if name == "absent/model":
            raise OSError("not in the cache")
    def encode(self, texts, *, batch_size, normalize_embeddings,
               convert_to_numpy, show_progress_bar):
        assert normalize_embeddings and convert_to_numpy and not show_progress_bar
        return np.array([[len(text), 0.0] for text in texts])
"""


def test_sentence_transformers_run_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sentence_transformers.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path)
    client = InferenceClient()

    assert client.supports_sync("huggingface:org/model:local")
    assert client.encode("huggingface:org/model:local", ["abc"]).tolist() == [[3.0, 0.0]]
    assert client.max_tokens("huggingface:org/model:local") == 128
    assert client.tokenizer("huggingface:org/model:local") is None
    with pytest.raises(EmbeddingError, match=r"absent/model.*cache first"):
        client.encode("huggingface:absent/model:local", ["abc"])


def test_without_sentence_transformers_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)

    with pytest.raises(MissingExtra, match=r"pip install 'pincite\[st\]'"):
        InferenceClient().encode("huggingface:org/model:local", ["abc"])
