"""How fast is vector search at equal recall, with and without filters, and what does it cost?

Data: `synthetic`, a mixture of 2,000 Gaussians with uneven weights, 64 dimensions of structure plus
noise, unit length, seeded; or `static`, the `local--static` vectors of FOLDER/chunks.txt, queries
from FOLDER/headings.txt (benchmarks/corpus.py writes both; the vectors are kept beside them).
Queries are not among the rows. Truth is exact search over the float32 vectors.

Every contender runs in this process on one thread; for each query all take turns. Of a contender
with settings the quickest one is shown that reaches the recall asked for, chosen on other queries.
`cpu` is processor time, which a busy machine disturbs less than the clock. All come warm: they were
asked the tuning queries before.

Run: python benchmarks/dense.py --data FOLDER [--kind synthetic] [--rows 100000] [--dimension 384]
     [--peers numpy,flat,ivf,hnsw,usearch,hnswlib] [--json OUT]

Peers are needed only if named: faiss-cpu, usearch, hnswlib.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from report import write_report

from pincite.dense.index import Allowed, DenseIndex
from pincite.segments.kernels import kernels_in_use

K = 10
QUERIES, TUNING = 400, 200
SHARES = (1.0, 0.1, 0.01, 0.001)
RECALL = 0.97
FILTERED_RECALL = 0.98
CHANGED = 1_000
PEERS = ("numpy", "flat", "ivf", "hnsw", "usearch", "hnswlib")
PROBES = (2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
EFFORTS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 512)

Search = Callable[[np.ndarray], Sequence[int]]


@dataclass
class Contender:
    """``searches`` makes a search for a filter (None for all rows) and a setting."""

    name: str
    searches: Callable[[np.ndarray | None, int], Search]
    settings: Sequence[int] = (0,)
    filters: bool = True
    notes: dict[str, float] = field(default_factory=dict)


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


def static(folder: Path, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of the first chunks, and of headings of at least two words as queries."""
    kept = folder / "static-vectors.npy"
    if not kept.exists():
        _embed(folder, kept, count)
    stored = np.load(kept, mmap_mode="r")
    rows = np.asarray(stored[:count], dtype=np.float32)
    if len(rows) < count or not rows[-1].any():
        raise SystemExit(f"{kept} holds fewer than {count} vectors; remove it to embed again.")
    return rows, np.load(folder / "static-queries.npy").astype(np.float32)


def _embed(folder: Path, kept: Path, count: int) -> None:
    from pincite.embedding.static import StaticModel

    model = StaticModel()
    rows = np.lib.format.open_memmap(kept, "w+", np.float16, (count, model.dimension))
    with (folder / "chunks.txt").open(encoding="utf-8") as lines:
        for start in range(0, count, 4096):
            texts = [line.rstrip("\n") for line in islice(lines, min(4096, count - start))]
            rows[start : start + len(texts)] = model.encode(texts)
    headings = (folder / "headings.txt").read_text(encoding="utf-8").splitlines()
    wordy = [line for line in headings if len(line.split()) > 1]
    chosen = np.random.default_rng(5).permutation(len(wordy))[:2000]
    np.save(folder / "static-queries.npy", model.encode([wordy[i] for i in chosen]))


def ours(rows: np.ndarray, folder: Path) -> Contender:
    """Built, saved, opened again."""
    names = [f"{number:07}" for number in range(len(rows))]
    index = DenseIndex()
    start = time.perf_counter()
    index.add(names, rows)
    built = time.perf_counter()
    index.save(folder / "pincite")
    saved = time.perf_counter()
    index = DenseIndex.open(folder / "pincite")
    index.search(rows[0], K)
    notes = {
        "build_s": built - start,
        "save_s": saved - built,
        "reopen_ms": 1e3 * (time.perf_counter() - saved),
    }
    stats = index.stats()
    notes["code_bytes_per_number"] = stats["code_bytes"] / rows.size
    notes["lists"] = stats["lists"]
    notes |= _memory(folder / "pincite", rows[:200])

    def searches(mask: np.ndarray | None, _: int) -> Search:
        allow = None if mask is None else Allowed(names[i] for i in np.flatnonzero(mask))
        return lambda query: [int(name) for name in index.search(query, K, allow)[0]]

    return Contender("pincite", searches, notes=notes)


