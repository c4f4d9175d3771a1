"""An index on disk: a folder of immutable segments and one manifest that names them.

A commit writes the new segments, makes them durable, and swaps the manifest, whose tombstones say
which rows are deleted; then it removes what no manifest names. A crash at any instant leaves the
old index or the new one. Manifest and segments are checksummed containers of
``pincite.segments.file``.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import numpy as np

from pincite.errors import InvalidArgument, StoreCorrupt, StoreLocked, StoreNotFound
from pincite.segments.durable import sync_folder, write_file
from pincite.segments.file import SegmentFile, write_segment
from pincite.segments.tombstones import pack_live, unpack_live

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Commit", "Entry", "Kind", "publish", "read_commit", "write_new"]

_SEGMENT_FILE: Final = re.compile(r"[0-9a-f]{16}\.seg(\.tmp)?")
_ATTEMPTS: Final = 5


class Published(Protocol):
    """A segment; ``file`` is where the folder has it."""

    file: str

    @property
    def rows(self) -> int: ...

    @property
    def checksum(self) -> int: ...


S = TypeVar("S", bound=Published)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of index: its manifest's kind, what errors call it, and the newest version read."""

    name: str
    noun: str
    version: int

    @property
    def manifest(self) -> str:
        """The manifest's file."""
        return f"manifest.{self.name}"

    def corrupt(self, name: str, what: str) -> StoreCorrupt:
        """The error of an index that is damaged."""
        return StoreCorrupt(
            f"{self.noun.capitalize()} index {name} is damaged: {what}. Restore a backup, or build "
            "the index anew."
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """What a manifest says of a segment; ``languages`` are those of a keyword segment's texts."""

    file: str
    checksum: int
    dead: int
    languages: frozenset[str]


@dataclass(frozen=True, slots=True)
class Commit(Generic[S]):
    """What a manifest publishes; ``settings`` are the index's own."""

    segments: Sequence[S]
    live: Sequence[NDArray[np.bool_] | None]
    settings: Mapping[str, Any]
    token: str = ""
    version: int = 1


def publish(
    kind: Kind,
    folder: Path,
    commit: Commit[S],
    *,
    known: str,
    place: Callable[[int, S], S],
    languages: Callable[[S], frozenset[str]] | None = None,
) -> Commit[S]:
    """Publish a commit and return it with placed segments and its token.

    ``place`` writes segment number n, which the folder does not have. ``known`` is the token that
    this index saw there last, "" to replace whatever is there. Raises ``StoreLocked`` when another
    index has published since or is about to, ``InvalidArgument`` when the folder cannot hold an
    index.
    """
    _check_folder(kind, folder)
    with _locked(folder):
        if known and (found := _token(kind, folder)) != known:
            raise StoreLocked(
                f"The index {folder} was saved by another process ({found or 'it is gone'}); open "
                "it again and repeat the change, or save to another folder."
            )
        segments = [
            segment
            if known and segment.file and (folder / segment.file).exists()
            else place(number, segment)
            for number, segment in enumerate(commit.segments)
        ]
        sync_folder(folder)
        token = secrets.token_hex(8)
        published = Commit(segments, commit.live, commit.settings, token, commit.version)
        write_file(folder, kind.manifest, [_manifest(kind, published, languages)])
        sync_folder(folder)
        _sweep(folder, {segment.file for segment in segments})
    return published


def write_new(folder: Path, pieces: Sequence[bytes | memoryview]) -> str:
    """Write a segment under a new name, which is returned."""
    name = f"{secrets.token_hex(8)}.seg"
    write_file(folder, name, pieces)
    return name


def read_commit(kind: Kind, folder: Path, opened: Callable[[int, Entry], S]) -> Commit[S]:
    """What is published in a folder; ``opened`` opens segment number n, or raises
    ``StoreNotFound``.

    Raises ``StoreNotFound`` when nothing is published, ``StoreCorrupt`` for damage.
    """
    for attempt in range(_ATTEMPTS):
        manifest = _open_manifest(kind, folder)
        try:
            return _read(kind, manifest, opened)
        except StoreNotFound as error:
            # A writer published meanwhile and swept the segment away.
            if attempt == _ATTEMPTS - 1 or _token(kind, folder) == manifest.meta.get("token"):
                raise kind.corrupt(str(folder), f"a segment is missing ({error})") from error
    raise AssertionError("unreachable")


def _open_manifest(kind: Kind, folder: Path) -> SegmentFile:
    path = folder / kind.manifest
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreNotFound(
            f"There is no {kind.noun} index in {folder}; save one there first."
        ) from error
    manifest = SegmentFile.open(data, name=str(path))
    if manifest.kind != kind.name:
        raise kind.corrupt(str(path), f"it is a {manifest.kind}")
    if manifest.version > kind.version:
        raise StoreCorrupt(
            f"The index {folder} has version {manifest.version}; open it with a newer Pincite."
        )
    return manifest


def _read(kind: Kind, manifest: SegmentFile, opened: Callable[[int, Entry], S]) -> Commit[S]:
    meta = manifest.meta
    try:
        entries = [_entry(entry) for entry in meta["segments"]]
        settings, token = dict(meta["settings"]), str(meta["token"])
    except (KeyError, TypeError, ValueError) as error:
        raise kind.corrupt(manifest.name, f"its directory cannot be read ({error})") from error
    segments = [opened(number, entry) for number, entry in enumerate(entries)]
    for segment, entry in zip(segments, entries, strict=True):
        if segment.checksum != entry.checksum:
            raise kind.corrupt(entry.file, "it is not the one that was saved")
    live = [
        unpack_live(
            bytes(manifest.blob(f"dead.{number}")), segment.rows, dead=entry.dead, name=entry.file
        )
        if entry.dead
        else None
        for number, (entry, segment) in enumerate(zip(entries, segments, strict=True))
    ]
    return Commit(segments, live, settings, token, manifest.version)


def _entry(document: Mapping[str, Any]) -> Entry:
    name = document["file"]
    if not (isinstance(name, str) and _SEGMENT_FILE.fullmatch(name)):
        raise ValueError(f"{name!r} is no segment's name")
    languages = frozenset(str(code) for code in document.get("languages", ()))
    return Entry(name, int(document["checksum"]), int(document["dead"]), languages)


def _manifest(
    kind: Kind, commit: Commit[S], languages: Callable[[S], frozenset[str]] | None
) -> bytes:
    pairs = list(zip(commit.segments, commit.live, strict=True))
    entries = [
        {
            "file": segment.file,
            "checksum": segment.checksum,
            "dead": 0 if live is None else int(np.count_nonzero(~live)),
            **({} if languages is None else {"languages": sorted(languages(segment))}),
        }
        for segment, live in pairs
    ]
    dead = {
        f"dead.{number}": pack_live(live)
        for number, (_, live) in enumerate(pairs)
        if live is not None
    }
    meta = {"segments": entries, "settings": dict(commit.settings), "token": commit.token}
    return write_segment(kind.name, commit.version, dead, meta)


def _check_folder(kind: Kind, folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(f"{folder} is a file; pass a folder to save the index in.")
    folder.mkdir(parents=True, exist_ok=True)
    own = {kind.manifest, f"{kind.manifest}.tmp"}
    strange = [n for n in os.listdir(folder) if n not in own and not _SEGMENT_FILE.fullmatch(n)]
    if strange and not (folder / kind.manifest).exists():
        raise InvalidArgument(
            f"{folder} holds other files and no index; pass an empty or a new folder."
        )


def _token(kind: Kind, folder: Path) -> str:
    try:
        return str(_open_manifest(kind, folder).meta.get("token", ""))
    except StoreNotFound:
        return ""


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One writer at a time, where the system has locks on folders."""
    if os.name == "nt":
        yield
        return
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise StoreLocked(
            f"The index {folder} is being saved by another process; try again when it is done."
        ) from error
    finally:
        os.close(descriptor)


def _sweep(folder: Path, named: set[str]) -> None:
    for name in os.listdir(folder):
        if _SEGMENT_FILE.fullmatch(name) and name not in named:
            (folder / name).unlink(missing_ok=True)
