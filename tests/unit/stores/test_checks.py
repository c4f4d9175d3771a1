"""The shared checks: what is refused, in which order, in which words."""

import math

import numpy as np
import pytest

from pincite.errors import (
    CollectionMismatch,
    EmbeddingError,
    InvalidArgument,
    InvalidQueryError,
    Unconfigured,
)
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, ModelIdentity
from pincite.model.fields import full_spec
from pincite.model.filters import NOTHING, AllOf, DeclaredFilter
from pincite.stores import checks

SPEC = full_spec({})
BAD = DeclaredFilter("nofield", "eq", 1)
GOOD = DeclaredFilter("title", "eq", "x")
M1 = ModelIdentity("m1", 64)


def document(**changes):
    given = {
        "document": "d",
        "title": "",
        "chunks": (ChunkResult(content="x", chunk_index=0),),
        "vectors": np.ones((1, 3), dtype=np.float32),
        "endpoint": "e",
    }
    return EmbeddedDocument(**{**given, **changes})


def test_an_unknown_target_names_the_known_ones():
    checks.check_target("papers", ["papers", "notes"])

    with pytest.raises(InvalidQueryError, match=r"'paper'.*'notes', 'papers'") as caught:
        checks.check_target("paper", ["papers", "notes"])
    assert caught.value.field is None


@pytest.mark.parametrize("target", [None, 7, ["papers"], b"papers"])
def test_a_target_of_another_type_is_unknown(target):
    with pytest.raises(InvalidQueryError, match="Unknown target"):
        checks.check_target(target, ["papers"])


def test_the_filter_comes_before_the_arguments():
    calls = [
        lambda: checks.check_bm25(SPEC, query=None, limit=0, where=BAD),
        lambda: checks.check_near_vector(SPEC, vector=[], dimension=3, limit=0, where=BAD),
        lambda: checks.check_hybrid(
            SPEC, query=None, vector=None, dimension=3, limit=0, where=BAD, alpha=9
        ),
        lambda: checks.check_fetch(SPEC, limit=0, where=BAD, order_by="nofield"),
    ]
    for call in calls:
        with pytest.raises(InvalidQueryError) as caught:
            call()
        assert caught.value.field == "nofield"


def test_the_arguments_come_before_unconfigured_and_that_before_nothing():
    with pytest.raises(InvalidQueryError):
        checks.check_hybrid(SPEC, query="q", vector=None, dimension=None, limit=3, alpha=2)
    with pytest.raises(Unconfigured, match="embedder"):
        checks.check_hybrid(
            SPEC, query="q", vector=None, dimension=None, limit=3, where=NOTHING, alpha=0
        )


def test_the_folded_filter_is_returned():
    assert checks.check_bm25(SPEC, query="", limit=1, where=AllOf((GOOD,))) == GOOD
    assert checks.check_fetch(SPEC, limit=1, where=AllOf(())) is None
    assert checks.check_where(AllOf((GOOD, NOTHING)), SPEC) == NOTHING
    assert (
        checks.check_hybrid(
            SPEC, query="", vector=None, dimension=None, limit=1, where=NOTHING, can_embed=True
        )
        == NOTHING
    )


@pytest.mark.parametrize("limit", [0, -1, True, 1.0, "1", None, 2**63])
def test_limits_that_are_no_count_are_refused(limit):
    with pytest.raises(InvalidQueryError, match="limit"):
        checks.check_limit(limit)
    with pytest.raises(InvalidQueryError, match=r"^k "):
        checks.check_limit(limit, name="k")


@pytest.mark.parametrize("offset", [-1, True, 1.0, "1", None])
def test_offsets_that_are_no_count_are_refused(offset):
    with pytest.raises(InvalidQueryError, match="offset"):
        checks.check_offset(offset)


def test_alpha_takes_numbers_from_zero_to_one():
    for alpha in (None, 0, 1, 0.5, np.float32(0.5)):
        checks.check_alpha(alpha)
    for alpha in (-1e-9, 1.1, math.nan, math.inf, True, "0.5", [0.5]):
        with pytest.raises(InvalidQueryError, match="alpha"):
            checks.check_alpha(alpha)


@pytest.mark.parametrize(
    "vector",
    [
        [],
        [[1.0, 2.0, 3.0]],
        [1.0, math.nan, 3.0],
        [1.0, math.inf, 3.0],
        [1.0, 1e300, 3.0],
        [0.0, 0.0, 0.0],
        [1.0, 2.0],
        [True, True, False],
        ["1", "2", "3"],
        [None, 1.0, 2.0],
        [1.0, [2.0], 3.0],
        "abc",
        b"abc",
        {0: 1.0},
        None,
        7,
    ],
)
def test_vectors_that_cannot_be_compared_are_refused(vector):
    with pytest.raises(InvalidQueryError, match="vector"):
        checks.check_vector(vector, 3)


