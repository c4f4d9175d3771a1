"""The PDF backends under their public address."""

from __future__ import annotations

from pincite.parsing.pdf.backends import (
    BACKENDS,
    LiteParseBackend,
    PdfiumBackend,
    PyMuPDFBackend,
    backend_named,
)

__all__ = ["BACKENDS", "LiteParseBackend", "PdfiumBackend", "PyMuPDFBackend", "backend_named"]
