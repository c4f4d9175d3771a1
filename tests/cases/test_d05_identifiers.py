"""Identifiers are found whole, before their look-alikes."""

from __future__ import annotations

import pytest

from pincite import Library

from .conftest import fill, found

IDENTIFIERS = ("ERR-4021", "foo_bar.baz", "C++", "v2.10.3", "state-of-the-art")
DECOYS = ("ERR-4022", "foo bar", "C", "v2.10.4")


SHAPES = ("{}", "{}.", "see {} there", "({})", "`{}`")


@pytest.mark.parametrize("shape", SHAPES)
def test_an_identifier_finds_its_own_text_first(lib: Library, shape: str) -> None:
    fill(lib, {name: f"The part {shape.format(name)} of it" for name in (*IDENTIFIERS, *DECOYS)})

    firsts = [found(lib, identifier, mode="keyword")[0] for identifier in IDENTIFIERS]
    assert firsts == list(IDENTIFIERS)


def test_signs_of_query_languages_are_no_syntax(lib: Library) -> None:
    fill(lib, {name: f"The part {name} of it" for name in (*IDENTIFIERS, *DECOYS)})

    for query in ('"ERR-4021', "ERR-4021 AND (", "C++ OR *", "NEAR/3 v2.10.3:"):
        wanted = next(name for name in IDENTIFIERS if name in query)
        assert found(lib, query, mode="keyword")[0] == wanted
