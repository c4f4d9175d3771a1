from __future__ import annotations

from pathlib import Path

import pytest

from pincite.errors import InvalidArgument, StoreNotFound
from pincite.evaluation.qrels import (
    load_beir,
    load_csv_qrels,
    load_queries,
    load_trec_qrels,
    load_trec_run,
    read_corpus,
)


def test_a_beir_folder_is_read_and_unjudged_queries_dropped(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "1", "text": "where"}\n{"_id": "2", "text": "unjudged"}\n'
    )
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\td1\t2\n1\td2\t0\n")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "T", "text": "x"}\n')

    judged = load_beir(tmp_path)

    assert judged.queries == {"1": "where"}
    assert judged.qrels == {"1": {"d1": 2, "d2": 0}}
    assert judged.corpus is not None
    assert [r.content for r in read_corpus(judged.corpus)] == ["T\n\nx"]


def test_the_split_folder_of_a_beir_set_is_found(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "where"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text("1\td1\t1\n")

    assert load_beir(tmp_path).qrels == {"1": {"d1": 1}}


def test_trec_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "run").write_text("q Q0 b 2 0.5 us\nq Q0 a 1 0.9 us\n")

    assert load_trec_qrels(tmp_path / "qrels") == {"q": {"a": 1, "b": 0}}
    assert load_trec_run(tmp_path / "run") == {"q": ["a", "b"]}


def test_csv_judgements_and_tab_separated_queries_are_read(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text('query,document,grade\nq,"a, b",1\n')
    (tmp_path / "q.tsv").write_text("q\thow many\n")

    assert load_csv_qrels(tmp_path / "j.csv") == {"q": {"a, b": 1}}
    assert load_queries(tmp_path / "q.tsv") == {"q": "how many"}


@pytest.mark.parametrize(
    ("name", "text"),
    [("qrels.tsv", "q\td\t1\nq\td2\tmany\n"), ("qrels.tsv", "q\td\t1\nq d\n")],
)
def test_a_bad_line_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(InvalidArgument, match="line 2"):
        load_csv_qrels(tmp_path / name)


def test_a_judged_query_that_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "where"}\n')
    (tmp_path / "qrels.tsv").write_text("7\td1\t1\n")

    with pytest.raises(InvalidArgument, match="'7'"):
        load_beir(tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound, match=r"qrels"):
        load_beir(tmp_path)


def test_a_query_line_without_its_keys_is_named(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"id": "1"}\n')

    with pytest.raises(InvalidArgument, match="line 1"):
        load_queries(tmp_path / "queries.jsonl")
