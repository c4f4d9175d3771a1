"""``BM25Index``: texts by id, found by keyword, in memory or in a folder."""

from __future__ import annotations

import operator
import threading
from array import array
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from pincite.bm25.builder import Analysis
from pincite.bm25.corpus import load, save
from pincite.bm25.explain import Explanation, explain_row
from pincite.bm25.formulas import Bm25Parameters
from pincite.bm25.indexed import RecordOf, Segment, build_segment, merge_segments
from pincite.bm25.search import Kept, Searcher, Statistics
from pincite.errors import InvalidArgument, InvalidQueryError, StoreCorrupt
from pincite.segments.ids import Allowed, repeated
from pincite.segments.live import LiveSegments, allowed_ids, id_list
from pincite.segments.tombstones import Mask
from pincite.text.analysis import default_analyzer
from pincite.text.languages import detect_language
from pincite.text.stemming import language_code

__all__ = ["AUTO", "Allowed", "BM25Index"]

AUTO: Final = "auto"
"""The language that has each text's own detected."""

PROFILES: Final = ("fast", "small")
"""How postings can be laid out."""


class _State(LiveSegments[Segment]):
    """What searches see: replaced as a whole, never changed."""

    @cached_property
    def searcher(self) -> Searcher:
        return Searcher([segment.keyword for segment in self.segments], self.live)

    @property
    def statistics(self) -> Statistics:
        return self.searcher.statistics

    @cached_property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted(frozenset().union(*(s.languages for s in self.segments))))

    @cached_property
    def vocabulary(self) -> int:
        """Terms with a live row."""
        if len(self.segments) == 1 and self.live[0] is None:
            return self.segments[0].keyword.vocabulary_size
        found: set[str] = set()
        for segment, live in zip(self.segments, self.live, strict=True):
            found.update(_live_terms(segment, live))
        return len(found)


