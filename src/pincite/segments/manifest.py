"""What a manifest says of the segments of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["PartKind", "PartRecord", "SegmentRecord"]


class PartKind(StrEnum):
    """The parts of a segment, which share one numbering of rows."""

    ROWS = "rows"
    VECTORS = "vectors"
    KEYWORD = "keyword"
    COLUMNS = "columns"


@dataclass(frozen=True, slots=True)
class PartRecord:
    """One part: ``file`` is "" while its bytes are in the manifest's own database.

    ``stamp`` is the generation that wrote it, so that a rebuilt part is told from the old one;
    ``checksum`` is that of ``SegmentFile.checksum``.
    """

    kind: PartKind
    stamp: int
    size: int
    checksum: int
    file: str = ""


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """One segment: its rows, how many are dead, the range of its chunk keys, and its parts."""

    number: int
    rows: int
    dead: int
    first_chunk: int
    last_chunk: int
    parts: Mapping[PartKind, PartRecord]

    @property
    def live(self) -> int:
        """Rows that are not deleted."""
        return self.rows - self.dead
