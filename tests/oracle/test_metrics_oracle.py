"""The metrics against ir-measures, an implementation that we did not write."""

from __future__ import annotations

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluation.metrics import evaluate

_NAMES = {
    "nDCG@10": ir_measures.nDCG @ 10,
    "nDCG@3": ir_measures.nDCG @ 3,
    "R@5": ir_measures.R @ 5,
    "MRR": ir_measures.RR,
    "MRR@3": ir_measures.RR @ 3,
    "MAP": ir_measures.AP,
    "Success@3": ir_measures.Success @ 3,
}
_documents = st.sampled_from([f"d{i}" for i in range(12)])
_runs = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.lists(_documents, unique=True))
_qrels = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(_documents, st.integers(0, 4), min_size=1),
    min_size=1,
)


@given(run=_runs, qrels=_qrels)
def test_means_agree_with_ir_measures(
    run: dict[str, list[str]], qrels: dict[str, dict[str, int]]
) -> None:
    ours = evaluate(run, qrels, list(_NAMES))
    scored = {
        query: {name: float(len(ranking) - i) for i, name in enumerate(ranking)}
        for query, ranking in run.items()
    }
    theirs = ir_measures.calc_aggregate(list(_NAMES.values()), qrels, scored)

    for name, measure in _NAMES.items():
        assert ours[name].mean == pytest.approx(theirs[measure], abs=1e-9), name
