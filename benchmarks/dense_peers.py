"""The contenders of benchmarks/dense.py, each built once into a folder and opened for the race.

An `open_...` returns a Contender. Filters keep the rows whose number (dense_data.column) is below a
bound: libraries that know ids alone get them as a bitmap, databases as a column that they index.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from dense_data import K, bound, column, kept

from pincite.dense.index import Allowed, DenseIndex

__all__ = ["CHANGED", "PEERS", "Contender", "make"]

CHANGED = 1_000
PROBES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024)
EFFORTS = (10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)

Search = Callable[[np.ndarray], Sequence[int] | Sequence[str]]
Steps = Sequence[tuple[str, Callable[[], Any]]]


@dataclass
class Contender:
    """``searches`` makes a search for a share of the rows (1 for all) and a setting, which answers
    with the rows as numbers or as what they are called in decimal; ``changes``
    are steps that add CHANGED rows and delete as many, in memory and durably, to be timed."""

    name: str
    searches: Callable[[float, int], Search]
    settings: Sequence[int] = (0,)
    filters: bool = True
    changes: Steps = ()
    notes: dict[str, float] = field(default_factory=dict)


def _synced(file: Path) -> None:
    with file.open("rb") as written:
        os.fsync(written.fileno())


def build_pincite(rows: np.ndarray, folder: Path) -> None:
    index = DenseIndex()
    index.add([f"{number:07}" for number in range(len(rows))], rows)
    index.save(folder)


def open_pincite(rows: np.ndarray, folder: Path) -> Contender:
    index = DenseIndex.open(folder)
    stats = index.stats()
    notes = {
        "code_bytes_per_number": stats["code_bytes"] / rows.size,
        "lists": stats["lists"],
    }

    def searches(share: float, _: int) -> Search:
        own = np.flatnonzero(kept(len(rows), share))
        allow = None if share == 1.0 else Allowed(f"{i:07}" for i in own)
        return lambda query: index.search(query, K, allow)[0]

    new = [f"new{number}" for number in range(CHANGED)]
    old = [f"{number:07}" for number in range(CHANGED)]
    changes = (
        ("add_in_memory", lambda: index.add(new, rows[:CHANGED])),
        ("add_commit", lambda: index.save(folder)),
        ("delete_in_memory", lambda: index.remove(old)),
        ("delete_commit", lambda: index.save(folder)),
    )
    return Contender("pincite", searches, changes=changes, notes=notes)


def open_numpy(rows: np.ndarray, _: Path) -> Contender:
    """One matrix product; with a filter, of the gathered rows."""
    held = np.ascontiguousarray(rows)

    def searches(share: float, _: int) -> Search:
        own = None if share == 1.0 else np.flatnonzero(kept(len(rows), share))

        def search(query: np.ndarray) -> Sequence[int]:
            scores = held @ query if own is None else held[own] @ query
            best = np.argpartition(-scores, K)[:K]
            return (best if own is None else own[best]).tolist()

        return search

    return Contender("numpy exact", searches)


def _build_faiss(index: Any, rows: np.ndarray, folder: Path, train: int = 0) -> None:
    import faiss

    if train:
        index.train(rows[np.sort(np.random.default_rng(1).permutation(len(rows))[:train])])
    for start in range(0, len(rows), 50_000):
        index.add(np.ascontiguousarray(rows[start : start + 50_000]))
    folder.mkdir()
    faiss.write_index(index, str(folder / "index"))
    _synced(folder / "index")


def build_flat(rows: np.ndarray, folder: Path) -> None:
    import faiss

    _build_faiss(faiss.IndexFlatIP(rows.shape[1]), rows, folder)


def build_ivf(rows: np.ndarray, folder: Path) -> None:
    import faiss

    dimension, lists = rows.shape[1], 1024 if len(rows) <= 200_000 else 2048
    quantizer = faiss.IndexFlatIP(dimension)
    metric, kind = faiss.METRIC_INNER_PRODUCT, faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, kind, metric)
    _build_faiss(index, rows, folder, 64 * lists)


def build_hnsw(rows: np.ndarray, folder: Path) -> None:
    import faiss

    index = faiss.IndexHNSWFlat(rows.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 128
    _build_faiss(index, rows, folder)


def _open_faiss(
    name: str, kind: str, option: str, settings: Sequence[int], *, deletes: bool = True
) -> Callable[[np.ndarray, Path], Contender]:
    def opened(rows: np.ndarray, folder: Path) -> Contender:
        import faiss

        index = faiss.read_index(str(folder / "index"))

        def searches(share: float, setting: int) -> Search:
            made: dict[str, Any] = {option: setting} if option else {}
            bits = np.packbits(kept(len(rows), share), bitorder="little")
            if share < 1.0:
                made["sel"] = faiss.IDSelectorBitmap(bits)
            chosen = getattr(faiss, kind)(**made)

            def search(query: np.ndarray) -> Sequence[int]:
                _ = bits  # the selector does not own them
                return index.search(query[None, :], K, params=chosen)[1][0].tolist()

            return search

        def write() -> None:
            faiss.write_index(index, str(folder / "index"))
            _synced(folder / "index")

        changes: Steps = (
            ("add_in_memory", lambda: index.add(np.ascontiguousarray(rows[:CHANGED]))),
            ("add_commit", write),
        )
        if deletes:
            changes = (
                *changes,
                ("delete_in_memory", lambda: index.remove_ids(np.arange(CHANGED))),
                ("delete_commit", write),
            )
        return Contender(name, searches, settings, changes=changes)

    return opened


def build_usearch(rows: np.ndarray, folder: Path) -> None:
    index = _usearch(rows)
    index.add(np.arange(len(rows)), np.asarray(rows), threads=1)
    folder.mkdir()
    index.save(str(folder / "index"))
    _synced(folder / "index")


def _usearch(rows: np.ndarray) -> Any:
    from usearch.index import Index

    return Index(ndim=rows.shape[1], metric="ip", dtype="f16", connectivity=16, expansion_add=128)


def open_usearch(rows: np.ndarray, folder: Path) -> Contender:
    index = _usearch(rows)
    index.load(str(folder / "index"))

    def searches(_: float, effort: int) -> Search:
        def search(query: np.ndarray) -> Sequence[int]:
            index.expansion_search = effort
            return index.search(query, K, threads=1).keys.tolist()

        return search

    def write() -> None:
        index.save(str(folder / "index"))
        _synced(folder / "index")

    new = np.arange(len(rows), len(rows) + CHANGED)
    changes = (
        ("add_in_memory", lambda: index.add(new, np.asarray(rows[:CHANGED]), threads=1)),
        ("add_commit", write),
        ("delete_in_memory", lambda: index.remove(np.arange(CHANGED))),
        ("delete_commit", write),
    )
    return Contender("usearch f16", searches, EFFORTS, filters=False, changes=changes)


def build_hnswlib(rows: np.ndarray, folder: Path) -> None:
    import hnswlib

    index = hnswlib.Index(space="ip", dim=rows.shape[1])
    index.init_index(len(rows) + CHANGED, M=16, ef_construction=128, random_seed=1)
    index.add_items(np.asarray(rows), num_threads=1)
    folder.mkdir()
    index.save_index(str(folder / "index"))
    _synced(folder / "index")


def open_hnswlib(rows: np.ndarray, folder: Path) -> Contender:
    import hnswlib

    index = hnswlib.Index(space="ip", dim=rows.shape[1])
    index.load_index(str(folder / "index"), max_elements=len(rows) + CHANGED)

    def searches(_: float, effort: int) -> Search:
        def search(query: np.ndarray) -> Sequence[int]:
            index.set_ef(effort)
            return index.knn_query(query, k=K, num_threads=1)[0][0].tolist()

        return search

    def write() -> None:
        index.save_index(str(folder / "index"))
        _synced(folder / "index")

    def mark() -> None:
        for number in range(CHANGED):
            index.mark_deleted(number)

    changes = (
        ("add_in_memory", lambda: index.add_items(np.asarray(rows[:CHANGED]), num_threads=1)),
        ("add_commit", write),
        ("delete_in_memory", mark),
        ("delete_commit", write),
    )
    return Contender("hnswlib", searches, EFFORTS, filters=False, changes=changes)


def _zvec() -> Any:
    """The library, told what it would guess from the machine's free memory and cores."""
    import zvec

    zvec.init(
        query_threads=1, optimize_threads=1, log_level=zvec.LogLevel.ERROR, memory_limit_mb=4096
    )
    return zvec


