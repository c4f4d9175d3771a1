"""Keys that no choice of names can make collide."""

from __future__ import annotations

import hashlib
import uuid
from typing import Final

__all__ = ["digest", "packed", "point_id", "tenant_of"]

_POINTS: Final = uuid.UUID("6f0c5a52-7d0b-5e0e-9a41-0d5f6b1c2a10")


def packed(*parts: str) -> bytes:
    """The parts one after the other, each behind its length, so that borders cannot move."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(len(part).to_bytes(8, "big") + part for part in encoded)


def tenant_of(subject: str, collection: str) -> str:
    """32 hex digits that stand for one subject's collection."""
    return _uuid5(packed(subject, collection)).hex


def point_id(subject: str, collection: str, chunk_id: str) -> str:
    """The UUID of a chunk: version 5 (RFC 9562) over length-prefixed subject, collection and id."""
    return str(_uuid5(packed(subject, collection, chunk_id)))


def digest(*parts: str) -> str:
    """24 hex digits of a hash over the parts."""
    return hashlib.blake2b(packed(*parts), digest_size=12).hexdigest()


def _uuid5(name: bytes) -> uuid.UUID:
    # uuid.uuid5 takes bytes only from Python 3.12 on.
    hashed = hashlib.sha1(_POINTS.bytes + name, usedforsecurity=False).digest()
    return uuid.UUID(bytes=hashed[:16], version=5)
