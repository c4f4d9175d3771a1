"""What a run will do, decided before anything is done."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from pincite.errors import InvalidArgument
from pincite.indexing.metadata_map import MetadataMap
from pincite.indexing.pipeline import base_fingerprint
from pincite.indexing.roots import Roots, walk
from pincite.model.documents import DocumentInfo

__all__ = ["Action", "Plan", "Step", "make_plan"]


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
    the metadata of its chunks changes, so that it is read again, though not embedded.
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
    metadata: Mapping[str, Any] | None = None,
    metadata_map: MetadataMap | None = None,
    document: str | None = None,
    exclude: Iterable[Path] = (),
) -> Plan:
    """Compare a file or a folder with what is stored; reads every file once to hash it."""
    infos = {info.document: info for info in stored}
    roots = Roots(infos.values())
    root = roots.root_of(path)
    steps = []
    files = walk(path, exclude=exclude) if path.is_dir() else [(path, "")]
    for file, skip in files:
        if skip:
            steps.append(Step(Action.SKIP, file, reason=skip))
            continue
        try:
            name = document or roots.document_id(file, root)
        except InvalidArgument as error:
            steps.append(Step(Action.FAIL, file, reason=str(error)))
            continue
        step = _step(file, name, infos.get(name), fingerprint, metadata)
        steps.append(_mapped(step, infos.get(name), metadata_map))
    named = path.is_file()
    inside = f"{path}{os.sep}"
    gone = [
        name
        for name, info in infos.items()
        if info.source.startswith(inside) and not os.path.lexists(info.source)
    ]
    return Plan(tuple(replace(step, named=named) for step in steps), tuple(gone))


def _step(
    file: Path,
    document: str,
    stored: DocumentInfo | None,
    fingerprint: str,
    metadata: Mapping[str, Any] | None,
) -> Step:
    if stored is None:
        return Step(Action.ADD, file, document)
    try:
        with file.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        return Step(Action.FAIL, file, document, reason=error.strerror or str(error))
    if (digest, fingerprint) != (stored.content_hash, base_fingerprint(stored.fingerprint)):
        return Step(Action.UPDATE, file, document, stored=stored)
    if metadata is not None and dict(metadata) != dict(stored.metadata):
        return Step(Action.METADATA, file, document)
    return Step(Action.UNCHANGED, file, document)


def _mapped(step: Step, stored: DocumentInfo | None, given: MetadataMap | None) -> Step:
    """The step when the rules of a metadata map differ from those that the document was given."""
    if given is None or stored is None or step.action not in (Action.METADATA, Action.UNCHANGED):
        return step
    wrote = stored.fingerprint[len(base_fingerprint(stored.fingerprint)) :]
    if wrote == given.rules(step.document).mark:
        return step
    return replace(step, action=Action.METADATA, stored=stored, rewrite=True)
