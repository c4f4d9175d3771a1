"""A keyword index on disk (see ``pincite.segments.commits``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pincite.bm25.indexed import KIND, RecordOf, Segment, index_corrupt
from pincite.segments.commits import Commit, Entry, publish, read_commit, write_new
from pincite.segments.file import SegmentFile, segment_pieces

if TYPE_CHECKING:
    from pincite.bm25.search import Mask

__all__ = ["load", "save"]

_SEGMENT_KIND: Final = "bm25-segment"
_SEGMENT_VERSION: Final = 1
_COMPACT_VERSION: Final = 2


def save(
    folder: Path,
    segments: Sequence[Segment],
    live: Sequence[Mask | None],
    settings: Mapping[str, Any],
    *,
    known: str,
    compact: bool,
    record_of: RecordOf | None = None,
) -> str:
    """Publish an index and return its token; ``known`` is the token seen in the folder last.

    Segments that the folder does not have yet are written with a record of each row, their
    postings ``compact`` or not. Raises what ``publish`` does.
    """

    def place(number: int, segment: Segment) -> Segment:
        arrays = segment.arrays(live[number], record_of, compact=compact)
        pieces = segment_pieces(_SEGMENT_KIND, _SEGMENT_VERSION, arrays)
        segment.checksum = SegmentFile.checksum_in(pieces[0])
        segment.file = write_new(folder, pieces)
        return segment

    commit = Commit(segments, live, settings, version=_COMPACT_VERSION if compact else 1)
    return publish(
        KIND, folder, commit, known=known, place=place, languages=lambda each: each.languages
    ).token


def load(folder: Path) -> Commit[Segment]:
    """Open what is published in a folder. Raises what ``read_commit`` does."""

    def opened(number: int, entry: Entry) -> Segment:
        file = SegmentFile.open(folder / entry.file, name=entry.file)
        if file.kind != _SEGMENT_KIND:
            raise index_corrupt(entry.file, "it is not the one that was saved")
        segment = Segment(number, file, entry.languages)
        segment.file = entry.file
        return segment

    return read_commit(KIND, folder, opened)
