"""The compiled kernels: chosen when present, equal to NumPy bit for bit, safe with bad arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.bm25.search import search_segments
from pincite.bm25.segment import KeywordSegment, build_arrays
from pincite.dense.search import normalize_rows, search_vectors
from pincite.segments import kernels


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


def _best(**changed):
    arguments = {
        "groups": [(1.0, np.array([0, 2], np.uint32), np.array([1, 1], np.uint32))],
        "lengths": np.array([4, 4, 4], np.uint32),
        "allow": None,
        "k": 2,
        "k1": 1.2,
        "b": 0.75,
        "average": 4.0,
        "scale": 1.0,
        "delta": 0.0,
    }
    return kernels.native().bm25_best(**(arguments | changed))


@pytest.mark.parametrize("rows", [[0, 3], [0, 2**32 - 1], [2, 0]])
def test_rows_out_of_order_or_range_are_refused(rows):
    group = (1.0, np.array(rows, np.uint32), np.array([1, 1], np.uint32))

    with pytest.raises(IndexError):
        _best(groups=[group])


@pytest.mark.parametrize(
    "changed",
    [
        {"groups": [(1.0, np.zeros(2, np.uint32), np.zeros(1, np.uint32))]},
        {"allow": np.ones(2, dtype=bool)},
        {"k": 0},
        {"lengths": np.ones((3, 1), np.uint32)},
    ],
)
def test_keyword_arrays_that_do_not_fit_are_refused(changed):
    assert _best()[0].tolist() == [0, 2]
    with pytest.raises(ValueError):
        _best(**changed)


def test_a_segment_is_never_copied_into_another_type():
    with pytest.raises(TypeError):
        _best(lengths=np.ones(3, np.int64))


def test_vector_arrays_that_do_not_fit_are_refused():
    rows, query = np.zeros((3, 2), np.uint16), np.ones(2, np.float32)
    scan = kernels.native().dense_candidates
    assert scan(rows, None, query, 1.0, 1)[0].tolist() == [0, 1, 2]

    for arguments in (
        (rows, None, np.ones(3, np.float32), 1.0, 1),
        (rows, np.ones(2, bool), query, 1.0, 1),
        (rows, None, query, 1.0, 0),
        (rows, None, query, -1.0, 1),
    ):
        with pytest.raises(ValueError):
            scan(*arguments)
    with pytest.raises(TypeError):
        scan(np.zeros((3, 2), np.float16), None, query, 1.0, 1)


def test_an_extension_of_another_version_counts_as_absent(monkeypatch):
    kernels._extension.cache_clear()
    monkeypatch.setattr(sys.modules["pincite._native"], "KERNEL_VERSION", -1)
    try:
        assert kernels.kernels_in_use() == "pure"
    finally:
        kernels._extension.cache_clear()


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
