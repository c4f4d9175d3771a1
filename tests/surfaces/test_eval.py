"""``pincite eval`` in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pincite.cli import main


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    folder = tmp_path / "judged"
    folder.mkdir()
    texts = {"d1": "the north quay", "d2": "the south pier", "d3": ""}
    rows = [{"_id": d, "title": "", "text": t} for d, t in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    queries = [{"_id": "q1", "text": "north quay"}, {"_id": "q2", "text": "pier"}]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td1\t1\n")
    return folder


def _call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["eval", *arguments])
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def test_a_judged_folder_is_indexed_measured_saved_and_compared(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", f"local:{tmp_path / 'store'}", "--mode", "keyword"]
    saved = str(tmp_path / "run.json")
    code, out, _ = _call(capsys, str(judged), "--index", "--save", saved, "--metric", "MRR", *store)
    assert code == 0
    assert out.split() == ["METRIC", "MEAN", "QUERIES", "MRR", "0.5000", "2"]

    code, out, _ = _call(capsys, str(judged), "--compare", saved, "--json", *store)
    body = json.loads(out)
    assert code == 0
    assert body["metrics"]["nDCG@10"]["mean"] == 0.5
    assert body["compared"] == {}

    code, out, _ = _call(
        capsys, str(judged), "--metric", "MRR", "--compare", saved, "--json", *store
    )
    assert json.loads(out)["compared"]["MRR"]["p_value"] == 1.0


def test_a_mean_under_its_bar_is_exit_status_one(
    judged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", f"local:{tmp_path / 'store'}", "--mode", "keyword"]
    code, _, err = _call(capsys, str(judged), "--index", "--fail-under", "MRR=0.9", *store)

    assert code == 1
    assert "MRR is 0.5000, under 0.9" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--metric", "P@5"], "nDCG@k"),
        (["--fail-under", "MRR"], "nDCG@10=0.45"),
        (["--compare", "nowhere.json"], "--save"),
    ],
)
def test_what_cannot_be_measured_is_named(
    judged: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    store = ["--store", f"local:{tmp_path / 'store'}", "--index"]
    code, _, err = _call(capsys, str(judged), *arguments, *store)

    assert code == 2
    assert says in err