class BM25Index:
    """An exact BM25 index that can be changed at any time.

    Safe to share between threads: a search sees the index as it was at one moment and takes no
    lock; one thread changes it at a time. Deleted rows count in no statistic.

    ``k1``, ``b`` and ``method`` ("okapi", "lucene", "bm25+") can be set at any time. ``language``
    is that of texts added without one: "" for no stemming, "auto" to detect each text's.

    ``profile`` is how ``save`` lays out postings: "fast", or "small", which takes about half the
    memory and disk and answers about half as fast (docs/bm25.md has figures). Results are equal.

    >>> index = BM25Index(language="en")
    >>> index.add(["a", "b"], ["The socket closed.", "Sockets reconnect; closing is logged."])
    2
    >>> ids, scores = index.search("sockets that close", 2)
    >>> ids
    ['a', 'b']
    """

    def __init__(
        self,
        *,
        k1: float = 1.2,
        b: float = 0.75,
        method: str = "okapi",
        language: str = "",
        profile: str = "fast",
        analysis: Analysis | None = None,
        threads: int | None = None,
    ) -> None:
        """``threads`` build the index; None takes two for many texts, and no result depends on it.

        Raises ``InvalidArgument`` for a parameter out of range.
        """
        if threads is not None and threads < 1:
            raise InvalidArgument(f"threads is {threads}; pass 1 or more.")
        if profile not in PROFILES:
            raise InvalidArgument(f"profile is {profile!r}; pass one of {', '.join(PROFILES)}.")
        self._threads = threads
        self._parameters = Bm25Parameters(k1, b, method)
        self._language = _checked_language(language)
        self._profile = profile
        self._analysis: Analysis = default_analyzer() if analysis is None else analysis
        self._lock = threading.RLock()
        self._state = _State()
        self._next = 0
        self._folder: Path | None = None
        self._token = ""

    @property
    def k1(self) -> float:
        return self._parameters.k1

    @k1.setter
    def k1(self, value: float) -> None:
        self._parameters = Bm25Parameters(value, self.b, self.method)

    @property
    def b(self) -> float:
        return self._parameters.b

    @b.setter
    def b(self, value: float) -> None:
        self._parameters = Bm25Parameters(self.k1, value, self.method)

    @property
    def method(self) -> str:
        return self._parameters.method

    @method.setter
    def method(self, value: str) -> None:
        self._parameters = Bm25Parameters(self.k1, self.b, value)

    @property
    def language(self) -> str:
        """The language of texts that are added without one."""
        return self._language

    @property
    def profile(self) -> str:
        """How ``save`` lays out postings."""
        return self._profile

    def __len__(self) -> int:
        return self._state.statistics.rows

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._state.find([name]))

    def ids(self) -> list[str]:
        """Every id, in the order in which they were added."""
        return self._state.all_ids()

    def records(self) -> dict[str, bytes]:
        """What ``save`` kept with each id."""
        state = self._state
        return {
            segment.ids.id(row): record
            for number, segment in enumerate(state.segments)
            for row, record in enumerate(segment.records())
            if state.is_live(number, row)
        }

    def add(
        self,
        ids: Sequence[str],
        texts: Sequence[str],
        *,
        language: str | Sequence[str] | None = None,
    ) -> int:
        """Index texts under ids and return how many; an id that is there is replaced.

        ``language`` is one for all or one for each text. Of an id given twice the last counts.
        Raises ``InvalidArgument`` for arguments that do not fit each other.
        """
        languages = self._languages(texts, language)
        _check_texts(ids, texts)
        drop = repeated(ids)
        if drop:
            keep = [place for place in range(len(ids)) if place not in drop]
            ids, texts = [ids[p] for p in keep], [texts[p] for p in keep]
            languages = [languages[p] for p in keep]
        if not ids:
            return 0
        built = build_segment(
            0, ids, texts, languages, analysis=self._analysis, threads=self._threads
        )
        with self._lock:
            built.number = self._numbered()
            state = self._state
            changed = state.without(state.find(ids).values()).plus(built)
            self._state = changed.merged(self._merge)
        return len(ids)

    def remove(self, ids: Iterable[str]) -> int:
        """Delete ids and return how many were there; costs a bit each, whatever the vocabulary."""
        wanted = id_list(ids)
        with self._lock:
            found = self._state.find(wanted)
            if found:
                self._state = self._state.without(found.values()).merged(self._merge)
        return len(found)

    def clear(self) -> None:
        """Delete everything."""
        with self._lock:
            self._state = _State()

    def search(
        self, query: str, k: int, allow: Collection[str] | Allowed | None = None
    ) -> tuple[list[str], array[float]]:
        """The ids of the ``k`` best texts and their scores, best first, ties by id.

        Only texts with a word of the query are returned; ``allow`` restricts them further and
        changes no score. Raises ``InvalidQueryError`` for k below 1.
        """
        if not isinstance(query, str) or not hasattr(k, "__index__"):
            raise InvalidQueryError(f"Pass a string and how many results, not {query!r} and {k!r}.")
        state = self._state
        groups = self._groups(query, state)
        k = min(operator.index(k), max(state.statistics.rows, 1))
        found = state.searcher.search(
            groups,
            k,
            allow=None if allow is None else _kept(state.segments, allow),
            parameters=self._parameters,
            row_id=state.row_id,
        )
        ids = [state.row_id(number, row) for number, row, _ in found]
        return ids, array("f", [score for _, _, score in found])

    def explain(self, query: str, name: str) -> Explanation:
        """Why a text has the score it has; the contributions sum to what ``search`` returns.

        Raises ``InvalidArgument`` when the id is not in the index.
        """
        state, parameters = self._state, self._parameters
        place = state.find([name]).get(name)
        if place is None:
            raise InvalidArgument(f"There is no text {name!r} in the index; explain one it has.")
        return explain_row(
            [segment.keyword for segment in state.segments],
            state.live,
            self._groups(query, state),
            *place,
            k1=parameters.k1,
            b=parameters.b,
            method=parameters.method,
            statistics=state.statistics,
        )

    def stats(self) -> dict[str, Any]:
        """Counts over live texts: ``documents, vocabulary, total_tokens, average_length``; and
        ``deleted`` rows not yet merged away, ``segments``, ``languages``."""
        state = self._state
        rows, length = state.statistics.rows, state.statistics.length
        return {
            "documents": rows,
            "vocabulary": state.vocabulary,
            "total_tokens": length,
            "average_length": length / rows if rows else 0.0,
            "deleted": sum(state.dead),
            "segments": len(state.segments),
            "languages": list(state.languages),
        }

    def merge(self) -> None:
        """Write all segments as one, without deleted rows: the fastest index to search."""
        with self._lock:
            self._state = self._state.whole(self._merge)

    def save(self, path: str | Path | None = None, *, record_of: RecordOf | None = None) -> None:
        """Make the index durable in a folder; without ``path`` in the one it was opened from.

        Writes what the folder does not have yet and swaps the manifest: after a crash at any
        instant the folder holds the old index or the new one. An index of other origin in the
        folder is replaced. ``record_of`` gives bytes to keep with an id, which ``records`` returns
        after ``open``. Raises ``StoreLocked`` when another process has saved there since.
        """
        with self._lock:
            folder = self._folder if path is None else Path(path).absolute()
            if folder is None:
                raise InvalidArgument("The index has no folder yet; pass save() a path.")
            known = self._token if folder == self._folder else ""
            self._token = save(
                folder,
                self._state.segments,
                self._state.live,
                self._settings(),
                known=known,
                compact=self._profile == "small",
                record_of=record_of,
            )
            self._folder = folder

    @classmethod
    def open(cls, path: str | Path, *, analysis: Analysis | None = None) -> Self:
        """Open a saved index; its files are mapped, not read.

        Raises ``StoreNotFound``, ``StoreCorrupt`` for damage, and ``InvalidArgument`` when its
        texts were analysed otherwise than by ``analysis`` (the default analyser without one).
        """
        folder = Path(path).absolute()
        commit = load(folder)
        try:
            settings = {name: commit.settings[name] for name in ("k1", "b", "method", "language")}
            profile = commit.settings.get("profile", "fast")
            index = cls(**settings, profile=profile, analysis=analysis)
        except (KeyError, TypeError, InvalidArgument) as error:
            raise StoreCorrupt(
                f"The settings of the index {folder} cannot be read ({error}). Restore a backup, "
                "or build the index anew."
            ) from error
        wrote, reads = commit.settings.get("analysis"), index._analysis.fingerprint
        if wrote != reads:
            raise InvalidArgument(
                f"The index {folder} was built with analysis {wrote}, and this is {reads}; open it "
                "with the same analysis and version, or build it anew from the texts."
            )
        index._state = _State(tuple(commit.segments), tuple(commit.live))
        index._next, index._folder, index._token = len(commit.segments), folder, commit.token
        return index

    def _settings(self) -> dict[str, Any]:
        return {
            "k1": self.k1,
            "b": self.b,
            "method": self.method,
            "language": self._language,
            "profile": self._profile,
            "analysis": self._analysis.fingerprint,
        }

    def _groups(self, query: str, state: _State) -> tuple[tuple[str, ...], ...]:
        return self._analysis.query_groups(query, state.languages)

    def _languages(self, texts: Sequence[str], language: str | Sequence[str] | None) -> list[str]:
        chosen = self._language if language is None else language
        if isinstance(chosen, str):
            if chosen == AUTO:
                return [detect_language(text) for text in texts]
            return [language_code(chosen)] * len(texts)
        if len(chosen) != len(texts):
            raise InvalidArgument(
                f"{len(chosen)} languages were given for {len(texts)} texts; pass one for each."
            )
        return [_text_language(code, text) for code, text in zip(chosen, texts, strict=True)]

    def _numbered(self) -> int:
        self._next += 1
        return self._next

    def _merge(self, segments: Sequence[Segment], live: Sequence[Mask | None]) -> Segment:
        return merge_segments(self._numbered(), segments, live)


