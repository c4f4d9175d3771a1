"""Columns answer filters as ``matches`` does, row by row, also after a merge."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pincite.errors import InvalidQueryError, StoreCorrupt
from pincite.model.fields import Field, FieldSpec, FieldType, full_spec
from pincite.model.filters import Filter, compile_filter
from pincite.model.where import F
from pincite.segments.columns import Columns, build_columns, merge_columns
from pincite.segments.file import SegmentFile, write_segment
from pincite.testing.strategies import field_specs, filters, metadata

modest = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def stored(arrays: Any) -> Columns:
    data = write_segment("columns", 1, arrays)
    return Columns(SegmentFile.open(data, name="test.seg"))


def expected(where: Filter, rows: list[Any], spec: FieldSpec) -> list[bool]:
    return list(map(compile_filter(where, spec), rows))


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


KINDS = {
    "lang": Field(FieldType.KEYWORD),
    "n": Field(FieldType.INTEGER),
    "x": Field(FieldType.NUMBER),
    "tags": Field(FieldType.KEYWORD, many=True),
    "hidden": Field(FieldType.KEYWORD, filterable=False),
}
SPEC = full_spec(KINDS)


def many_rows(distinct: int, count: int) -> list[dict[str, Any]]:
    """``count`` rows whose ``n`` and ``lang`` go round ``distinct`` values, every ninth absent."""
    return [
        {
            "n": row % distinct * 2,
            "lang": f"v{row % distinct:06}",
            "x": row % distinct / 4,
            "tags": [f"t{row % 7}", f"t{row % distinct}"],
        }
        if row % 9
        else {}
        for row in range(count)
    ]


@pytest.mark.parametrize(
    ("distinct", "count"), [(1, 50), (200, 3_000), (300, 3_000), (66_000, 70_000)]
)
def test_every_width_of_codes_and_every_way_of_selecting(distinct: int, count: int) -> None:
    rows = many_rows(distinct, count)
    columns = stored(build_columns(rows, SPEC))
    spread = tuple(range(0, 2 * distinct, 6))
    wheres = [
        F("n") == 2, F("n") != 2, F("n") >= distinct, F("n") < distinct,
        (F("n") > 10) & (F("n") <= 2 * distinct - 10), F("n").in_(spread), F("n").in_(spread[:5]),
        F("n").not_in(spread), F("lang").in_([f"v{i:06}" for i in range(0, distinct, 5)]),
        F("n").in_([3, -1, 10**9]), F("x").in_([0.5, 1, 2.25]),
        F("tags").contains_any(["t1", "t5"]),
        F("tags").contains_all(["t1", "t5"]), F("n").exists(False), F("lang").under("v000001"),
    ]  # fmt: skip

    for where in wheres:
        assert columns.bitmap(where, SPEC).tolist() == expected(where, rows, SPEC), where


def test_bitmaps_are_cached_and_read_only() -> None:
    columns = stored(build_columns(many_rows(3, 30), SPEC))
    first = columns.bitmap(F("n") == 2, SPEC)

    assert columns.bitmap(F("n") == 2, SPEC) is first
    assert columns.bitmap(F("n") == 4, SPEC) is not first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = True
    uncached = Columns(stored_file(many_rows(3, 30)), cached=0)
    assert uncached.bitmap(F("n") == 2, SPEC) is not uncached.bitmap(F("n") == 2, SPEC)


def stored_file(rows: list[dict[str, Any]]) -> SegmentFile:
    return SegmentFile.open(write_segment("columns", 1, build_columns(rows, SPEC)), name="test.seg")


def test_the_cache_forgets_the_oldest() -> None:
    columns = Columns(stored_file(many_rows(9, 90)), cached=2)
    bitmaps = [columns.bitmap(F("n") == value, SPEC) for value in (0, 2, 4)]

    assert columns.bitmap(F("n") == 4, SPEC) is bitmaps[2]
    assert columns.bitmap(F("n") == 0, SPEC) is not bitmaps[0]


def test_bitmaps_refuse_what_validate_refuses_also_when_cached() -> None:
    columns = stored(build_columns(many_rows(3, 30), SPEC))
    columns.bitmap(F("n") == 1, SPEC)

    for where in (F("n") == True, F("n") == "1", F("nope") == 1, F("hidden") == "a"):  # noqa: E712
        with pytest.raises(InvalidQueryError):
            columns.bitmap(where, SPEC)


def test_unfilterable_and_empty_fields_have_no_column() -> None:
    columns = stored(build_columns([{"hidden": "a", "text": "b", "n": None, "lang": "de"}], SPEC))

    assert columns.fields == {"lang": KINDS["lang"]}
    assert columns.bitmap(F("n") != 3, SPEC).tolist() == [True]


def test_no_rows_are_no_bits() -> None:
    columns = stored(build_columns([], SPEC))

    assert columns.rows == 0
    assert columns.bitmap((F("n") == 1) | ~F("lang").exists(), SPEC).shape == (0,)
    merged = stored(merge_columns([columns, columns], [np.zeros(0, np.bool_)] * 2))
    assert merged.rows == 0


def test_a_merge_drops_values_that_no_row_holds_any_more() -> None:
    rows = [{"lang": "gone", "n": 2**70}, {"lang": "de", "n": 1}]
    columns = stored(build_columns(rows, SPEC))

    arrays = merge_columns([columns], [np.array([False, True])])

    assert b"gone" not in b"".join(bytes(memoryview(array)) for array in arrays.values())
    assert stored(arrays).bitmap(F("n") == 1, SPEC).tolist() == [True]


def test_equal_rows_give_equal_bytes() -> None:
    rows = many_rows(50, 300)

    first = write_segment("columns", 1, build_columns(rows, SPEC))
    again = write_segment("columns", 1, build_columns([dict(row) for row in rows], SPEC))
    assert first == again


def test_damage_and_disagreement_are_named() -> None:
    other = full_spec({"n": Field(FieldType.KEYWORD)})
    columns = stored(build_columns([{"n": 1}], SPEC))
    with pytest.raises(StoreCorrupt, match=r"test\.seg.*'n' is integer.*keyword"):
        columns.bitmap(F("n") == "1", other)
    with pytest.raises(StoreCorrupt, match="no columns"):
        stored({"other": b""})
    with pytest.raises(StoreCorrupt, match="cannot be read"):
        stored({"columns": b"{}"})
    partial = build_columns([{"n": 1}], SPEC)
    del partial["columns.0.codes"]
    with pytest.raises(StoreCorrupt, match="incomplete"):
        stored(partial).bitmap(F("n") == 1, SPEC)


def test_threads_share_columns() -> None:
    rows = many_rows(20, 2_000)
    columns = Columns(stored_file(rows), cached=3)
    wheres = [F("n") == 2 * value for value in range(20)]
    wanted = [expected(where, rows, SPEC) for where in wheres]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda where: columns.bitmap(where, SPEC).tolist(), wheres * 5))

    assert found == wanted * 5
