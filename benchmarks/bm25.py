"""Is keyword search ahead of its peers, and how far from the least that it must do?

The text is that of `benchmarks/corpus.py`: chunks of about 100 words, and headings. 1,000 queries
of 2 to 8 words (half headings, three tenths phrases, a fifth scattered words of one chunk) are
drawn so that the postings of a query's terms have a median of 110,000 and a 95th percentile of
419,000 at a million chunks, in proportion at other sizes; both are asserted within 20 %. Ids have
16 characters.

Every contender takes a string and returns ids, the ten best, on one thread, after one round of
warming; contenders take turns at each query in one process, and a query's time is the median of
its rounds. Processor time (`cpu_ms`, of the asking thread: every contender works in it) stands
beside wall-clock time (`wall_ms`), because on a machine that others use too the tails of the latter
tell of the others. "floor" only reads each posting of the query's terms once, in native code.
Filters are random bitmaps (tantivy: an indexed term), made before the clock runs. Building ends
when the index is durable. Memory is the proportional set size (PSS) of a fresh process after the
queries; a cold start is a fresh process up to its first ids, less `python -c pass`.

Run: python benchmarks/bm25.py --data FOLDER [--chunks N] [--rounds 5] [--json OUT] [--plot SVG]
The peers are tantivy (English stop words and stemmer, frequencies, one segment) and bm25s with
numba and PyStemmer; those that are not installed are left out. Indexes stay in FOLDER/indexes.
`--plot` draws the growth over the JSON files beside OUT.
"""

from __future__ import annotations

import argparse
import bisect
import gc
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from report import require_kernels, write_report

K = 10
QUERIES = 1000
SEED = 20260101
MEDIAN, P95, MILLION = 110_000, 419_000, 1_000_000
SPREAD = 0.813  # of the logarithm, from the two
MIX = {"headings": 500, "phrases": 300, "scattered": 200}
SHARES = {"filter_10": 0.1, "filter_0.1": 0.001}
PROCESSES = 7

Search = Callable[[str], list[str]]


class Contender(Protocol):
    """Built once into a folder, opened from it, and asked."""

    name: str

    def build(self, folder: Path, ids: Sequence[str], texts: Sequence[str]) -> None: ...

    def open(self, folder: Path) -> None: ...

    def search(self, share: str = "") -> Search: ...


class Pincite:
    name, profile = "pincite", "fast"

    def build(self, folder: Path, ids: Sequence[str], texts: Sequence[str]) -> None:
        from pincite.bm25.index import BM25Index

        index = BM25Index(language="en", profile=self.profile)
        index.add(ids, texts)
        index.save(folder)

    def open(self, folder: Path) -> None:
        from pincite.bm25.index import BM25Index

        self.index = BM25Index.open(folder)

    def search(self, share: str = "") -> Search:
        allowed = None
        if share:
            from pincite.bm25.index import Allowed

            names = self.index.ids()
            allowed = Allowed(names[row] for row in _kept(share, len(names)))
            self.index.search("warm", K, allowed)
        return lambda query: self.index.search(query, K, allowed)[0]


class Small(Pincite):
    name, profile = "pincite-small", "small"


class Tantivy:
    name = "tantivy"

    def build(self, folder: Path, ids: Sequence[str], texts: Sequence[str]) -> None:
        import tantivy

        folder.mkdir()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        schema.add_text_field("body", tokenizer_name="english", index_option="freq")
        schema.add_text_field("kept", tokenizer_name="raw", index_option="basic")
        index = tantivy.Index(schema.build(), path=str(folder))
        index.register_tokenizer("english", self._analyzer())
        shares = {share: set(_kept(share, len(ids)).tolist()) for share in SHARES}
        writer = index.writer(heap_size=1_000_000_000, num_threads=1)
        for row, (name, text) in enumerate(zip(ids, texts, strict=True)):
            kept = [share for share, rows in shares.items() if row in rows]
            writer.add_document(tantivy.Document(id=name, body=text, kept=kept))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, folder: Path) -> None:
        import tantivy

        self.index = tantivy.Index.open(str(folder))
        self.index.register_tokenizer("english", self._analyzer())
        self.searcher = self.index.searcher()

    def search(self, share: str = "") -> Search:
        import tantivy

        index, searcher = self.index, self.searcher
        must = tantivy.Occur.Must
        kept = tantivy.Query.term_query(index.schema, "kept", share) if share else None
        free = tantivy.Query.const_score_query(kept, 0.0) if kept is not None else None

        def ask(query: str) -> list[str]:
            parsed, _ = index.parse_query_lenient(query, ["body"])
            if free is not None:
                parsed = tantivy.Query.boolean_query([(must, parsed), (must, free)])
            hits = searcher.search(parsed, K, count=False).hits
            return [searcher.doc(address)["id"][0] for _, address in hits]

        return ask

    @staticmethod
    def _analyzer() -> Any:
        import tantivy

        chain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        for each in ("lowercase", "stopword", "stemmer"):
            arguments = () if each == "lowercase" else ("english",)
            chain = chain.filter(getattr(tantivy.Filter, each)(*arguments))
        return chain.build()


