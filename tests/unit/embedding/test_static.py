"""The bundled static model."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest

from pincite.embedding.static import StaticModel
from pincite.errors import MissingExtra


@pytest.fixture(scope="module")
def model() -> StaticModel:
    return StaticModel()


def test_rows_are_float32_of_length_one(model: StaticModel) -> None:
    vectors = model.encode(["A first text.", "and a second one"])

    assert (vectors.shape, vectors.dtype) == ((2, 256), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_the_vector_is_the_mean_of_the_tokens(model: StaticModel) -> None:
    from safetensors.numpy import load_file

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.origin is not None
    file = Path(spec.origin).parent / "weights" / "l2_supercat_256.safetensors"
    table = load_file(file)["embedding.weight"].astype(np.float64)
    ids = model.tokenizer.encode("a quiet river bank", add_special_tokens=False).ids
    mean = table[ids].mean(axis=0)

    assert np.allclose(
        model.encode(["a quiet river bank"])[0], mean / np.linalg.norm(mean), atol=1e-5
    )


def test_related_texts_are_closer(model: StaticModel) -> None:
    query, near, far = model.encode(["cat food", "what kittens eat", "tax law of the union"])

    assert query @ near > query @ far


def test_case_and_typographic_forms_do_not_matter(model: StaticModel) -> None:
    plain, capital, typographic = model.encode(
        ["final report", "FINAL REPORT", "ﬁnal re\u00adport"]
    )

    assert np.array_equal(plain, capital)
    assert np.array_equal(plain, typographic)


@pytest.mark.parametrize("blank", ["", " \n", "\u200b\ufeff"])
def test_text_without_tokens_is_the_zero_vector(model: StaticModel, blank: str) -> None:
    assert not model.encode([blank]).any()


def test_no_texts_give_no_rows(model: StaticModel) -> None:
    assert model.encode([]).shape == (0, 256)


def test_a_vector_does_not_depend_on_its_batch(model: StaticModel) -> None:
    texts = [f"text {n} " * (1 + n % 7) for n in range(600)]
    together = model.encode(texts)

    for at in (0, 255, 256, 599):
        assert np.array_equal(together[at], model.encode([texts[at]])[0])


def test_a_huge_text_is_read_whole(model: StaticModel) -> None:
    short, long = model.encode(["river bank " * 2_000, "river bank " * 20_000])

    assert model.count_tokens("river bank " * 20_000) == 40_000
    assert short @ long > 0.99999


def test_special_tokens_spelled_out_and_lone_surrogates_are_text(model: StaticModel) -> None:
    assert model.count_tokens("<s>") > 1
    assert np.isfinite(model.encode(["<s> \ud800 </s>"])).all()


def test_token_counts_are_of_the_prepared_text(model: StaticModel) -> None:
    assert model.count_tokens("HELLO WORLD") == model.count_tokens("hello world") == 2
    assert model.count_tokens("") == 0


@pytest.mark.parametrize(
    "text", ["two words", "naïve 東京は 😀 don't (a-b)", "▁a ▁▁b c▁d", "x" * 100 + " 12,345.67"]
)
def test_words_have_the_tokens_they_have_in_the_whole_text(model: StaticModel, text: str) -> None:
    whole = model.tokenizer.encode(text.lower(), add_special_tokens=False).ids

    assert model.count_tokens(text) == len(whole)


def test_layout_does_not_matter(model: StaticModel) -> None:
    plain, wrapped = model.encode(["one line of text", "\n one\tline\r\n\n  of\u3000text "])

    assert np.array_equal(plain, wrapped)


def test_a_full_cache_starts_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.embedding.static._CACHED_WORDS", 10)
    model = StaticModel()
    texts = [" ".join(f"w{n}x{k}" for k in range(30)) for n in range(5)]
    first = [model.encode([text])[0] for text in texts]

    assert np.array_equal(first, model.encode(texts))
    assert np.array_equal(first, StaticModel().encode(texts))


def test_threads_share_a_model_that_is_not_loaded_yet() -> None:
    fresh = StaticModel()
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda _: fresh.encode(["same text"])[0], range(16)))

    assert all(np.array_equal(row, rows[0]) for row in rows)


@pytest.mark.parametrize("place", [None, "empty"])
def test_missing_files_name_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str | None
) -> None:
    spec = ModuleSpec("wordllama", None)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if place else None)

    with pytest.raises(MissingExtra, match="pip install 'wordllama"):
        StaticModel().encode(["x"])


def test_the_package_is_not_imported_and_the_libraries_only_at_use() -> None:
    program = (
        "import sys\n"
        "from pincite.embedding.client import InferenceClient\n"
        "from pincite.embedding.embedder import Embedder\n"
        "e = Embedder(InferenceClient(), 'local--static')\n"
        "heavy = {'numpy', 'tokenizers', 'safetensors', 'httpx', 'anyio', 'pydantic'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert e.encode_query('x').shape == (256,)\n"
        "assert not {'wordllama', 'httpx', 'pydantic'} & set(sys.modules)\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
