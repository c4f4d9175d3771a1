"""How fast is vector search at equal recall, with and without filters, and what does it cost?

Data, filters and truth: benchmarks/dense_data.py. Contenders: benchmarks/dense_peers.py. `--part
prepare` makes the data, builds every index in FOLDER and picks each contender's setting: of those
with settings the lowest that reaches the recall asked for, on queries of their own. The others
open what was prepared.

`race`: every contender runs in this process on one thread; for each query all take turns, warm:
they were asked the tuning queries before. `cpu` is processor time, which a busy machine disturbs
less than the clock. `changes`: 1,000 rows added and 1,000 deleted, in memory and by each
contender's own commit, on a copy. `memory`, `group` (512 MB for a process and the files' pages) and
`reopen`: fresh processes that do nothing else (benchmarks/dense_alone.py); the `reopen_ms` of a
race is taken where the others' data may just have driven an index's files out of memory.

Run: python benchmarks/dense.py --data FOLDER --part prepare|race|changes|memory|group|reopen
     [--kind synthetic|static] [--rows 100000] [--dimension 384] [--peers pincite,numpy,flat,ivf]
     [--json OUT]

Results of several parts are put into one OUT. Peers are needed only if named: faiss-cpu, usearch,
hnswlib, zvec, lancedb, chromadb.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from dense_data import QUERIES, SHARES, Data, K, load_data, place
from dense_peers import PEERS, Contender, Search, make
from memory_group import run_in_group
from report import require_kernels, write_report

from pincite.segments.kernels import kernels_in_use

RECALL = 0.97
FILTERED_RECALL = 0.98
PACKAGES = ("faiss-cpu", "usearch", "hnswlib", "zvec", "lancedb", "chromadb")


def recall(search: Search, queries: np.ndarray, right: list[set[int]]) -> float:
    pairs = zip(queries, right, strict=True)
    found = sum(len(best & set(map(int, search(query)))) for query, best in pairs)
    return found / (K * len(queries))


def tuned(contender: Contender, data: Data, share: float) -> int:
    """The lowest setting that reaches the recall asked for, or the highest there is."""
    wanted = RECALL if share == 1.0 else FILTERED_RECALL
    right = data.right(share, tuning=True)
    if len(contender.settings) == 1:
        return contender.settings[0]
    for setting in contender.settings:
        if recall(contender.searches(share, setting), data.tuning, right) >= wanted:
            break
    return setting


def prepare(data: Data, home: Path, peers: Sequence[str]) -> dict[str, Any]:
    """Builds what is missing and picks the settings, kept beside the indexes."""
    for name in peers:
        file = home / f"{name}.settings.json"
        contender = make(name, data.rows, home)
        if not file.exists():
            shares = [share for share in SHARES if contender.filters or share == 1.0]
            chosen = {f"{share:g}": tuned(contender, data, share) for share in shares}
            file.write_text(json.dumps(chosen), encoding="ascii")
        sys.stdout.write(f"{name}: {file.read_text(encoding='ascii')} {contender.notes}\n")
        sys.stdout.flush()
    return {}


def race(data: Data, home: Path, peers: Sequence[str]) -> dict[str, Any]:
    """Wall-clock and processor time of each contender, all taking turns."""
    field = [(make(name, data.rows, home), _settings(home, name)) for name in peers]
    figures: dict[str, Any] = {"notes": {c.name: c.notes for c, _ in field}}
    figures["queries"] = len(data.asked)
    for share in SHARES:
        running = {
            c.name: (c.searches(share, chosen[f"{share:g}"]), chosen[f"{share:g}"])
            for c, chosen in field
            if f"{share:g}" in chosen
        }
        for search, _ in running.values():
            for query in data.tuning:
                search(query)
        raced = _turns({name: search for name, (search, _) in running.items()}, data, share)
        for name, (_, setting) in running.items():
            raced[name]["setting"] = setting
            sys.stdout.write(f"{share:g} {name}: {raced[name]}\n")
        figures[f"kept {share:g}"] = raced
    return figures


def _settings(home: Path, name: str) -> dict[str, int]:
    chosen: dict[str, int] = json.loads((home / f"{name}.settings.json").read_text("ascii"))
    return chosen


def _turns(searches: dict[str, Search], data: Data, share: float) -> dict[str, dict[str, float]]:
    clock: dict[str, list[float]] = {name: [] for name in searches}
    cpu: dict[str, list[float]] = {name: [] for name in searches}
    found = dict.fromkeys(searches, 0)
    for query, best in zip(data.asked, data.right(share), strict=False):
        for name, search in searches.items():
            before, start = time.process_time_ns(), time.perf_counter_ns()
            answer = search(query)
            clock[name].append((time.perf_counter_ns() - start) / 1e6)
            cpu[name].append((time.process_time_ns() - before) / 1e6)
            found[name] += len(best & set(map(int, answer)))
    return {
        name: {
            "p50_ms": round(float(np.median(clock[name])), 4),
            "p95_ms": round(float(np.quantile(clock[name], 0.95)), 4),
            "cpu_p50_ms": round(float(np.median(cpu[name])), 4),
            "recall": round(found[name] / (K * len(data.asked)), 4),
        }
        for name in searches
    }


def changes(data: Data, home: Path, peers: Sequence[str]) -> dict[str, Any]:
    """Seconds to add and to delete, on a copy of what was prepared."""
    figures: dict[str, Any] = {}
    for name in peers:
        if PEERS[name][0] is None:
            continue
        folder = Path(tempfile.mkdtemp(prefix="changes-", dir=home))
        try:
            shutil.copytree(home / name, folder / name)
            shutil.copy(home / f"{name}.seconds", folder)
            os.sync()
            contender = make(name, data.rows, folder)
            seconds = {}
            for step, run in contender.changes:
                start = time.perf_counter()
                run()
                seconds[f"{step}_s"] = round(time.perf_counter() - start, 4)
            figures[contender.name] = seconds
            sys.stdout.write(f"{contender.name}: {seconds}\n")
            sys.stdout.flush()
        finally:
            shutil.rmtree(folder)
    return {"changes": figures}


REOPENED = 5
GROUP_MB, FRESH = 512, 11_000


def memory(home: Path) -> dict[str, Any]:
    """Of a process that does nothing else: see benchmarks/dense_alone.py."""
    figures = _alone("memory", home)
    sys.stdout.write(f"{figures}\n")
    return {"memory": figures}


def group(home: Path) -> dict[str, Any]:
    """The median after 10,000 searches, in a memory group and without: with the queries of the
    race again and again, and with as many that differ (rows of the index, each moved a little)."""
    figures: dict[str, Any] = {"megabytes": GROUP_MB}
    with tempfile.TemporaryDirectory(dir=home) as folder:
        fresh = Path(folder) / "queries.npy"
        np.save(fresh, _moved(np.load(home / "rows.npy", mmap_mode="r")))
        for name, queries in (("again", home / "queries.npy"), ("fresh", fresh)):
            command = _command("group", home, queries)
            held = json.loads(run_in_group(command, GROUP_MB))
            free = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            figures[name] = {**held, "free_p50_ms": json.loads(free.stdout)["p50_ms"]}
    sys.stdout.write(f"{figures}\n")
    return {"group": figures}


def _moved(rows: np.ndarray) -> np.ndarray:
    generator = np.random.default_rng(17)
    chosen = np.asarray(rows[np.sort(generator.choice(len(rows), FRESH, replace=False))])
    noise = generator.standard_normal(chosen.shape, dtype=np.float32) / rows.shape[1] ** 0.5
    return generator.permutation(chosen + 0.5 * noise)


def reopen(home: Path) -> dict[str, Any]:
    """Opening and the first search in fresh processes, the files in memory or dropped from it."""
    figures = {}
    for name in ("reopen", "reopen-dropped"):
        _alone(name, home)
        figures[name] = statistics.median(_alone(name, home)["ms"] for _ in range(REOPENED))
    sys.stdout.write(f"{figures}\n")
    return {"reopen": {"ms": figures["reopen"], "dropped_ms": figures["reopen-dropped"]}}


def _alone(part: str, home: Path) -> dict[str, float]:
    found = subprocess.run(_command(part, home), stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(found.stdout)
    return figures


def _command(part: str, home: Path, queries: Path | None = None) -> list[str]:
    script = Path(__file__).with_name("dense_alone.py")
    files = home / "pincite", queries or home / "queries.npy"
    return [sys.executable, str(script), part, *map(str, files)]


PARTS = {"prepare": prepare, "race": race, "changes": changes}
ALONE = {"memory": memory, "group": group, "reopen": reopen}


def one_thread() -> None:
    """Start again with one thread for every library: they read this when they are loaded."""
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "LANCE_CPU_THREADS",
        "TOKIO_WORKER_THREADS",
    )
    if any(os.environ.get(name) != "1" for name in names):
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(names, "1")
        )


def main() -> None:
    require_kernels()
    one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=(*PARTS, *ALONE), required=True)
    parser.add_argument("--kind", choices=("synthetic", "static"), default="synthetic")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS))
    parser.add_argument("--queries", type=int, default=QUERIES, help="how many are raced")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    home = place(options.data, options.kind, options.rows, options.dimension)
    if options.part in ALONE:
        part = ALONE[options.part](home)
    else:
        data = load_data(options.data, options.kind, options.rows, options.dimension)
        data.asked, data.tuning = data.asked[: options.queries], data.tuning[: options.queries]
        part = PARTS[options.part](data, home, options.peers)
    known = {}
    if options.json is not None and options.json.exists():
        known = json.loads(options.json.read_text(encoding="utf-8"))
        known = {name: each for name, each in known.items() if name not in ("versions", "machine")}
    figures = {
        **known,
        "kind": options.kind,
        "rows": options.rows,
        "dimension": options.dimension,
        "threads": 1,
        "k": K,
        "kernels": kernels_in_use(),
        **part,
    }
    write_report(options.json, figures, packages=PACKAGES)


if __name__ == "__main__":
    main()
