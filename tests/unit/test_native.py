"""The compiled kernels: chosen when present, equal to NumPy bit for bit, safe with bad arrays."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.bm25.packing import WINDOW, pack_arrays
from pincite.bm25.search import search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays
from pincite.dense.search import normalize_rows, search_vectors
from pincite.errors import StoreCorrupt
from pincite.segments import kernels
from pincite.segments.file import SegmentFile, write_segment


@pytest.fixture(scope="module", autouse=True)
def _native_built():
    """Skip without the extension, unless PINCITE_REQUIRE_NATIVE says that it must be there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PINCITE_PURE", raising=False)
        built = kernels.native() is not None
        if not built and not os.environ.get("PINCITE_REQUIRE_NATIVE"):
            pytest.skip("pincite._native is not built")
        assert built, "PINCITE_REQUIRE_NATIVE is set and pincite._native is missing or outdated"
        yield


def _on_both_paths(search):
    """What ``search`` returns natively and in NumPy."""
    results = []
    for pure in ("", "1"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PINCITE_PURE", pure)
            assert kernels.kernels_in_use() == ("pure" if pure else "native")
            results.append(search())
    return results


def _row_id(segment: int, row: int) -> str:
    return f"{segment}-{row}"


@st.composite
def _keyword_searches(draw):
    terms = "abcdef"
    documents = st.tuples(
        st.dictionaries(st.sampled_from(terms), st.integers(1, 300), max_size=4),
        st.integers(0, 400),
    )
    segments, live, allow = [], [], []
    for _ in range(draw(st.integers(1, 3))):
        rows = draw(st.lists(documents, max_size=30))
        segments.append(KeywordSegment.from_arrays(build_arrays(rows)))
        masks = st.none() | st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)).map(
            lambda flags: np.array(flags, dtype=bool)
        )
        live.append(draw(masks))
        allow.append(draw(masks))
    groups = draw(
        st.lists(st.lists(st.sampled_from(terms), min_size=1, max_size=3).map(tuple), max_size=4)
    )
    options = {
        "k1": draw(st.floats(0, 10)),
        "b": draw(st.floats(0, 1)),
        "method": draw(st.sampled_from(["okapi", "lucene", "bm25+"])),
    }
    return (segments, live, allow, groups, draw(st.integers(1, 12))), options


@settings(max_examples=100, deadline=None)
@given(_keyword_searches())
def test_keyword_search_is_the_same_bit_for_bit(drawn):
    arguments, options = drawn

    native, pure = _on_both_paths(lambda: search_segments(*arguments, row_id=_row_id, **options))

    assert native == pure


def test_keyword_search_across_windows_is_the_same_bit_for_bit():
    generator = np.random.default_rng(11)
    rows = 60_000
    counts = generator.zipf(1.8, size=(rows, 3)).clip(0, 200)
    documents = (
        ({t: int(c) for t, c in zip("abc", row, strict=True) if c > 1}, int(row.sum()))
        for row in counts
    )
    segment = KeywordSegment.from_arrays(build_arrays(documents))
    allow = generator.random(rows) < 0.4
    for k in (1, 10, 5000):
        for mask in (None, allow):
            native, pure = _on_both_paths(
                lambda k=k, mask=mask: search_segments(
                    [segment], [None], [mask], [("a",), ("b", "c")], k, row_id=_row_id
                )
            )
            assert native == pure
            assert len(native) == k


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dimension=st.integers(1, 70),
    count=st.integers(0, 200),
    k=st.integers(1, 20),
    normalized=st.booleans(),
    repeats=st.integers(1, 4),
)
def test_vector_search_is_the_same_bit_for_bit(seed, dimension, count, k, normalized, repeats):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(count, dimension)) * generator.choice([1e-6, 1, 100])
    matrix = np.repeat(matrix, repeats, axis=0)
    part = (normalize_rows(matrix) if normalized else matrix).astype(np.float16)
    live, allow = (generator.random(len(part)) < share for share in (0.9, 0.5))
    query = generator.normal(size=dimension)

    native, pure = _on_both_paths(
        lambda: search_vectors(
            [part, part], [live, None], [None, allow], query, k,
            row_id=_row_id, normalized=normalized,
        )
    )  # fmt: skip

    assert native == pure


