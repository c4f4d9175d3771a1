"""The bundled static model."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

import pincite.embedding
from pincite.embedding.pooling import Table, sums_of_rows
from pincite.embedding.static import StaticModel
from pincite.segments.kernels import native

FOLDER = Path(pincite.embedding.__file__).parent / "model"


@pytest.fixture(scope="module")
def model() -> StaticModel:
    return StaticModel()


def test_rows_are_float32_of_length_one(model: StaticModel) -> None:
    vectors = model.encode(["A first text.", "and a second one"])

    assert (vectors.shape, vectors.dtype) == ((2, 256), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_the_vector_is_the_mean_of_the_pieces(model: StaticModel) -> None:
    with safe_open(str(FOLDER / "static.safetensors"), framework="np") as file:
        table = file.get_tensor("rows") * file.get_tensor("scales").astype(np.float64)[:, None]
    pieces = (FOLDER / "vocabulary.txt").read_text(encoding="utf-8").split("\n")
    mean = table[[pieces.index(piece) for piece in ("quiet", "river", "##bed")]].mean(axis=0)

    assert np.allclose(model.encode(["Quiet riverbed"])[0], mean / np.linalg.norm(mean), atol=1e-5)


def test_the_card_names_the_weights() -> None:
    weights = hashlib.sha256((FOLDER / "static.safetensors").read_bytes()).hexdigest()

    assert weights in (FOLDER / "MODEL_CARD.md").read_text(encoding="utf-8")


def test_related_texts_are_closer(model: StaticModel) -> None:
    query, near, far = model.encode(["cat food", "what kittens eat", "tax law of the union"])

    assert query @ near > query @ far


def test_case_and_typographic_forms_do_not_matter(model: StaticModel) -> None:
    plain, capital, typographic, accented = model.encode(
        ["final report", "FINAL REPORT", "ﬁnal re\u00adport", "fínal repört"]
    )

    assert np.array_equal(plain, capital)
    assert np.array_equal(plain, typographic)
    assert np.array_equal(plain, accented)


@pytest.mark.parametrize("blank", ["", " \n", "\u200b\ufeff", "กรุงเทพ"])
def test_text_without_known_pieces_is_the_zero_vector(model: StaticModel, blank: str) -> None:
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


def test_special_pieces_spelled_out_and_lone_surrogates_are_text(model: StaticModel) -> None:
    assert model.count_tokens("[UNK]") == 4
    assert np.isfinite(model.encode(["[SEP] \ud800 </s>"])).all()


def test_token_counts_are_of_the_prepared_text(model: StaticModel) -> None:
    assert model.count_tokens("HELLO WORLD") == model.count_tokens("hello world") == 2
    assert model.count_tokens("") == 0


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


@given(
    st.lists(st.lists(st.integers(0, 6), max_size=40), max_size=6),
    st.sampled_from([0.03, 0.2, 1.0]),
)
def test_the_kernel_and_numpy_sum_alike(texts: list[list[int]], share: float) -> None:
    rng = np.random.default_rng(5)
    table = Table(rng.integers(-127, 128, (7, 19)).astype(np.int8), rng.random(7, dtype=np.float32))
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    ids = np.array([number for text in texts for number in text], dtype=np.uint16)
    with pytest.MonkeyPatch.context() as patch:
        found = sums_of_rows(table, ids, starts, share)
        patch.setenv("PINCITE_PURE", "1")
        pure = sums_of_rows(table, ids, starts, share)

    assert np.array_equal(found, pure)


@pytest.mark.parametrize("pure", ["", "1"])
def test_what_is_said_too_often_counts_less(monkeypatch: pytest.MonkeyPatch, pure: str) -> None:
    monkeypatch.setenv("PINCITE_PURE", pure)
    table = Table(np.eye(3, dtype=np.int8), np.ones(3, dtype=np.float32))
    ids = np.array([0] * 64 + [1] * 4 + [2] * 32 + [1, 1], dtype=np.uint16)
    starts = np.array([0, 100, 100, 102], dtype=np.int64)

    damped = sums_of_rows(table, ids, starts, 0.04)

    assert damped.tolist() == pytest.approx(
        np.array([[16, 4, np.sqrt(128)], [0, 0, 0], [0, np.sqrt(2), 0]])
    )
    assert sums_of_rows(table, ids, starts)[0].tolist() == [64, 4, 32]


@pytest.mark.parametrize(
    ("ids", "starts"), [([9], [0, 1]), ([1], [0, 2]), ([1], [1, 0]), ([1], [-1, 1])]
)
def test_the_kernel_refuses_what_lies_outside(ids: list[int], starts: list[int]) -> None:
    module = native()
    if module is None:
        pytest.skip("built without the extension")

    with pytest.raises(ValueError, match=r"starts must|past the table"):
        module.static_sums(
            np.zeros((3, 4), np.int8), np.ones(3, np.float32),
            np.array(ids, np.uint16), np.array(starts, np.int64), 1.0,
        )  # fmt: skip


def test_libraries_are_imported_at_use_and_tokenizers_never() -> None:
    program = (
        "import sys\n"
        "from pincite.embedding.client import InferenceClient\n"
        "from pincite.embedding.embedder import Embedder\n"
        "e = Embedder(InferenceClient(), 'local--static')\n"
        "heavy = {'numpy', 'tokenizers', 'safetensors', 'httpx', 'anyio', 'pydantic'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert e.encode_query('x').shape == (256,)\n"
        "assert not {'wordllama', 'tokenizers', 'httpx', 'pydantic'} & set(sys.modules)\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
