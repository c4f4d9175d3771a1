"""What an index of vectors takes in a process of its own: run by benchmarks/dense.py.

`memory`: 10,000 searches after each other; 10,000 more after the files' pages were dropped, and how
much of the files the system keeps then: the memory that such searches need, whatever there is; then
1,000, the pages dropped before each hundred. `group`: 10,000 searches, the pages dropped before the
first, and the median of 1,000 after them: for a process with little memory. `reopen`: opening and
the first search, with the files in memory and, `reopen-dropped`, without. Prints JSON.

Run: python benchmarks/dense_alone.py memory|group|reopen|reopen-dropped FOLDER QUERIES.npy
"""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from pincite.dense.index import DenseIndex

SEARCHES, DROPPED, EVERY = 10_000, 1_000, 100


def held(what: str) -> float:
    """MB of this process."""
    lines = Path("/proc/self/smaps_rollup").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def drop(folder: Path, index: DenseIndex | None = None) -> None:
    """The files' pages, from this process and from the system's cache."""
    for mapped in _mapped(index):
        mapped.madvise(mmap.MADV_DONTNEED)
    for file in folder.iterdir():
        handle = os.open(file, os.O_RDONLY)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def _mapped(index: DenseIndex | None) -> list[mmap.mmap]:
    segments = () if index is None else index._state.segments
    return [segment.source.contents.obj for segment in segments]  # type: ignore[misc]


def cached(index: DenseIndex) -> float:
    """MB of the mapped files that the system keeps in memory."""
    pages = 0
    for mapped in _mapped(index):
        start = np.frombuffer(mapped, np.uint8).ctypes.data
        found = np.zeros(-(-len(mapped) // mmap.PAGESIZE), np.uint8)
        size, out = ctypes.c_size_t(len(mapped)), ctypes.c_void_p(found.ctypes.data)
        if ctypes.CDLL(None, use_errno=True).mincore(ctypes.c_void_p(start), size, out):
            raise OSError(ctypes.get_errno(), "mincore")
        pages += int((found & 1).sum())
    return pages * mmap.PAGESIZE / 2**20


def times(index: DenseIndex, queries: np.ndarray, first: int, count: int) -> list[float]:
    """Milliseconds of each search."""
    found = []
    for number in range(first, first + count):
        start = time.perf_counter()
        index.search(queries[number % len(queries)], 10)
        found.append(1e3 * (time.perf_counter() - start))
    return found


def warmed(queries: np.ndarray) -> None:
    """Imports what a search does, and asks the machine for what its first one takes."""
    small = DenseIndex()
    small.add([str(number) for number in range(50)], queries[:50])
    small.search(queries[0], 10)
    gc.collect()


def memory(folder: Path, queries: np.ndarray) -> dict[str, float]:
    """The figures of the first three paragraphs above."""
    warmed(queries)
    before = {what: held(what) for what in ("Anonymous:", "Pss:")}
    index = DenseIndex.open(folder)
    figures = {"p50_ms": statistics.median(times(index, queries, 0, SEARCHES))}
    figures["anonymous_mb"] = held("Anonymous:") - before["Anonymous:"]
    figures["pss_mb"] = held("Pss:") - before["Pss:"]
    drop(folder, index)
    figures["needed_p50_ms"] = statistics.median(times(index, queries, 0, SEARCHES))
    figures["needed_mb"] = cached(index)
    dropped, pss = [], []
    for first in range(0, DROPPED, EVERY):
        drop(folder, index)
        dropped += times(index, queries, first, EVERY)
        pss.append(held("Pss:") - before["Pss:"])
    figures["evicted_p50_ms"] = statistics.median(dropped)
    figures["evicted_mean_ms"] = statistics.mean(dropped)
    figures["evicted_pss_mb"] = statistics.median(pss)
    return figures


def group(folder: Path, queries: np.ndarray) -> dict[str, float]:
    """The median after 10,000 searches, and what of the files is then in memory."""
    warmed(queries)
    drop(folder)
    index = DenseIndex.open(folder)
    times(index, queries, 0, SEARCHES)
    p50 = statistics.median(times(index, queries, SEARCHES, DROPPED))
    return {"p50_ms": p50, "cached_mb": cached(index)}


def reopen(folder: Path, queries: np.ndarray, *, dropped: bool) -> dict[str, float]:
    """Milliseconds until the first answer is there."""
    warmed(queries)
    if dropped:
        drop(folder)
    start = time.perf_counter()
    DenseIndex.open(folder).search(queries[0], 10)
    return {"ms": 1e3 * (time.perf_counter() - start)}


PARTS = {"memory": memory, "group": group}


def main() -> None:
    part, folder, queries = sys.argv[1], Path(sys.argv[2]), np.load(sys.argv[3])
    queries = queries[queries.any(axis=1)]  # a model gives the zero vector for words it lacks
    if part in PARTS:
        figures = PARTS[part](folder, queries)
    else:
        figures = reopen(folder, queries, dropped=part == "reopen-dropped")
    sys.stdout.write(json.dumps({name: round(each, 4) for name, each in figures.items()}))


if __name__ == "__main__":
    main()
