"""Changing a keyword index on disk: 1,000 texts added, made durable, removed, made durable.

    python benchmarks/bm25_updates.py --data CORPUS [--chunks 1000000] [--rounds 9]
        [--peers PYTHON] [--contenders pincite tantivy sqlite] [--json FILE]

CORPUS is what benchmarks/corpus.py wrote, PYTHON an interpreter that has tantivy. Each contender
builds its index once; then they change theirs in turn, round by round, in processes that stay.
Every add and every remove ends when it is synced to disk and visible to a new search. SQLite is
FTS5 with its Porter stemmer, synchronous FULL, one transaction each; it also stores the texts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from report import require_kernels, write_report

BATCH = 1_000
CONTENDERS = ("pincite", "tantivy", "sqlite")


class Pincite:
    """Our index in a folder."""

    def __init__(self, folder: Path) -> None:
        from pincite.bm25.index import BM25Index

        self._index = BM25Index(language="en")
        self._folder = folder

    def add(self, ids: list[str], texts: list[str]) -> None:
        self._index.add(ids, texts)
        self._index.save(self._folder)

    def remove(self, ids: list[str]) -> None:
        self._index.remove(ids)
        self._index.save(self._folder)

    def count(self, word: str) -> int:
        return len(self._index.search(word, 2 * BATCH)[0])


class Tantivy:
    """tantivy with its English stemmer and one indexing thread."""

    def __init__(self, folder: Path) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        schema.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
        folder.mkdir()
        self._module = tantivy
        self._index = tantivy.Index(schema.build(), path=str(folder))
        self._writer = self._index.writer(128_000_000, 1)

    def add(self, ids: list[str], texts: list[str]) -> None:
        for name, text in zip(ids, texts, strict=True):
            self._writer.add_document(self._module.Document(id=name, text=text))
        self._commit()

    def remove(self, ids: list[str]) -> None:
        for name in ids:
            self._writer.delete_documents("id", name)
        self._commit()

    def _commit(self) -> None:
        self._writer.commit()
        self._index.reload()

    def count(self, word: str) -> int:
        query = self._index.parse_query(word, ["text"])
        return len(self._index.searcher().search(query, 2 * BATCH).hits)


class Sqlite:
    """SQLite FTS5."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._database = sqlite3.connect(folder / "index.db", isolation_level=None)
        self._database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, text, tokenize = 'porter');"
            "CREATE TABLE places (id TEXT PRIMARY KEY, place INTEGER) WITHOUT ROWID;"
        )
        self._next = 0

    def add(self, ids: list[str], texts: list[str]) -> None:
        places = range(self._next, self._next + len(ids))
        self._next += len(ids)
        self._database.execute("BEGIN")
        rows = zip(places, ids, texts, strict=True)
        self._database.executemany("INSERT INTO texts (rowid, id, text) VALUES (?, ?, ?)", rows)
        pairs = zip(ids, places, strict=True)
        self._database.executemany("INSERT INTO places VALUES (?, ?)", pairs)
        self._database.execute("COMMIT")

    def remove(self, ids: list[str]) -> None:
        keys = [(name,) for name in ids]
        find = "(SELECT place FROM places WHERE id = ?)"
        self._database.execute("BEGIN")
        self._database.executemany(f"DELETE FROM texts WHERE rowid = {find}", keys)
        self._database.executemany("DELETE FROM places WHERE id = ?", keys)
        self._database.execute("COMMIT")

    def count(self, word: str) -> int:
        query = "SELECT count(*) FROM texts WHERE texts MATCH ?"
        return int(self._database.execute(query, (word,)).fetchone()[0])


KINDS: dict[str, Callable[[Path], Any]] = {
    "pincite": Pincite,
    "tantivy": Tantivy,
    "sqlite": Sqlite,
}


def timed(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def serve(contender: str, data: Path, chunks: int) -> None:
    """Build, then answer each line of input with a round."""
    with (data / "chunks.txt").open(encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in islice(file, chunks + BATCH)]
    folder = Path(tempfile.mkdtemp())
    held = KINDS[contender](folder / "index")
    ids = [f"{number:016d}" for number in range(len(texts))]
    held.add(ids[:chunks], texts[:chunks])
    # A word of the new texts alone shows that they are there, and gone.
    fresh = [f"{text} zqxjkv" for text in texts[chunks:]]
    print("ready", flush=True)
    for _ in sys.stdin:
        added = timed(lambda: held.add(ids[chunks:], fresh))
        assert held.count("zqxjkv") == len(fresh)
        removed = timed(lambda: held.remove(ids[chunks:]))
        assert held.count("zqxjkv") == 0
        print(json.dumps({"add": added, "remove": removed}), flush=True)
    shutil.rmtree(folder)


def start(contender: str, given: argparse.Namespace) -> subprocess.Popen[str]:
    python = given.peers if contender == "tantivy" else sys.executable
    arguments = ["--data", str(given.data), "--chunks", str(given.chunks)]
    process = subprocess.Popen(
        [python, __file__, "--serve", contender, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    print(f"{contender} is built", flush=True)
    return process


def ask(process: subprocess.Popen[str]) -> dict[str, float]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("round\n")
    process.stdin.flush()
    found: dict[str, float] = json.loads(process.stdout.readline())
    return found


def main() -> None:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", choices=CONTENDERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.data, given.chunks)
        return
    processes = {contender: start(contender, given) for contender in given.contenders}
    rounds: dict[str, list[dict[str, float]]] = {contender: [] for contender in processes}
    for _ in range(given.rounds):
        for contender, process in processes.items():
            rounds[contender].append(ask(process))
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    report: dict[str, Any] = {"chunks": given.chunks, "batch": BATCH, "rounds": given.rounds}
    for contender, results in rounds.items():
        medians = {name: statistics.median(r[name] for r in results) for name in results[0]}
        report[contender] = {**medians, "sum": sum(medians.values())}
    peers = [report[name]["sum"] for name in given.contenders if name != "pincite"]
    if peers and "pincite" in report:
        report["share_of_the_best_peer"] = report["pincite"]["sum"] / min(peers)
    print(json.dumps(report, indent=2))
    sizes = before(given.json) | {str(given.chunks): report}
    write_report(given.json, {"sizes": sizes}, packages=["tantivy", "PyStemmer"])


def before(path: Path | None) -> dict[str, Any]:
    """The sizes that a report has already, so that each can be run alone."""
    if path is None or not path.exists():
        return {}
    sizes: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["sizes"]
    return sizes


if __name__ == "__main__":
    main()
