"""Carry out a plan: one coordinator computes documents and commits them in groups."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pincite.errors import EmbeddingError, InvalidArgument, PinciteError, UnsupportedFormat
from pincite.indexing.originals import Originals
from pincite.indexing.pipeline import FileInput, NoText, Pipeline, SourceOptions
from pincite.indexing.plan import Action, Plan, Step
from pincite.model.documents import EmbeddedDocument, Failure, IndexReport, Progress

if TYPE_CHECKING:
    from pincite.stores.ports import SyncStore

__all__ = ["Run"]

_COMMIT_SECONDS = 1.0
_COMMIT_CHUNKS = 5_000


@dataclass
class Run:
    """Executes a plan against one collection of a store and says what became of each source.

    A commit holds one or more whole documents and comes about every second, so a run that is
    killed leaves whole documents, and the next run finds them unchanged.
    """

    store: SyncStore
    subject: str
    collection: str
    pipeline: Pipeline
    options: SourceOptions = field(default_factory=SourceOptions)
    progress: Callable[[Progress], None] | None = None
    originals: Originals | None = None

    def __post_init__(self) -> None:
        self._pending: list[EmbeddedDocument] = []
        self._committed_at = time.monotonic()
        self._done: dict[Action, list[str]] = {action: [] for action in Action}
        self._skipped: list[Failure] = []
        self._failed: list[Failure] = []
        self._removed: list[str] = []
        self._chunks = 0

    def execute(self, plan: Plan) -> IndexReport:
        """Carry out the steps in order; what is done stays done when a later step raises."""
        started = time.monotonic()
        total = len(plan.steps)
        try:
            for number, step in enumerate(plan.steps, 1):
                self._take(step)
                self._tell(Progress("index", number, total, str(step.path), self._chunks))
        finally:
            self._commit()
        return self._report(time.monotonic() - started)

    def _take(self, step: Step) -> None:
        match step.action:
            case Action.SKIP:
                self._skipped.append(Failure(str(step.path), step.reason))
            case Action.FAIL:
                self._failed.append(Failure(str(step.path), step.reason))
            case Action.UNCHANGED:
                self._done[step.action].append(step.document)
            case Action.METADATA if step.rewrite:
                self._compute(step)
            case Action.METADATA:
                metadata = dict(self.options.metadata or {})
                self.store.set_metadata(self.subject, self.collection, step.document, metadata)
                self._done[step.action].append(step.document)
            case Action.ADD | Action.UPDATE:
                self._compute(step)

    def _compute(self, step: Step) -> None:
        try:
            read = self.pipeline.read(self._input(step))
        except UnsupportedFormat as error:
            # A folder may hold anything; a file that was named must be read.
            if step.named:
                self._failed.append(Failure(str(step.path), str(error)))
            else:
                self._skipped.append(Failure(str(step.path), "no parser reads this kind of file"))
        except PinciteError as error:
            self._failed.append(Failure(str(step.path), str(error)))
        except OSError as error:
            reason = error.strerror or str(error)
            self._failed.append(Failure(str(step.path), f"{reason}; check that it can be read."))
        except Exception as error:  # noqa: BLE001 - one hostile file costs one failure, by name
            reason = f"{type(error).__name__}: {error}"
            self._failed.append(Failure(str(step.path), f"The parser failed ({reason})."))
        else:
            # Embedding is no fault of a file: its error ends the run, and what is done stays.
            made = read if isinstance(read, NoText) else self._pipeline(step).embedded(read)
            self._keep(step, made)

    def _pipeline(self, step: Step) -> Pipeline:
        """The pipeline; where only metadata changes, with the stored vectors."""
        if not step.rewrite:
            return self.pipeline
        stored = self.store.vectors(self.subject, self.collection, step.document)
        return self.pipeline.reusing(stored)

    def _input(self, step: Step) -> FileInput:
        data = step.path.read_bytes()
        if self.originals is not None:
            self.originals.keep(data)
        options = self.options.over(step.stored)
        return FileInput(step.document, data, step.path.name, str(step.path), options)

    def _keep(self, step: Step, document: EmbeddedDocument | NoText) -> None:
        if isinstance(document, NoText):
            self._skipped.append(Failure(str(step.path), document.reason))
            if step.action is Action.UPDATE:
                self.store.delete(self.subject, self.collection, [step.document])
                self._removed.append(step.document)
            return
        self._pending.append(document)
        self._done[step.action].append(step.document)
        self._chunks += len(document.chunks)
        waiting = sum(len(d.chunks) for d in self._pending)
        due = time.monotonic() - self._committed_at >= _COMMIT_SECONDS
        if due or waiting >= _COMMIT_CHUNKS:
            self._commit()

    def _commit(self) -> None:
        pending, self._pending = self._pending, []
        self._committed_at = time.monotonic()
        if not pending:
            return
        try:
            self.store.commit(self.subject, self.collection, pending)
        except (InvalidArgument, EmbeddingError):
            # One document of the group cannot be stored; the others can.
            for document in pending:
                self._commit_alone(document)

    def _commit_alone(self, document: EmbeddedDocument) -> None:
        try:
            self.store.commit(self.subject, self.collection, [document])
        except (InvalidArgument, EmbeddingError) as error:
            self._failed.append(Failure(document.source, str(error)))
            for done in (self._done[Action.ADD], self._done[Action.UPDATE]):
                if document.document in done:
                    done.remove(document.document)

    def _tell(self, progress: Progress) -> None:
        if self.progress is not None:
            self.progress(progress)

    def _report(self, seconds: float) -> IndexReport:
        return IndexReport(
            added=tuple(self._done[Action.ADD]),
            updated=tuple(self._done[Action.UPDATE] + self._done[Action.METADATA]),
            unchanged=tuple(self._done[Action.UNCHANGED]),
            removed=tuple(self._removed),
            skipped=tuple(self._skipped),
            failed=tuple(self._failed),
            chunks=self._chunks,
            seconds=seconds,
        )