def _memory(folder: Path, queries: np.ndarray) -> dict[str, float]:
    """Anonymous memory that a fresh process adds by opening and searching, in MB."""
    np.save(folder.parent / "queries.npy", queries)
    code = (
        "import sys, numpy as np\n"
        "from pincite.dense.index import DenseIndex\n"
        "def anonymous():\n"
        "    lines = open('/proc/self/smaps_rollup').read().splitlines()\n"
        "    return next(int(l.split()[1]) for l in lines if l.startswith('Anonymous'))\n"
        "queries = np.load(sys.argv[2])\n"
        "small = DenseIndex()\n"
        "small.add([str(i) for i in range(len(queries))], queries)\n"
        "small.search(queries[0], 10)\n"
        "before = anonymous()\n"
        "index = DenseIndex.open(sys.argv[1])\n"
        "for query in queries: index.search(query, 10)\n"
        "print(anonymous() - before)\n"
    )
    command = [sys.executable, "-c", code, str(folder), str(folder.parent / "queries.npy")]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"anonymous_mb": int(found.stdout) / 1024}


def exact_numpy(rows: np.ndarray) -> Contender:
    """One matrix product; with a filter, of the gathered rows."""

    def searches(mask: np.ndarray | None, _: int) -> Search:
        kept = None if mask is None else np.flatnonzero(mask)

        def search(query: np.ndarray) -> Sequence[int]:
            scores = rows @ query if kept is None else rows[kept] @ query
            best = np.argpartition(-scores, min(K, len(scores) - 1))[:K]
            return (best if kept is None else kept[best]).tolist()

        return search

    return Contender("numpy exact", searches)


def faiss_flat(rows: np.ndarray) -> Contender:
    import faiss

    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)

    def searches(mask: np.ndarray | None, _: int) -> Search:
        return _faiss_search(index, faiss.SearchParameters, mask, {})

    return Contender("faiss Flat", searches)