@pytest.mark.parametrize("vector", [[1, 2, 3], (0.1, 0.0, 0.0), np.array([1.0, 2.0, 3.0])])
def test_flat_finite_vectors_of_the_right_length_pass(vector):
    checks.check_vector(vector, 3)
    checks.check_vector(vector, None)


def test_an_order_on_no_stored_field_names_the_fields():
    checks.check_fetch(SPEC, limit=1, order_by="title", descending=True)
    with pytest.raises(InvalidQueryError, match="title"):
        checks.check_fetch(SPEC, limit=1, order_by="nofield")
    with pytest.raises(InvalidQueryError, match="descending"):
        checks.check_fetch(SPEC, limit=1, order_by="title", descending="yes")


@pytest.mark.parametrize("blank", ["", " ", "\t\n", None, 7])
def test_a_blank_owner_is_refused(blank):
    with pytest.raises(InvalidArgument, match="subject"):
        checks.check_owner(blank, "papers")
    with pytest.raises(InvalidArgument, match="collection"):
        checks.check_owner("ann", blank)


def test_a_whole_document_passes():
    checks.check_document(document())


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"document": ""}, InvalidArgument),
        ({"document": None}, InvalidArgument),
        ({"chunks": ()}, InvalidArgument),
        ({"chunks": (ChunkResult(content="x", chunk_index=0),) * 2}, InvalidArgument),
        ({"chunk_metadata": ({}, {})}, InvalidArgument),
        ({"vectors": np.ones((2, 3), dtype=np.float32)}, EmbeddingError),
        ({"vectors": np.ones((1, 0), dtype=np.float32)}, EmbeddingError),
        ({"vectors": np.ones(3, dtype=np.float32)}, EmbeddingError),
        ({"vectors": np.full((1, 3), np.nan, dtype=np.float32)}, EmbeddingError),
    ],
)
def test_documents_that_cannot_be_stored_are_refused(changes, error):
    with pytest.raises(error):
        checks.check_document(document(**changes))


def test_the_first_write_sets_the_model():
    checks.check_model("c", None, endpoint="e", dimension=64)


def test_without_identities_endpoint_and_length_decide():
    stored = ("e", None)
    checks.check_model("c", stored, endpoint="e", dimension=64, stored_dimension=64)
    for endpoint, dimension in (("e", 32), ("f", 64)):
        with pytest.raises(CollectionMismatch) as caught:
            checks.check_model(
                "c", stored, endpoint=endpoint, dimension=dimension, stored_dimension=64
            )
        for named in ("'c'", "'e' (64", f"'{endpoint}' ({dimension}", "pincite reindex --model"):
            assert named in str(caught.value)


def test_where_both_identities_are_known_they_decide():
    checks.check_model("c", ("e", M1), endpoint="another", model=M1, dimension=64)
    for other in (ModelIdentity("m2", 32), ModelIdentity("m3", 64)):
        with pytest.raises(CollectionMismatch, match=f"m1.*64.*{other.name}.*{other.dimension}"):
            checks.check_model("c", ("e", M1), endpoint="e", model=other)


def test_a_bundled_model_is_named_with_the_endpoint_that_serves_it():
    old = ModelIdentity("wordllama-l2-supercat-256", 256)
    new = ModelIdentity("pincite-static-256", 256)

    with pytest.raises(CollectionMismatch, match=r"wordllama.*pincite.*--embedder local--wordll"):
        checks.check_model("c", ("local--static", old), endpoint="local--static", model=new)


def test_one_identity_alone_falls_back_on_the_endpoint():
    checks.check_model("c", ("e", M1), endpoint="e", dimension=64)
    checks.check_model("c", ("e", None), endpoint="e", model=M1, stored_dimension=64)
    with pytest.raises(CollectionMismatch):
        checks.check_model("c", ("e", M1), endpoint="e", dimension=32)
    with pytest.raises(CollectionMismatch):
        checks.check_model("c", ("e", None), endpoint="f", model=M1, stored_dimension=64)


def test_vectors_of_another_length_than_their_model_are_refused():
    with pytest.raises(EmbeddingError, match="'m1'"):
        checks.check_model("c", None, endpoint="e", model=M1, dimension=32)