def test_vector_search_in_subnormal_numbers_is_the_same_bit_for_bit():
    part = np.arange(1, 4001, dtype=np.uint16).view(np.float16).reshape(1000, 4)
    assert part.max() < 1e-3

    native, pure = _on_both_paths(
        lambda: search_vectors(
            [part], [None], [None], [1, -1, 1, 1], 20, row_id=_row_id, normalized=False
        )
    )

    assert native == pure
    assert native[0][2] > 0


def test_searches_run_in_threads_at_the_same_time():
    generator = np.random.default_rng(3)
    lengths = generator.integers(1, 99, 40_000)
    documents = [({"a": int(n) % 7 + 1, "bcde"[int(n) % 4]: 1}, int(n)) for n in lengths]
    segment = KeywordSegment.from_arrays(build_arrays(documents))
    part = normalize_rows(generator.normal(size=(3000, 64))).astype(np.float16)

    def search(turn: int):
        groups = [("a",), ("bcde"[turn % 4],)]
        keyword = search_segments([segment], [None], [None], groups, 20, row_id=_row_id)
        return keyword, search_vectors([part], [None], [None], part[turn], 20, row_id=_row_id)

    alone = [search(turn) for turn in range(24)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(search, range(24)))

    assert together == alone


def _keyword(**changed):
    arrays = build_arrays([({"a": 1, "b": 20}, 21), ({"a": 2}, 2)]) | changed
    return kernels.native().KeywordSegment(
        "x", {k: (v.reshape(-1), None) for k, v in arrays.items()}
    )


def _found(segment, *, segments=None, live=(None,), **changed):
    arguments = {
        "groups": [("b",), ("a",)],
        "k": 2,
        "k1": 1.2,
        "b": 0.75,
        "scale": 2.2,
        "delta": 0.0,
    }
    searcher = kernels.native().KeywordSearcher(segments or [segment], list(live), 2, 11.5)
    ranking = searcher.search(**(arguments | changed))
    return ranking and ranking.listed()


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"allow": [np.ones(3, dtype=bool)]}, ValueError),
        ({"allow": []}, ValueError),
        ({"allow": [np.array([0, 2], dtype=np.uint32)]}, ValueError),
        ({"allow": [np.array([1, 0], dtype=np.uint32)]}, ValueError),
        ({"allow": [np.array([0, 0], dtype=np.uint32)]}, ValueError),
        ({"live": [np.ones(4, dtype=bool)[::2]]}, ValueError),
        ({"live": []}, ValueError),
        ({"segments": [None]}, ValueError),
        ({"k": 0}, ValueError),
        ({"groups": [(b"a",)]}, TypeError),
        ({"groups": [7]}, TypeError),
    ],
)
def test_keyword_arguments_that_do_not_fit_are_refused(changed, error):
    assert [row for _, row, _ in _found(_keyword())] == [0, 1]
    with pytest.raises(error):
        _found(_keyword(), **changed)


@pytest.mark.parametrize("share", [0, 0.0005, 0.01, 0.3, 1])
def test_a_filter_is_a_mask_or_the_rows_that_it_keeps(share):
    generator = np.random.default_rng(5)
    counts = generator.zipf(1.8, size=(20_000, 4)).clip(0, 50)
    documents = (
        ({t: int(c) for t, c in zip("abcd", row, strict=True) if c > 1}, int(row.sum()))
        for row in counts
    )
    segment = KeywordSegment.from_arrays(build_arrays(documents))
    mask = generator.random(20_000) < share
    live = generator.random(20_000) < 0.9
    rows = np.flatnonzero(mask).astype(np.uint32)
    groups = [("a",), ("b", "c"), ("d",)]

    def found(kept):
        return search_segments([segment], [live], [kept], groups, 7, row_id=_row_id)

    assert found(rows) == found(mask)
    native, pure = _on_both_paths(lambda: found(rows))
    assert native == pure
    assert all(mask[row] and live[row] for _, row, _ in native)


