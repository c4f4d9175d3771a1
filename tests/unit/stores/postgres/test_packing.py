"""Any string goes in, comes out, and sorts as Python sorts it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pincite.stores.postgres.packing import owner_key, pack, pack_term, unpack

ODD = st.text(
    st.one_of(
        st.characters(codec=None),
        st.sampled_from("\x00\x01\x02\ud7fe\ud7ff\ud800\udbff\udc00\udfff\ue000\U0001f728"),
    ),
    max_size=6,
)


@given(ODD)
def test_a_packed_string_can_be_held_and_comes_back(text: str) -> None:
    packed = pack(text)

    assert "\0" not in packed
    assert packed.encode().decode() == packed
    assert unpack(packed) == text


@given(ODD, ODD)
def test_packing_keeps_order_and_prefixes(one: str, other: str) -> None:
    as_bytes = pack(one).encode() < pack(other).encode()

    assert as_bytes == (one < other)
    assert pack(one + other) == pack(one) + pack(other)


def test_plain_text_stays_as_it_is() -> None:
    for text in ("", "papers/a.pdf", "Zürich 東京 🜨", "'; DROP TABLE x; --", "%s {} \\"):
        assert pack(text) == text


def test_long_terms_are_told_apart_by_a_short_key() -> None:
    one, other = "x" * 100_000, "x" * 99_999 + "y"

    assert len(pack_term(one).encode()) < 200
    assert pack_term(one) != pack_term(other)
    assert pack_term("word") == "word"


def test_owners_are_told_apart() -> None:
    assert owner_key("ab", "c") != owner_key("a", "bc")
    assert owner_key("a", "b") == owner_key("a", "b")
