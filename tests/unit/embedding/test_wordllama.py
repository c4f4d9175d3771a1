"""The table of the ``wordllama`` extra."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from pincite.embedding.client import InferenceClient
from pincite.embedding.wordllama import WordllamaModel
from pincite.errors import MissingExtra

ENDPOINT = "local--wordllama"


@pytest.fixture(scope="module")
def model() -> WordllamaModel:
    pytest.importorskip("wordllama", reason="needs the extra [wordllama]")
    return WordllamaModel()


def test_the_vector_is_the_mean_of_the_tokens(model: WordllamaModel) -> None:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    table = load_file(root / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    file = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
    text = "a quiet river bank, don't (a-b) 東京は"
    ids = Tokenizer.from_file(str(file)).encode(text, add_special_tokens=False).ids
    mean = table[ids].astype(np.float64).mean(axis=0)

    assert model.count_tokens(text) == len(ids)
    assert np.allclose(model.encode([text])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_case_does_not_matter_and_special_tokens_are_text(model: WordllamaModel) -> None:
    plain, capital = model.encode(["final report", "FINAL REPORT"])

    assert np.array_equal(plain, capital)
    assert model.count_tokens("<s>") > 1
    assert np.isfinite(model.encode(["<s> \ud800 </s>"])).all()


def test_it_is_an_endpoint_with_the_identity_it_had_as_the_default(model: WordllamaModel) -> None:
    client = InferenceClient()

    assert ENDPOINT in client.endpoints()
    assert client.model_name(ENDPOINT) == "wordllama-l2-supercat-256"
    assert np.array_equal(client.encode(ENDPOINT, ["a text"]), model.encode(["a text"]))


@pytest.mark.parametrize("place", [None, "empty"])
def test_missing_files_name_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str | None
) -> None:
    spec = ModuleSpec("wordllama", None)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if place else None)

    with pytest.raises(MissingExtra, match=r"pip install 'pincite\[wordllama\]'"):
        WordllamaModel().encode(["x"])
