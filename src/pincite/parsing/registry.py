"""The way in: bytes and a file name to Markdown, whatever the format."""

from __future__ import annotations

from typing import Protocol

from pincite.errors import ParseError, UnsupportedFormat
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.detection import FORMAT_OF_EXTENSION, detect_format, extension_of
from pincite.parsing.office import OFFICE_FORMATS, OfficeProcessor
from pincite.parsing.pdf.backends import check_backend
from pincite.parsing.pdf.processor import PdfProcessor
from pincite.parsing.plain import TextProcessor
from pincite.parsing.tabular import TsvProcessor

__all__ = [
    "SUPPORTED_EXTENSIONS",
    "SUPPORTED_FORMATS",
    "Processor",
    "parse",
    "processor_for",
    "processor_for_extension",
    "supported_message",
]

SUPPORTED_EXTENSIONS: tuple[str, ...] = tuple(sorted(FORMAT_OF_EXTENSION))
"""Every extension that ``parse`` knows, lower-case, without the dot."""

SUPPORTED_FORMATS = ", ".join(SUPPORTED_EXTENSIONS)
"""The same as one line, for messages."""


class Processor(Protocol):
    """Reads one family of formats."""

    def parse(self, data: bytes, filename: str) -> MarkdownParseResult:
        """The file as Markdown; raises ``ParseError`` when it cannot be read."""


def parse(
    data: bytes, filename: str, *, backend: str = "pdfium", password: str | None = None
) -> MarkdownParseResult:
    """Parse a file of any supported format; its content decides first, then its extension.

    ``backend`` and ``password`` are for PDF. Raises ``UnsupportedFormat`` for another kind of
    file, ``ParseError`` for one that is empty, damaged or encrypted, ``InvalidArgument`` for an
    unknown backend and ``MissingExtra`` for one that is not installed.
    """
    check_backend(backend)
    kind = detect_format(data, filename)
    if not kind:
        raise UnsupportedFormat(supported_message(filename))
    if not data and kind not in ("text", "csv", "tsv"):
        raise ParseError(f"{filename} is empty; save it again from its program.")
    return processor_for(kind, backend=backend, password=password).parse(data, filename)


def processor_for(kind: str, *, backend: str = "pdfium", password: str | None = None) -> Processor:
    """The processor of a format, a value of ``FORMAT_OF_EXTENSION``.

    Raises ``UnsupportedFormat`` for any other value.
    """
    if kind == "pdf":
        return PdfProcessor(backend=backend, password=password)
    if kind == "text":
        return TextProcessor()
    if kind == "tsv":
        return TsvProcessor()
    if kind in OFFICE_FORMATS:
        return OfficeProcessor()
    raise UnsupportedFormat(supported_message(kind))


def processor_for_extension(
    filename: str, *, backend: str = "pdfium", password: str | None = None
) -> Processor:
    """The processor that the extension of ``filename`` selects, in any case.

    Raises ``UnsupportedFormat`` for an extension that no processor reads.
    """
    kind = FORMAT_OF_EXTENSION.get(extension_of(filename))
    if kind is None:
        raise UnsupportedFormat(supported_message(filename))
    return processor_for(kind, backend=backend, password=password)


def supported_message(filename: str) -> str:
    """The message of ``UnsupportedFormat`` for ``filename``."""
    extension = extension_of(filename)
    if extension in FORMAT_OF_EXTENSION:
        return (
            f"{filename} does not hold what its name says, but something that no parser reads; "
            f"convert to one of: {SUPPORTED_FORMATS}."
        )
    what = f"Files of type .{extension}" if extension else "Files of this kind"
    return f"{what} cannot be parsed ({filename}); convert to one of: {SUPPORTED_FORMATS}."
