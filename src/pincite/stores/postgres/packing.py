"""Strings as PostgreSQL can hold them: any Python string, its order and its prefixes kept.

A PostgreSQL text holds neither NUL nor half of a surrogate pair. Both are escaped, together with
the characters that mark an escape, so that ``COLLATE "C"`` orders packed strings as Python orders
the strings themselves, and so that a packed prefix is a prefix of the packed whole.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

__all__ = ["name_key", "owner_key", "pack", "pack_term", "unpack"]

_UNHOLDABLE: Final = re.compile("[\x00\x01\ud7ff-\udfff]")
_ESCAPED: Final = re.compile("\x01[\x01\x02]|\ud7ff.", re.DOTALL)
_LOW: Final = "\x01"
_HIGH: Final = "\ud7ff"
_BASE: Final = 0x4000
_SURROGATES: Final = 0xD800

_LONGEST_TERM: Final = 256
_KEPT: Final = 64


def pack(text: str) -> str:
    """``text`` itself when PostgreSQL can hold it, else with escapes."""
    return _UNHOLDABLE.sub(_escape, text)


def unpack(text: str) -> str:
    """What ``pack`` was given."""
    if _LOW not in text and _HIGH not in text:
        return text
    return _ESCAPED.sub(_unescape, text)


def pack_term(term: str) -> str:
    """A term as the key of its postings; a long one by its head and a digest, since an index
    takes no entry beyond some 2,700 bytes."""
    packed = pack(term)
    if len(packed) <= _LONGEST_TERM:
        return packed
    digest = hashlib.blake2b(packed.encode(), digest_size=16).hexdigest()
    return f"{packed[:_KEPT]}\x01\x02{digest}"


def name_key(name: str) -> bytes:
    """16 bytes that stand for a name of any length in an index."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def owner_key(subject: str, collection: str) -> bytes:
    """16 bytes that stand for a subject's collection."""
    return name_key(f"{len(subject)}:{subject}{collection}")


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character <= _LOW:
        return _LOW + chr(ord(character) + 1)
    if character == _HIGH:
        return _HIGH + _LOW
    return _HIGH + chr(_BASE + ord(character) - _SURROGATES)


def _unescape(match: re.Match[str]) -> str:
    mark, code = match.group()[0], match.group()[1]
    if mark == _LOW:
        return chr(ord(code) - 1)
    return _HIGH if code == _LOW else chr(_SURROGATES + ord(code) - _BASE)
