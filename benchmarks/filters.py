"""How long does a filter take to become a bitmap over a million rows?

Data: rows made from a seeded generator, no text: keyword fields of 2 to 5,000 values, an integer
with 1,000 values, paths in folders, lists of tags. Each operator keeps 50, 10, 1 and .1 % of the
rows, which are in no order. Peers give the ids of the same rows: SQLite in memory with an index on
every column, LanceDB (when installed) with scalar indices. Contenders take turns; their counts must
be equal. Bar: ``in`` keeping 10 % in at most 1 ms, from the cache in at most .05 ms.

Run: python benchmarks/filters.py [--rows 1000000] [--repeats 25] [--json OUT]
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from report import require_kernels, write_report

from pincite.model.fields import Field, FieldType, full_spec
from pincite.model.filters import DeclaredFilter, Filter
from pincite.model.where import F, format_where
from pincite.segments.columns import Columns, build_columns
from pincite.segments.file import SegmentFile, write_segment

SHARES = (0.5, 0.1, 0.01, 0.001)
BAR_MS, CACHED_BAR_MS = 1.0, 0.05
KEYWORD = Field(FieldType.KEYWORD)
TAG = {0.5: "half", 0.1: "tenth", 0.01: "hundredth", 0.001: "thousandth"}
CARDINALITY = {0.5: 2, 0.1: 10, 0.01: 100, 0.001: 1_000}
LISTED = 5
SPEC = full_spec(
    {
        **{f"k{size}": KEYWORD for size in (2, 10, 50, 100, 500, 1_000, 5_000)},
        "n": Field(FieldType.INTEGER),
        **{f"path{size}": KEYWORD for size in CARDINALITY.values()},
        "tags": Field(FieldType.KEYWORD, many=True),
    }
)
SINGLE = [name for name in SPEC.fields if name[0] in "kn" or name.startswith("path")]


def make_rows(count: int) -> list[dict[str, Any]]:
    """Rows of independent fields, the same for the same count."""
    choose = random.Random(7)
    pools: dict[str, list[Any]] = {"n": list(range(1_000))}
    for name in SPEC.fields:
        if name[0] == "k":
            pools[name] = [f"v{at:05}" for at in range(int(name[1:]))]
        elif name.startswith("path"):
            size = int(name[4:])
            pools[name] = [f"f{at % size}/s{at // size}/d.pdf" for at in range(20 * size)]
    return [
        {name: choose.choice(pool) for name, pool in pools.items()}
        | {"tags": [tag for share, tag in TAG.items() if choose.random() < share]}
        for _ in range(count)
    ]


@dataclass(frozen=True)
class Case:
    """One filter and what the peers ask instead."""

    operator: str
    share: float
    where: Filter
    sqlite: str
    lance: str


def cases() -> list[Case]:
    """Every operator at every share."""
    return [make(share) for make in (_eq, _range, _in, _any, _under, _not) for share in SHARES]


def _eq(share: float) -> Case:
    name = f"k{CARDINALITY[share]}"
    return Case("eq", share, F(name) == "v00001", *[f"{name} = 'v00001'"] * 2)


def _range(share: float) -> Case:
    low, high = 200, 200 + round(1_000 * share)
    where = (F("n") >= low) & (F("n") < high)
    return Case("range", share, where, *[f"n >= {low} AND n < {high}"] * 2)


def _in(share: float) -> Case:
    size = round(LISTED / share)
    values = [f"v{at * (size // LISTED):05}" for at in range(LISTED)]
    name = f"k{size}"
    listed = ", ".join(f"'{value}'" for value in values)
    return Case("in", share, F(name).in_(values), *[f"{name} IN ({listed})"] * 2)


def _any(share: float) -> Case:
    tag = TAG[share]
    inner = f"rowid IN (SELECT row FROM tags WHERE tag = '{tag}')"
    lance = f"array_has_any(tags, ['{tag}'])"
    return Case("contains_any", share, F("tags").contains_any([tag]), inner, lance)


def _under(share: float) -> Case:
    name = f"path{CARDINALITY[share]}"
    written = f"({name} = 'f1' OR ({name} >= 'f1/' AND {name} < 'f10'))"
    return Case("under", share, F(name).under("f1"), written, written)


def _not(share: float) -> Case:
    high = 1_000 - round(1_000 * share)
    return Case("not", share, ~(F("n") < high), *[f"NOT (n < {high})"] * 2)


def in_sqlite(rows: Sequence[Mapping[str, Any]]) -> Callable[[Case], int]:
    """Ids of the matching rows from SQLite."""
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE rows ({', '.join(SINGLE)})")
    slots = ", ".join("?" * len(SINGLE))
    values = ([row[name] for name in SINGLE] for row in rows)
    database.executemany(f"INSERT INTO rows VALUES ({slots})", values)
    database.execute("CREATE TABLE tags (tag, row)")
    tagged = ((tag, at) for at, row in enumerate(rows, 1) for tag in row["tags"])
    database.executemany("INSERT INTO tags VALUES (?, ?)", tagged)
    for name in SINGLE:
        database.execute(f"CREATE INDEX i_{name} ON rows ({name})")
    database.execute("CREATE INDEX i_tags ON tags (tag, row)")
    database.execute("ANALYZE")

    def ask(case: Case) -> int:
        return len(database.execute(f"SELECT rowid FROM rows WHERE {case.sqlite}").fetchall())

    return ask


def in_lance(rows: list[dict[str, Any]], folder: str) -> Callable[[Case], int] | None:
    """Ids of the matching rows from LanceDB, None when it is not installed."""
    try:
        import lancedb
        import pyarrow
        from lancedb.index import Bitmap, BTree, LabelList
    except ImportError:
        return None
    data = pyarrow.Table.from_pylist(
        [
            {name: row[name] for name in (*SINGLE, "tags")} | {"id": at}
            for at, row in enumerate(rows)
        ]
    )
    table = lancedb.connect(folder).create_table("rows", data)
    for name in SINGLE:
        table.create_index(name, config=BTree() if name == "n" else Bitmap())
    table.create_index("tags", config=LabelList())

    def ask(case: Case) -> int:
        query = table.search().where(case.lance).select(["id"]).limit(len(rows))
        return int(query.to_arrow().num_rows)

    return ask


def milliseconds(ask: Callable[[], object]) -> float:
    start = time.perf_counter()
    ask()
    return (time.perf_counter() - start) * 1e3


def measure(case: Case, contenders: Mapping[str, Callable[[Case], int]], repeats: int) -> Any:
    """Median and 95th percentile of each contender, taking turns, after one turn that warms up."""
    counts = {name: ask(case) for name, ask in contenders.items()}
    assert len(set(counts.values())) == 1, (case, counts)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(repeats):
        for name, ask in contenders.items():
            if turn < 5 or name.startswith("pincite"):
                times[name].append(milliseconds(lambda ask=ask: ask(case)))  # type: ignore[misc]
    return {
        "operator": case.operator,
        "keeps": case.share,
        "rows": counts["pincite"],
        "filter": format_where(case.where),
        **{
            name: {"p50_ms": statistics.median(taken), "p95_ms": float(np.quantile(taken, 0.95))}
            for name, taken in times.items()
        },
    }


def many_values(columns: Columns, repeats: int) -> dict[str, float]:
    """``in`` with hundreds of scattered values, keeping 10 %, by the number of distinct values."""
    found = {}
    for size in (500, 5_000):
        where = DeclaredFilter(f"k{size}", "in", tuple(f"v{at:05}" for at in range(0, size, 10)))
        taken = [milliseconds(lambda w=where: columns.bitmap(w, SPEC)) for _ in range(repeats)]  # type: ignore[misc]
        found[f"{size // 10} of {size}"] = statistics.median(taken)
    return found


def main() -> int:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=25)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = make_rows(options.rows)
    start = time.perf_counter()
    data = write_segment("columns", 1, build_columns(rows, SPEC))
    built = time.perf_counter() - start
    segment = SegmentFile.open(data, name="benchmark")
    columns, cached = Columns(segment, cached=0), Columns(segment, cached=64)
    peers: dict[str, Callable[[Case], int]] = {"sqlite": in_sqlite(rows)}
    with tempfile.TemporaryDirectory() as folder:
        lance = in_lance(rows, folder)
        if lance is not None:
            peers["lancedb"] = lance
        results = [run(case, peers, columns, cached, options.repeats) for case in cases()]
    report = {
        "rows": options.rows,
        "sqlite": sqlite3.sqlite_version,
        "build_seconds": built,
        "bytes_a_row": len(data) / options.rows,
        "many_values_p50_ms": many_values(columns, options.repeats),
        "results": results,
    }
    show(report)
    write_report(options.json, report, packages=["lancedb"])
    return 0 if meets_bar(results) else 1


def run(
    case: Case,
    peers: Mapping[str, Callable[[Case], int]],
    columns: Columns,
    cached: Columns,
    repeats: int,
) -> Any:
    """``measure``, with our bitmaps as they are used: not counted, the cache warm."""
    count = int(np.count_nonzero(columns.bitmap(case.where, SPEC)))

    def bitmap(one: Case) -> int:
        columns.bitmap(one.where, SPEC)
        return count

    def recalled(one: Case) -> int:
        cached.bitmap(one.where, SPEC)
        return count

    return measure(case, {"pincite": bitmap, "pincite cached": recalled, **peers}, repeats)


def meets_bar(results: Sequence[Any]) -> bool:
    ten = next(r for r in results if r["operator"] == "in" and r["keeps"] == 0.1)
    return bool(
        ten["pincite"]["p50_ms"] <= BAR_MS and ten["pincite cached"]["p50_ms"] <= CACHED_BAR_MS
    )


def show(report: Mapping[str, Any]) -> None:
    names = [name for name in report["results"][0] if isinstance(report["results"][0][name], dict)]
    print(f"{report['rows']:,} rows; built in {report['build_seconds']:.1f} s, "
          f"{report['bytes_a_row']:.1f} bytes a row; p50 / p95 in ms")  # fmt: skip
    print(f"{'operator':14}{'keeps':>7}" + "".join(f"{name:>22}" for name in names))
    for result in report["results"]:
        cells = (f"{result[n]['p50_ms']:.3f} / {result[n]['p95_ms']:.3f}" for n in names)
        print(
            f"{result['operator']:14}{result['keeps']:>7.1%}" + "".join(f"{c:>22}" for c in cells)
        )
    for what, taken in report["many_values_p50_ms"].items():
        print(f"in, {what} values: {taken:.3f}")
    print("bar met" if meets_bar(report["results"]) else "bar missed")


if __name__ == "__main__":
    sys.exit(main())
