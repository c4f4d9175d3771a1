"""What is wrong with a metadata map, held against the files it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pincite.indexing.metadata_map import (
    DEFAULT_KEY,
    MetadataMap,
    candidates,
    file_rank,
    normal_chain,
)
from pincite.model.fields import RESERVED_FIELDS, Field, FieldType, field_to_text, infer_field

__all__ = ["MapFault", "lint_metadata_map"]

_NUMBERS: Final = {FieldType.INTEGER, FieldType.NUMBER}


@dataclass(frozen=True, slots=True)
class MapFault:
    """One fault: its ``kind``, the keys that lead to it, and what to do.

    Kinds: ``no-file``, ``no-heading``, ``shadowed``, ``twice``, ``reserved``, ``type``,
    ``unfilterable``.
    """

    kind: str
    file: str
    heading: str
    message: str

    def __str__(self) -> str:
        place = f"{self.file} | {self.heading}" if self.heading else self.file
        return f"{place}: {self.message} [{self.kind}]"


def lint_metadata_map(
    entries: Mapping[str, Mapping[str, Any]], files: Mapping[str, Iterable[Sequence[str]]]
) -> list[MapFault]:
    """The faults of a map, in its order.

    ``files`` holds each file's path relative to the source folder with the heading chains of its
    passages. Empty entries are places to fill in, not faults. Raises ``InvalidArgument`` for a
    map of the wrong shape.
    """
    checked = MetadataMap(entries)
    chains = {file: [tuple(chain) for chain in found] for file, found in files.items()}
    return [
        *_file_faults(checked, list(chains)),
        *_heading_faults(checked, chains),
        *_value_faults(checked),
    ]


def _file_faults(given: MetadataMap, files: Sequence[str]) -> Iterator[MapFault]:
    for key in given.entries:
        if not any(file_rank(key, file) for file in files):
            yield MapFault("no-file", key, "", "it fits no file; correct the name or remove it")


def _heading_faults(
    given: MetadataMap, files: Mapping[str, Sequence[tuple[str, ...]]]
) -> Iterator[MapFault]:
    fitting, deciding = _used(given, files)
    known = {c for chains in files.values() for chain in set(chains) for c in candidates(chain)}
    for key, value in given.entries.items():
        seen = Counter(normal_chain(heading) for heading in value if heading != DEFAULT_KEY)
        for heading, entry in value.items():
            chain = normal_chain(heading)
            if heading == DEFAULT_KEY or not entry:
                continue
            if seen[chain] > 1:
                text = "another entry is the same heading; merge the two"
                yield MapFault("twice", key, heading, text)
            elif key in fitting and chain not in fitting[key]:
                hint = "; it is in another file" if chain in known else ""
                text = f"no passage is below this heading{hint}; correct or remove it"
                yield MapFault("no-heading", key, heading, text)
            elif key in fitting and chain not in deciding[key]:
                text = "a more specific entry always decides; remove it or use DEFAULT"
                yield MapFault("shadowed", key, heading, text)


def _used(
    given: MetadataMap, files: Mapping[str, Sequence[tuple[str, ...]]]
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """By key: the chains that its files have, and those that decide for a passage."""
    fitting: dict[str, set[str]] = {}
    deciding: dict[str, set[str]] = {}
    for file, chains in files.items():
        rules = given.rules(file)
        for chain in dict.fromkeys(chains):
            for key, chosen in zip(rules.keys, rules.chosen(chain), strict=True):
                fitting.setdefault(key, set()).update(candidates(chain))
                deciding.setdefault(key, set()).add(chosen)
    return fitting, deciding


def _value_faults(given: MetadataMap) -> Iterator[MapFault]:
    types: dict[str, tuple[Field, str]] = {}
    for key, value in given.entries.items():
        for heading, entry in value.items():
            for name, found in entry.items():
                fault = _reserved(name, heading) or _typed(name, found, f"{key} | {heading}", types)
                if fault:
                    yield MapFault(fault[0], key, heading, fault[1])


def _reserved(name: str, heading: str) -> tuple[str, str] | None:
    if name == "title" and heading == DEFAULT_KEY:
        return None
    if name.startswith("_") or name in RESERVED_FIELDS:
        return "reserved", f"{name!r} is filled from the document itself; use another name"
    return None


def _typed(
    name: str, value: Any, place: str, types: dict[str, tuple[Field, str]]
) -> tuple[str, str] | None:
    if value is None or value == []:
        return None
    field = infer_field(value)
    if field is None:
        return "unfilterable", f"{name!r} has a value that no filter can read; use plain values"
    first, where = types.setdefault(name, (field, place))
    if first.many == field.many and (first.type == field.type or _both_numbers(first, field)):
        return None
    here, there = field_to_text(field), field_to_text(first)
    return "type", f"{name!r} is {here} here and {there} at {where}; write both alike"


def _both_numbers(a: Field, b: Field) -> bool:
    return {a.type, b.type} <= _NUMBERS
