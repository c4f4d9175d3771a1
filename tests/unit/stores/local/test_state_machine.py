"""Any history of writes, merges, reopenings and failed writes answers like the memory store."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pincite.model.chunks import ChunkResult
from pincite.model.documents import EmbeddedDocument
from pincite.model.filters import DeclaredFilter
from pincite.stores.local import writer
from pincite.stores.local.store import LocalStore
from pincite.stores.memory import MemoryStore

S, C = "s", "c"
NAMES = [f"d{n}" for n in range(6)]
WORDS = ["salt", "quartz", "river", "basalt", "Garten", "Häuser", "世界", "err-4021", "the"]

names = st.sampled_from(NAMES)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def make(name: str, contents: Sequence[str], n: int, language: str) -> EmbeddedDocument:
    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) for text in contents]
    return EmbeddedDocument(
        document=name,
        title=name.upper(),
        chunks=[ChunkResult(content=text, chunk_index=i) for i, text in enumerate(contents)],
        vectors=np.array([np.random.default_rng(s).normal(size=4) for s in seeds], np.float32),
        endpoint="e",
        language=language,
        metadata={"n": n},
    )


made = st.builds(
    make,
    names,
    st.lists(texts, min_size=1, max_size=3),
    st.integers(0, 4),
    st.sampled_from(["en", "de", ""]),
)


class Crash(Exception):
    """Stands for a process that dies inside a transaction."""


class History(RuleBasedStateMachine):
    """The same history on both stores."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / "store"
        self.local = LocalStore(self.path)
        self.memory = MemoryStore()

    def teardown(self) -> None:
        assert self.local.doctor() == []
        self.local.close()
        self._folder.cleanup()

    def stored(self, name: str) -> bool:
        return any(info.document == name for info in self.memory.documents(S, C))

    @rule(documents=st.lists(made, min_size=1, max_size=3))
    def commit(self, documents: list[EmbeddedDocument]) -> None:
        self.local.commit(S, C, documents)
        self.memory.commit(S, C, documents)

    @rule(name=names)
    def delete(self, name: str) -> None:
        assert self.local.delete(S, C, [name]) == self.memory.delete(S, C, [name])

    @rule(old=names, new=names)
    def rename(self, old: str, new: str) -> None:
        if self.stored(old) and not self.stored(new):
            self.local.rename(S, C, old, new)
            self.memory.rename(S, C, old, new)

    @rule(name=names, n=st.integers(0, 4))
    def set_metadata(self, name: str, n: int) -> None:
        if self.stored(name):
            self.local.set_metadata(S, C, name, {"n": n})
            self.memory.set_metadata(S, C, name, {"n": n})

    @precondition(lambda self: self.path.exists())
    @rule()
    def compact(self) -> None:
        self.local.compact(S, C)

    @rule()
    def reopen(self) -> None:
        self.local.close()
        self.local = LocalStore(self.path)

    @rule(documents=st.lists(made, min_size=1, max_size=2))
    def crash(self, documents: list[EmbeddedDocument]) -> None:
        def die(*_: object) -> None:
            raise Crash

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writer.Edit, "finish", die)
            try:
                self.local.commit(S, C, documents)
            except Crash:
                return
        # Without a crash all of it was stored already.
        self.memory.commit(S, C, documents)

    @invariant()
    def answers_are_equal(self) -> None:
        ours, theirs = self.local.reader(S, [C]), self.memory.reader(S, [C])
        assert self.local.documents(S, C) == self.memory.documents(S, C)
        assert list(ours.all_chunks()) == list(theirs.all_chunks())
        wheres = [None]
        if "n" in theirs.fields(C).fields:
            wheres.append(DeclaredFilter("n", "lt", 3))
        for where in wheres:
            for query in ("salt the river", "Gärten haus", "err 世"):
                a = ours.bm25(C, query=query, limit=9, where=where)
                b = theirs.bm25(C, query=query, limit=9, where=where)
                assert [(h.chunk, h.score, h.spans) for h in a] == [
                    (h.chunk, h.score, h.spans) for h in b
                ]
            if self.memory.model(S, C) is not None:
                vector = [0.5, -1.0, 0.25, 1.0]
                near = ours.near_vector(C, vector=vector, limit=50, where=where)
                oracle = theirs.near_vector(C, vector=vector, limit=50, where=where)
                scores = {h.chunk.id: h.score for h in near}
                assert scores == pytest.approx({h.chunk.id: h.score for h in oracle}, abs=2e-3)


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=8,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
