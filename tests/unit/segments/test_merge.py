"""When segments are merged, and tombstones."""

from __future__ import annotations

import numpy as np
import pytest

from pincite.errors import StoreCorrupt
from pincite.segments.manifest import SegmentRecord
from pincite.segments.merge import FAN_IN, plan_merge, size_class
from pincite.segments.tombstones import pack_live, unpack_live


def record(number: int, rows: int, dead: int = 0) -> SegmentRecord:
    return SegmentRecord(number, rows, dead, 0, 0, {})


def numbers(records: list[SegmentRecord]) -> list[int]:
    return [r.number for r in plan_merge(records)]


def test_size_classes_grow_by_eight() -> None:
    assert [size_class(n) for n in (0, 127, 128, 1023, 1024, 8191, 8192)] == [0, 0, 1, 1, 2, 2, 3]


def test_a_full_class_is_merged_with_all_that_is_smaller() -> None:
    large = [record(n, 1000) for n in range(FAN_IN)]

    assert numbers(large[:-1]) == []
    assert numbers(large) == list(range(FAN_IN))
    assert numbers([*large, record(90, 3), record(91, 5000)]) == [*range(FAN_IN), 90]


def test_the_lowest_full_class_goes_first() -> None:
    small = [record(n, 1) for n in range(50, 50 + FAN_IN)]
    large = [record(n, 1000) for n in range(FAN_IN)]

    assert numbers(large + small) == list(range(50, 50 + FAN_IN))


def test_a_tenth_of_dead_rows_calls_for_a_merge() -> None:
    assert numbers([record(1, 1000, 99)]) == []
    assert numbers([record(1, 1000, 100), record(2, 10, 9)]) == [2]
    assert numbers([]) == []


def test_merging_ends() -> None:
    """Adding one row at a time never keeps more than a few segments, nor merges forever."""
    records: list[SegmentRecord] = []
    merges = 0
    for number in range(3000):
        records.append(record(number, 1))
        while due := plan_merge(records):
            merges += 1
            records = [r for r in records if r not in due]
            records.append(record(due[-1].number, sum(r.live for r in due)))
    assert sum(r.live for r in records) == 3000
    assert len(records) < 3 * FAN_IN
    assert merges < 3000 / 6


def test_tombstones_come_back() -> None:
    live = np.array([True, False, True, True, False, True, True, True, False])

    packed = pack_live(live)

    assert len(packed) == 2
    assert unpack_live(packed, 9, dead=3, name="s").tolist() == live.tolist()


@pytest.mark.parametrize(
    ("packed", "rows", "dead"), [(b"", 3, 0), (b"\x80", 3, 0), (b"\x00\x00", 3, 0), (b"\x80", 9, 1)]
)
def test_tombstones_that_do_not_fit_are_refused(packed: bytes, rows: int, dead: int) -> None:
    with pytest.raises(StoreCorrupt, match="segment s9"):
        unpack_live(packed, rows, dead=dead, name="s9")
