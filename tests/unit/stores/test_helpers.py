"""The small functions that stores share: order, aliases, what comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.errors import EmbeddingError, InvalidArgument
from pincite.model.chunks import ChunkResult, EmbeddedChunk
from pincite.model.fields import Field, FieldType, full_spec
from pincite.model.filters import NOTHING, AllOf, AnyOf, DeclaredFilter, Not
from pincite.stores.aliases import add_alias, drop_aliases, resolve_filter
from pincite.stores.intake import document_language, gather, refuse_misfits, stored_chunks
from pincite.stores.ordering import sort_by_field

SPEC = full_spec(
    {
        "n": Field(FieldType.INTEGER),
        "when": Field(FieldType.DATETIME),
        "tags": Field(FieldType.KEYWORD, many=True),
    }
)


def order(field, rows, *, descending=False):
    found = sort_by_field(
        rows.items(),
        field,
        SPEC,
        values=lambda item: item[1],
        chunk_id=lambda item: item[0],
        descending=descending,
    )
    return "".join(name for name, _ in found)


def test_absent_and_misfit_values_come_last_in_either_direction():
    rows = {"z": {"n": 1}, "a": {}, "y": {"n": 2}, "b": {"n": "n.d."}, "x": {"n": 1}}

    assert order("n", rows) == "xzyab"
    assert order("n", rows, descending=True) == "yxzab"


def test_dates_sort_as_moments_not_as_text():
    rows = {
        "a": {"when": "2025-01-01T01:00:00+02:00"},
        "b": {"when": "2024-12-31T23:30:00"},
        "c": {"when": "2024-12-31"},
    }

    assert order("when", rows) == "cab"


def test_lists_sort_element_by_element():
    assert order("tags", {"a": {"tags": ["y"]}, "b": {"tags": ["x", "z"]}, "c": {"tags": []}}) == (
        "bac"
    )


@given(st.dictionaries(st.text("abcd", min_size=1), st.fixed_dictionaries({"n": st.integers()})))
def test_descending_reverses_values_and_keeps_ids_ascending(rows):
    found = sort_by_field(
        rows.items(),
        "n",
        SPEC,
        values=lambda item: item[1],
        chunk_id=lambda item: item[0],
        descending=True,
    )

    assert found == sorted(rows.items(), key=lambda item: (-item[1]["n"], item[0]))


def test_an_alias_follows_its_document():
    aliases = add_alias(add_alias({}, "a", "b"), "b", "c")

    assert aliases == {"a": "c", "b": "c"}
    assert add_alias(aliases, "c", "a") == {"b": "a", "c": "a"}
    assert drop_aliases(aliases, "c") == {}
    assert drop_aliases(aliases, "a") == {"b": "c"}


def test_old_ids_are_replaced_where_documents_are_compared():
    eq, aliases = DeclaredFilter("document", "eq", "old"), {"old": "new"}
    where = AllOf(
        (
            AnyOf((eq, DeclaredFilter("title", "eq", "old"))),
            Not(DeclaredFilter("document", "not_in", ["old", "x"])),
            DeclaredFilter("document", "under", "old"),
            NOTHING,
        )
    )

    resolved = resolve_filter(where, aliases)

    assert resolved == AllOf(
        (
            AnyOf((DeclaredFilter("document", "eq", "new"), DeclaredFilter("title", "eq", "old"))),
            Not(DeclaredFilter("document", "not_in", ("new", "x"))),
            DeclaredFilter("document", "under", "old"),
            NOTHING,
        )
    )
    assert resolve_filter(where, {}) is where
    assert resolve_filter(None, aliases) is None


def embedded(text, vector, index=0, **metadata):
    return EmbeddedChunk(ChunkResult(content=text, chunk_index=index), vector, metadata)


def gathered(*chunks, **more):
    return gather(document="d", title="t", chunks=chunks, endpoint="e", **more)


def test_gather_keeps_what_upsert_was_told():
    made = gathered(
        embedded("a", (1.0, 0.0)), embedded("b", (0.0, 1.0), 1, page=2), metadata={"year": 1}
    )

    assert made.vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert made.chunk_metadata == ({}, {"page": 2})
    assert made.metadata == {"year": 1}
    assert gathered(embedded("a", (1.0,))).chunk_metadata == ()


def test_gather_refuses_uneven_vectors():
    with pytest.raises(EmbeddingError, match=r"\[1, 2\]"):
        gathered(embedded("a", (1.0, 0.0)), embedded("b", (1.0,), 1))


def test_a_misfit_names_document_field_and_both_types():
    refuse_misfits(gathered(embedded("a", (1.0,), n=7)), SPEC)
    for made in (
        gathered(embedded("a", (1.0,)), metadata={"n": "n.d."}),
        gathered(embedded("a", (1.0,), n="n.d.")),
    ):
        with pytest.raises(InvalidArgument, match=r"'d'.*'n'.*integer.*keyword.*n\.d\."):
            refuse_misfits(made, SPEC)


def test_chunk_metadata_goes_over_the_documents():
    made = gathered(embedded("a", (1.0,), year=2), metadata={"year": 1, "tags": ["x"]})

    chunk = stored_chunks("ann", "papers", made)[0]

    assert chunk.metadata == {"year": 2, "tags": ["x"]}
    assert chunk.metadata["tags"] is not made.metadata["tags"]
    assert (chunk.id, chunk.subject, chunk.collection) == ("d-0", "ann", "papers")


def test_the_language_given_wins_over_the_one_detected():
    german = "Der Vertrag endet am Ende des Jahres, sofern er nicht verlängert wird."

    assert document_language(gathered(embedded(german, (1.0,)))) == "de"
    assert document_language(gathered(embedded(german, (1.0,)), language="en")) == "en"