def _live_terms(segment: Segment, live: Mask | None) -> Iterable[str]:
    terms = segment.keyword.terms()
    if live is None:
        return terms
    numbers, rows, _ = segment.keyword.inverted()
    used: NDArray[np.bool_] = np.zeros(segment.keyword.vocabulary_size, dtype=np.bool_)
    used[numbers[live[rows]]] = True
    return (term for term, kept in zip(terms, used.tolist(), strict=True) if kept)


def _kept(segments: Sequence[Segment], allow: Collection[str] | Allowed) -> list[Kept]:
    allowed = allowed_ids(allow)
    return [allowed.kept(segment) for segment in segments]


def _checked_language(language: str) -> str:
    return language if language == AUTO else language_code(language)


def _text_language(code: str, text: str) -> str:
    return detect_language(text) if code == AUTO else language_code(code)


def _check_texts(ids: Sequence[str], texts: Sequence[str]) -> None:
    if isinstance(ids, str) or isinstance(texts, str):
        raise InvalidArgument("ids or texts is one string; pass a list of strings.")
    if len(ids) != len(texts):
        raise InvalidArgument(
            f"{len(ids)} ids were given for {len(texts)} texts; pass one for each."
        )
    for kind in {*map(type, ids), *map(type, texts)}:
        if not issubclass(kind, str):
            raise InvalidArgument(f"An id or a text is a {kind.__name__}; pass strings.")