class Bm25s:
    name = "bm25s"

    def build(self, folder: Path, ids: Sequence[str], texts: Sequence[str]) -> None:  # noqa: ARG002
        import bm25s
        import Stemmer

        tokens = bm25s.tokenize(
            list(texts), stopwords="en", stemmer=Stemmer.Stemmer("english"), show_progress=False
        )
        model = bm25s.BM25(k1=1.2, b=0.75, backend="numba")
        model.index(tokens, show_progress=False)
        model.save(folder)
        os.sync()

    def open(self, folder: Path) -> None:
        import bm25s
        import Stemmer

        self.stemmer = Stemmer.Stemmer("english")
        self.model = bm25s.BM25.load(folder, mmap=True)
        self.model.backend = "numba"
        self.model.activate_numba_scorer()
        self.ids = _ids(int(self.model.scores["num_docs"]))

    def search(self, share: str = "") -> Search:
        import bm25s

        mask = np.zeros(len(self.ids), dtype=np.float32)
        mask[_kept(share, len(self.ids)) if share else slice(None)] = 1.0
        options = {"weight_mask": mask} if share else {}

        def ask(query: str) -> list[str]:
            tokens = bm25s.tokenize(
                [query], stopwords="en", stemmer=self.stemmer, show_progress=False, return_ids=False
            )
            if not tokens[0]:
                return []
            rows, _ = self.model.retrieve(tokens, k=K, show_progress=False, n_threads=0, **options)
            return [self.ids[row] for row in rows[0]]

        return ask


CONTENDERS = {each.name: each for each in (Pincite, Small, Tantivy, Bm25s)}


def _ids(count: int) -> list[str]:
    return [f"{row:016d}" for row in range(count)]


def _kept(share: str, count: int) -> Any:
    """The rows that a filter keeps."""
    return np.flatnonzero(np.random.default_rng(SEED).random(count) < SHARES[share])


