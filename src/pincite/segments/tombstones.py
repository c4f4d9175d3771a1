"""Which rows of a segment are deleted, as a packed bitmap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pincite.errors import MEND_SEGMENT, StoreCorrupt

__all__ = ["Mask", "pack_live", "unpack_live"]

Mask = NDArray[np.bool_]
"""Of the rows of a segment, shape (rows,)."""


def pack_live(live: Mask) -> bytes:
    """Tombstones of a mask of live rows: bit i, most significant first, is set for a dead row."""
    return np.packbits(~live).tobytes()


def unpack_live(packed: bytes, rows: int, *, dead: int, name: str) -> Mask:
    """The read-only mask of live rows, shape (rows,).

    Raises ``StoreCorrupt`` when the bitmap does not have ``rows`` bits with ``dead`` of them set.
    """
    bits = np.frombuffer(packed, dtype=np.uint8)
    live: Mask = np.unpackbits(bits)[:rows] == 0
    if len(bits) != -(-rows // 8) or rows - int(np.count_nonzero(live)) != dead:
        raise StoreCorrupt(f"The tombstones of segment {name} do not fit its rows. {MEND_SEGMENT}")
    live.flags.writeable = False
    return live