def build_zvec(rows: np.ndarray, folder: Path) -> None:
    zvec = _zvec()
    one = zvec.InvertIndexParam(enable_range_optimization=True)
    hnsw = zvec.HnswIndexParam(
        metric_type=zvec.MetricType.IP,
        m=16,
        ef_construction=128,
        quantize_type=zvec.QuantizeType.INT8,
    )
    schema = zvec.CollectionSchema(
        name="bench",
        fields=[zvec.FieldSchema("n", zvec.DataType.INT64, index_param=one)],
        vectors=[
            zvec.VectorSchema("v", zvec.DataType.VECTOR_FP32, rows.shape[1], index_param=hnsw)
        ],
    )
    store = zvec.create_and_open(str(folder), schema)
    numbers = column(len(rows))
    for start in range(0, len(rows), 1000):
        _insert_zvec(store, rows, range(start, min(start + 1000, len(rows))), numbers)
    store.flush()
    store.optimize()
    store.flush()


def _insert_zvec(
    store: Any, rows: np.ndarray, own: range, numbers: np.ndarray, shift: int = 0
) -> None:
    import zvec

    store.insert(
        [
            zvec.Doc(str(i + shift), vectors={"v": rows[i].tolist()}, fields={"n": int(numbers[i])})
            for i in own
        ]
    )


