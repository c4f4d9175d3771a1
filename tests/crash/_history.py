"""A history of writes that any number of runs leave in the same state.

As a script it plays the history on a store and reports each write that has returned.
"""

from __future__ import annotations

import hashlib
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument, Geometry
from pincite.stores.local import edit
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore

SUBJECT, COLLECTION = "s", "c"
WORDS = ["salt", "quartz", "river", "basalt", "mica", "lemon", "map"]
STEPS = 24
DOCUMENTS = 10


@dataclass(frozen=True)
class Step:
    """Documents to write, ids to delete, and whether to compact."""

    write: tuple[EmbeddedDocument, ...] = ()
    delete: tuple[str, ...] = ()
    compact: bool = False


def history() -> list[Step]:
    choose = random.Random(7)
    steps = []
    for number in range(STEPS):
        names = choose.sample(range(DOCUMENTS), choose.randint(1, 4))
        if number % 12 == 11:
            steps.append(Step(compact=True))
        elif number % 4 == 3:
            steps.append(Step(delete=tuple(f"d{name}" for name in names)))
        else:
            steps.append(Step(write=tuple(document(f"d{n}", number, choose) for n in names)))
    return steps


def document(name: str, version: int, choose: random.Random) -> EmbeddedDocument:
    """A version of a document; each of its chunks says which version it is of."""
    texts = [
        f"{name} version{version} part{part} " + " ".join(choose.choices(WORDS, k=30))
        for part in range(choose.randint(1, 6))
    ]
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) for text in texts]
    return EmbeddedDocument(
        document=name,
        title=name,
        chunks=[ChunkResult(content=text, chunk_index=i) for i, text in enumerate(texts)],
        vectors=np.array([np.random.default_rng(s).normal(size=16) for s in seeds], np.float32),
        endpoint="e",
        language="en",
        metadata={"version": version},
        geometry=Geometry("\n".join(texts)),
    )


def play(store: LocalStore | MemoryStore, step: Step) -> None:
    if step.write:
        store.commit(SUBJECT, COLLECTION, step.write)
    if step.delete:
        store.delete(SUBJECT, COLLECTION, step.delete)
    if step.compact and isinstance(store, LocalStore):
        store.compact()


def state(store: LocalStore | MemoryStore) -> dict[str, object]:
    """What rows and both legs hold: the ids and texts that each of them finds."""
    reader = store.reader(SUBJECT, [COLLECTION])
    keyword = reader.bm25(COLLECTION, query=" ".join(WORDS), limit=500)
    vector = []
    if store.model(SUBJECT, COLLECTION) is not None:
        vector = reader.near_vector(COLLECTION, vector=[1.0] * 16, limit=500)
    return {
        "rows": [(chunk.id, chunk.content) for chunk in reader.all_chunks()],
        "keyword": sorted((hit.chunk.id, hit.chunk.content, hit.score) for hit in keyword),
        "vector": sorted((hit.chunk.id, hit.chunk.content) for hit in vector),
        "documents": [
            (info.document, info.chunks) for info in store.documents(SUBJECT, COLLECTION)
        ],
    }


def states() -> list[dict[str, object]]:
    """The state before the first step and after each, by the memory store."""
    memory = MemoryStore()
    found = [state(memory)]
    for step in history():
        play(memory, step)
        found.append(state(memory))
    return found


def main(path: str, large: str) -> None:
    edit.LARGE = int(large)
    steps = history()
    store = LocalStore(Path(path))
    report = sys.stdout.buffer
    report.write(b"ready\n")
    report.flush()
    for step in steps:
        play(store, step)
        report.write(b".")
        report.flush()
    store.close()
    report.write(b"done\n")
    report.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
