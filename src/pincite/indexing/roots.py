"""From paths to document ids, so that a file is one document however it is added."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pincite.errors import InvalidArgument
from pincite.model.documents import DocumentInfo

__all__ = ["Roots", "SourceFile", "walk"]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file found under a path, its document id, or the reason to pass it over."""

    path: Path
    document: str
    skip: str = ""


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
        taken = self._ids.get(document)
        if taken and _posix(taken) != _posix(str(path)):
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


def walk(folder: Path, *, exclude: Iterable[Path] = ()) -> Iterator[tuple[Path, str]]:
    """The files under ``folder`` in path order, each with "" or the reason to pass it over.

    Never a source: hidden files and folders, ``.pincite*``, ``metadata_map*.json``, the store
    itself (``exclude``), and links that lead out of ``folder``.
    """
    excluded = {path.resolve() for path in exclude}
    real_root = folder.resolve()
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            f
            for f in folders
            if not f.startswith(".") and (Path(parent) / f).resolve() not in excluded
        )
        for name in sorted(names):
            if name.startswith(".") or PurePosixPath(name).match("metadata_map*.json"):
                continue
            path = Path(parent) / name
            yield path, _refusal(path, real_root)


def _refusal(path: Path, root: Path) -> str:
    if path.is_symlink() and not path.resolve().is_relative_to(root):
        return "a link that leads out of the folder"
    if not path.is_file():
        return "not a regular file"
    return ""


def _posix(path: str) -> str:
    return unicodedata.normalize("NFC", path.replace(os.sep, "/"))
