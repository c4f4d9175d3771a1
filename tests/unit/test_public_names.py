from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pincite


@pytest.mark.parametrize("name", pincite.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(pincite, name) is not None


def test_the_names_are_sorted_and_are_those_that_type_checkers_see() -> None:
    tree = ast.parse(Path(pincite.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [
        alias.asname or alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]

    assert list(pincite.__all__) == sorted(pincite.__all__)
    assert sorted(seen) == list(pincite.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = pincite.nothing_here  # type: ignore[attr-defined]


def test_importing_pincite_or_searching_does_not_import_heavy_modules() -> None:
    code = (
        "import sys, pincite; "
        "print([m for m in ('numpy', 'pydantic', 'anyio', 'httpx', 'typer') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"
