"""Checking a store over points against itself, and mending what can be mended.

The vectors are the truth: what they were made of can be counted anew, and a document that lacks
some goes, so that the next indexing brings it back whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pincite.errors import PinciteError
from pincite.model.checking import listing
from pincite.model.hits import chunk_id
from pincite.stores.findings import Finding
from pincite.stores.points.backend import Backend
from pincite.stores.points.counts import Counts
from pincite.stores.points.gate import Gate
from pincite.stores.points.held import held_rows
from pincite.stores.points.keyword import KeywordIndex
from pincite.stores.points.records import Head, Records
from pincite.stores.points.rows import Row
from pincite.stores.points.targets import State, Targets

if TYPE_CHECKING:
    from pincite.stores.points.writer import Writer

__all__ = ["examine"]


def examine(
    backend: Backend,
    targets: Targets,
    gate: Gate,
    keyword: KeywordIndex | None,
    writer: Writer,
    *,
    repair: bool,
) -> list[Finding]:
    """Check every target; with ``repair`` mend it under the writer's lock."""
    try:
        with gate.reading():
            heads = Records(backend).heads()
    except PinciteError as error:
        return [Finding(backend.place, str(error))]
    findings: list[Finding] = []
    for head in heads:
        with gate.reading():
            checked = _Check(backend, targets, keyword, head)
        found = [Finding(checked.place, problem, repair) for problem in checked.problems]
        if repair and found:
            writer.restore(head.subject, head.collection, checked.lost)
        findings += found
    return findings


class _Check:
    """What is wrong with one target; ``lost`` are documents that cannot be kept."""

    def __init__(
        self, backend: Backend, targets: Targets, keyword: KeywordIndex | None, head: Head
    ) -> None:
        self.place = f"collection {head.subject}/{head.collection}"
        self.problems: list[str] = []
        self.lost: set[str] = set()
        if not head.dimension:
            return
        try:
            state = targets.state(head.subject, head.collection)
        except PinciteError as error:
            self.problems.append(str(error))
            return
        self._check_pending(state)
        rows = self._check_points(backend, state)
        self._check_counts(state, rows)
        if keyword is not None:
            self._check_keyword(keyword, state)

    def _check_pending(self, state: State) -> None:
        pending = state.head.pending
        if pending:
            self.lost.update(pending)
            self.problems.append(f"Writing {listing(pending)} was not finished; index them again.")

    def _check_points(self, backend: Backend, state: State) -> list[Row]:
        head = state.head
        stored = set(backend.select(head.space, None))
        wanted = state.chunks
        missing = {document for name, (document, _) in wanted.items() if name not in stored}
        if missing:
            self.lost.update(missing)
            self.problems.append(f"Chunks of {listing(missing)} are missing; index them again.")
        ghosts = len(stored.difference(wanted))
        if ghosts:
            self.problems.append(f"{ghosts} points belong to no document.")
        ids = [name for name in wanted if name in stored]
        return [row for row, _ in held_rows(backend, head, ids, vectors=False)]

    def _check_counts(self, state: State, rows: list[Row]) -> None:
        fresh = Counts.of((row.terms(), row.language) for row in rows)
        known = state.counts
        same = (fresh.rows, fresh.length) == (known.rows, known.length)
        if same:
            same = np.array_equal(fresh.hashes, known.hashes)
            same = same and np.array_equal(fresh.df, known.df)
        if not same:
            self.problems.append(
                f"Its counts are those of {known.rows} chunks, and it holds {fresh.rows}."
            )

    def _check_keyword(self, keyword: KeywordIndex, state: State) -> None:
        try:
            indexed = keyword.ids(state.head.space)
        except PinciteError as error:
            self.problems.append(str(error))
            return
        stored = {chunk_id(*place) for place in state.chunks.values()}
        if indexed != stored:
            self.problems.append(
                f"The keyword index lacks {len(stored - indexed)} chunks and holds"
                f" {len(indexed - stored)} that are gone."
            )
