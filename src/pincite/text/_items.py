"""Words, identifiers with their parts, and character bigrams of a normalised chunk.

ASCII is read without regular expressions: their module takes longer to import than a search.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final, Literal

    Kind = Literal["word", "name", "bigram"]

__all__ = ["CONNECTORS", "Item", "is_plain", "read_items"]

_INSIDE: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
CONNECTORS: Final = "-.@&·\u2010"
_CONNECTOR: Final = frozenset(CONNECTORS)
_TAILS: Final = (
    "++", "#", "'s", "'S", "'t", "'T", "'d", "'D", "'m", "'M", "'ll", "'LL", "'re", "'RE", "'ve",
    "'VE",
)  # fmt: skip
_DOTS: Final = frozenset(".@&·")
_HYPHENS: Final = frozenset("-\u2010_")


class Item:
    """A piece of text with its place. A "word" is stemmed; a "name" (an identifier as a whole) and
    a "bigram" are not."""

    __slots__ = ("end", "kind", "part", "start", "text")

    def __init__(self, text: str, start: int, end: int, *, part: bool, kind: Kind) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.part = part
        self.kind = kind


def read_items(chunk: str) -> Iterator[Item]:
    """The items of a normalised chunk in order, an identifier before its parts."""
    if chunk.isascii():
        yield from _ascii_items(chunk)
        return
    from pincite.text import _patterns as patterns

    chunk = patterns.unknown().sub(" ", chunk)
    for match in patterns.items().finditer(chunk):
        if match["run"] is not None:
            yield from _bigrams(match["run"], match.start())
        else:
            yield from _word(match["core"], match["tail"] or "", match.start())


def _ascii_items(chunk: str) -> Iterator[Item]:
    """What ``patterns.items`` says, for ASCII."""
    at, size = 0, len(chunk)
    while at < size:
        begin = at
        at = _core_end(chunk, begin)
        if at == begin:
            at += 1
            continue
        tail = _tail(chunk, at)
        yield from _word(chunk[begin:at], tail, begin)
        at += len(tail)


def _core_end(chunk: str, at: int) -> int:
    """Where the word, or words put together by connectors, that begins here ends."""
    begin, size = at, len(chunk)
    while at < size:
        character = chunk[at]
        if character not in _INSIDE:
            joins = character in CONNECTORS and at > begin
            if not (joins and chunk[at + 1 : at + 2] in _INSIDE):
                break
        at += 1
    return at


def _tail(chunk: str, at: int) -> str:
    if chunk[at : at + 1] in ("+", "#", "'"):
        for tail in _TAILS:
            if chunk.startswith(tail, at) and chunk[at + len(tail) :][:1] not in _INSIDE:
                return tail
    return ""


def is_plain(chunk: str) -> bool:
    """Whether the chunk is one ASCII word without humps, so that it is its only item."""
    if not (chunk.isascii() and chunk.isalnum()):
        return False
    rest = chunk[1:]
    return rest == rest.lower() or (chunk.isalpha() and chunk.isupper())


def _bigrams(run: str, base: int) -> Iterator[Item]:
    """Pairs of neighbouring characters as a reader sees them: a Thai vowel sign or tone mark is
    part of its consonant's."""
    from pincite.text._patterns import characters

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
    from pincite.text import _patterns as patterns

    bare = patterns.leading_marks().sub("", piece, count=1)
    if patterns.blank().fullmatch(bare):
        return "", base
    return bare, base + len(piece) - len(bare)


def _is_compound(core: str) -> bool:
    return not core.isalnum() and ("_" in core or not _CONNECTOR.isdisjoint(core))


def _parts(core: str, base: int, *, part: bool) -> Iterator[Item]:
    """The core as a whole, then its pieces: at dots first (foo_bar, baz of foo_bar.baz), then at
    hyphens and underscores, then at the humps of camelCase. One letter is no part: e.g., U.S."""
    if not _is_compound(core):
        yield from _plain(core, base, part=part)
        return
    yield Item(core, base, base + len(core), part=part, kind="name")
    for cut, start in _pieces(core, _HYPHENS if _DOTS.isdisjoint(core) else _DOTS):
        piece, place = _trim(cut, base + start)
        if len(piece) > 1 or piece.isdecimal():
            yield from _parts(piece, place, part=True)


def _pieces(core: str, separators: frozenset[str]) -> Iterator[tuple[str, int]]:
    """What stands between separators, with its place."""
    begin = 0
    for at, character in enumerate(core):
        if character in separators:
            if at > begin:
                yield core[begin:at], begin
            begin = at + 1
    if begin < len(core):
        yield core[begin:], begin


def _plain(word: str, base: int, *, part: bool) -> Iterator[Item]:
    yield Item(word, base, base + len(word), part=part, kind="word")
    if not word.isascii() or is_plain(word):
        return
    ends = [at for at in range(1, len(word)) if _begins_hump(word, at)]
    start = 0
    for end in [*ends, len(word)] if ends else ():
        yield Item(word[start:end], base + start, base + end, part=True, kind="word")
        start = end


def _begins_hump(word: str, at: int) -> bool:
    """A capital behind a small letter or digit, or before two small letters (XMLHttp)."""
    if not word[at].isupper():
        return False
    after = word[at + 1 : at + 3]
    return not word[at - 1].isupper() or (len(after) == 2 and after.isalpha() and after.islower())
