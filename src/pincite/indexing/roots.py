"""From paths to document ids, so that a file is one document however it is added."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pincite.errors import InvalidArgument
from pincite.model.documents import DocumentInfo

__all__ = ["Found", "Roots", "is_gone", "walk"]

STORE_FILES = ("store.sqlite3", "writer.lock")
STORE_FOLDERS = frozenset({"originals", "segments"})
"""What a local store writes into its folder."""


class Roots:
    """The folders that a collection's ids are relative to.

    A document's root is its source path without its id. A path inside a known root belongs to it;
    the first root of a collection gives plain relative paths; a further one is prefixed with its
    name, which is the same as a root at its parent.
    """

    def __init__(self, documents: Iterable[DocumentInfo]) -> None:
        self._roots: set[str] = set()
        self._ids: dict[str, str] = {}
        for info in documents:
            self._ids[info.document] = info.source
            source = _posix(info.source)
            if source.endswith("/" + info.document):
                self._roots.add(source[: -len(info.document) - 1] or "/")

    def root_of(self, path: Path) -> Path:
        """The root that gives the ids of a folder's files, or of one file."""
        known = self._known(path)
        if known is not None:
            return known
        folder = path if path.is_dir() else path.parent
        if not self._roots:
            return folder
        if not folder.name:
            raise InvalidArgument(
                f"{folder} cannot be a second folder of this collection, as it has no name; "
                "use another --collection."
            )
        return folder.parent

    def document_id(self, path: Path, fallback: Path) -> str:
        """The NFC POSIX path of ``path`` relative to its known root, else to ``fallback``.

        Raises ``InvalidArgument`` when another file already has that id.
        """
        root = self._known(path) or fallback
        document = _posix(str(path.relative_to(root)))
        if not document.isprintable() and _unencodable(document):
            raise InvalidArgument("The name is not valid UTF-8; rename the file.")
        taken = self._ids.get(document)
        if taken and taken != str(path) and not _same_file(taken, path):
            raise InvalidArgument(
                f"The id {document!r} of {path} already belongs to {taken}; index it into another "
                "--collection, or give it an id with --document."
            )
        return document

    def _known(self, path: Path) -> Path | None:
        posix = _posix(str(path))
        inside = [r for r in self._roots if posix == r or posix.startswith(r.rstrip("/") + "/")]
        if not inside:
            return None
        longest = max(inside, key=len)
        for parent in (path, *path.parents):
            if _posix(str(parent)) == longest:
                return parent
        return None


@dataclass(frozen=True, slots=True)
class Found:
    """A file under a folder; with ``reason`` it is passed over, or ``failed`` to be read."""

    path: Path
    reason: str = ""
    failed: bool = False


def walk(folder: Path, *, exclude: Iterable[Path] = ()) -> Iterator[Found]:
    """The files under ``folder`` in path order.

    Never a source: hidden files and folders, ``.pincite*``, ``metadata_map*.json``, a store
    (``exclude``, and any folder that holds one; of a store's own folder only what it wrote), and
    links that lead out of ``folder``. A folder that cannot be listed is one that failed.
    """
    excluded = {path.resolve() for path in exclude}
    real_root = folder.resolve()
    unlisted: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=unlisted.append):
        yield from _drained(unlisted)
        here = Path(parent)
        own = frozenset(names) if STORE_FILES[0] in names else frozenset()
        if own and here != folder:
            folders.clear()
            yield Found(here, "a store, no source")
            continue
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and not (own and name in STORE_FOLDERS)
            and (here / name).resolve() not in excluded
        )
        for name in sorted(names):
            if name.startswith("." if not own else (".", *STORE_FILES)):
                continue
            if not PurePosixPath(name).match("metadata_map*.json"):
                yield _found(here / name, real_root)
    yield from _drained(unlisted)


def _drained(errors: list[OSError]) -> Iterator[Found]:
    while errors:
        error = errors.pop(0)
        why = f"{error.strerror or error}; this folder was not read."
        yield Found(Path(os.fsdecode(error.filename or "")), why, failed=True)


def _found(path: Path, root: Path) -> Found:
    try:
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            return Found(path, "a link that leads out of the folder")
        if not path.is_file():
            return Found(path, "not a regular file")
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError before 3.13
        return Found(path, f"{error}; check that it can be read.", failed=True)
    return Found(path)


def is_gone(path: str) -> bool:
    """Whether nothing has this path; one that may not be looked at counts as there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _unencodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _same_file(taken: str, path: Path) -> bool:
    """Whether two spellings of a path name one file; a file that is gone leaves its id free."""
    if _posix(taken) != _posix(str(path)):
        return False
    try:
        return os.path.samefile(taken, path)
    except OSError:
        return True


def _posix(path: str) -> str:
    return unicodedata.normalize("NFC", path.replace(os.sep, "/"))
