"""From postings grouped by term to the arrays of a keyword segment (see ``segment``)."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.codebook import CLASS_FIRSTS, EXACT, GROUPS, NO_CODE, CodeBook
from pincite.errors import InvalidArgument
from pincite.segments.kernels import native

__all__ = ["LONG", "WINDOW", "pack_arrays"]

WINDOW: Final = 4096
"""Rows of a window, the unit that a search skips or scores."""

LONG: Final = 4096
"""Terms with at least this many postings have bounds stored for each window."""

_LARGEST: Final = 2**32 - 1


def pack_arrays(
    vocabulary: bytes | NDArray[np.uint8],
    vocabulary_offsets: NDArray[Any],
    postings_offsets: NDArray[Any],
    rows: NDArray[np.uint32],
    tfs: NDArray[Any],
    lengths: NDArray[np.uint32],
    *,
    threads: int = 1,
) -> dict[str, NDArray[Any]]:
    """The arrays of a segment, made in native code by ``threads`` threads where there is any.

    T terms in byte order, UTF-8, end to end in ``vocabulary``; ``vocabulary_offsets`` and
    ``postings_offsets`` (T + 1); ``rows`` (P) ascending within each term, ``tfs`` (P) at least 1,
    any unsigned integers; ``lengths`` (R) of the rows. Every term has a posting.

    Raises ``InvalidArgument`` beyond 2**32 - 1 postings or bytes of vocabulary.
    """
    if max(len(rows), len(vocabulary)) > _LARGEST:
        raise InvalidArgument("A segment holds at most 2**32 - 1 postings; add smaller batches.")
    book = CodeBook.of(lengths)
    lengths = np.asarray(lengths, dtype=np.uint32)
    offsets = np.asarray(postings_offsets, dtype=np.int64)
    module = native()
    if module is None:
        packed = _packed(book, offsets, rows, tfs, lengths)
    else:
        packed = _packed_natively(module, book, offsets, rows, tfs, lengths, threads)
    return {
        "vocabulary": np.frombuffer(vocabulary, dtype=np.uint8),
        "vocabulary_offsets": np.asarray(vocabulary_offsets, dtype=np.uint32),
        **packed,
        "code_tfs": book.tfs,
        "code_lengths": book.lengths,
        "lengths": lengths,
        "totals": np.array([lengths.sum(dtype=np.uint64)], dtype=np.uint64),
    }


def _packed(
    book: CodeBook,
    offsets: NDArray[np.int64],
    rows: NDArray[np.uint32],
    tfs: NDArray[Any],
    lengths: NDArray[np.uint32],
) -> dict[str, NDArray[Any]]:
    codes = _encoded(book, rows, tfs, lengths)
    large = np.flatnonzero(tfs > EXACT)
    return {
        **_runs(offsets, rows),
        "rows": (rows & np.uint32(0xFFFF)).astype(np.uint16),
        "codes": codes,
        "large_at": large.astype(np.uint32),
        "large_tfs": tfs[large].astype(np.uint32),
        **_windows(book, offsets, rows, codes, len(lengths)),
    }


def _packed_natively(
    module: ModuleType,
    book: CodeBook,
    offsets: NDArray[np.int64],
    rows: NDArray[np.uint32],
    tfs: NDArray[Any],
    lengths: NDArray[np.uint32],
    threads: int,
) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = module.pack_postings(
        offsets,
        np.ascontiguousarray(rows, dtype=np.uint32),
        np.ascontiguousarray(tfs, dtype=None if tfs.dtype == np.uint8 else np.uint32),
        lengths,
        firsts=CLASS_FIRSTS.tolist(),
        classes=book.code_classes.tolist(),
        code_lengths=book.lengths.tolist(),
        exact=EXACT,
        window=WINDOW,
        long_term=LONG,
        groups=GROUPS,
        none=NO_CODE,
        threads=threads,
    )
    return found


def _encoded(
    book: CodeBook, rows: NDArray[np.uint32], tfs: NDArray[Any], lengths: NDArray[np.uint32]
) -> NDArray[np.uint8]:
    # In parts, because the sort keys of one posting take thirty times its code.
    codes = np.empty(len(rows), dtype=np.uint8)
    for start in range(0, len(rows), 1 << 20):
        part = slice(start, start + (1 << 20))
        codes[part] = book.encode(tfs[part], lengths[rows[part]])
    return codes


def _runs(offsets: NDArray[np.int64], rows: NDArray[np.uint32]) -> dict[str, NDArray[Any]]:
    blocks = (rows >> np.uint32(16)).astype(np.uint16)
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = blocks[1:] != blocks[:-1]
    begins[offsets[:-1]] = True
    starts = np.flatnonzero(begins)
    return {
        "term_runs": np.searchsorted(starts, offsets).astype(np.uint32),
        "run_blocks": blocks[starts],
        "run_starts": np.append(starts, len(rows)).astype(np.uint32),
    }


def _windows(
    book: CodeBook,
    offsets: NDArray[np.int64],
    rows: NDArray[np.uint32],
    codes: NDArray[np.uint8],
    size: int,
) -> dict[str, NDArray[Any]]:
    long = np.flatnonzero(np.diff(offsets) >= LONG)
    count = -(-size // WINDOW)
    edges = np.arange(count + 1, dtype=np.uint64) * WINDOW
    starts = np.empty((len(long), count + 1), dtype=np.uint32)
    bounds = np.empty((len(long), count, len(GROUPS)), dtype=np.uint8)
    for place, term in enumerate(long.tolist()):
        part = slice(offsets[term], offsets[term + 1])
        starts[place] = np.searchsorted(rows[part], edges) + offsets[term]
        bounds[place] = _bounds(book, rows[part] // WINDOW, codes[part], count)
    return {
        "long_terms": long.astype(np.uint32),
        "window_starts": starts,
        "window_codes": bounds,
    }


def _bounds(
    book: CodeBook, windows: NDArray[np.uint32], codes: NDArray[np.uint8], count: int
) -> NDArray[np.uint8]:
    """For each window and group of classes, a code that no posting there exceeds."""
    classes, shortest = book.code_classes[codes], book.lengths[codes]
    result = np.full((count, len(GROUPS)), NO_CODE, dtype=np.uint8)
    for number, (first, end) in enumerate(GROUPS):
        inside = (classes >= first) & (classes < end)
        held, begin = np.unique(windows[inside], return_index=True)
        if held.size:
            most = np.maximum.reduceat(classes[inside], begin)
            least = np.minimum.reduceat(shortest[inside], begin)
            result[held, number] = book.encode_classes(most, least)
    return result
