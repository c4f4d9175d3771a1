"""What doctor says of what it repaired."""

from __future__ import annotations

import pytest

from pincite.errors import MEND_SEGMENT
from pincite.stores.findings import Finding


@pytest.mark.parametrize(
    ("problem", "left"),
    [
        (
            "Segment 5 is missing. Run doctor with repair, or restore a backup.",
            "Segment 5 is missing.",
        ),
        (f"Segment 5 is damaged: its end. {MEND_SEGMENT}", "Segment 5 is damaged: its end."),
        (
            "Segment 5 is missing. Run doctor with repair, or restore a backup. It was made anew.",
            "Segment 5 is missing. It was made anew.",
        ),
        ("x holds damaged text; run `pincite doctor --repair`.", "x holds damaged text."),
        ("3 chunks are in no segment.", "3 chunks are in no segment."),
    ],
)
def test_what_is_repaired_comes_without_the_advice_to_repair_it(problem, left):
    assert Finding("segment 5", problem, repaired=True).told().problem == left
    assert Finding("segment 5", problem).told().problem == problem