def built(name: str, folder: Path, texts: Sequence[str]) -> dict[str, Any]:
    """Build an index unless it is there; how long that took and how large it is."""
    facts, target = folder / f"{name}.json", folder / name
    if not facts.exists():
        shutil.rmtree(target, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        ids, load, start = _ids(len(texts)), os.getloadavg()[0], time.perf_counter()
        CONTENDERS[name]().build(target, ids, texts)
        seconds = time.perf_counter() - start
        size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
        found = {
            "seconds": round(seconds, 2),
            "chunks_per_second": round(len(texts) / seconds),
            "index_mb": round(size / 1e6, 1),
            "load": round(load, 1),
        }
        facts.write_text(json.dumps(found), encoding="utf-8")
    return dict(json.loads(facts.read_text(encoding="utf-8")))


class Postings:
    """The postings of a query's terms, counted and read."""

    def __init__(self, index: Any) -> None:
        from pincite.text.analysis import default_analyzer

        self._analyzer = default_analyzer()
        self._segments = [segment.keyword for segment in index._state.segments]
        self._rows = [np.asarray(s._array("rows")) for s in self._segments]
        self._codes = [np.asarray(s._array("codes")) for s in self._segments]
        self._known: dict[str, list[tuple[int, int]]] = {}

    def spans(self, query: str) -> list[list[tuple[int, int]]]:
        """For each term of the query and each segment, where its postings are."""
        groups = self._analyzer.query_groups(query, ["en"])
        return [self._spans(term) for group in groups for term in group]

    def count(self, query: str) -> int:
        return sum(end - start for spans in self.spans(query) for start, end in spans)

    def read(self, query: str) -> int:
        """Read every posting once; the time of the sums alone, in nanoseconds."""
        parts = [
            (rows[start:end], codes[start:end])
            for spans in self.spans(query)
            for (start, end), rows, codes in zip(spans, self._rows, self._codes, strict=True)
        ]
        begin = time.perf_counter_ns()
        for rows, codes in parts:
            np.bitwise_or.reduce(rows)
            np.bitwise_or.reduce(codes)
        return time.perf_counter_ns() - begin

    def _spans(self, term: str) -> list[tuple[int, int]]:
        if term not in self._known:
            self._known[term] = [_span(segment, term) for segment in self._segments]
        return self._known[term]


def _span(segment: Any, term: str) -> tuple[int, int]:
    """Where a term's postings start and end among all; equal for an unknown term."""
    wanted = term.encode()
    index = segment._lower_bound(wanted)
    if index == segment.vocabulary_size or segment._term(index) != wanted:
        return 0, 0
    first, end = segment._array("term_runs")[index : index + 2].tolist()
    return int(segment._array("run_starts")[first]), int(segment._array("run_starts")[end])


def make_queries(
    data: Path, texts: Sequence[str], count_of: Callable[[str], int]
) -> tuple[list[str], dict[str, int]]:
    """The queries in a fixed random order, and the median and P95 of their postings."""
    rng = random.Random(SEED)
    headings = (data / "headings.txt").read_text(encoding="utf-8").splitlines()
    draw = {
        "headings": lambda: rng.choice(headings),
        "phrases": lambda: _words(rng, rng.choice(texts), scattered=False),
        "scattered": lambda: _words(rng, rng.choice(texts), scattered=True),
    }
    scale = len(texts) / MILLION
    normal, chosen = statistics.NormalDist(), []
    for kind, count in MIX.items():
        drawn = dict.fromkeys(_plain(draw[kind]()) for _ in range(12 * count))
        pool = sorted((postings, query) for query in drawn if (postings := count_of(query)))
        for place in range(count):
            spread = SPREAD * normal.inv_cdf((place + 0.5) / count)
            wanted = MEDIAN * scale * float(np.exp(spread))
            chosen.append(pool.pop(min(bisect.bisect(pool, (int(wanted), "")), len(pool) - 1)))
    rng.shuffle(chosen)
    middle, high = np.percentile([postings for postings, _ in chosen], [50, 95])
    assert abs(middle / (MEDIAN * scale) - 1) < 0.2, f"median of the postings: {middle}"
    assert abs(high / (P95 * scale) - 1) < 0.2, f"95th percentile of the postings: {high}"
    return [query for _, query in chosen], {"p50": int(middle), "p95": int(high)}


def _words(rng: random.Random, text: str, *, scattered: bool) -> str:
    words, count = text.split(), rng.randint(2, 8)
    if scattered:
        return " ".join(rng.sample(words, min(count, len(words))))
    start = rng.randrange(max(1, len(words) - count))
    return " ".join(words[start : start + count])


def _plain(query: str) -> str:
    """Without what a query parser takes for syntax."""
    return " ".join(re.findall(r"[^\W_]+", query))


def interleaved(
    searches: dict[str, Search], queries: Sequence[str], rounds: int
) -> dict[str, dict[str, dict[str, float]]]:
    """For each clock and contender the percentiles over queries, in milliseconds."""
    clocks = {"wall_ms": time.perf_counter_ns, "cpu_ms": time.thread_time_ns}
    times = {clock: {name: [[] for _ in queries] for name in searches} for clock in clocks}
    order = list(searches)
    for turn in range(rounds + 1):
        for place, query in enumerate(queries):
            for name in order[place % len(order) :] + order[: place % len(order)]:
                taken = _timed(searches[name], query, list(clocks.values()))
                for clock, nanoseconds in zip(clocks, taken, strict=True):
                    if turn:  # the first round warms
                        times[clock][name][place].append(nanoseconds / 1e6)
    return {
        clock: {
            name: percentiles([statistics.median(each) for each in found])
            for name, found in rows.items()
        }
        for clock, rows in times.items()
    }


def _timed(search: Search, query: str, clocks: list[Callable[[], int]]) -> list[int]:
    before = [clock() for clock in clocks]
    search(query)
    after = [clock() for clock in reversed(clocks)][::-1]
    return [end - start for start, end in zip(before, after, strict=True)]


def percentiles(times: Sequence[float]) -> dict[str, float]:
    middle, high, highest = np.percentile(times, [50, 95, 99])
    named = {"p50": middle, "p95": high, "p99": highest, "mean": float(np.mean(times))}
    return {name: round(float(value), 4) for name, value in named.items()}


def ratios(rows: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """How many times faster than each peer each of ours is."""
    return {
        f"{ours} to {peer}": {
            name: round(theirs[name] / rows[ours][name], 2) for name in ("p50", "p95", "p99")
        }
        for ours in rows
        for peer, theirs in rows.items()
        if ours.startswith("pincite") and not peer.startswith("pincite")
    }


def threads_ratio(search: Search, queries: Sequence[str]) -> float:
    """Queries a second on two threads to those on one, the best of three turns of each."""

    def ask(turns: int) -> None:
        for query in queries * turns:
            search(query)

    def seconds(count: int) -> float:
        workers = [threading.Thread(target=ask, args=(2 // count,)) for _ in range(count)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    pairs = [(seconds(1), seconds(2)) for _ in range(3)]
    return round(min(one for one, _ in pairs) / min(two for _, two in pairs), 2)


_OPEN = """
import json, sys
sys.path.insert(0, {here!r})
from bm25 import CONTENDERS
from pathlib import Path
each = CONTENDERS[{name!r}]()
each.open(Path({folder!r}))
search = each.search()
"""
_MEMORY = """
for query in json.loads(Path({queries!r}).read_text(encoding="utf-8")):
    search(query)
rows = dict(line.split(":", 1) for line in open("/proc/self/smaps_rollup") if ":" in line)
mb = lambda *names: sum(int(rows[name].split()[0]) for name in names) / 1024
sys.stdout.write(json.dumps([mb("Pss"), mb("Private_Dirty")]))
"""
_COLD = {
    "pincite": """
from pincite.bm25.reader import Reader
ids, scores = Reader.open({folder!r}).search({query!r}, 10)
import sys
assert ids and "numpy" not in sys.modules
""",
    "tantivy": """
import tantivy
index = tantivy.Index.open({folder!r})
chain = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
chain = chain.filter(tantivy.Filter.stopword("english")).filter(tantivy.Filter.stemmer("english"))
index.register_tokenizer("english", chain.build())
searcher = index.searcher()
query, _ = index.parse_query_lenient({query!r}, ["body"])
assert [searcher.doc(a)["id"][0] for _, a in searcher.search(query, 10, count=False).hits]
""",
}
_COLD["pincite-small"] = _COLD["pincite"]


def memory(name: str, folder: Path, queries: Path) -> dict[str, float]:
    """PSS and private dirty memory of a fresh process after all queries, MB."""
    here = str(Path(__file__).parent)
    script = _OPEN.format(here=here, name=name, folder=str(folder))
    done = _run(script + _MEMORY.format(queries=str(queries)))
    pss, dirty = json.loads(done.stdout)
    return {"pss_mb": round(pss, 1), "private_dirty_mb": round(dirty, 1)}


def cold(name: str, folder: Path, query: str) -> float:
    """Milliseconds from nothing to ids, less those of an empty process; medians."""
    script = _COLD[name].format(folder=str(folder), query=query)
    pairs = [(_seconds("pass"), _seconds(script)) for _ in range(PROCESSES)]
    empty, whole = (statistics.median(column) for column in zip(*pairs, strict=True))
    return round(1000 * (whole - empty), 1)


def _seconds(script: str) -> float:
    start = time.perf_counter()
    _run(script)
    return time.perf_counter() - start


def _run(script: str) -> subprocess.CompletedProcess[str]:
    cached = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=cached
    )


def measure(data: Path, chunks: int, rounds: int) -> dict[str, Any]:
    with (data / "chunks.txt").open(encoding="utf-8") as lines:
        texts = [line.rstrip("\n") for _, line in zip(range(chunks), lines, strict=False)]
    folder = data / "indexes" / str(len(texts))
    names = [name for name in CONTENDERS if _installed(name)]
    building = {name: built(name, folder, texts) for name in names}
    contenders = {name: CONTENDERS[name]() for name in names}
    for name, contender in contenders.items():
        contender.open(folder / name)
    postings = Postings(contenders["pincite"].index)
    queries, spread = make_queries(data, texts, postings.count)
    (folder / "queries.json").write_text(json.dumps(queries), encoding="utf-8")
    report: dict[str, Any] = {"chunks": len(texts), "postings": spread, "build": building}
    for share in ("", *SHARES):
        searches = {name: each.search(share) for name, each in contenders.items()}
        times = interleaved(searches, queries, rounds)
        faster = {clock: ratios(rows) for clock, rows in times.items()}
        report[share or "query"] = {**times, "times_faster": faster}
    floor = [min(postings.read(query) for _ in range(3)) / 1e6 for query in queries]
    report["floor_ms"] = percentiles(floor)
    report["two_threads"] = {
        name: threads_ratio(each.search(), queries) for name, each in contenders.items()
    }
    contenders.clear()  # a file that this process maps too would count half for the other
    del postings, searches
    gc.collect()
    report["memory"] = {
        name: memory(name, folder / name, folder / "queries.json") for name in names
    }
    report["cold_ms"] = {
        name: cold(name, folder / name, queries[0]) for name in names if name in _COLD
    }
    return report


def _installed(name: str) -> bool:
    try:
        __import__(name.removesuffix("-small"))
    except ImportError:
        return False
    return True


def plot(reports: Sequence[dict[str, Any]]) -> str:
    """An SVG of the median and the 95th percentile against the number of chunks, both as logs."""
    colours = {
        "pincite": "#0b6e4f",
        "pincite-small": "#6aa84f",
        "tantivy": "#b5532a",
        "bm25s": "#4a5fa5",
    }
    sizes = sorted(report["chunks"] for report in reports)
    low, high = 0.01, 10.0

    def x(size: float) -> float:
        return 70 + 480 * float(np.log(size / sizes[0]) / np.log(sizes[-1] / sizes[0] or 2))

    def y(ms: float) -> float:
        return 330 - 300 * float(np.log(min(max(ms, low), high) / low) / np.log(high / low))

    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 380" font-family="sans-serif"'
    ]
    lines[0] += ' font-size="12"><rect width="680" height="380" fill="#fff"/>'
    for ms in (0.01, 0.1, 1, 10):
        lines.append(f'<path d="M70 {y(ms):.1f}H550" stroke="#ddd"/>')
        lines.append(f'<text x="62" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:g} ms</text>')
    for size in sizes:
        lines.append(f'<text x="{x(size):.1f}" y="350" text-anchor="middle">{size:,}</text>')
    for name, colour in colours.items():
        for which, dash in (("p50", ""), ("p95", ' stroke-dasharray="6 4"')):
            points = [
                (x(r["chunks"]), y(r["query"]["cpu_ms"][name][which]))
                for r in sorted(reports, key=lambda r: r["chunks"])
                if name in r["query"]["cpu_ms"]
            ]
            if not points:
                continue
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
            style = f'fill="none" stroke="{colour}" stroke-width="2"{dash}'
            lines.append(f'<polyline points="{path}" {style}/>')
            a, b = points[-1]
            lines.append(
                f'<text x="{a + 8:.1f}" y="{b + 4:.1f}" fill="{colour}">{name} {which}</text>'
            )
    lines.append('<text x="310" y="372" text-anchor="middle">chunks</text></svg>')
    return "\n".join(lines) + "\n"


def main() -> None:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="what corpus.py wrote")
    parser.add_argument("--chunks", type=int, default=MILLION)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    report = measure(options.data, options.chunks, options.rounds)
    print(json.dumps(report, indent=1))
    write_report(options.json, report, packages=("tantivy", "bm25s", "numba", "PyStemmer"))
    if options.plot and options.json:
        others = sorted(options.json.parent.glob("bm25-*.json"))
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in others]
        reports = [report for report in reports if "query" in report]
        options.plot.write_text(plot(reports), encoding="utf-8")


if __name__ == "__main__":
    main()
