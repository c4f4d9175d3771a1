"""The extension fuses two rankings bit for bit as Python fuses two lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.segments import kernels
from pincite.segments.ranking import in_id_order
from pincite.stores.hybrid import fuse_rankings, fuse_scored, leg_depth

pytestmark = pytest.mark.skipif(kernels.native() is None, reason="needs the compiled kernels")

PLACES = st.tuples(st.integers(0, 2), st.integers(0, 90))
WHOLE = st.integers(-3, 3).map(float)
FLOATS = st.floats(-(2.0**99), 2.0**99, width=32)


def _row_id(segment: int, row: int) -> str:
    return f"d{(segment * 91 + row) * 37 % 273}-{row}"


def _ranking(scored):
    hits = [(*place, score) for place, score in scored.items()]
    hits.sort(key=lambda hit: -hit[2])
    return kernels.native().Ranking(hits)


def _leg(scores):
    return st.dictionaries(PLACES, scores, min_size=1, max_size=150).map(_ranking)


@given(
    st.one_of(_leg(WHOLE), _leg(FLOATS)),
    st.one_of(_leg(WHOLE), _leg(FLOATS)),
    st.floats(0.01, 0.99),
    st.integers(1, 30),
    st.integers(0, 120),
)
def test_rankings_are_fused_as_their_lists_are(keyword, vector, alpha, limit, offset):
    legs = [
        [
            ((segment, row), score)
            for segment, row, score in in_id_order(each, leg_depth(limit), _row_id)
        ]
        for each in (keyword, vector)
    ]
    page = {"alpha": alpha, "limit": limit, "offset": offset}

    fused = fuse_rankings(keyword, vector, **page, row_id=_row_id)

    assert fused == fuse_scored(*legs, **page, name=lambda place: _row_id(*place))


def test_ids_are_asked_for_only_where_they_decide():
    keyword = _ranking({(0, row): float(200 - row) for row in range(150)})
    vector = _ranking({(0, row): row / 200 for row in range(150)})
    asked = []

    fused = fuse_rankings(
        keyword, vector, alpha=0.3, limit=10, offset=0, row_id=lambda *place: asked.append(place)
    )

    assert [each.rank for each in fused] == list(range(1, 11))
    assert asked == []


def test_an_error_of_the_ids_is_passed_on():
    def unreadable(segment, row):
        raise OSError(f"row {row} of {segment}")

    tied = _ranking({(0, row): 1.0 for row in range(4)})
    with pytest.raises(OSError, match="row"):
        fuse_rankings(tied, tied, alpha=0.5, limit=3, offset=0, row_id=unreadable)
