"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest

import pytest

from pincite.text import analysis, languages


@pytest.mark.parametrize("module", [analysis, languages])
def test_docstring_examples_run(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]

    assert result.attempted >= 2
    assert result.failed == 0