def test_more_terms_than_can_be_bounded_are_left_to_python():
    many = [f"t{number}" for number in range(9000)]
    assert _found(_keyword(), groups=[many, ("a",)]) is None

    segment = KeywordSegment.from_arrays(build_arrays([({"a": 1, "t7": 2}, 3), ({"b": 1}, 1)]))
    groups = [tuple(many), ("a",)]
    native, pure = _on_both_paths(
        lambda: search_segments([segment], [None], [None], groups, 5, row_id=_row_id)
    )
    assert native == pure
    assert len(native) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"term_runs": np.array([0, 9, 2], np.uint32)},
        {"term_runs": np.array([0, 0, 2], np.uint32)},
        {"run_starts": np.array([0, 9, 3], np.uint32)},
        {"run_starts": np.array([2, 1, 3], np.uint32)},
        {"run_blocks": np.array([7, 0], np.uint16)},
        {"rows": np.array([0, 2, 0], np.uint16)},
        {"rows": np.array([0, 5000, 0], np.uint16)},
        {"rows": np.array([5000, 1, 0], np.uint16)},
        {"vocabulary_offsets": np.array([0, 9, 2], np.uint32)},
        {"large_at": np.array([1], np.uint32)},
        {"code_tfs": np.zeros(256, np.uint32)},
        {"rows": np.zeros(4, np.uint16)},
        {"long_terms": np.zeros(1, np.uint32)},
    ],
)
def test_damaged_keyword_arrays_are_refused(changed):
    with pytest.raises(kernels.native().Damaged):
        _found(_keyword(**changed))


def test_a_long_term_without_its_windows_is_refused():
    lengths = np.full(WINDOW + 5, 10, np.uint32)
    rows = np.arange(WINDOW + 5, dtype=np.uint32)
    arrays = pack_arrays(b"a", np.array([0, 1]), np.array([0, len(rows)]), rows, lengths, lengths)
    held = KeywordSegment.from_arrays(arrays)
    assert len(search_segments([held], [None], [None], [("a",)], 3, row_id=_row_id)) == 3
    for place, value in ((0, 1), (1, 2**31), (2, 5)):
        starts = arrays["window_starts"].copy()
        starts[0, place] = value
        held = KeywordSegment.from_arrays(arrays | {"window_starts": starts})
        with pytest.raises(StoreCorrupt, match="in memory is damaged: its windows"):
            search_segments([held], [None], [None], [("a",)], 3, row_id=_row_id)


def test_a_flipped_bit_is_noticed_when_it_is_read():
    rows = [({f"t{i % 50}": i % 20 + 1, "x": 1}, i % 90) for i in range(30_000)]
    data = bytearray(write_segment("keyword", 2, build_arrays(rows)))
    whole = SegmentFile.open(bytes(data), name="seven")
    place = data.index(bytes(whole.unverified("codes")[0][:64]))
    data[place + 5] ^= 4
    segment = KeywordSegment(SegmentFile.open(bytes(data), name="seven"))

    with pytest.raises(StoreCorrupt, match=r"segment seven is damaged: .* checksum"):
        search_segments([segment], [None], [None], [("t0",)], 3, row_id=_row_id)


def test_a_segment_of_a_file_is_searched_where_it_lies():
    rows = [({f"t{i % 50}": i % 20 + 1, "x": 1}, i % 90) for i in range(3_000)]
    held = KeywordSegment.from_arrays(build_arrays(rows))
    data = write_segment("keyword", 2, build_arrays(rows))
    for shift in (0, 1):  # a database hands out bytes at any address
        view = memoryview(bytes(shift) + data)[shift:]
        segment = KeywordSegment(SegmentFile.open(view, name="seven"))
        groups = [("t7",), ("x",)]

        found = search_segments([segment], [None], [None], groups, 9, row_id=_row_id)

        assert found == search_segments([held], [None], [None], groups, 9, row_id=_row_id)
        assert len(found) == 9