def open_zvec(rows: np.ndarray, folder: Path) -> Contender:
    zvec = _zvec()
    store = zvec.open(str(folder))

    def searches(share: float, effort: int) -> Search:
        where = None if share == 1.0 else f"n < {bound(share)}"
        effort_ = zvec.HnswQueryParam(ef=effort)

        def search(query: np.ndarray) -> Sequence[str]:
            asked = zvec.Query("v", vector=query, param=effort_)
            return [d.id for d in store.query(asked, topk=K, filter=where, output_fields=[])]

        return search

    numbers, own = column(len(rows)), range(CHANGED)
    changes = (
        ("add_in_memory", lambda: _insert_zvec(store, rows, own, numbers, len(rows))),
        ("add_commit", store.flush),
        ("delete_in_memory", lambda: store.delete([str(i) for i in own])),
        ("delete_commit", store.flush),
    )
    return Contender("zvec int8", searches, EFFORTS, changes=changes)


def build_lancedb(rows: np.ndarray, folder: Path) -> None:
    import lancedb

    table = lancedb.connect(str(folder)).create_table("t", _arrow(rows, range(len(rows))))
    partitions = 256 if len(rows) <= 200_000 else 1024
    table.create_index(
        metric="dot", vector_column_name="v", index_type="IVF_RQ", num_partitions=partitions
    )
    table.create_scalar_index("n")


def _arrow(rows: np.ndarray, own: range, shift: int = 0) -> Any:
    import pyarrow as pa

    flat = np.asarray(rows[own.start : own.stop], dtype=np.float32).reshape(-1)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat), rows.shape[1])
    ids = pa.array(np.arange(own.start, own.stop) + shift)
    numbers = pa.array(column(len(rows))[own.start : own.stop])
    return pa.table({"id": ids, "n": numbers, "v": vectors})


