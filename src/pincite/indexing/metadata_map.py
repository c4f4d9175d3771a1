"""Metadata by file and heading, as people write it: a JSON file, its rules and its faults.

    {"papers/a.pdf": {"DEFAULT": {"year": 2024}, "Methods > Data": {"topic": "data"}},
     "*.md":         {"DEFAULT": {"kind": "note"}}}

**Files.** A key is a document's path relative to the source folder, a bare file name (in any
folder), or a pattern: ``*``, ``?`` and ``[...]`` stay within a folder, ``**`` does not, and a
pattern without ``/`` is held against the file name. Every key that fits applies: patterns in the
order they are written, then the bare name, then the path, each over those before it.

**Headings.** For a passage below A > B > C the first of these that is there and not empty is
taken: ``A > B > C``, ``B > C``, ``C``, then the same of its ancestors, deepest first: ``A > B``,
``B``, ``A``. It goes over the file's ``DEFAULT``.

File names and headings are compared after ``normalize_text``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pincite.errors import InvalidArgument
from pincite.model.fields import RESERVED_FIELDS
from pincite.text.normalize import normalize_text

__all__ = ["DEFAULT_KEY", "SEPARATOR", "FileRules", "MetadataMap", "load_metadata_map"]

DEFAULT_KEY: Final = "DEFAULT"
SEPARATOR: Final = " > "

_DEEPEST: Final = 24  # headings that hold the sign a hundred times must not cost a million chains
_GLOB = re.compile(r"[*?\[]")


def load_metadata_map(path: str | Path) -> dict[str, dict[str, Any]]:
    """Read a map from a JSON file.

    Raises ``InvalidArgument`` (a ``ValueError``) naming the file for what is no JSON, holds a key
    twice, or has another shape than ``{file: {heading: {name: value}}}``.
    """
    try:
        found = json.loads(
            Path(path).read_text(encoding="utf-8-sig"),
            object_pairs_hook=_unique,
            parse_constant=_refuse,
        )
        return MetadataMap(found).entries
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidArgument(f"The metadata map {path} cannot be used: {error}") from error


@dataclass(frozen=True, slots=True)
class FileRules:
    """What a map says of one file: the entries of each key that fits, the weakest first.

    ``keys`` are those keys as written; ``headings[i]`` maps normalised chains to entries.
    """

    keys: tuple[str, ...]
    headings: tuple[Mapping[str, Mapping[str, Any]], ...]

    def metadata(self, headings: Sequence[str]) -> dict[str, Any]:
        """The metadata of a passage below these headings, outermost first."""
        merged: dict[str, Any] = {}
        for entries, chosen in zip(self.headings, self.chosen(headings), strict=True):
            merged.update(entries.get(DEFAULT_KEY, {}))
            merged.update(entries.get(chosen, {}))
        return merged

    def for_header(self, header: str) -> dict[str, Any]:
        """The metadata below a chain such as ``A > B``, without names that a store fills itself."""
        found = self.metadata(header.split(SEPARATOR) if header else ())
        return {key: value for key, value in found.items() if key not in RESERVED_FIELDS}

    @property
    def title(self) -> str:
        """The title that ``DEFAULT`` gives the document, "" for none."""
        return str(self.metadata(()).get("title") or "")

    @property
    def mark(self) -> str:
        """What is put behind a fingerprint: "" without rules, else changes with them."""
        if not any(any(entries.values()) for entries in self.headings):
            return ""
        text = json.dumps(self.headings, sort_keys=True, default=str)
        return f"+{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def chosen(self, headings: Sequence[str]) -> list[str]:
        """For each key, the heading entry that decides, "" for none."""
        chains = candidates(headings)
        return [next((c for c in chains if entries.get(c)), "") for entries in self.headings]


class MetadataMap:
    """A checked map. Raises ``InvalidArgument`` (a ``ValueError``) for wrong shapes."""

    def __init__(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        self.entries = _checked(entries)
        self._rules: dict[str, Mapping[str, Mapping[str, Any]]] = {
            key: _normalized(value) for key, value in self.entries.items()
        }

    def rules(self, file: str) -> FileRules:
        """The rules for a file, named by its path relative to the source folder."""
        keys = sorted(
            (key for key in self.entries if file_rank(key, file)), key=lambda k: file_rank(k, file)
        )
        return FileRules(tuple(keys), tuple(self._rules[key] for key in keys))


def candidates(headings: Sequence[str]) -> list[str]:
    """The chains that name a passage, the most specific first.

    >>> candidates(["A", "B", "C"])
    ['A > B > C', 'B > C', 'C', 'A > B', 'B', 'A']
    """
    parts = [part for heading in headings for part in normal_chain(heading).split(SEPARATOR)]
    parts = parts[-_DEEPEST:]
    chains = [
        SEPARATOR.join(parts[start:end]) for end in range(len(parts), 0, -1) for start in range(end)
    ]
    return [chain for chain in dict.fromkeys(chains) if chain and chain != DEFAULT_KEY]


def file_rank(key: str, file: str) -> int:
    """How closely a key names a file: 0 not at all, 1 by pattern, 2 by its name, 3 by its path."""
    key, file = _normal_path(key), _normal_path(file)
    name = file.rpartition("/")[2]
    if key == file:
        return 3
    if key == name:
        return 2
    if not _GLOB.search(key):
        return 0
    return int(bool(_pattern(key).fullmatch(file if "/" in key else name)))


def normal_chain(text: str) -> str:
    """A chain of headings as it is compared: normalised, one blank between words."""
    pieces = normalize_text(text).split(">")
    return SEPARATOR.join(" ".join(piece.split()) for piece in pieces)


def _normal_path(path: str) -> str:
    return normalize_text(path.replace("\\", "/")).removeprefix("./")


@lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    """``**/`` is any folders or none, ``*`` and ``?`` stop at a slash."""
    found = re.sub(
        r"\*\*/|\*\*|\*|\?|\[!?[^\]]+\]|.",
        lambda match: _TRANSLATED.get(match[0]) or _literal(match[0]),
        glob,
        flags=re.DOTALL,
    )
    return re.compile(found, re.DOTALL)


_TRANSLATED: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _literal(part: str) -> str:
    if len(part) == 1:
        return re.escape(part)
    inner = part[1:-1].replace("\\", "\\\\")
    inner = f"^{inner[1:]}" if inner.startswith("!") else inner.replace("^", "\\^")
    return f"[{inner}]"


def _normalized(value: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Entries by normalised chain; of two that become equal the first not empty stays."""
    found: dict[str, Mapping[str, Any]] = {}
    for key, entry in value.items():
        chain = DEFAULT_KEY if key == DEFAULT_KEY else normal_chain(key)
        if not found.get(chain):
            found[chain] = entry
    return found


def _checked(entries: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(entries, Mapping):
        raise _wrong("the map", entries)
    checked: dict[str, dict[str, Any]] = {}
    for file, value in entries.items():
        if not isinstance(file, str) or not isinstance(value, Mapping):
            raise _wrong(f"the entry of {file!r}", value)
        for heading, entry in value.items():
            if not isinstance(heading, str) or not isinstance(entry, Mapping):
                raise _wrong(f"the entry of {heading!r} in {file!r}", entry)
            if not all(isinstance(name, str) for name in entry):
                raise _wrong(f"the entry of {heading!r} in {file!r}", entry)
        checked[file] = dict(value)
    return checked


def _wrong(where: str, value: Any) -> InvalidArgument:
    return InvalidArgument(
        f"In the metadata map, {where} is {_shown(value)}; the shape is "
        '{file: {"DEFAULT": {name: value}, "Heading > Sub": {name: value}}}.'
    )


def _shown(value: Any) -> str:
    return f"a {type(value).__name__}" if not isinstance(value, Mapping) else "of unnamed values"


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"it has {key!r} twice in one object; keep one.")
        found[key] = value
    return found


def _refuse(constant: str) -> Iterator[None]:
    raise ValueError(f"{constant} is not a JSON value; write a number or null.")
