"""A saved keyword index, read only and at once: natively, without NumPy, which takes a tenth of a
second to import.

``Reader.open`` gives a ``BM25Index`` where native code cannot do it alone: without the kernels, for
an index of an older format, and for one with deleted rows.
"""

from __future__ import annotations

import os
import sys
from array import array

from pincite.bm25.formulas import Bm25Parameters
from pincite.errors import InvalidArgument, InvalidQueryError, StoreCorrupt
from pincite.segments.file import SegmentFile
from pincite.segments.kernels import native
from pincite.text.analysis import default_analyzer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType
    from typing import Any, Final, Protocol

    from pincite.bm25.index import BM25Index
    from pincite.segments.ranking import Ranking

    class Searchable(Protocol):
        """What can be asked for the best ids."""

        def search(self, query: str, k: int) -> tuple[list[str], array[float]]: ...


__all__ = ["Reader"]

_MANIFEST: Final = "manifest.bm25"
_ARRAYS: Final = (
    "vocabulary", "vocabulary_offsets", "code_tfs", "code_lengths", "lengths", "long_terms",
    "window_starts", "window_codes",
)  # fmt: skip
_LISTS: Final = (
    "term_runs", "run_starts", "run_blocks", "rows", "codes", "large_at", "large_tfs",
)  # fmt: skip
_COMPACT: Final = ("packed", "packed_starts", "packed_windows", "length_codes")


class _Segment:
    """The postings of a segment and the ids of its rows, mapped."""

    def __init__(self, module: ModuleType, file: SegmentFile) -> None:
        names = _ARRAYS + (_COMPACT if "packed" in file.names else _LISTS)
        self.native = module.KeywordSegment(
            file.name, {name: file.unverified(name) for name in names}
        )
        self.rows = file.unverified("lengths")[0].nbytes // 4
        self.length = file.blob("totals").cast("Q")[0]
        self._file = file

    def id(self, row: int) -> str:
        start, end = self._file.part("id_offsets", 8 * row, 8 * row + 16).cast("Q")
        try:
            return bytes(self._file.part("ids", start, end)).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise StoreCorrupt(
                f"Keyword segment {self._file.name} is damaged: an id is not UTF-8. Restore a "
                "backup, or build the index anew."
            ) from error


class Reader:
    """Asks a saved index; what is saved there later it does not see."""

    def __init__(
        self, module: ModuleType, segments: Sequence[_Segment], settings: dict[str, Any]
    ) -> None:
        self._module, self._segments = module, segments
        self._parameters = Bm25Parameters(settings["k1"], settings["b"], settings["method"])
        self._languages: list[str] = settings["languages"]
        rows = sum(segment.rows for segment in segments)
        length = sum(segment.length for segment in segments)
        natives = [segment.native for segment in segments]
        average = length / rows if length else 1.0
        self._searcher = module.KeywordSearcher(natives, [None] * len(natives), rows, average)

    @classmethod
    def open(cls, path: str | Path) -> Searchable:
        """The index in a folder that ``BM25Index.save`` wrote.

        Raises what ``BM25Index.open`` does.
        """
        module, folder = native(), os.path.abspath(path)
        if module is not None and sys.byteorder == "little":
            try:
                return cls._open(module, folder)
            except (_Beyond, OSError, KeyError, TypeError, ValueError, StoreCorrupt):
                pass  # BM25Index does it, or says what is wrong
        return _index(folder)

    @classmethod
    def _open(cls, module: ModuleType, folder: str) -> Reader:
        with open(os.path.join(folder, _MANIFEST), "rb") as published:
            manifest = SegmentFile.open(published.read(), name=_MANIFEST)
        settings, entries = dict(manifest.meta["settings"]), manifest.meta["segments"]
        if settings["analysis"] != default_analyzer().fingerprint:
            raise _Beyond
        names = [each["file"] for each in entries]
        files = [SegmentFile.open(os.path.join(folder, name), name=name) for name in names]
        for file, entry in zip(files, entries, strict=True):
            old = not {"term_runs", "packed"} & set(file.names)
            if entry["dead"] or old or file.checksum != entry["checksum"]:
                raise _Beyond
        settings["languages"] = sorted({code for each in entries for code in each["languages"]})
        return cls(module, [_Segment(module, file) for file in files], settings)

    def search(self, query: str, k: int) -> tuple[list[str], array[float]]:
        """The ids of the ``k`` best texts and their scores, best first, ties by id."""
        if k < 1:
            raise InvalidQueryError(f"k is {k}; ask for at least 1 result.")
        groups = default_analyzer().query_groups(query, self._languages)
        found = self._search(groups, k)
        named = sorted(
            ((self._segments[number].id(row), score) for number, row, score in found),
            key=lambda hit: (-hit[1], hit[0]),
        )[:k]
        return [name for name, _ in named], array("f", [score for _, score in named])

    def _search(self, groups: Sequence[tuple[str, ...]], k: int) -> list[tuple[int, int, float]]:
        try:
            found: Ranking | None = self._searcher.search(
                groups,
                k,
                self._parameters.k1,
                self._parameters.b,
                *self._parameters.scale_and_delta,
            )
        except self._module.Damaged as error:
            raise StoreCorrupt(str(error)) from error
        if found is None:
            raise InvalidArgument("The query has too many words; ask for fewer at a time.")
        return found.listed()


class _Beyond(Exception):
    """The index needs more than native code."""


def _index(folder: str) -> BM25Index:
    from pincite.bm25.index import BM25Index

    return BM25Index.open(folder)
