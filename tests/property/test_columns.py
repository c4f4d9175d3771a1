"""Columns answer filters as ``matches`` does, row by row, also after a merge."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.model.fields import FieldSpec
from pincite.model.filters import Filter, matches
from pincite.segments.columns import Columns, build_columns, merge_columns
from pincite.segments.file import SegmentFile, write_segment
from pincite.testing.strategies import field_specs, filters, metadata

modest = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def stored(arrays: Any) -> Columns:
    data = write_segment("columns", 1, arrays)
    return Columns(SegmentFile.open(data, name="test.seg"))


def expected(where: Filter, rows: list[Any], spec: FieldSpec) -> list[bool]:
    return [matches(where, row, spec) for row in rows]


@st.composite
def cases(draw: st.DrawFn) -> tuple[FieldSpec, list[Filter], list[dict[str, Any]]]:
    spec = draw(field_specs())
    wheres = draw(st.lists(filters(spec), min_size=1, max_size=4))
    return spec, wheres, draw(st.lists(metadata(spec), max_size=12))


@modest
@given(cases())
def test_bitmaps_equal_matches(case: Any) -> None:
    spec, wheres, rows = case
    columns = stored(build_columns(rows, spec))

    for where in [*wheres, *wheres]:
        assert columns.bitmap(where, spec).tolist() == expected(where, rows, spec)
    assert columns.bitmap(None, spec).tolist() == [True] * len(rows)


@modest
@given(cases(), st.data())
def test_merging_equals_building_anew(case: Any, data: st.DataObject) -> None:
    spec, wheres, rows = case
    cut = data.draw(st.integers(0, len(rows)))
    keep = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    mask = np.array(keep, dtype=np.bool_)
    parts = [stored(build_columns(part, spec)) for part in (rows[:cut], rows[cut:])]

    merged = merge_columns(parts, [mask[:cut], mask[cut:]])

    kept = [row for row, stays in zip(rows, keep, strict=True) if stays]
    columns = stored(merged)
    assert columns.rows == len(kept)
    for where in wheres:
        assert columns.bitmap(where, spec).tolist() == expected(where, kept, spec)
    fresh = build_columns(kept, spec)
    assert sorted(name.rpartition(".")[2] for name in merged) == sorted(
        name.rpartition(".")[2] for name in fresh
    )
