"""The same library for async callers: every call runs in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from anyio import to_thread

from pincite.library.core import Library, Mode, Where
from pincite.library.opening import open_library

if TYPE_CHECKING:
    from pincite.embedding.embedder import Embedder
    from pincite.indexing.indexer import Chunker
    from pincite.model.documents import Collection, DocumentInfo, IndexReport, Progress
    from pincite.model.fields import Field, FieldSpec
    from pincite.model.geometry import BboxRect
    from pincite.model.hits import Chunk, Results
    from pincite.stores.findings import Finding
    from pincite.stores.transfer import ExportReport

__all__ = ["AsyncLibrary", "open_async"]

P = ParamSpec("P")
T = TypeVar("T")


async def _hop(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await to_thread.run_sync(partial(call, *args, **kwargs))


async def open_async(
    uri: str = "local:.pincite",
    *,
    collection: str = "default",
    subject: str = "local",
    embedder: Embedder | str | None = None,
    fields: Mapping[str, Field] | None = None,
    keep_originals: bool = False,
    create: bool = True,
) -> AsyncLibrary:
    """``pincite.open`` for async callers; use the result with ``async with``."""
    library = await _hop(
        open_library,
        uri,
        collection=collection,
        subject=subject,
        embedder=embedder,
        fields=fields,
        keep_originals=keep_originals,
        create=create,
    )
    return AsyncLibrary(library)


class AsyncLibrary:
    """``Library`` with awaitable methods: the same arguments, results and errors."""

    def __init__(self, library: Library) -> None:
        self.sync = library

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def add(
        self,
        source: str | Path | bytes,
        *,
        filename: str | None = None,
        document: str | None = None,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        metadata_map: Mapping[str, Mapping[str, Any]] | None = None,
        language: str | None = None,
        password: str | None = None,
        backend: str | None = None,
        chunker: Chunker | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> IndexReport:
        """``Library.add``; ``progress`` is called in the worker thread."""
        return await _hop(
            self.sync.add,
            source,
            filename=filename,
            document=document,
            title=title,
            metadata=metadata,
            metadata_map=metadata_map,
            language=language,
            password=password,
            backend=backend,
            chunker=chunker,
            progress=progress,
        )

    async def search(
        self,
        query: str,
        *,
        k: int = 10,
        offset: int = 0,
        mode: Mode = "hybrid",
        where: Where = None,
        alpha: float | None = None,
        explain: bool = False,
        partial: bool = False,
    ) -> Results:
        """``Library.search``."""
        return await _hop(
            self.sync.search,
            query,
            k=k,
            offset=offset,
            mode=mode,
            where=where,
            alpha=alpha,
            explain=explain,
            partial=partial,
        )

    async def remove(self, document: str) -> int:
        """``Library.remove``."""
        return await _hop(self.sync.remove, document)

    async def declare(self, fields: Mapping[str, Field]) -> None:
        """``Library.declare``."""
        await _hop(self.sync.declare, fields)

    async def doctor(
        self, repair: bool = False, *, progress: Callable[[Progress], None] | None = None
    ) -> list[Finding]:
        """``Library.doctor``; ``progress`` is called in the worker thread, here and below."""
        return await _hop(self.sync.doctor, repair, progress=progress)

    async def compact(self, *, progress: Callable[[Progress], None] | None = None) -> None:
        """``Library.compact``."""
        await _hop(self.sync.compact, progress=progress)

    async def backup(
        self, path: str | Path, *, progress: Callable[[Progress], None] | None = None
    ) -> None:
        """``Library.backup``."""
        await _hop(self.sync.backup, path, progress=progress)

    async def export(
        self, path: str | Path, *, progress: Callable[[Progress], None] | None = None
    ) -> ExportReport:
        """``Library.export``."""
        return await _hop(self.sync.export, path, progress=progress)

    async def import_from(
        self, path: str | Path, *, progress: Callable[[Progress], None] | None = None
    ) -> IndexReport:
        """``Library.import_from``."""
        return await _hop(self.sync.import_from, path, progress=progress)

    async def documents(self, where: Where = None) -> list[DocumentInfo]:
        """``Library.documents``."""
        return await _hop(self.sync.documents, where)

    async def collections(self) -> list[Collection]:
        """``Library.collections``."""
        return await _hop(self.sync.collections)

    async def get(self, document: str) -> DocumentInfo:
        """``Library.get``."""
        return await _hop(self.sync.get, document)

    async def chunks(self, document: str) -> list[Chunk]:
        """``Library.chunks``."""
        return await _hop(self.sync.chunks, document)

    async def markdown(self, document: str) -> str:
        """``Library.markdown``."""
        return await _hop(self.sync.markdown, document)

    async def locate(self, document: str, start: int, end: int) -> list[BboxRect]:
        """``Library.locate``."""
        return await _hop(self.sync.locate, document, start, end)

    async def fields(self) -> FieldSpec:
        """``Library.fields``."""
        return await _hop(self.sync.fields)

    async def stats(self) -> dict[str, Any]:
        """``Library.stats``."""
        return await _hop(self.sync.stats)

    async def close(self) -> None:
        """``Library.close``."""
        await _hop(self.sync.close)
