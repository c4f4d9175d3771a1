"""The segment container: what goes in comes out, and damage is named."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.errors import InvalidArgument, StoreCorrupt, StoreNotFound
from pincite.segments.file import SegmentFile, write_segment


def sample() -> bytes:
    return write_segment(
        "keyword",
        3,
        {
            "rows": np.arange(40_000, dtype=np.uint32),
            "unit": np.linspace(-1, 1, 24, dtype=np.float16).reshape(6, 4),
            "flags": np.array([True, False, True]),
            "empty": np.zeros((0, 7), dtype=np.float32),
            "terms": "größe\0maß".encode(),
            "last": np.zeros(0, dtype=np.uint8),
        },
        {"analyser": "v1", "counts": [1, 2], "nested": {"a": None}},
    )


def test_arrays_meta_and_kind_come_back() -> None:
    segment = SegmentFile.open(sample(), name="s1")

    assert (segment.kind, segment.version) == ("keyword", 3)
    assert segment.meta == {"analyser": "v1", "counts": [1, 2], "nested": {"a": None}}
    assert segment.names == ("rows", "unit", "flags", "empty", "terms", "last")
    assert np.array_equal(segment.array("rows"), np.arange(40_000, dtype=np.uint32))
    assert segment.array("unit").shape == (6, 4)
    assert segment.array("unit").dtype == np.float16
    assert segment.array("flags").tolist() == [True, False, True]
    assert segment.array("empty").shape == (0, 7)
    assert bytes(segment.blob("terms")).decode() == "größe\0maß"
    segment.verify()


def test_equal_input_gives_equal_bytes() -> None:
    assert sample() == sample()


def test_arrays_are_read_only_aligned_views() -> None:
    data = sample()
    array = SegmentFile.open(data, name="s1").array("rows")

    assert not array.flags.writeable
    assert not array.flags.owndata
    assert (array.ctypes.data - np.frombuffer(data, np.uint8).ctypes.data) % 64 == 0


def test_strided_and_big_endian_arrays_are_normalised() -> None:
    strided = np.arange(20, dtype=np.int16)[::2]
    big = np.arange(5, dtype=">u4")

    segment = SegmentFile.open(write_segment("k", 1, {"s": strided, "b": big}), name="s")

    assert segment.array("s").tolist() == strided.tolist()
    assert segment.array("b").tolist() == [0, 1, 2, 3, 4]


def test_mapped_file_reads_like_bytes(tmp_path: Path) -> None:
    path = tmp_path / "7.seg"
    path.write_bytes(sample())

    segment = SegmentFile.open(path, name="7.seg")

    assert segment.nbytes == path.stat().st_size
    assert segment.array("rows")[-1] == 39_999


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.seg").touch()

    with pytest.raises(StoreNotFound, match=r"gone\.seg"):
        SegmentFile.open(tmp_path / "gone.seg", name="gone.seg")
    with pytest.raises(StoreCorrupt, match=r"empty\.seg"):
        SegmentFile.open(tmp_path / "empty.seg", name="empty.seg")


@pytest.mark.parametrize(
    "array", [np.zeros(2, dtype=np.complex64), np.array(["a"]), np.array([None], dtype=object)]
)
def test_other_dtypes_are_refused(array: np.ndarray) -> None:
    with pytest.raises(InvalidArgument, match="cannot be stored"):
        write_segment("k", 1, {"bad": array})


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}])
def test_meta_must_be_json(value: object) -> None:
    with pytest.raises(InvalidArgument, match="JSON"):
        write_segment("k", 1, {}, {"x": value})


def test_window_verifies_only_the_blocks_it_touches() -> None:
    data = bytearray(sample())
    at = data.index(np.array([39_000], dtype=np.uint32).tobytes())
    data[at] ^= 1
    segment = SegmentFile.open(bytes(data), name="s9")

    assert segment.window("rows", 10, 13).tolist() == [10, 11, 12]
    with pytest.raises(StoreCorrupt, match=r"s9.*block 2 of array 'rows'"):
        segment.window("rows", 38_999, 39_001)
    with pytest.raises(StoreCorrupt, match="s9"):
        segment.array("rows")


def test_window_is_cut_at_the_end() -> None:
    segment = SegmentFile.open(sample(), name="s")

    assert segment.window("rows", 39_999, 50_000).tolist() == [39_999]
    assert segment.window("unit", 5, 9).shape == (1, 4)
    assert segment.window("empty", 0, 4).shape == (0, 7)
    assert segment.window("rows", 60_000, 70_000).shape == (0,)


def test_every_single_bit_flip_is_detected() -> None:
    arrays = {"a": np.arange(9, dtype=np.uint16), "b": b"xyz", "empty": b""}
    data = write_segment("k", 1, arrays, {"m": 1})
    for bit in range(8 * len(data)):
        torn = bytearray(data)
        torn[bit // 8] ^= 1 << bit % 8
        with pytest.raises(StoreCorrupt, match="s7"):
            SegmentFile.open(bytes(torn), name="s7").verify()


def test_every_truncation_is_detected() -> None:
    data = write_segment("k", 1, {"a": np.arange(9, dtype=np.uint16)})
    for length in range(len(data)):
        with pytest.raises(StoreCorrupt, match="s"):
            SegmentFile.open(data[:length], name="s")
    with pytest.raises(StoreCorrupt):
        SegmentFile.open(data + b"\0", name="s")


def test_newer_container_says_so() -> None:
    data = bytearray(sample())
    struct.pack_into("<I", data, 8, 2)

    with pytest.raises(StoreCorrupt, match="newer Pincite"):
        SegmentFile.open(bytes(data), name="s")


def forge(directory: bytes, checksums: bytes = b"", body: bytes = b"") -> bytes:
    """A container whose checksum holds, whatever its directory says."""
    head = struct.pack(
        "<8sIIQQQ24x",
        b"\x89PNCSEG\n",
        1,
        0,
        64 + len(directory) + len(checksums) + len(body),
        len(directory),
        len(checksums),
    )
    data = bytearray(head + directory + checksums)
    struct.pack_into("<I", data, 12, zlib.crc32(data))
    return bytes(data) + body


@pytest.mark.parametrize(
    "directory",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"kind":1,"version":1,"meta":{},"arrays":[]}',
        b'{"kind":"k","version":-1,"meta":{},"arrays":[]}',
        b'{"kind":"k","version":true,"meta":{},"arrays":[]}',
        b'{"kind":"k","version":1,"meta":[],"arrays":[]}',
        b'{"kind":"k","version":1,"meta":{"x":NaN},"arrays":[]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[4294967296,4294967296]]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[' + b"9" * 5000 + b"]]]}",
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","O",[0]]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[-1]]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[1.5]]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[1]]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4"]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[0,0,0,0,0]]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[0]],["a","u4",[0]]]}',
        b'{"kind":"k","version":1,"meta":{},"arrays":{"a":1}}',
        b'{"kind":"k","version":1,"meta":{},"arrays":[["a","u4",[0,4611686018427387904,9]]]}',
    ],
)
def test_forged_directories_are_refused(directory: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="forged"):
        SegmentFile.open(forge(directory), name="forged")


def test_forged_booleans_are_refused() -> None:
    directory = b'{"kind":"k","version":1,"meta":{},"arrays":[["a","b1",[1]]]}'
    checksum = struct.pack("<I", zlib.crc32(b"\x07"))
    pad = -(64 + len(directory) + 4) % 64
    segment = SegmentFile.open(forge(directory, checksum, bytes(pad) + b"\x07"), name="forged")

    with pytest.raises(StoreCorrupt, match="booleans"):
        segment.array("a")


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    for candidate in (data, forge(data)):
        try:
            segment = SegmentFile.open(candidate, name="fuzz")
            segment.verify()
        except StoreCorrupt:
            continue
        assert candidate.startswith(b"\x89PNCSEG")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 255)), min_size=1, max_size=4),
)
def test_mutated_containers_never_answer_wrongly(edits: list[tuple[int, int]]) -> None:
    data = write_segment("k", 1, {"a": np.arange(300, dtype=np.uint32), "b": b"abc"}, {"m": [1]})
    torn = bytearray(data)
    for at, value in edits:
        torn[at % len(torn)] ^= value
    try:
        segment = SegmentFile.open(bytes(torn), name="s")
        segment.verify()
    except StoreCorrupt:
        return
    assert segment.array("a").tolist() == list(range(300))
    assert bytes(segment.blob("b")) == b"abc"
