"""How good is keyword search? nDCG@10 on judged collections, one setting for all of them.

    python benchmarks/quality.py --data FOLDER [--json OUT]

FOLDER holds one BEIR folder (corpus.jsonl, queries.jsonl, qrels.tsv) for each English set, and
xquad/<language> for the six XQuAD languages. A row is one whole record, title + blank line + text;
nDCG@10 has linear gains and is the mean over judged queries; k1 1.2, b .75. A query's word
counts as often as the query says it, as shipped and as in Lucene; "once" counts it once. Nothing
is tuned for a set. Takes about a minute; needs no network.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from report import require_kernels, write_report

from pincite.bm25.search import search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays
from pincite.chunking.adaptive import AdaptiveChunker
from pincite.evaluation.metrics import evaluate
from pincite.evaluation.qrels import JudgedSet, load_beir, read_corpus
from pincite.model.layout import MarkdownParseResult
from pincite.text.analysis import Analyzer
from pincite.text.languages import detect_language

K1, B, DEPTH, ALLOWED = 1.2, 0.75, 10, 0.003
BARS = {
    "cranfield": 0.385, "cacm": 0.500, "cisi": 0.399, "time": 0.744, "cosqa-dev": 0.341,
    "covid-faq": 0.644, "adi": 0.483, "covidqa-longdoc": 0.719, "xquad/en": 0.967,
    "xquad/de": 0.940, "xquad/es": 0.961, "xquad/ar": 0.933, "xquad/th": 0.943, "xquad/zh": 0.902,
}  # fmt: skip
MIXED = ("en", "de", "es")

Group = tuple[str, ...]
Ranker = Callable[[Sequence[Group]], list[str]]


@dataclass(frozen=True)
class Row:
    """One set: the bar, and the figure for words counted once and, as shipped, as often as said;
    beside it documents ranked by their best chunk (MaxP)."""

    name: str
    queries: int
    bar: float
    once: float
    shipped: float
    chunked: float

    def passes(self, value: float) -> bool:
        return value >= self.bar - ALLOWED


@dataclass(frozen=True)
class MixedRow:
    """A language's queries against one index of all: stemmed in the right language, in every
    language of the index, the same counting a passage found in any language, and the index of
    this language alone."""

    language: str
    right: float
    union: float
    any_version: float
    alone: float


class Index:
    """An in-memory keyword index over (id, text, language) records."""

    def __init__(self, records: Iterable[tuple[str, str, str]], analyzer: Analyzer) -> None:
        rows = list(records)
        self.ids = [row_id for row_id, _, _ in rows]
        documents = [analyzer.document_terms(text, language) for _, text, language in rows]
        self.segment = KeywordSegment.from_arrays(build_arrays(documents))

    def rank(self, groups: Sequence[Group], depth: int = DEPTH) -> list[str]:
        """As a store ranks: a group counts as often as it is given."""
        found = search_segments(
            [self.segment], [None], [None], groups, depth, k1=K1, b=B, row_id=self._row_id
        )
        return [self.ids[row] for _, row, _ in found]

    def _row_id(self, _segment: int, row: int) -> str:
        return self.ids[row]


def ndcg(
    judged: JudgedSet, rank: Callable[[str], list[str]], qrels: Mapping | None = None
) -> float:
    run = {query: rank(text) for query, text in judged.queries.items()}
    return evaluate(run, qrels or judged.qrels)["nDCG@10"].mean


def language_of(name: str) -> str:
    return name.partition("/")[2] or "en"


def records(folder: Path, language: str, prefix: str = "") -> list[tuple[str, str, str]]:
    return [(prefix + r.id, r.content, language) for r in read_corpus(folder / "corpus.jsonl")]


def chunked(folder: Path, language: str) -> list[tuple[str, str, str]]:
    """The chunks of every record under the id of their record."""
    chunker = AdaptiveChunker()
    return [
        (r.id, chunk.indexed_text, language)
        for r in read_corpus(folder / "corpus.jsonl")
        for chunk in chunker.chunk(
            MarkdownParseResult(markdown=r.content, page_ranges=[], total_pages=1)
        )
    ]


def measure(data: Path, name: str, analyzer: Analyzer) -> Row:
    judged = load_beir(data / name)
    languages = [language_of(name)]
    index = Index(records(data / name, languages[0]), analyzer)
    once = ndcg(judged, lambda text: index.rank(analyzer.query_groups(text, languages)))
    shipped = ndcg(
        judged, lambda text: index.rank(analyzer.query_groups(text, languages, repeats=True))
    )
    parts = Index(chunked(data / name, languages[0]), analyzer)
    best = ndcg(
        judged,
        lambda text: list(
            dict.fromkeys(
                parts.rank(analyzer.query_groups(text, languages, repeats=True), 10 * DEPTH)
            )
        ),
    )
    figures = (round(value, 4) for value in (once, shipped, best))
    return Row(name, len(judged.queries), BARS[name], *figures)


def measure_mixed(data: Path, analyzer: Analyzer, rows: Sequence[Row]) -> list[MixedRow]:
    corpora = {code: records(data / "xquad" / code, code, f"{code}:") for code in MIXED}
    index = Index([record for corpus in corpora.values() for record in corpus], analyzer)
    alone = {row.name: row.shipped for row in rows}
    found = []
    for code in MIXED:
        judged = load_beir(data / "xquad" / code)
        own = {
            query: {f"{code}:{document}": grade for document, grade in grades.items()}
            for query, grades in judged.qrels.items()
        }

        def rank(text: str, languages: Sequence[str]) -> list[str]:
            return index.rank(analyzer.query_groups(text, languages, repeats=True))

        right = ndcg(judged, lambda text, code=code: rank(text, [code]), own)
        union = ndcg(judged, lambda text: rank(text, MIXED), own)
        anywhere = ndcg(judged, lambda text: [i.partition(":")[2] for i in rank(text, MIXED)])
        figures = (round(value, 4) for value in (right, union, anywhere))
        found.append(MixedRow(code, *figures, alone[f"xquad/{code}"]))
    return found


def measure_accents(data: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """nDCG@10 of the accented languages with accents folded and kept, and with the queries' accents
    taken off, as people type them."""
    import unicodedata

    def bare(text: str) -> str:
        letters = unicodedata.normalize("NFD", text)
        return "".join(c for c in letters if not 0x300 <= ord(c) < 0x370)

    table: dict[str, dict[str, float]] = {}
    for rule in ("fold", "keep"):
        analyzer = Analyzer(accents=rule)
        for name in names:
            code = language_of(name)
            judged, index = load_beir(data / name), Index(records(data / name, code), analyzer)
            for label, change in (("", str), (", queries without accents", bare)):
                table.setdefault(name, {})[rule + label] = round(
                    ndcg(
                        judged,
                        lambda text, change=change, code=code, a=analyzer, i=index: i.rank(
                            a.query_groups(change(text), [code], repeats=True)
                        ),
                    ),
                    4,
                )
    return table


def measure_detection(data: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Shares of paragraphs whose language is detected right, unsure and wrong."""
    table = {}
    for name in names:
        code = language_of(name)
        found = Counter(detect_language(text) for _, text, _ in records(data / name, code))
        total = found.total()
        right, unsure = found[code] / total, found[""] / total
        table[name] = {
            "right": round(right, 4),
            "unsure": round(unsure, 4),
            "wrong": round(max(1 - right - unsure, 0), 4),
        }
    return table


