"""Judged collections: BEIR folders, TREC files and CSV tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pincite.errors import InvalidArgument, StoreNotFound

__all__ = [
    "JudgedSet",
    "Qrels",
    "Record",
    "load_beir",
    "load_csv_qrels",
    "load_queries",
    "load_trec_qrels",
    "load_trec_run",
    "read_corpus",
]

Qrels = Mapping[str, Mapping[str, int]]
"""For each query id the grade of each judged document id; 0 and less is not relevant."""


class Record(NamedTuple):
    """One row of a BEIR corpus."""

    id: str
    title: str
    text: str

    @property
    def content(self) -> str:
        """Title, a blank line, text: the row as it is indexed."""
        return f"{self.title}\n\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Queries with their judgements; ``corpus`` is the path of the documents, if there is one."""

    queries: Mapping[str, str]
    qrels: Qrels
    corpus: Path | None = field(default=None)


def load_beir(folder: Path | str, *, split: str = "test") -> JudgedSet:
    """Read ``queries.jsonl`` and ``qrels.tsv`` (or ``qrels/<split>.tsv``) of a BEIR folder.

    Only judged queries are kept. Raises ``StoreNotFound`` for a missing file and
    ``InvalidArgument`` naming the file and line that cannot be read.
    """
    folder = Path(folder)
    judgements = folder / "qrels.tsv"
    if not judgements.exists():
        judgements = folder / "qrels" / f"{split}.tsv"
    qrels = load_csv_qrels(judgements)
    queries = load_queries(folder / "queries.jsonl")
    missing = sorted(set(qrels) - set(queries))
    if missing:
        raise InvalidArgument(
            f"{judgements} judges query {missing[0]!r}, which queries.jsonl does not hold; "
            "add the query or remove its judgements."
        )
    corpus = folder / "corpus.jsonl"
    judged = {name: text for name, text in queries.items() if name in qrels}
    return JudgedSet(judged, qrels, corpus if corpus.exists() else None)


def load_queries(path: Path | str) -> dict[str, str]:
    """Queries by id: JSON Lines with ``_id`` and ``text``, or lines of ``id<TAB>text``."""
    path = Path(path)
    if path.suffix in {".jsonl", ".ndjson", ".json"}:
        return {str(row["_id"]): str(row["text"]) for row in _json_lines(path, ("_id", "text"))}
    queries = {}
    for number, line in _lines(path):
        name, tab, text = line.partition("\t")
        if not tab:
            raise _unreadable(path, number, "expected an id, a tab and the query")
        queries[name.strip()] = text.strip()
    return queries


def load_csv_qrels(path: Path | str) -> dict[str, dict[str, int]]:
    """Judgements as comma- or tab-separated rows of query id, document id, grade.

    A first line whose third cell is no number is a header.
    """
    path = Path(path)
    delimiter = "," if path.suffix == ".csv" else "\t"
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = next(csv.reader([line], delimiter=delimiter))
        if len(cells) < 3:
            raise _unreadable(path, number, "expected query id, document id and grade")
        grade = _grade(cells[2])
        if grade is None:
            if number == 1:
                continue
            raise _unreadable(path, number, f"the grade {cells[2]!r} is no whole number")
        qrels.setdefault(cells[0].strip(), {})[cells[1].strip()] = grade
    return qrels


def load_trec_qrels(path: Path | str) -> dict[str, dict[str, int]]:
    """Judgements in TREC's form: ``query 0 document grade``."""
    path = Path(path)
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = line.split()
        grade = _grade(cells[3]) if len(cells) == 4 else None
        if grade is None:
            raise _unreadable(path, number, "expected `query 0 document grade`")
        qrels.setdefault(cells[0], {})[cells[2]] = grade
    return qrels


def load_trec_run(path: Path | str) -> dict[str, list[str]]:
    """A ranking in TREC's form, ``query Q0 document rank score tag``: document ids, best first."""
    path = Path(path)
    scored: dict[str, list[tuple[float, str]]] = {}
    for number, line in _lines(path):
        cells = line.split()
        try:
            scored.setdefault(cells[0], []).append((-float(cells[4]), cells[2]))
        except (IndexError, ValueError) as error:
            raise _unreadable(
                path, number, "expected `query Q0 document rank score tag`"
            ) from error
    return {query: [name for _, name in sorted(rows)] for query, rows in scored.items()}


def read_corpus(path: Path | str) -> Iterator[Record]:
    """The rows of a ``corpus.jsonl``, one at a time."""
    for row in _json_lines(Path(path), ("_id", "text")):
        yield Record(str(row["_id"]), str(row.get("title") or ""), str(row["text"] or ""))


def _json_lines(path: Path, keys: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise _unreadable(path, number, "it is no JSON object") from error
        if not isinstance(row, dict) or any(key not in row for key in keys):
            raise _unreadable(path, number, f"it needs the keys {' and '.join(keys)}")
        yield row


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if not path.is_file():
        raise StoreNotFound(f"{path} is not there; a judged set needs it.")
    with path.open(encoding="utf-8-sig", newline="") as handle:
        for number, line in enumerate(handle, 1):
            if line.strip():
                yield number, line.rstrip("\r\n")


def _grade(cell: str) -> int | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return int(value) if value == int(value) else None


def _unreadable(path: Path, number: int, why: str) -> InvalidArgument:
    return InvalidArgument(f"{path}, line {number}: {why}; mend the line.")
