"""How long does a whole process take, from nothing to an answer?

Measures, as medians of interleaved runs of fresh processes:

- ``python -c "import numpy"``, which counts as 1x;
- ``pincite --help``, at most 1.4x;
- ``pincite search QUERY --mode keyword --json`` over 10,000 chunks, at most 4x.

The bars are on wall-clock time. Processor time stands beside it: on a busy machine the ratio of
the fastest runs and that of processor times say more than the medians.

The store is built through the command line, in a temporary folder, from seeded text of our own
making. Run ``python benchmarks/startup.py [--runs N] [--chunks N] [--json OUT]``; the exit status
is 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from report import require_kernels, write_report

BARS = {"help": 1.4, "search": 4.0}
QUERY = "bulk moraine drift"
PARAGRAPHS_PER_FILE = 25

Command = Sequence[str]
Cost = tuple[float, float]
"""Wall-clock and processor seconds."""


def main() -> int:
    require_kernels()
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        store = f"local:{Path(folder) / 'store'}"
        chunks = build_store(Path(folder) / "texts", store, options.chunks)
        costs = measure(commands(store), options.runs)
    report = summary(costs, chunks, options.runs)
    print(table(report))
    write_report(options.json, report, packages=["click", "pydantic"])
    return 0 if report["passed"] else 1


def commands(store: str) -> dict[str, Command]:
    search = ("search", QUERY, "--mode", "keyword", "--store", store, "--json")
    return {
        "numpy": (sys.executable, "-c", "import numpy"),
        "help": pincite("--help"),
        "search": pincite(*search),
    }


def pincite(*arguments: str) -> Command:
    """The installed script, or the package run as a module where no script is installed."""
    script = Path(sys.executable).parent / "pincite"
    head = (str(script),) if script.exists() else (sys.executable, "-m", "pincite")
    return (*head, *arguments)


def build_store(texts: Path, store: str, wanted: int) -> int:
    """Index seeded text until there are ``wanted`` chunks or more; how many there are."""
    texts.mkdir()
    source = random.Random(20_000)
    chunks = files = 0
    while chunks < wanted:
        missing = (wanted - chunks) // PARAGRAPHS_PER_FILE + 1
        for number in range(files, files + missing):
            (texts / f"note-{number:05}.md").write_text(_note(source, number), encoding="utf-8")
        files += missing
        run(pincite("index", str(texts), "--store", store, "--json"))
        chunks = _chunks(store)
    hits = json.loads(run(commands(store)["search"]))["hits"]
    if not hits:
        raise SystemExit(f"The query {QUERY!r} finds nothing; there is nothing to measure.")
    return chunks


def measure(of: Mapping[str, Command], runs: int) -> dict[str, list[Cost]]:
    """The cost of every run, the commands taking turns, after one round to warm up."""
    costs: dict[str, list[Cost]] = {name: [] for name in of}
    for turn in range(runs + 1):
        for name, command in of.items():
            wall, processor = time.perf_counter(), _processor_seconds()
            run(command)
            if turn:
                cost = (time.perf_counter() - wall, _processor_seconds() - processor)
                costs[name].append(cost)
    return costs


def run(command: Command) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=_environment())
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr or done.stdout}")
    return done.stdout


def summary(costs: Mapping[str, Sequence[Cost]], chunks: int, runs: int) -> dict[str, object]:
    figures = {
        name: {
            "median_ms": statistics.median(wall for wall, _ in cost),
            "fastest_ms": min(wall for wall, _ in cost),
            "processor_ms": min(processor for _, processor in cost),
        }
        for name, cost in costs.items()
    }
    rows = {
        name: {
            **{figure: round(1000 * value, 1) for figure, value in row.items()},
            **{
                figure.replace("_ms", "_ratio"): round(value / figures["numpy"][figure], 2)
                for figure, value in row.items()
            },
            "bar": BARS.get(name),
        }
        for name, row in figures.items()
    }
    passed = all(rows[name]["median_ratio"] <= bar for name, bar in BARS.items())
    return {"chunks": chunks, "runs": runs, "passed": passed, "commands": rows}


def table(report: Mapping[str, object]) -> str:
    lines = [
        f"{report['chunks']:,} chunks, {report['runs']} interleaved runs",
        f"{'':8} {'median':>18} {'fastest':>18} {'processor':>18}",
    ]
    for name, row in report["commands"].items():
        figures = (
            f"{row[f'{figure}_ms']:8.1f} ms {row[f'{figure}_ratio']:5.2f}x"
            for figure in ("median", "fastest", "processor")
        )
        bar = f"bar {row['bar']}x" if row["bar"] else ""
        lines.append(f"{name:8} {'  '.join(figures)}  {bar}".rstrip())
    return "\n".join(lines)


def _processor_seconds() -> float:
    """User and system time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _note(source: random.Random, number: int) -> str:
    words = (
        "bulk moraine drift " + "ice till sand clay gravel ridge basin river lake delta"
    ).split()
    rare = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("rn", "lt", "sk", "nd")]
    parts = [f"# Note {number}"]
    for _ in range(PARAGRAPHS_PER_FILE):
        drawn = source.choices(rare, k=150) + source.choices(words, k=12)
        source.shuffle(drawn)
        parts.append(" ".join(drawn) + ".")
    return "\n\n".join(parts) + "\n"


def _chunks(store: str) -> int:
    return int(json.loads(run(pincite("status", "--store", store, "--json")))["chunks"])


def _environment() -> dict[str, str]:
    """Without settings that change the store, or that forbid the byte code a second run uses."""
    dropped = {"PYTHONDONTWRITEBYTECODE"}
    return {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and not name.startswith("PINCITE_")
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=15, help="runs of each command")
    parser.add_argument("--chunks", type=int, default=10_000, help="size of the store")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
