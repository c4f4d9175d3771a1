"""What a run will do, decided before anything is done."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from pincite.errors import InvalidArgument
from pincite.indexing.pipeline import SourceOptions, base_fingerprint
from pincite.indexing.roots import Found, Roots, is_gone, walk
from pincite.model.documents import DocumentInfo

__all__ = ["Action", "Changes", "Plan", "Step", "make_plan"]


class Action(StrEnum):
    """What becomes of one source."""

    ADD = "add"
    UPDATE = "update"
    METADATA = "metadata-only"
    UNCHANGED = "unchanged"
    SKIP = "skip"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Step:
    """One source, its document id and what will be done; ``reason`` explains a skip or failure.

    ``named`` says that the caller gave this very file, not a folder around it; ``rewrite`` that
    its chunks are written anew with the vectors that they have.
    """

    action: Action
    path: Path
    document: str = ""
    reason: str = ""
    named: bool = False
    stored: DocumentInfo | None = None
    rewrite: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a run, in path order; ``gone`` are documents of the folder without a file."""

    steps: tuple[Step, ...]
    gone: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether a step needs the embedder."""
        return any(step.action in {Action.ADD, Action.UPDATE} for step in self.steps)

    def gone_warnings(self) -> tuple[str, ...]:
        """What to tell the caller of documents whose file is gone."""
        if not self.gone:
            return ()
        named = ", ".join(self.gone[:5]) + (", ..." if len(self.gone) > 5 else "")
        many = "document has" if len(self.gone) == 1 else "documents have"
        return (f"{len(self.gone)} {many} no file any more ({named}); `pincite rm` removes them",)


def make_plan(
    path: Path,
    stored: Iterable[DocumentInfo],
    *,
    fingerprint: str,
    options: SourceOptions,
    document: str | None = None,
    exclude: Iterable[Path] = (),
) -> Plan:
    """Compare a file or a folder with what is stored; reads every file once to hash it."""
    infos = {info.document: info for info in stored}
    roots = Roots(infos.values())
    root = roots.root_of(path)
    changes = Changes(fingerprint, options)
    steps, seen = [], dict[str, Path]()
    for found in walk(path, exclude=exclude) if path.is_dir() else [Found(path)]:
        if found.reason:
            action = Action.FAIL if found.failed else Action.SKIP
            steps.append(Step(action, found.path, reason=found.reason))
            continue
        try:
            name = document or roots.document_id(found.path, root)
            _check_twin(name, found.path, seen)
        except InvalidArgument as error:
            steps.append(Step(Action.FAIL, found.path, reason=str(error)))
            continue
        steps.append(changes.of_file(found.path, name, infos.get(name)))
    named = path.is_file()
    inside = f"{path}{os.sep}"
    gone = [n for n, i in infos.items() if i.source.startswith(inside) and is_gone(i.source)]
    return Plan(tuple(replace(step, named=named) for step in steps), tuple(gone))


def _check_twin(name: str, path: Path, seen: dict[str, Path]) -> None:
    """Two spellings of one name in Unicode would be one document."""
    other = seen.setdefault(name, path)
    if other != path:
        raise InvalidArgument(
            f"The id {name!r} is that of {other.name!r} beside it, spelt in other code points; "
            "rename one of the files."
        )


@dataclass(frozen=True, slots=True)
class Changes:
    """What a run would write of a source, to be held against what is stored."""

    fingerprint: str
    options: SourceOptions

    def of_file(self, file: Path, document: str, stored: DocumentInfo | None) -> Step:
        """The step that a file needs; hashes it when its document is stored."""
        if stored is None:
            return Step(Action.ADD, file, document)
        try:
            with file.open("rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
        except OSError as error:
            return Step(Action.FAIL, file, document, reason=error.strerror or str(error))
        action, rewrite = self.of(digest, stored)
        return Step(action, file, document, stored=stored, rewrite=rewrite)

    def of(self, digest: str, stored: DocumentInfo | None) -> tuple[Action, bool]:
        """What becomes of a content hash, and whether its passages are only written anew."""
        if stored is None:
            return Action.ADD, False
        base = base_fingerprint(stored.fingerprint)
        if (digest, self.fingerprint) != (stored.content_hash, base):
            return Action.UPDATE, False
        options = self.options
        given = {"title": options.title, "language": options.language}
        if any(value and value != getattr(stored, name) for name, value in given.items()):
            return Action.UPDATE, True
        mark = stored.fingerprint[len(base) :]
        if options.metadata_map is not None and mark != options.rules(stored.document).mark:
            return Action.METADATA, True
        if options.metadata is not None and dict(options.metadata) != dict(stored.metadata):
            return Action.METADATA, False
        return Action.UNCHANGED, False