def test_vector_arrays_that_do_not_fit_are_refused():
    module, rows, query = kernels.native(), np.zeros((3, 2), np.uint16), np.ones(2)
    vectors = module.DenseVectors(rows, None)
    plan = module.DensePlan([(vectors, None, None, None)])
    found = [(0, 0, 0.0), (0, 1, 0.0), (0, 2, 0.0)]
    *about, ranking = plan.search(query, 1, True)
    assert (about, ranking.listed()) == ([1.0, "", 0], found)
    assert plan.search(np.zeros(2), 1, True)[0] == 0.0
    assert plan.search(np.array([1, np.nan]), 1, True)[0] == math.inf

    for arguments in ((np.ones(3), 1, True), (query, 0, True), (np.ones((1, 2)), 1, True)):
        with pytest.raises(ValueError):
            plan.search(*arguments)
    other = module.DenseVectors(np.zeros((3, 4), np.uint16), None)
    for step in (
        [(vectors, None, np.ones(2, bool), None)],
        [(None, None, None, None)],
        [(vectors, None, None, None), (other, None, None, None)],
    ):
        with pytest.raises(ValueError):
            module.DensePlan(step)
    with pytest.raises(TypeError):
        module.DenseVectors(np.zeros((3, 2), np.float16), None)
    with pytest.raises(ValueError):
        module.DenseVectors(rows, (b"", bytearray(1)))


def test_an_extension_of_another_version_counts_as_absent(monkeypatch):
    monkeypatch.setattr(kernels, "_FOUND", [])
    monkeypatch.setattr(sys.modules["pincite._native"], "KERNEL_VERSION", -1)

    assert kernels.kernels_in_use() == "pure"


@pytest.mark.parametrize(("value", "path"), [("", "native"), ("0", "native"), ("1", "pure")])
def test_the_environment_chooses_in_a_fresh_process(value, path):
    script = "import sys; from pincite.segments import kernels as k; "
    script += "sys.stdout.write(k.kernels_in_use())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PINCITE_PURE": value},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == path


def test_the_pure_path_warns_above_its_comfort(monkeypatch):
    kernels.warn_when_slow(kernels.PURE_COMFORT + 1)  # an error here if it warned
    monkeypatch.setenv("PINCITE_PURE", "1")

    kernels.warn_when_slow(kernels.PURE_COMFORT)
    with pytest.warns(RuntimeWarning, match="native kernels"):
        kernels.warn_when_slow(kernels.PURE_COMFORT + 1)


@pytest.mark.parametrize("start", [0, 1, 7])
def test_checksums_are_those_of_zlib(start):
    data = memoryview(np.random.default_rng(1).bytes(70_000))[start:]

    for size in (*range(300), 65_535, 65_536, len(data)):
        assert kernels.native().crc32(data[:size]) == zlib.crc32(data[:size])
    with pytest.raises(ValueError, match="contiguous"):
        kernels.native().crc32(data[::2])


def test_the_process_of_a_benchmark_ends_where_the_kernels_are_not_in_use(tmp_path):
    script = Path(__file__).parents[2] / "benchmarks" / "dense.py"
    done = subprocess.run(
        [sys.executable, str(script), "--data", str(tmp_path), "--part", "race"],
        env=os.environ | {"PINCITE_PURE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "build_ext --inplace" in done.stderr


def test_ids_are_named_as_python_would():
    names = [b"", "\u00e4".encode(), b"\xed\xa0\x80", "\u65e5\u672c".encode(), b"a" * 300]
    ends = np.cumsum([0, *map(len, names)]).astype(np.uint64)
    verified = bytearray([1, 1, 0])
    strings = kernels.native().IdStrings(b"".join(names), ends, verified, 2)
    wanted = [name.decode("utf-8", "surrogatepass") for name in names]

    assert strings.ids([3, 0, 2, 2]) == [wanted[3], wanted[0], wanted[2], wanted[2]]
    assert strings.ids(np.arange(4)) == wanted[:4]
    assert strings.ids([1, 4]) is None
    verified[2] = 1
    assert strings.ids([1, 4]) == [wanted[1], wanted[4]]
    assert strings.ids([5]) is None
    with pytest.raises(ValueError):
        kernels.native().IdStrings(b"", ends, bytearray(2), 2)
    ends[2:] += np.uint64(500)
    assert strings.ids([1]) is None
    with pytest.raises(UnicodeDecodeError):
        kernels.native().IdStrings(b"\xff\xfe", np.array([0, 2], np.uint64), b"\1", 8).ids([0])
