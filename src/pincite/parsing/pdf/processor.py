"""The processor for PDF files."""

from __future__ import annotations

from pincite.errors import InvalidArgument, ParseError
from pincite.model.layout import MarkdownParseResult
from pincite.parsing.pdf.backends import backend_named
from pincite.parsing.pdf.layout import build
from pincite.parsing.pdf.page import PdfText

__all__ = ["PdfProcessor"]


class PdfProcessor:
    """Reads PDF with the backend of that name; ``quality_threshold`` is in characters a page.

    Pages with fewer characters than that are listed in ``pages_needing_ocr``. Raises
    ``InvalidArgument`` for an unknown backend or a negative threshold, ``MissingExtra`` for a
    backend that is not installed.
    """

    def __init__(
        self,
        backend: str = "pdfium",
        quality_threshold: int = 50,
        *,
        password: str | None = None,
    ) -> None:
        if quality_threshold < 0:
            raise InvalidArgument("quality_threshold is negative; pass 0 or more characters.")
        self.backend = backend
        self.quality_threshold = quality_threshold
        self._password = password
        self._reader = backend_named(backend)

    def parse(
        self, data: bytes, filename: str, *, password: str | None = None
    ) -> MarkdownParseResult:
        """Raises ``ParseError`` for a file that is empty, damaged or encrypted.

        ``password`` goes over the one given to the constructor.
        """
        if not data.strip(b"\0 \t\r\n"):
            raise ParseError(f"{filename} is empty; save it again from its program.")
        secret = self._password if password is None else password
        text = self._reader.read(data, filename=filename, password=secret)
        return build(text).model_copy(update={"pages_needing_ocr": self._sparse(text)})

    def _sparse(self, text: PdfText) -> list[int]:
        counts = {page.number: sum(len(word.text) for word in page.words) for page in text.pages}
        return [number for number, count in counts.items() if count < self.quality_threshold]
