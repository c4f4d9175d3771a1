"""Building a keyword index from text: ours in one and two threads beside tantivy.

    python benchmarks/bm25_build.py --data CORPUS [--chunks 1000000] [--rounds 3]
        [--peers PYTHON] [--contenders tantivy pincite-1 pincite-2] [--json FILE]

CORPUS is what benchmarks/corpus.py wrote, PYTHON an interpreter that has tantivy. Every build runs
in a process of its own, contenders in turn, and ends when its index is synced to disk and can be
opened; reading the texts is not counted. Ids are 16 characters. tantivy has one indexing thread,
its English stemmer and frequencies without positions. Seconds are those of the wall and of the
processor; on a machine that others use, the ratio of the latter says more.
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
from itertools import islice
from pathlib import Path
from typing import Any

from report import require_kernels, write_report

CONTENDERS = ("tantivy", "pincite-1", "pincite-2")


def read_texts(data: Path, chunks: int) -> tuple[list[str], list[str]]:
    """Ids of 16 characters and the first chunks."""
    with (data / "chunks.txt").open(encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in islice(file, chunks)]
    return [f"{number:016d}" for number in range(len(texts))], texts


def build_ours(ids: list[str], texts: list[str], folder: Path, threads: int) -> None:
    from pincite.bm25.index import BM25Index

    index = BM25Index(language="en", threads=threads)
    index.add(ids, texts)
    index.save(folder)


def build_tantivy(ids: list[str], texts: list[str], folder: Path) -> None:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    schema.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
    folder.mkdir()
    index = tantivy.Index(schema.build(), path=str(folder))
    writer = index.writer(512_000_000, 1)
    for name, text in zip(ids, texts, strict=True):
        writer.add_document(tantivy.Document(id=name, text=text))
    writer.commit()
    writer.wait_merging_threads()


def run_one(contender: str, data: Path, chunks: int) -> dict[str, float]:
    """Build once in this process."""
    ids, texts = read_texts(data, chunks)
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("BENCH_TMP"))) / "index"
    if contender == "tantivy":
        import tantivy  # noqa: F401 - imports are not part of a build
    else:
        import pincite.bm25.index  # noqa: F401
    wall, processor = time.perf_counter(), time.process_time()
    if contender == "tantivy":
        build_tantivy(ids, texts, folder)
    else:
        build_ours(ids, texts, folder, int(contender.removeprefix("pincite-")))
    result = {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "megabytes": sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6,
        "chunks": len(texts),
    }
    shutil.rmtree(folder.parent)
    return result


def summary(runs: list[dict[str, float]]) -> dict[str, float]:
    found = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    found["chunks_per_second"] = found["chunks"] / found["seconds"]
    found["chunks_per_processor_second"] = found["chunks"] / found["processor_seconds"]
    return found


def main() -> None:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--json", type=Path, help="runs in it are kept, and more added")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run_one(given.one, given.data, given.chunks)))
        return
    runs = before(given.json, given.chunks)
    for _ in range(given.rounds):
        for contender in given.contenders:
            python = given.peers if contender == "tantivy" else sys.executable
            arguments = ["--data", str(given.data), "--chunks", str(given.chunks)]
            command = [python, __file__, "--one", contender, *arguments]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            runs.setdefault(contender, []).append(json.loads(run.stdout))
            print(contender, runs[contender][-1], flush=True)
    print(json.dumps(compared(runs), indent=2))
    if given.json:
        sizes = sizes_in(given.json) | {str(given.chunks): {"runs": runs, **compared(runs)}}
        write_report(given.json, {"sizes": sizes}, packages=["tantivy", "PyStemmer"])


def compared(runs: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Medians by contender, ours also as multiples of tantivy's."""
    found: dict[str, Any] = {name: summary(results) for name, results in runs.items()}
    peer = found.get("tantivy")
    for name in found.keys() - {"tantivy"} if peer else ():
        for unit, key in (("seconds", ""), ("processor_seconds", "_processor")):
            found[name][f"times_tantivy{key}"] = peer[unit] / found[name][unit]
    return found


def sizes_in(path: Path | None) -> dict[str, Any]:
    """What a report has already, so that sizes and contenders can be run by turns."""
    if path is None or not path.exists():
        return {}
    sizes: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["sizes"]
    return sizes


def before(path: Path | None, chunks: int) -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = sizes_in(path).get(str(chunks), {}).get("runs", {})
    return found


if __name__ == "__main__":
    main()