def faiss_ivf(rows: np.ndarray, folder: Path) -> Contender:
    import faiss

    lists = 1024 if len(rows) <= 200_000 else 2048
    start = time.perf_counter()
    quantizer = faiss.IndexFlatIP(rows.shape[1])
    index = faiss.IndexIVFScalarQuantizer(
        quantizer, rows.shape[1], lists, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    index.train(rows[np.random.default_rng(1).permutation(len(rows))[: 64 * lists]])
    index.add(rows)
    notes = {"build_s": time.perf_counter() - start}
    notes |= _faiss_changes(index, rows, folder / "ivf.faiss")

    def searches(mask: np.ndarray | None, probes: int) -> Search:
        return _faiss_search(index, faiss.SearchParametersIVF, mask, {"nprobe": probes})

    return Contender("faiss IVF-SQ8", searches, [p for p in PROBES if p <= lists], notes=notes)


def _faiss_changes(index: Any, rows: np.ndarray, file: Path) -> dict[str, float]:
    """Adding and deleting in memory; writing, which is its commit; and reading."""
    import faiss

    names = np.arange(len(rows), len(rows) + CHANGED)
    times = [time.perf_counter()]
    index.add(rows[:CHANGED])
    times.append(time.perf_counter())
    index.remove_ids(names)
    times.append(time.perf_counter())
    faiss.write_index(index, str(file))
    with file.open("rb") as written:
        os.fsync(written.fileno())
    times.append(time.perf_counter())
    faiss.read_index(str(file)).search(rows[:1], K)
    times.append(time.perf_counter())
    add, delete, write, read = np.diff(times).tolist()
    file.unlink()
    return {"add_s": add, "delete_s": delete, "write_s": write, "reopen_ms": 1e3 * read}


def faiss_hnsw(rows: np.ndarray) -> Contender:
    import faiss

    start = time.perf_counter()
    index = faiss.IndexHNSWFlat(rows.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 128
    index.add(rows)
    notes = {"build_s": time.perf_counter() - start}

    def searches(mask: np.ndarray | None, effort: int) -> Search:
        return _faiss_search(index, faiss.SearchParametersHNSW, mask, {"efSearch": effort})

    return Contender("faiss HNSW", searches, EFFORTS, notes=notes)


def _faiss_search(
    index: Any, parameters: Any, mask: np.ndarray | None, options: dict[str, int]
) -> Search:
    import faiss

    made = dict(options)
    held = None if mask is None else np.packbits(mask, bitorder="little")
    if held is not None:
        made["sel"] = faiss.IDSelectorBitmap(held)
    chosen = parameters(**made)

    def search(query: np.ndarray) -> Sequence[int]:
        _ = held  # the selector does not own its bits
        return index.search(query[None, :], K, params=chosen)[1][0].tolist()

    return search


def usearch(rows: np.ndarray) -> Contender:
    from usearch.index import Index

    start = time.perf_counter()
    index = Index(ndim=rows.shape[1], metric="ip", dtype="f16", connectivity=16, expansion_add=128)
    index.add(np.arange(len(rows)), rows, threads=1)
    notes = {"build_s": time.perf_counter() - start}

    def searches(_: np.ndarray | None, effort: int) -> Search:
        def search(query: np.ndarray) -> Sequence[int]:
            index.expansion_search = effort
            return index.search(query, K, threads=1).keys.tolist()

        return search

    return Contender("usearch f16", searches, EFFORTS, filters=False, notes=notes)


def hnswlib(rows: np.ndarray) -> Contender:
    import hnswlib as library

    start = time.perf_counter()
    index = library.Index(space="ip", dim=rows.shape[1])
    index.init_index(len(rows), M=16, ef_construction=128, random_seed=1)
    index.add_items(rows, num_threads=1)
    notes = {"build_s": time.perf_counter() - start}

    def searches(_: np.ndarray | None, effort: int) -> Search:
        def search(query: np.ndarray) -> Sequence[int]:
            index.set_ef(effort)
            return index.knn_query(query, k=K, num_threads=1)[0][0].tolist()

        return search

    return Contender("hnswlib", searches, EFFORTS, filters=False, notes=notes)


def contenders(rows: np.ndarray, folder: Path, peers: Sequence[str]) -> Iterator[Contender]:
    yield ours(rows, folder)
    makers: dict[str, Callable[[], Contender]] = {
        "numpy": lambda: exact_numpy(rows),
        "flat": lambda: faiss_flat(rows),
        "ivf": lambda: faiss_ivf(rows, folder),
        "hnsw": lambda: faiss_hnsw(rows),
        "usearch": lambda: usearch(rows),
        "hnswlib": lambda: hnswlib(rows),
    }
    for peer in peers:
        yield makers[peer]()


def truth(rows: np.ndarray, queries: np.ndarray, mask: np.ndarray | None) -> list[set[int]]:
    kept = np.arange(len(rows)) if mask is None else np.flatnonzero(mask)
    best: list[set[int]] = []
    for start in range(0, len(queries), 50):
        scores = np.concatenate(
            [
                rows[kept[at : at + 65_536]] @ queries[start : start + 50].T
                for at in range(0, len(kept), 65_536)
            ]
        )
        top = np.argpartition(-scores, K, axis=0)[:K]
        best += [set(kept[column].tolist()) for column in top.T]
    return best


def recall(search: Search, queries: np.ndarray, right: list[set[int]]) -> float:
    found = sum(len(best & set(search(q))) for q, best in zip(queries, right, strict=True))
    return found / (K * len(queries))


def tuned(
    contender: Contender, mask: np.ndarray | None, queries: np.ndarray, right: list[set[int]]
) -> tuple[int, Search]:
    """The lowest setting that reaches the recall asked for, or the highest there is."""
    wanted = RECALL if mask is None else FILTERED_RECALL
    for setting in contender.settings:
        search = contender.searches(mask, setting)
        # Also without a choice, so that everyone comes to the race warm.
        if recall(search, queries, right) >= wanted:
            break
    return setting, search


def race(
    searches: dict[str, Search], queries: np.ndarray, right: list[set[int]]
) -> dict[str, dict[str, float]]:
    """Wall-clock and processor time of each, one query after the other, all taking turns."""
    clock: dict[str, list[float]] = {name: [] for name in searches}
    cpu: dict[str, list[float]] = {name: [] for name in searches}
    found = dict.fromkeys(searches, 0)
    for query, best in zip(queries, right, strict=True):
        for name, search in searches.items():
            before, start = time.process_time_ns(), time.perf_counter_ns()
            answer = search(query)
            clock[name].append((time.perf_counter_ns() - start) / 1e6)
            cpu[name].append((time.process_time_ns() - before) / 1e6)
            found[name] += len(best & set(answer))
    return {
        name: {
            "p50_ms": round(float(np.median(clock[name])), 4),
            "p95_ms": round(float(np.quantile(clock[name], 0.95)), 4),
            "cpu_p50_ms": round(float(np.median(cpu[name])), 4),
            "recall": round(found[name] / (K * len(queries)), 4),
        }
        for name in searches
    }


def changes(folder: Path, rows: np.ndarray) -> dict[str, float]:
    """A thousand vectors added and deleted, each durable; and in memory alone."""
    index = DenseIndex.open(folder / "pincite")
    names = [f"new{number}" for number in range(CHANGED)]
    times = [time.perf_counter()]
    for step in (
        lambda: index.add(names, rows[:CHANGED]),
        index.save,
        lambda: index.remove(names[: CHANGED // 2] + [f"{n:07}" for n in range(CHANGED // 2)]),
        index.save,
    ):
        step()
        times.append(time.perf_counter())
    add, saved_add, delete, saved_delete = np.diff(times).tolist()
    return {
        "add_s": add + saved_add,
        "delete_s": delete + saved_delete,
        "add_in_memory_s": add,
        "delete_in_memory_s": delete,
    }


def measure(rows: np.ndarray, queries: np.ndarray, options: argparse.Namespace) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="dense-", dir=options.data))
    try:
        field_ = list(contenders(rows, folder, options.peers))
        asked, tuning = queries[:QUERIES], queries[QUERIES : QUERIES + TUNING]
        figures: dict[str, Any] = {"notes": {c.name: c.notes for c in field_}}
        for share in SHARES:
            chosen = np.random.default_rng(3).random(len(rows)) < share
            mask = None if share == 1.0 else chosen
            right, learnt = truth(rows, asked, mask), truth(rows, tuning, mask)
            running = [c for c in field_ if mask is None or c.filters]
            picked = {c.name: tuned(c, mask, tuning, learnt) for c in running}
            raced = race({name: search for name, (_, search) in picked.items()}, asked, right)
            for name, (setting, _) in picked.items():
                raced[name]["setting"] = setting
            figures[f"kept {share:g}"] = raced
            sys.stdout.write(f"{share:g}: {raced}\n")
            sys.stdout.flush()
        figures["changes"] = changes(folder, rows)
        return figures
    finally:
        shutil.rmtree(folder)


def one_thread() -> None:
    """Start again with one thread for every library: they read this when they are loaded."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
    if any(os.environ.get(name) != "1" for name in names):
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(names, "1")
        )


def main() -> None:
    one_thread()
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kind", choices=("synthetic", "static"), default="synthetic")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    if options.kind == "synthetic":
        rows = synthetic(options.rows, options.dimension, 0)
        queries = synthetic(QUERIES + TUNING, options.dimension, 99)
    else:
        rows, queries = static(options.data, options.rows)
        queries = queries[: QUERIES + TUNING]
    figures = {
        "kind": options.kind,
        "rows": len(rows),
        "dimension": rows.shape[1],
        "threads": 1,
        "k": K,
        "kernels": kernels_in_use(),
        **measure(rows, queries, options),
    }
    write_report(options.json, figures, packages=("faiss-cpu", "usearch", "hnswlib"))


if __name__ == "__main__":
    main()
