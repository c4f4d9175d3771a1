"""Looking after the store of a library: examine, compact, back up, export, import."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from pincite.errors import EmbeddingError, PinciteError, Unconfigured
from pincite.library.model import LibraryModel, make_embedder
from pincite.stores.checks import check_model

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np
    from numpy.typing import NDArray

    from pincite.embedding.embedder import Embedder
    from pincite.model.documents import ModelIdentity, Progress
    from pincite.stores.findings import Finding
    from pincite.stores.ports import SyncStore

__all__ = ["Models", "back_up", "bring_up_to_date", "compact", "examine", "heard"]

Report = Callable[["Progress"], None]


@runtime_checkable
class _Examined(Protocol):
    """A store that checks itself."""

    def doctor(self, *, repair: bool = False) -> list[Finding]: ...


@runtime_checkable
class _Kept(Protocol):
    """A store in a folder of its own: the local one."""

    def reporting(self, progress: Report | None) -> AbstractContextManager[None]: ...

    def bring_up_to_date(self) -> None: ...

    def doctor(self, *, repair: bool = False, embed: Models | None = None) -> list[Finding]: ...

    def compact(self) -> None: ...

    def backup(self, path: str | Path) -> None: ...


class Models:
    """The models of a store's collections, loaded when their texts are to be embedded again.

    ``given`` is what the library was opened with; where it is another model than a collection's,
    the endpoint that the collection names is tried.
    """

    def __init__(self, given: Embedder | str | None) -> None:
        self._given = [given, None] if given is not None else [None]
        self._loaded: dict[str, list[LibraryModel]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()

    def __call__(
        self, endpoint: str, model: ModelIdentity | None, texts: list[str]
    ) -> NDArray[np.float32]:
        """One row for each text; ``PinciteError`` when the model cannot be used."""
        try:
            return self._fitting(endpoint, model).texts(texts)
        except PinciteError:
            raise
        except Exception as error:  # an embedding client may raise anything
            raise EmbeddingError(f"{endpoint}: {type(error).__name__}: {error}") from error

    def _fitting(self, endpoint: str, model: ModelIdentity | None) -> LibraryModel:
        """The given model where it is the collection's, else the one of the endpoint's name."""
        problems = []
        for found in self._candidates(endpoint):
            try:
                check_model("", (endpoint, model), endpoint=found.endpoint, model=found.identity)
            except Exception as error:  # noqa: BLE001 - an embedding client may raise anything
                problems.append(f"{type(error).__name__}: {error}")
                continue
            return found
        raise EmbeddingError("; ".join(problems))

    def _candidates(self, endpoint: str) -> list[LibraryModel]:
        if endpoint not in self._loaded:
            made = [LibraryModel(make_embedder(given, endpoint)) for given in self._given]
            for each in made:
                self._stack.callback(each.close)
            self._loaded[endpoint] = made
        return self._loaded[endpoint]


def heard(store: SyncStore, progress: Report | None) -> AbstractContextManager[None]:
    """While in use, ``progress`` hears of what the store does by itself, such as rebuilding."""
    return store.reporting(progress) if isinstance(store, _Kept) else nullcontext()


def bring_up_to_date(store: SyncStore) -> None:
    """Build anew what an older version derived, where the store is ours to change."""
    if isinstance(store, _Kept):
        store.bring_up_to_date()


def examine(
    store: SyncStore,
    *,
    repair: bool,
    given: Embedder | str | None,
    progress: Report | None,
) -> list[Finding]:
    """What ``doctor`` of the store says; with ``repair`` lost vectors are embedded again."""
    if isinstance(store, _Kept):
        with store.reporting(progress), Models(given) as models:
            found = store.doctor(repair=repair, embed=models)
    elif isinstance(store, _Examined):
        found = store.doctor(repair=repair)
    else:
        raise _unable(store, "examine itself", "ask the server for its own checks")
    return [finding.told() for finding in found]


def compact(store: SyncStore, progress: Report | None) -> None:
    """Write every collection of the store without what was deleted."""
    if not isinstance(store, _Kept):
        raise _unable(store, "compact itself", "the server does so by itself")
    with store.reporting(progress):
        store.compact()


def back_up(store: SyncStore, path: str | Path, progress: Report | None) -> None:
    """Copy the store to a folder that is absent or empty."""
    if not isinstance(store, _Kept):
        raise _unable(store, "copy itself", "use the server's own backup")
    with store.reporting(progress):
        store.backup(path)


def _unable(store: SyncStore, what: str, instead: str) -> Unconfigured:
    return Unconfigured(
        f"A {type(store).__name__} cannot {what}, as a local: store can; {instead}."
    )
