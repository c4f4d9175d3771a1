"""The keyword index beside a Chroma database: one ``BM25Index`` for each target, in a folder."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from pathlib import Path

from pincite.bm25.index import Allowed, BM25Index
from pincite.errors import StoreCorrupt, StoreNotFound
from pincite.stores.points.backend import Scored, Space
from pincite.stores.points.keyword import Text
from pincite.text.analysis import Analyzer, default_analyzer
from pincite.text.kernels import TextRules

__all__ = ["KeywordFolder"]

_STAMP = "stamp"


class _StoreAnalyzer(Analyzer):
    """The analyser of every store: a word counts as often as a query says it."""

    def query_groups(
        self, text: str, languages: Iterable[str] = (), *, repeats: bool = True
    ) -> tuple[tuple[str, ...], ...]:
        return super().query_groups(text, languages, repeats=repeats)

    @property
    def rules(self) -> TextRules:
        """Texts are analysed as by default, so that native code can build the index."""
        return TextRules(default_analyzer())


class KeywordFolder:
    """``points.keyword.KeywordIndex`` in ``path``; nothing is written before the first text.

    ``stamp`` is that of the target's last commit: an index with another one was changed by another
    process, or left behind by a crash, and is read again.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._opened: dict[str, tuple[str, BM25Index]] = {}
        self._analysis = _StoreAnalyzer()

    def update(self, space: Space, stamp: str, drop: Collection[str], add: Iterable[Text]) -> None:
        """Remove chunk ids, then add texts; durable on return."""
        with self._lock:
            index = self._current(space)
            index.remove(drop)
            _add(index, add)
            self._save(space, stamp, index)

    def rebuild(self, space: Space, stamp: str, texts: Iterable[Text]) -> None:
        """Index these texts and nothing else."""
        with self._lock:
            index = BM25Index(analysis=self._analysis)
            _add(index, texts)
            self._save(space, stamp, index)

    def search(
        self, space: Space, stamp: str, query: str, limit: int, allow: Collection[str] | None
    ) -> list[Scored]:
        """The best chunk ids (of those allowed), best first, ties by id."""
        with self._lock:
            held = self._opened.get(space.tenant)
            index = held[1] if held is not None and held[0] == stamp else self._read(space, stamp)
        wanted = None if allow is None else Allowed(allow)
        names, scores = index.search(query, limit, wanted)
        return list(zip(names, scores, strict=True))

    def ids(self, space: Space) -> set[str]:
        """Every chunk id that is indexed, read from the disk."""
        with self._lock:
            self._opened.pop(space.tenant, None)
            return set(self._current(space).ids())

    def _current(self, space: Space) -> BM25Index:
        """The index as the disk has it."""
        held = self._opened.get(space.tenant)
        if held is not None and held[0] == self._stamp(space):
            return held[1]
        try:
            return BM25Index.open(self._folder(space), analysis=self._analysis)
        except StoreNotFound:
            return BM25Index(analysis=self._analysis)

    def _read(self, space: Space, stamp: str) -> BM25Index:
        index = self._current(space)
        if len(index) == 0 and not self._folder(space).exists():
            raise StoreCorrupt(
                f"The keyword index {self.path} lacks collection {space.collection!r}; run doctor"
                " with repair to build it from the stored chunks."
            )
        self._opened[space.tenant] = (stamp, index)
        return index

    def _save(self, space: Space, stamp: str, index: BM25Index) -> None:
        folder = self._folder(space)
        folder.parent.mkdir(parents=True, exist_ok=True)
        index.save(folder)
        (folder.parent / f"{space.tenant}.{_STAMP}").write_text(stamp)
        self._opened[space.tenant] = (stamp, index)

    def _stamp(self, space: Space) -> str:
        try:
            return (self.path / f"{space.tenant}.{_STAMP}").read_text()
        except FileNotFoundError:
            return ""

    def _folder(self, space: Space) -> Path:
        return self.path / space.tenant


def _add(index: BM25Index, texts: Iterable[Text]) -> None:
    listed = list(texts)
    if listed:
        names, contents, languages = zip(*listed, strict=True)
        index.add(names, contents, language=languages)
