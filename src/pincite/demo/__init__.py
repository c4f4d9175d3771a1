"""The sample library of ``pincite demo``: the papers of an invented ferry company."""

from __future__ import annotations

from pathlib import Path

from pincite.errors import PinciteError

__all__ = ["QUESTIONS", "library_folder"]

QUESTIONS: tuple[str, ...] = (
    "above what wave height does Petrel stay in port?",
    "how long does a master rest between two duties?",
    "what does it cost to take a dog across?",
)
"""What the demo asks: a cell of a table on a PDF page, a paragraph of it, a web page."""


def library_folder() -> Path:
    """The folder with the sample files, as installed."""
    folder = Path(__file__).parent / "library"
    if not folder.is_dir():
        raise PinciteError(
            f"The sample library is missing at {folder}; install pincite again, unpacked."
        )
    return folder
