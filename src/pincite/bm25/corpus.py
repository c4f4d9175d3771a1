"""A keyword index on disk: a folder of immutable segments and one manifest that names them.

A commit writes the new segments, makes them durable, and swaps the manifest, whose tombstones say
which rows are deleted; then it removes what no manifest names. A crash at any instant leaves the
old index or the new one. Manifest and segments are checksummed containers of
``pincite.segments.file``.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pincite.bm25.indexed import Arrays, RecordOf, Segment, index_corrupt
from pincite.errors import InvalidArgument, StoreCorrupt, StoreLocked, StoreNotFound
from pincite.segments.file import SegmentFile, segment_pieces, write_segment
from pincite.segments.tombstones import pack_live, unpack_live

if TYPE_CHECKING:
    from pincite.bm25.search import Mask

__all__ = ["MANIFEST", "Commit", "read_commit", "write_commit"]

MANIFEST: Final = "manifest.bm25"

_KIND: Final = "bm25"
_SEGMENT_KIND: Final = "bm25-segment"
_VERSION: Final = 1
_COMPACT_VERSION: Final = 2  # its segments may be compact
_SEGMENT_FILE: Final = re.compile(r"[0-9a-f]{16}\.seg(\.tmp)?")
_ATTEMPTS: Final = 5


@dataclass(slots=True)
class Commit:
    """What a manifest publishes; ``settings`` are the index's own. ``compact`` is how postings are
    laid out."""

    segments: Sequence[Segment]
    live: Sequence[Mask | None]
    settings: Mapping[str, Any] = field(default_factory=dict)
    token: str = ""
    compact: bool = False


def write_commit(
    folder: Path, commit: Commit, *, known: str, record_of: RecordOf | None = None
) -> str:
    """Publish a commit and return its token; ``known`` is the token this index saw there last.

    Segments that the folder does not have yet are written with a record of each row.

    Raises ``StoreLocked`` when another index has published since, ``InvalidArgument`` when the
    folder cannot hold an index.
    """
    _check_folder(folder)
    if known and (found := _token(folder)) != known:
        raise StoreLocked(
            f"The index {folder} was saved by another process ({found or 'it is gone'}); open it "
            "again and repeat the change, or save to another folder."
        )
    for segment, live in zip(commit.segments, commit.live, strict=True):
        if not (known and segment.file and (folder / segment.file).exists()):
            segment.file = _write_segment(
                folder, segment, segment.arrays(live, record_of, compact=commit.compact)
            )
    _sync(folder)
    commit.token = secrets.token_hex(8)
    _write(folder, MANIFEST, [_manifest(commit)])
    _sync(folder)
    _sweep(folder, {segment.file for segment in commit.segments})
    return commit.token


def read_commit(folder: Path) -> Commit:
    """Open what is published in a folder.

    Raises ``StoreNotFound`` when nothing is, ``StoreCorrupt`` for damage.
    """
    for attempt in range(_ATTEMPTS):
        manifest = _open_manifest(folder)
        try:
            return _read(folder, manifest)
        except StoreNotFound as error:
            # A writer published meanwhile and swept the segment away.
            if attempt == _ATTEMPTS - 1 or _token(folder) == manifest.meta.get("token"):
                raise index_corrupt(str(folder), f"a segment is missing ({error})") from error
    raise AssertionError("unreachable")


def _open_manifest(folder: Path) -> SegmentFile:
    path = folder / MANIFEST
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreNotFound(
            f"There is no keyword index in {folder}; save one there first."
        ) from error
    manifest = SegmentFile.open(data, name=str(path))
    if manifest.kind != _KIND:
        raise index_corrupt(str(path), f"it is a {manifest.kind}")
    if manifest.version > _COMPACT_VERSION:
        raise StoreCorrupt(
            f"The index {folder} has version {manifest.version}; open it with a newer Pincite."
        )
    return manifest


def _read(folder: Path, manifest: SegmentFile) -> Commit:
    meta = manifest.meta
    try:
        entries = [_entry(entry) for entry in meta["segments"]]
        settings, token = dict(meta["settings"]), str(meta["token"])
    except (KeyError, TypeError, ValueError) as error:
        raise index_corrupt(manifest.name, f"its directory cannot be read ({error})") from error
    segments = [_open_segment(folder, number, entry) for number, entry in enumerate(entries)]
    live = [
        _live(manifest, number, entry, segment)
        for number, (entry, segment) in enumerate(zip(entries, segments, strict=True))
    ]
    return Commit(segments, live, settings, token)


@dataclass(frozen=True, slots=True)
class _Entry:
    file: str
    checksum: int
    dead: int
    languages: frozenset[str]


def _entry(document: Mapping[str, Any]) -> _Entry:
    name = document["file"]
    if not (isinstance(name, str) and _SEGMENT_FILE.fullmatch(name)):
        raise ValueError(f"{name!r} is no segment's name")
    languages = frozenset(str(code) for code in document["languages"])
    return _Entry(name, int(document["checksum"]), int(document["dead"]), languages)


def _open_segment(folder: Path, number: int, entry: _Entry) -> Segment:
    opened = SegmentFile.open(folder / entry.file, name=entry.file)
    if (opened.kind, opened.checksum) != (_SEGMENT_KIND, entry.checksum):
        raise index_corrupt(entry.file, "it is not the one that was saved")
    segment = Segment(number, opened, entry.languages)
    segment.file = entry.file
    return segment


def _live(manifest: SegmentFile, number: int, entry: _Entry, segment: Segment) -> Mask | None:
    if not entry.dead:
        return None
    packed = bytes(manifest.blob(f"dead.{number}"))
    return unpack_live(packed, segment.rows, dead=entry.dead, name=entry.file)


def _manifest(commit: Commit) -> bytes:
    pairs = list(zip(commit.segments, commit.live, strict=True))
    entries = [
        {
            "file": segment.file,
            "checksum": segment.checksum,
            "dead": 0 if live is None else int(np.count_nonzero(~live)),
            "languages": sorted(segment.languages),
        }
        for segment, live in pairs
    ]
    dead = {
        f"dead.{number}": pack_live(live)
        for number, (_, live) in enumerate(pairs)
        if live is not None
    }
    meta = {"segments": entries, "settings": dict(commit.settings), "token": commit.token}
    version = _COMPACT_VERSION if commit.compact else _VERSION
    return write_segment(_KIND, version, dead, meta)


def _write_segment(folder: Path, segment: Segment, arrays: Arrays) -> str:
    name = f"{secrets.token_hex(8)}.seg"
    pieces = segment_pieces(_SEGMENT_KIND, _VERSION, arrays)
    segment.checksum = SegmentFile.checksum_in(pieces[0])
    _write(folder, name, pieces)
    return name


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument(f"{folder} is a file; pass a folder to save the index in.")
    folder.mkdir(parents=True, exist_ok=True)
    strange = not (folder / MANIFEST).exists() and any(
        not _SEGMENT_FILE.fullmatch(name) for name in os.listdir(folder)
    )
    if strange:
        raise InvalidArgument(
            f"{folder} holds other files and no index; pass an empty or a new folder."
        )


def _token(folder: Path) -> str:
    try:
        return str(_open_manifest(folder).meta.get("token", ""))
    except StoreNotFound:
        return ""


def _write(folder: Path, name: str, pieces: Sequence[bytes | memoryview]) -> None:
    """Write a file under another name, make it durable, and rename it."""
    draft = folder / f"{name}.tmp"
    try:
        with draft.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / name)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(folder: Path, named: set[str]) -> None:
    for name in os.listdir(folder):
        if _SEGMENT_FILE.fullmatch(name) and name not in named:
            (folder / name).unlink(missing_ok=True)
