"""Vectors, queries, filters and true answers for the benchmarks of vector search.

`synthetic` is a mixture of 2,000 Gaussians with uneven weights, 64 dimensions of structure plus
noise, unit length, seeded. `static` are the `local--static` vectors of FOLDER/chunks.txt, queries
from FOLDER/headings.txt (benchmarks/corpus.py writes both). Queries are not among the rows.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np

__all__ = [
    "K",
    "QUERIES",
    "SHARES",
    "Data",
    "bound",
    "column",
    "headings",
    "kept",
    "load_data",
    "place",
    "synthetic",
]

K = 10
QUERIES, TUNING = 400, 200
SHARES = (1.0, 0.1, 0.01, 0.001)
_STEPS = 1000


class Data:
    """Rows and queries as float32; of a filter's rows, and of the true best for each filter."""

    def __init__(self, rows: np.ndarray, queries: np.ndarray, best: dict[float, np.ndarray]):
        known = queries.any(axis=1)  # a model gives the zero vector for words that it lacks
        self.rows, self.best = rows, {share: each[known] for share, each in best.items()}
        self._asked = int(known[:QUERIES].sum())
        self.asked, self.tuning = np.split(queries[known], [self._asked])

    def right(self, share: float, *, tuning: bool = False) -> list[set[int]]:
        best = self.best[share]
        chosen = best[self._asked :] if tuning else best[: self._asked]
        return [set(row.tolist()) for row in chosen]


def column(count: int) -> np.ndarray:
    """What is filtered by: an integer in [0, 1000) for each row."""
    return np.random.default_rng(3).integers(0, _STEPS, count)


def kept(count: int, share: float) -> np.ndarray:
    """The rows of a filter: those whose number is below 1000 times the share."""
    return column(count) < bound(share)


def bound(share: float) -> int:
    return round(share * _STEPS)


def synthetic(count: int, dimension: int, seed: int) -> np.ndarray:
    """Rows of the mixture; the mixture itself is the same for every seed."""
    fixed = np.random.default_rng(7)
    basis = np.linalg.qr(fixed.normal(size=(dimension, 64)))[0].T.astype(np.float32)
    centres = fixed.normal(size=(2000, 64)).astype(np.float32)
    weights = fixed.exponential(size=2000) ** 1.5
    generator = np.random.default_rng(seed)
    rows = np.empty((count, dimension), dtype=np.float32)
    for start in range(0, count, 50_000):
        many = min(50_000, count - start)
        chosen = generator.choice(2000, many, p=weights / weights.sum())
        inner = centres[chosen] + 0.7 * generator.standard_normal((many, 64), dtype=np.float32)
        noise = generator.standard_normal((many, dimension), dtype=np.float32)
        wide = inner @ basis + 0.1 * noise
        rows[start : start + many] = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    return rows


def _static(folder: Path, count: int, dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of the first chunks, and of headings of at least two words as queries."""
    from pincite.embedding.static import StaticModel

    model = StaticModel()
    if model.dimension != dimension:
        raise SystemExit(f"The bundled model has {model.dimension} dimensions; ask for those.")
    rows = np.empty((count, dimension), np.float32)
    with (folder / "chunks.txt").open(encoding="utf-8") as lines:
        for start in range(0, count, 4096):
            texts = [line.rstrip("\n") for line in islice(lines, min(4096, count - start))]
            rows[start : start + len(texts)] = model.encode(texts)
    if not rows[-1].any():
        raise SystemExit(f"{folder} holds fewer than {count} chunks.")
    return rows, model.encode(headings(folder))


def headings(folder: Path) -> list[str]:
    """Some headings of at least two words: the texts of the static queries."""
    lines = (folder / "headings.txt").read_text(encoding="utf-8").splitlines()
    wordy = [line for line in lines if len(line.split()) > 1]
    chosen = np.random.default_rng(5).permutation(len(wordy))[: QUERIES + TUNING]
    return [wordy[i] for i in chosen]


def load_data(folder: Path, kind: str, count: int, dimension: int) -> Data:
    """The data of a kind; made and kept in the folder at first use."""
    home = place(folder, kind, count, dimension)
    if not (home / "best.npz").exists():
        home.mkdir(parents=True, exist_ok=True)
        if kind == "synthetic":
            rows = synthetic(count, dimension, 0)
            queries = synthetic(QUERIES + TUNING, dimension, 99)
        else:
            rows, queries = _static(folder, count, dimension)
        np.save(home / "rows.npy", rows)
        np.save(home / "queries.npy", queries)
        np.savez(home / "best.npz", **{f"{s:g}": _best(rows, queries, s) for s in SHARES})
    best = np.load(home / "best.npz")
    rows = np.load(home / "rows.npy", mmap_mode="r")
    return Data(rows, np.load(home / "queries.npy"), {s: best[f"{s:g}"] for s in SHARES})


def place(folder: Path, kind: str, count: int, dimension: int) -> Path:
    """Where the data of a kind and the contenders' indexes of it are kept."""
    return folder / f"dense-{kind}-{dimension}-{count}"


def _best(rows: np.ndarray, queries: np.ndarray, share: float) -> np.ndarray:
    """The true best of the kept rows, by exact search in float32: (queries, K)."""
    own = np.flatnonzero(kept(len(rows), share))
    best = []
    for start in range(0, len(queries), 50):
        scores = np.concatenate(
            [
                rows[own[at : at + 65_536]] @ queries[start : start + 50].T
                for at in range(0, len(own), 65_536)
            ]
        )
        best.append(own[np.argpartition(-scores, K, axis=0)[:K]].T)
    return np.concatenate(best)