def open_lancedb(rows: np.ndarray, folder: Path) -> Contender:
    import lancedb

    table = lancedb.connect(str(folder)).open_table("t")

    def searches(share: float, probes: int) -> Search:
        def search(query: np.ndarray) -> Sequence[int]:
            asked = table.search(query, vector_column_name="v").distance_type("dot").limit(K)
            asked = asked.nprobes(probes).refine_factor(10).select(["id"])
            if share < 1.0:
                asked = asked.where(f"n < {bound(share)}", prefilter=True)
            return asked.to_arrow()["id"].to_pylist()

        return search

    new = _arrow(rows, range(CHANGED), len(rows))
    changes = (
        ("add_commit", lambda: table.add(new)),
        ("delete_commit", lambda: table.delete(f"id < {CHANGED}")),
    )
    return Contender("LanceDB IVF_RQ", searches, (5, 10, 20, 40, 80, 160), changes=changes)


def build_chroma(rows: np.ndarray, folder: Path) -> None:
    store = _chroma(folder, create=True)
    numbers = column(len(rows)).tolist()
    for start in range(0, len(rows), 5000):
        own = range(start, min(start + 5000, len(rows)))
        store.add(
            ids=[str(i) for i in own],
            embeddings=np.asarray(rows[own.start : own.stop]),
            metadatas=[{"n": numbers[i]} for i in own],
        )


def _chroma(folder: Path, *, create: bool = False) -> Any:
    import chromadb

    client = chromadb.PersistentClient(
        str(folder), settings=chromadb.Settings(anonymized_telemetry=False)
    )
    options = {"hnsw": {"space": "ip", "max_neighbors": 16, "ef_construction": 128}}
    return (
        client.create_collection("bench", configuration=options)
        if create
        else client.get_collection("bench")
    )


def open_chroma(rows: np.ndarray, folder: Path) -> Contender:
    store = _chroma(folder)

    def searches(share: float, _: int) -> Search:
        where = None if share == 1.0 else {"n": {"$lt": bound(share)}}

        def search(query: np.ndarray) -> Sequence[str]:
            found = store.query(
                query_embeddings=[query], n_results=K, where=where, include=["distances"]
            )
            names: list[str] = found["ids"][0]
            return names

        return search

    new = [str(len(rows) + i) for i in range(CHANGED)]
    changes = (
        ("add_commit", lambda: store.add(ids=new, embeddings=np.asarray(rows[:CHANGED]))),
        ("delete_commit", lambda: store.delete(ids=[str(i) for i in range(CHANGED)])),
    )
    return Contender("Chroma", searches, changes=changes)


Build = Callable[[np.ndarray, Path], None]
Open = Callable[[np.ndarray, Path], Contender]

PEERS: dict[str, tuple[Build | None, Open]] = {
    "pincite": (build_pincite, open_pincite),
    "numpy": (None, open_numpy),
    "flat": (build_flat, _open_faiss("faiss Flat", "SearchParameters", "", (0,))),
    "ivf": (build_ivf, _open_faiss("faiss IVF-SQ8", "SearchParametersIVF", "nprobe", PROBES)),
    "hnsw": (
        build_hnsw,
        _open_faiss("faiss HNSW", "SearchParametersHNSW", "efSearch", EFFORTS, deletes=False),
    ),
    "usearch": (build_usearch, open_usearch),
    "hnswlib": (build_hnswlib, open_hnswlib),
    "zvec": (build_zvec, open_zvec),
    "lancedb": (build_lancedb, open_lancedb),
    "chroma": (build_chroma, open_chroma),
}


def make(name: str, rows: np.ndarray, folder: Path) -> Contender:
    """A contender, opened; built before if the folder does not have it yet."""
    build, opened = PEERS[name]
    seconds = folder / f"{name}.seconds"
    if build is not None and not seconds.exists():
        start = time.perf_counter()
        build(rows, folder / name)
        seconds.write_text(f"{time.perf_counter() - start:.2f}\n", encoding="ascii")
    start = time.perf_counter()
    contender = opened(rows, folder / name)
    contender.searches(1.0, contender.settings[0])(np.asarray(rows[0]))
    contender.notes["reopen_ms"] = round(1e3 * (time.perf_counter() - start), 2)
    if build is not None:
        contender.notes["build_s"] = float(seconds.read_text(encoding="ascii"))
    return contender
