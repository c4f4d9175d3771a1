"""What stands inside a ZIP container, and whether it is safe to unpack."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib

from pincite.errors import ParseError

__all__ = ["MAX_INFLATED_BYTES", "MAX_MEMBERS", "check_inflated", "members", "read_member"]

MAX_INFLATED_BYTES = 256 * 1024 * 1024
"""An archive that inflates to more than this many bytes is refused."""

MAX_MEMBERS = 20_000
"""An archive with more members than this is refused."""

_STEP = 1 << 20
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    NotImplementedError,
    LookupError,
    ValueError,
    OSError,
    EOFError,
)
"""What zipfile raises for damaged bytes, beyond what it documents."""


def members(data: bytes) -> frozenset[str]:
    """The names in the archive; empty when its directory cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return frozenset(archive.namelist())
    except _DAMAGE:
        return frozenset()


def read_member(data: bytes, name: str, most: int) -> bytes:
    """The first ``most`` bytes of a member; b"" when it is absent or damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(name) as stream:
            return stream.read(most)
    except (RuntimeError, *_DAMAGE):
        return b""


def check_inflated(data: bytes, filename: str) -> None:
    """Raise ``ParseError`` for an archive that is damaged, encrypted or too large.

    The bytes are counted while they are inflated; the sizes that an archive states are not
    believed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _count(archive, filename)
    except ParseError:
        raise
    except _DAMAGE as error:
        raise ParseError(
            f"{filename} is damaged ({error}); open it in its program and save it again."
        ) from error
    except RuntimeError as error:  # zipfile's way to say that a member is encrypted
        raise ParseError(f"{filename} is encrypted; save a copy without a password.") from error


def _count(archive: zipfile.ZipFile, filename: str) -> None:
    infos = archive.infolist()
    if len(infos) > MAX_MEMBERS:
        raise ParseError(f"{filename} has {len(infos)} members, more than {MAX_MEMBERS}; split it.")
    total = 0
    for info in infos:
        with archive.open(info) as stream:
            while block := stream.read(_STEP):
                total += len(block)
                if total > MAX_INFLATED_BYTES:
                    raise ParseError(
                        f"{filename} inflates to more than {MAX_INFLATED_BYTES >> 20} MiB; "
                        "split it or remove its media."
                    )
