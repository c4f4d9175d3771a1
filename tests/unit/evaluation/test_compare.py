from __future__ import annotations

from pathlib import Path

import pytest

from pincite.errors import InvalidArgument, StoreNotFound
from pincite.evaluation.compare import compare
from pincite.evaluation.metrics import Scores
from pincite.evaluation.qrels import JudgedSet
from pincite.evaluation.report import Evaluation, parse_bars, run_queries
from pincite.model.hits import Chunk, Hit


def test_wins_losses_and_ties_are_counted() -> None:
    result = compare({"a": 0.0, "b": 1.0, "c": 0.5}, {"a": 1.0, "b": 0.5, "c": 0.5})

    assert (result.wins, result.losses, result.ties) == (1, 1, 1)
    assert result.difference == pytest.approx(0.5 / 3)
    assert result.changed[0] == ("b", -0.5)


def test_the_exact_test_counts_sign_patterns() -> None:
    before = {str(i): 0.0 for i in range(5)}
    after = {str(i): 1.0 for i in range(5)}

    assert compare(before, after).p_value == pytest.approx(2 / 2**5)


def test_equal_runs_have_p_one() -> None:
    assert compare({"a": 0.3}, {"a": 0.3}).p_value == 1.0


def test_the_sampled_test_agrees_with_chance_and_with_certainty() -> None:
    names = [str(i) for i in range(60)]
    zero = dict.fromkeys(names, 0.5)
    up = dict.fromkeys(names, 0.6)
    mixed = {n: 0.6 if int(n) % 2 else 0.4 for n in names}

    assert compare(zero, up).p_value < 0.001
    assert compare(zero, mixed).p_value > 0.9
    assert compare(zero, up).low == pytest.approx(0.1)


def test_a_comparison_is_the_same_every_time() -> None:
    before = {str(i): (i * 7 % 10) / 10 for i in range(40)}
    after = {str(i): (i * 3 % 10) / 10 for i in range(40)}

    assert compare(before, after) == compare(before, after)


@pytest.mark.parametrize(("before", "after"), [({"a": 1.0}, {"b": 1.0}), ({}, {})])
def test_runs_over_different_queries_are_refused(
    before: dict[str, float], after: dict[str, float]
) -> None:
    with pytest.raises(InvalidArgument):
        compare(before, after)


def test_an_evaluation_survives_its_file(tmp_path: Path) -> None:
    made = Evaluation({"MRR": Scores("MRR", {"q": 0.25})}, {"mode": "hybrid"})
    made.save(tmp_path / "e.json")

    assert Evaluation.load(tmp_path / "e.json") == made
    assert made.below({"MRR": 0.3}) == ["MRR is 0.2500, under 0.3"]
    assert made.below({"MRR": 0.25}) == []
    with pytest.raises(InvalidArgument, match="--metric"):
        made.below({"MAP": 0.1})


@pytest.mark.parametrize("text", ["", "[]", '{"format": "other"}', '{"metrics": {}}'])
def test_a_file_that_is_no_evaluation_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "e.json").write_text(text)

    with pytest.raises(InvalidArgument, match="--save"):
        Evaluation.load(tmp_path / "e.json")
    with pytest.raises(StoreNotFound):
        Evaluation.load(tmp_path / "none.json")


def test_queries_are_run_and_scored_by_document() -> None:
    judged = JudgedSet({"q": "text"}, {"q": {"d2": 1}})
    hits = [Hit(Chunk("x", document=d), 1.0) for d in ("d1", "d1", "d2")]
    seen: list[tuple[int, int]] = []

    made = run_queries(
        judged,
        lambda _: hits,
        metrics=["MRR"],
        settings={},
        progress=lambda done, total: seen.append((done, total)),
    )

    assert made.scores["MRR"].mean == 0.5
    assert seen == [(1, 1)]


def test_bars_are_parsed_and_nonsense_is_refused() -> None:
    assert parse_bars(["nDCG@10=0.45", "MRR=.3"]) == {"nDCG@10": 0.45, "MRR": 0.3}
    for text in ("nDCG@10", "nDCG@10=high", "P@1=1"):
        with pytest.raises(InvalidArgument):
            parse_bars([text])
