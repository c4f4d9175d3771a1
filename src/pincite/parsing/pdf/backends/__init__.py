"""The backends by name; one that is not installed says how to install it when it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from pincite.errors import InvalidArgument
from pincite.parsing.pdf.backends.liteparse import LiteParseBackend
from pincite.parsing.pdf.backends.pdfium import PdfiumBackend
from pincite.parsing.pdf.backends.pymupdf import PyMuPDFBackend
from pincite.parsing.pdf.page import PdfBackend

__all__ = [
    "BACKENDS",
    "LiteParseBackend",
    "PdfiumBackend",
    "PyMuPDFBackend",
    "backend_named",
    "check_backend",
]

BACKENDS: Mapping[str, Callable[[], PdfBackend]] = MappingProxyType(
    {"pdfium": PdfiumBackend, "pymupdf": PyMuPDFBackend, "liteparse": LiteParseBackend}
)


def check_backend(name: str) -> None:
    """Raises ``InvalidArgument``, naming the known backends, for an unknown name."""
    if name not in BACKENDS:
        known = ", ".join(sorted(BACKENDS))
        raise InvalidArgument(f"Unknown PDF backend {name!r}; choose one of: {known}.")


def backend_named(name: str) -> PdfBackend:
    """Raises ``InvalidArgument`` for an unknown name, ``MissingExtra`` without its package."""
    check_backend(name)
    return BACKENDS[name]()
