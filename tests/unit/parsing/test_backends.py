"""Backends by name, and what happens without their packages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable

import pytest

from pincite.errors import InvalidArgument, MissingExtra
from pincite.parsing.backends import (
    BACKENDS,
    LiteParseBackend,
    PdfiumBackend,
    PyMuPDFBackend,
    backend_named,
)
from pincite.parsing.pdf.processor import PdfProcessor
from pincite.parsing.registry import parse


def test_pdfium_is_the_default() -> None:
    assert PdfProcessor().backend == "pdfium"
    assert isinstance(backend_named("pdfium"), PdfiumBackend)


def test_an_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match="choose one of: liteparse, pdfium, pymupdf"):
        parse(b"%PDF-1.4", "a.pdf", backend="nosuch")
    assert sorted(BACKENDS) == ["liteparse", "pdfium", "pymupdf"]


@pytest.mark.parametrize(
    ("backend", "module", "extra"),
    [(PyMuPDFBackend, "pymupdf", "pdf"), (LiteParseBackend, "liteparse", "liteparse")],
)
def test_a_missing_extra_names_its_command(
    backend: type, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    monkeypatch.delitem(sys.modules, module, raising=False)

    with pytest.raises(MissingExtra, match=rf'pip install "pincite\[{extra}\]"') as caught:
        backend()
    assert isinstance(caught.value, ImportError)


def test_an_import_error_of_something_else_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> object:
        raise ModuleNotFoundError("No module named 'deeper'", name="deeper")

    monkeypatch.setattr(importlib, "import_module", refuse)

    with pytest.raises(ModuleNotFoundError, match="deeper"):
        PyMuPDFBackend()


@pytest.mark.parametrize(("name", "module"), [("pymupdf", "pymupdf"), ("liteparse", "liteparse")])
def test_an_installed_backend_reads_the_same_text(
    name: str, module: str, pdf: Callable[[str], bytes]
) -> None:
    pytest.importorskip(module)

    result = parse(pdf("two_columns"), "a.pdf", backend=name)

    assert "# The Harbour of Marlow" in result.markdown
    assert "| 1964 | Herring | 860 |" in result.markdown
    assert "carried away in a single night" in result.markdown