def measure_speed(data: Path) -> dict[str, dict[str, float]]:
    """MB of UTF-8 per processor second through ``document_terms``: an analyser that knows no word
    yet, and the same once more; best of three."""
    speeds = {}
    for name in ("covidqa-longdoc", "cisi", "cosqa-dev", "xquad/de", "xquad/zh"):
        texts = [text for _, text, _ in records(data / name, "")]
        size = sum(len(text.encode()) for text in texts) / 1e6
        runs = [_timed(texts, language_of(name)) for _ in range(3)]
        cold, warm = (min(seconds) for seconds in zip(*runs, strict=True))
        speeds[name] = {"cold": round(size / cold, 1), "warm": round(size / warm, 1)}
    return speeds


def _timed(texts: Sequence[str], language: str) -> tuple[float, float]:
    analyzer = Analyzer()
    moments = [time.process_time()]
    for _ in range(2):
        for text in texts:
            analyzer.document_terms(text, language)
        moments.append(time.process_time())
    return moments[1] - moments[0], moments[2] - moments[1]


def measured(data: Path) -> dict[str, object]:
    started = time.perf_counter()
    analyzer = Analyzer()
    rows = []
    for name in BARS:
        rows.append(row := measure(data, name, analyzer))
        print(
            f"{row.name:16} {row.queries:5} bar {row.bar:.3f}  shipped {row.shipped:.4f}"
            f"{'' if row.passes(row.shipped) else ' MISSED'}"
            f"  once {row.once:.4f}  chunked {row.chunked:.4f}"
        )
    xquad = [name for name in BARS if name.startswith("xquad/")]
    result = {
        "what": "keyword nDCG@10, whole records, linear gains, one setting for all sets",
        "settings": {"k1": K1, "b": B, "analyzer": analyzer.version,
                     "fingerprint": analyzer.fingerprint},
        "sets": [asdict(row) for row in rows],
        "mixed": [asdict(row) for row in measure_mixed(data, analyzer, rows)],
        "accents": measure_accents(data, ["xquad/de", "xquad/es", "xquad/ar"]),
        "detection": measure_detection(data, xquad),
        "megabytes_per_second": measure_speed(data),
        "seconds": round(time.perf_counter() - started, 1),
    }  # fmt: skip
    print(json.dumps({key: result[key] for key in list(result)[3:]}, indent=1))
    return result


def main() -> None:
    require_kernels()
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the judged sets")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    missing = [name for name in BARS if not (arguments.data / name / "qrels.tsv").is_file()]
    if missing:
        sys.exit(
            f"{arguments.data} lacks {', '.join(missing)}; give --data the folder of the sets."
        )
    result = measured(arguments.data)
    write_report(arguments.json, result, packages=["PyStemmer"])


if __name__ == "__main__":
    main()
