"""What does hybrid search cost beside its two legs, and beside LanceDB's?

Data: the first chunks of FOLDER/chunks.txt with their `local--static` vectors, queries from
FOLDER/headings.txt with theirs (benchmarks/corpus.py writes both): no query is embedded in what is
timed. `--part prepare` builds a `local:` store, documents of 100 chunks, and a LanceDB table with a
vector index (IVF_RQ, refined), a full-text index and a scalar index. `--part race` opens both and
asks them other queries first, so that what a query needs is in memory and verified; for
each query all take turns in this process: our hybrid search, each of its legs alone, LanceDB's
hybrid search, all with whole rows of the 10 best. Filters keep the rows whose number is below a
bound. `facade`: keyword search through `Library.search`, less the same through the store.

Bars: hybrid at most twice the sum of the legs, at most a quarter of LanceDB; the facade 0.05 ms.

Run: python benchmarks/hybrid.py --data FOLDER --part prepare|race [--rows 100000] [--json OUT]
The exit status is 1 when a bar is missed. Needs lancedb; one thread for every library.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from dense import one_thread
from dense_data import K, bound, column, headings, load_data, place
from report import require_kernels, write_report

from pincite.library.core import Library
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, ModelIdentity
from pincite.model.fields import Field, FieldType
from pincite.model.filters import DeclaredFilter
from pincite.stores.local.store import LocalStore

SUBJECT, COLLECTION = "local", "default"
SHARES = (1.0, 0.1, 0.01, 0.001)
PER_DOCUMENT, PER_COMMIT = 100, 1000
TO_LEGS, TO_LANCEDB, FACADE_MS = 2.0, 0.25, 0.05

Search = Callable[[int], Any]


def documents(folder: Path, rows: np.ndarray) -> Iterator[EmbeddedDocument]:
    model = ModelIdentity("static", rows.shape[1])
    numbers = column(len(rows)).tolist()
    with (folder / "chunks.txt").open(encoding="utf-8") as lines:
        for first in range(0, len(rows), PER_DOCUMENT):
            texts = [line.rstrip("\n") for line in islice(lines, PER_DOCUMENT)]
            own = slice(first, first + len(texts))
            yield EmbeddedDocument(
                document=f"d{first:07}",
                title="",
                chunks=[ChunkResult(content=text, chunk_index=n) for n, text in enumerate(texts)],
                vectors=np.asarray(rows[own]),
                endpoint="static",
                language="en",
                model=model,
                content_hash=str(first),
                chunk_metadata=[{"n": number} for number in numbers[own]],
            )


def build_store(folder: Path, rows: np.ndarray, home: Path) -> None:
    store = LocalStore(home)
    store.setup()
    store.declare(SUBJECT, COLLECTION, {"n": Field(FieldType.INTEGER)})
    made = documents(folder, rows)
    while batch := list(islice(made, PER_COMMIT)):
        store.commit(SUBJECT, COLLECTION, batch)
    store.compact(SUBJECT, COLLECTION)
    store.close()


def build_lancedb(folder: Path, rows: np.ndarray, home: Path) -> None:
    import lancedb
    import pyarrow as pa

    numbers = column(len(rows))
    flat = pa.array(np.asarray(rows).reshape(-1))
    with (folder / "chunks.txt").open(encoding="utf-8") as lines:
        texts = [line.rstrip("\n") for line in islice(lines, len(rows))]
    made = pa.table(
        {
            "id": pa.array(np.arange(len(rows))),
            "n": pa.array(numbers),
            "text": pa.array(texts),
            "v": pa.FixedSizeListArray.from_arrays(flat, rows.shape[1]),
        }
    )
    table = lancedb.connect(str(home)).create_table("t", made)
    partitions = max(16, round(len(rows) ** 0.5))
    table.create_index(
        metric="dot", vector_column_name="v", index_type="IVF_RQ", num_partitions=partitions
    )
    table.create_fts_index("text")
    table.create_scalar_index("n")


def ours(store: LocalStore, texts: list[str], vectors: np.ndarray, share: float) -> dict[str, Any]:
    reader = store.reader(SUBJECT, [COLLECTION])
    where = None if share == 1.0 else DeclaredFilter("n", "lt", bound(share))
    asked = [vector.tolist() for vector in vectors]
    return {
        "hybrid": lambda i: reader.hybrid(
            COLLECTION, query=texts[i], vector=asked[i], limit=K, where=where
        ),
        "keyword": lambda i: reader.bm25(COLLECTION, query=texts[i], limit=K, where=where),
        "vector": lambda i: reader.near_vector(COLLECTION, vector=asked[i], limit=K, where=where),
    }


def theirs(home: Path, texts: list[str], vectors: np.ndarray, share: float) -> Search:
    import lancedb

    table = lancedb.connect(str(home)).open_table("t")
    # Its query language gives signs a meaning.
    plain = ["".join(c if c.isalnum() else " " for c in text) for text in texts]

    def search(i: int) -> Any:
        asked = table.search(query_type="hybrid", vector_column_name="v").vector(vectors[i])
        asked = asked.text(plain[i]).distance_type("dot").refine_factor(10).limit(K)
        if share < 1.0:
            asked = asked.where(f"n < {bound(share)}", prefilter=True)
        return asked.to_arrow()

    return search


def race(searches: dict[str, Search], asked: int, count: int) -> dict[str, Any]:
    for search in searches.values():
        for i in range(asked, count):
            search(i)
    clock: dict[str, list[float]] = {name: [] for name in searches}
    order = list(searches)
    for i in range(asked):
        for name in order:
            start = time.perf_counter_ns()
            searches[name](i)
            clock[name].append((time.perf_counter_ns() - start) / 1e6)
        order.append(order.pop(0))  # who comes first meets words and pages that nobody has read
    return {
        name: {
            "p50_ms": round(float(np.median(times)), 4),
            "p95_ms": round(float(np.quantile(times, 0.95)), 4),
        }
        for name, times in clock.items()
    }


def facade(store: LocalStore, texts: list[str], asked: int) -> float:
    """Milliseconds by which `Library.search` is slower than its own store. Either is the first to
    ask every other query, and the second finds what the first has read: the mean of the medians
    of both orders."""
    reader = store.reader(SUBJECT, [COLLECTION])
    library = Library(store, subject=SUBJECT, collection=COLLECTION)
    searches = [
        lambda text: library.search(text, k=K, mode="keyword"),
        lambda text: reader.bm25(COLLECTION, query=text, limit=K),
    ]
    differences: list[int] = []
    for i, text in enumerate(texts[asked:] + texts[:asked]):
        spent = [0, 0]
        for which in (i % 2, 1 - i % 2):
            start = time.perf_counter_ns()
            searches[which](text)
            spent[which] = time.perf_counter_ns() - start
        differences.append(spent[0] - spent[1])
    kept = differences[-asked:]
    return round(float(np.median(kept[::2]) + np.median(kept[1::2])) / 2e6, 4)


def measure(folder: Path, home: Path, queries: np.ndarray, asked: int) -> dict[str, Any]:
    known = queries.any(axis=1)  # the model has no vector for some
    texts = [text for text, has in zip(headings(folder), known, strict=True) if has][: 2 * asked]
    queries = queries[known][: 2 * asked]
    store = LocalStore(home / "store")
    figures: dict[str, Any] = {}
    for share in SHARES:
        searches = ours(store, texts, queries, share)
        searches["LanceDB hybrid"] = theirs(home / "lancedb", texts, queries, share)
        raced = race(searches, asked, len(queries))
        p50 = {name: each["p50_ms"] for name, each in raced.items()}
        raced["to_legs"] = round(p50["hybrid"] / (p50["keyword"] + p50["vector"]), 3)
        raced["to_lancedb"] = round(p50["hybrid"] / p50["LanceDB hybrid"], 4)
        figures[f"kept {share:g}"] = raced
        print(f"{share:g}: {raced}", flush=True)
    figures["facade_ms"] = facade(store, texts, asked)
    print(f"facade: {figures['facade_ms']} ms")
    store.close()
    figures["passed"] = figures["facade_ms"] <= FACADE_MS and all(
        figures[f"kept {share:g}"]["to_legs"] <= TO_LEGS
        and figures[f"kept {share:g}"]["to_lancedb"] <= TO_LANCEDB
        for share in SHARES
    )
    return figures


def main() -> int:
    require_kernels()
    one_thread()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("prepare", "race"), required=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200, help="to time, after as many others")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    home = options.data / f"hybrid-{options.rows}"
    if options.part == "prepare":
        rows = load_data(options.data, "static", options.rows, 256).rows
        for name, build in (("store", build_store), ("lancedb", build_lancedb)):
            if not (home / f"{name}.done").exists():
                shutil.rmtree(home / name, ignore_errors=True)
                (home / name).mkdir(parents=True)
                start = time.perf_counter()
                build(options.data, rows, home / name)
                seconds = f"{time.perf_counter() - start:.1f} s\n"
                (home / f"{name}.done").write_text(seconds, encoding="ascii")
                print(name, seconds, end="", flush=True)
        return 0
    queries = np.load(place(options.data, "static", options.rows, 256) / "queries.npy")
    asked = options.queries
    figures = {"rows": options.rows, "k": K, "threads": 1, "queries": asked}
    figures |= measure(options.data, home, queries, asked)
    write_report(options.json, figures, packages=("lancedb",))
    return 0 if figures["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
