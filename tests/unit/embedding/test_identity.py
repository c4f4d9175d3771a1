"""Whether two models are one."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from pincite.embedding.client import InferenceClient
from pincite.embedding.embedder import Embedder
from pincite.embedding.identity import explain_difference, identify, identify_sync, same_model
from pincite.model.documents import ModelIdentity
from pincite.testing import HashEmbedder

M1 = ModelIdentity("m1", 3, True, "q: ", "p: ", ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))


def test_the_bundled_model_is_itself_on_both_sides() -> None:
    embedder = Embedder(InferenceClient(), "local--static")
    identity = identify_sync(embedder)

    assert (identity.name, identity.dimension) == ("pincite-static-256", 256)
    assert identity.normalized
    assert [len(row) for row in identity.probe] == [256] * 3
    assert identity == anyio.run(identify, embedder)
    assert same_model(identity, identify_sync(Embedder(InferenceClient(), "local--static")))


def test_the_endpoint_name_does_not_count() -> None:
    client = HashEmbedder()

    assert same_model(
        identify_sync(Embedder(client, "here--x")), identify_sync(Embedder(client, "there--y"))
    )


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (replace(M1, name="m2"), "name"),
        (replace(M1, normalized=False), "normalisation"),
        (replace(M1, query_prefix=""), "prefixes"),
        (replace(M1, passage_prefix="x"), "prefixes"),
        (replace(M1, probe=M1.probe[:2]), "vectors of the same sentences"),
        (replace(M1, probe=((0.9, 0.1, 0.0), *M1.probe[1:])), "vectors of the same sentences"),
        (replace(M1, probe=((0.0, 0.0, 0.0), *M1.probe[1:])), "vectors of the same sentences"),
        (ModelIdentity("m1", 2, True, "q: ", "p: ", ((1.0, 0.0),) * 3), "dimension"),
    ],
)
def test_what_tells_two_models_apart(other: ModelIdentity, differs: str) -> None:
    assert not same_model(M1, other)
    assert explain_difference(M1, other).endswith(differs)
    assert not same_model(other, M1)


def test_small_numeric_noise_is_the_same_model() -> None:
    noisy = replace(M1, probe=((0.9999, 0.01, 0.0), *M1.probe[1:]))

    assert same_model(M1, noisy)
    assert explain_difference(M1, noisy) == ""


def test_an_identity_without_probes_is_compared_by_the_rest() -> None:
    assert same_model(M1, replace(M1, probe=()))
    assert not same_model(M1, replace(M1, probe=(), name="m2"))


def test_the_difference_names_both_models() -> None:
    m1, m2 = (
        identify_sync(Embedder(HashEmbedder(size, seed=seed), "a--b"))
        for size, seed in ((64, 1), (32, 2))
    )

    assert explain_difference(m1, m2) == "hash-1/64 and hash-2/32 differ in name, dimension"


def test_another_model_of_the_same_name_and_dimension_is_noticed() -> None:
    class Renamed(HashEmbedder):
        def model_name(self, endpoint: str) -> str:
            return "hash"

    one, two = (identify_sync(Embedder(Renamed(64, seed=seed), "a--b")) for seed in (1, 2))

    assert explain_difference(one, two).endswith("differ in their vectors of the same sentences")
