"""``Library.add``: checked options, then a planned run over a path, or one document from bytes."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.errors import InvalidArgument, ParseError
from pincite.indexing.metadata_map import MetadataMap
from pincite.indexing.pipeline import FileInput, NoText, Pipeline, SourceOptions
from pincite.indexing.plan import Action, Changes, make_plan
from pincite.indexing.run import Run
from pincite.model.documents import DocumentInfo, IndexReport, Progress
from pincite.model.fields import FieldSpec, misfits
from pincite.model.filters import DeclaredFilter
from pincite.stores.intake import plain_metadata
from pincite.text.stemming import language_code

if TYPE_CHECKING:
    from pincite.indexing.originals import Originals
    from pincite.stores.ports import SyncStore

__all__ = ["Adding", "source_options"]


def source_options(
    *,
    title: str | None,
    language: str | None,
    password: str | None,
    metadata: Mapping[str, Any] | None,
    metadata_map: Mapping[str, Mapping[str, Any]] | None,
) -> SourceOptions:
    """The options of ``add``, checked; raises ``InvalidArgument`` naming the one that is wrong."""
    for name, value in (("title", title), ("language", language), ("password", password)):
        if value is not None and not isinstance(value, str):
            raise InvalidArgument(f"{name} is a {type(value).__name__}; pass a string.")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidArgument(f"metadata is a {type(metadata).__name__}; pass a mapping.")
    return SourceOptions(
        title=title or "",
        language=language_code(language) if language else "",
        password=password,
        metadata=None if metadata is None else plain_metadata(metadata, "the source"),
        metadata_map=None if metadata_map is None else MetadataMap(metadata_map),
    )


@dataclass(frozen=True, slots=True)
class Adding:
    """One call of ``add`` to one collection.

    ``originals`` keeps the bytes of uploads, and with ``keep_files`` those of files too.
    """

    store: SyncStore
    subject: str
    collection: str
    spec: FieldSpec
    pipeline: Pipeline
    options: SourceOptions
    originals: Originals | None = None
    keep_files: bool = False
    exclude: tuple[Path, ...] = ()

    def path(
        self, source: Path, document: str | None, progress: Callable[[Progress], None] | None
    ) -> IndexReport:
        """Index a file or a folder."""
        path = _existing(source)
        if path.is_dir() and document:
            raise InvalidArgument("document= names one file; a folder's files get path ids.")
        warnings = self._misfits(str(source), strict=path.is_file())
        plan = make_plan(
            path,
            self.store.documents(self.subject, self.collection),
            fingerprint=self.pipeline.fingerprint,
            options=self.options,
            document=document,
            exclude=self.exclude,
        )
        run = Run(
            self.store,
            self.subject,
            self.collection,
            self.pipeline,
            self.options,
            progress,
            self.originals if self.keep_files else None,
        )
        return replace(run.execute(plan), warnings=(*warnings, *plan.gone_warnings()))

    def data(self, data: bytes, filename: str | None, document: str | None) -> IndexReport:
        """Index one document from its bytes."""
        started = time.monotonic()
        if not filename or not isinstance(filename, str):
            raise InvalidArgument("Bytes need filename=, whose extension says what they are.")
        digest = hashlib.sha256(data).hexdigest()
        name = document or digest
        self._misfits(name, strict=True)
        stored = self._stored(name)
        action, rewrite = Changes(self.pipeline.fingerprint, self.options).of(digest, stored)
        if action is Action.UNCHANGED:
            return IndexReport(unchanged=(name,), seconds=time.monotonic() - started)
        pipeline = self.pipeline
        if rewrite or action is Action.METADATA:
            pipeline = pipeline.reusing(self.store.vectors(self.subject, self.collection, name))
        made = pipeline.run(FileInput(name, data, filename, options=self.options.over(stored)))
        if isinstance(made, NoText):
            raise ParseError(f"{filename}: {made.reason}; nothing was indexed.")
        if self.originals is not None:
            self.originals.keep(data)
        self.store.commit(self.subject, self.collection, [made])
        return IndexReport(
            added=() if stored else (name,),
            updated=(name,) if stored else (),
            chunks=len(made.chunks),
            seconds=time.monotonic() - started,
        )

    def _stored(self, name: str) -> DocumentInfo | None:
        own = DeclaredFilter("document", "eq", name)
        return next(iter(self.store.documents(self.subject, self.collection, own)), None)

    def _misfits(self, source: str, *, strict: bool) -> tuple[str, ...]:
        """Metadata that does not fit the fields: refused for one document, else a warning."""
        metadata = self.options.metadata or {}
        found = [f"{source}: {misfit}" for misfit in misfits(metadata, self.spec)]
        if found and strict:
            raise InvalidArgument(
                f"{found[0]}; pass a fitting value, or use a collection that declares the field so."
            )
        return tuple(f"{warning}; kept, but not filterable" for warning in found)


def _existing(source: Path) -> Path:
    """The absolute path, links in its folder resolved; refuses what is no file or folder."""
    try:
        path = source.expanduser()
        if path.is_dir():
            return path.resolve()
        if path.is_file():
            return path.parent.resolve() / path.name
        there = path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidArgument(f"{source} cannot be looked at ({error}); check the path.") from error
    if there:
        raise InvalidArgument(f"{source} is no regular file; name a file or a folder.")
    raise InvalidArgument(f"{source} is not there; check the path.")
