"""Words, identifiers with their parts, and character bigrams of a normalised chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from pincite.text._patterns import (
    CAMEL,
    CONNECTOR,
    blank,
    characters,
    items,
    leading_marks,
    unknown,
)

__all__ = ["Item", "Kind", "is_plain", "read_items"]

Kind = Literal["word", "name", "bigram"]

_DOT: Final = re.compile("[.@&·]")
_AT_DOTS: Final = re.compile("[^.@&·]+")
_AT_HYPHENS: Final = re.compile("[^-\u2010_]+")


class Item(NamedTuple):
    """A piece of text with its place. A "word" is stemmed; a "name" (an identifier as a whole) and
    a "bigram" are not."""

    text: str
    start: int
    end: int
    part: bool
    kind: Kind


def read_items(chunk: str) -> Iterator[Item]:
    """The items of a normalised chunk in order, an identifier before its parts."""
    if not chunk.isascii():
        chunk = unknown().sub(" ", chunk)
    for match in items(chunk).finditer(chunk):
        if match["run"] is not None:
            yield from _bigrams(match["run"], match.start())
        else:
            yield from _word(match["core"], match["tail"] or "", match.start())


def is_plain(chunk: str) -> bool:
    """Whether the chunk is one ASCII word without humps, so that it is its only item."""
    if not (chunk.isascii() and chunk.isalnum()):
        return False
    rest = chunk[1:]
    return rest == rest.lower() or (chunk.isalpha() and chunk.isupper())


def _bigrams(run: str, base: int) -> Iterator[Item]:
    """Pairs of neighbouring characters as a reader sees them: a Thai vowel sign or tone mark is
    part of its consonant's."""
    places = [match.start() for match in characters().finditer(run)]
    places.append(len(run))
    for i in range(max(len(places) - 2, 1)):
        start, end = places[i], places[min(i + 2, len(places) - 1)]
        yield Item(run[start:end], base + start, base + end, part=False, kind="bigram")


def _word(core: str, tail: str, base: int) -> Iterator[Item]:
    core, base = _trim(core, base)
    end = base + len(core)
    if not core:
        return
    if tail in ("++", "#"):
        yield Item(core + tail, base, end + len(tail), part=False, kind="name")
        yield from _parts(core, base, part=True)
    elif tail and tail[1:].lower() != "s" and not _is_compound(core):
        yield Item(core + tail, base, end + len(tail), part=False, kind="word")
    else:
        yield from _parts(core, base, part=False)


def _trim(piece: str, base: int) -> tuple[str, int]:
    """Without the combining marks at its start; empty when no letter or digit is left."""
    if piece.isascii():
        return (piece, base) if piece.strip("_") else ("", base)
    bare = leading_marks().sub("", piece, count=1)
    if blank().fullmatch(bare):
        return "", base
    return bare, base + len(piece) - len(bare)


def _is_compound(core: str) -> bool:
    return not core.isalnum() and ("_" in core or CONNECTOR.search(core) is not None)


def _parts(core: str, base: int, *, part: bool) -> Iterator[Item]:
    """The core as a whole, then its pieces: at dots first (foo_bar, baz of foo_bar.baz), then at
    hyphens and underscores, then at the humps of camelCase. One letter is no part: e.g., U.S."""
    if not _is_compound(core):
        yield from _plain(core, base, part=part)
        return
    yield Item(core, base, base + len(core), part=part, kind="name")
    pieces = _AT_DOTS if _DOT.search(core) else _AT_HYPHENS
    for match in pieces.finditer(core):
        piece, start = _trim(match.group(), base + match.start())
        if len(piece) > 1 or piece.isdecimal():
            yield from _parts(piece, start, part=True)


def _plain(word: str, base: int, *, part: bool) -> Iterator[Item]:
    yield Item(word, base, base + len(word), part=part, kind="word")
    humps = CAMEL.split(word) if word.isascii() else [word]
    if len(humps) > 1:
        for hump in humps:
            yield Item(hump, base, base + len(hump), part=True, kind="word")
            base += len(hump)
