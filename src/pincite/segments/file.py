"""An immutable, checksummed container of named arrays.

    header     64 bytes: magic, container version, CRC, sizes
    directory  JSON: kind, version, meta, and for each array name, dtype, shape, offset, bytes
    checksums  one CRC-32 (uint32) for each started block of 64 KiB of each array, in order
    arrays     each at a multiple of 64 bytes, C order, little-endian

The header's CRC covers header, directory and checksums and is verified on opening, as is every
offset and size. A block of an array is verified when it is first touched, so that opening costs the
same at any size. Every damage raises ``StoreCorrupt`` with the name of the segment.
"""

from __future__ import annotations

import mmap
import sys
import zlib

from pincite.errors import MEND_SEGMENT, InvalidArgument, StoreCorrupt, StoreNotFound
from pincite.segments.kernels import native
from pincite.segments.plain_json import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:  # a search that is a process of its own does without them
    from collections.abc import Mapping
    from os import PathLike
    from typing import Any, Final

    import numpy as np
    from numpy.typing import NDArray

    from pincite.segments.plain_json import JSON

__all__ = ["SegmentFile", "segment_pieces", "write_segment"]

_MAGIC: Final = b"\x89PNCSEG\n"
_CONTAINER: Final = 1
# Magic, version (4 bytes), CRC (4), sizes of all, of the directory and of the checksums (8 each).
_HEADER: Final = 64
_CRC_AT: Final = 12
_ALIGN: Final = 64
_BLOCK: Final = 65536
_BLOB: Final = "blob"
_ITEM_BYTES: Final = {
    "b1": 1, "i1": 1, "u1": 1, "i2": 2, "u2": 2, "f2": 2, "i4": 4, "u4": 4, "f4": 4,
    "i8": 8, "u8": 8, "f8": 8, _BLOB: 1,
}  # fmt: skip
_MAX_DIMENSIONS: Final = 4


def write_segment(
    kind: str,
    version: int,
    arrays: Mapping[str, NDArray[Any] | bytes],
    meta: Mapping[str, JSON] | None = None,
) -> bytes:
    """The container's bytes; equal input gives equal bytes.

    ``kind`` and ``version`` tell readers what the arrays mean. Raises ``InvalidArgument`` for a
    dtype outside bool, integers of 1 to 8 bytes and floats of 2 to 8, or meta that is not JSON.
    """
    return b"".join(segment_pieces(kind, version, arrays, meta))


def segment_pieces(
    kind: str,
    version: int,
    arrays: Mapping[str, NDArray[Any] | bytes],
    meta: Mapping[str, JSON] | None = None,
) -> list[bytes | memoryview]:
    """``write_segment`` in pieces that share the arrays' memory, to be written one by one."""
    packed = {name: _pack(name, value) for name, value in arrays.items()}
    checksums = b"".join(_checksums(data) for _, _, data in packed.values())
    directory = _directory(kind, version, meta or {}, packed)
    end = _HEADER + len(directory) + len(checksums)
    offsets, size = _place(end, [data.nbytes for _, _, data in packed.values()])
    header = _header(0, size, len(directory), len(checksums))
    crc = zlib.crc32(header + directory + checksums)
    header = _header(crc, size, len(directory), len(checksums))
    pieces: list[bytes | memoryview] = [header, directory, checksums]
    for offset, (_, _, data) in zip(offsets, packed.values(), strict=True):
        pieces += [bytes(offset - end), data]
        end = offset + data.nbytes
    return pieces


def _pack(name: str, value: NDArray[Any] | bytes) -> tuple[str, list[int], memoryview]:
    if isinstance(value, bytes | bytearray | memoryview):
        data = memoryview(value).cast("B")
        return _BLOB, [data.nbytes], data
    import numpy as np

    code = value.dtype.str[1:]
    if code not in _ITEM_BYTES or value.ndim > _MAX_DIMENSIONS:
        raise InvalidArgument(
            f"Array {name!r} of type {value.dtype} with {value.ndim} dimensions cannot be stored; "
            f"use one of {', '.join(_ITEM_BYTES)} with at most {_MAX_DIMENSIONS} dimensions."
        )
    plain = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    return code, list(value.shape), plain.reshape(-1).view(np.uint8).data


def _checksums(data: memoryview) -> bytes:
    crcs = (_crc32(data[i : i + _BLOCK]) for i in range(0, data.nbytes, _BLOCK))
    return b"".join(crc.to_bytes(4, "little") for crc in crcs)


def _directory(
    kind: str,
    version: int,
    meta: Mapping[str, JSON],
    packed: Mapping[str, tuple[str, list[int], memoryview]],
) -> bytes:
    import json

    entries = [[name, code, shape] for name, (code, shape, _) in packed.items()]
    document = {"kind": kind, "version": version, "meta": dict(meta), "arrays": entries}
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"Segment meta must be plain JSON: {error}") from error


def _place(start: int, sizes: list[int]) -> tuple[list[int], int]:
    """Where each array begins, one after the other, and where the last one ends."""
    offsets, end = [], start
    for size in sizes:
        begin = -(-end // _ALIGN) * _ALIGN
        offsets.append(begin)
        end = begin + size
    return offsets, end


class _Entry:
    """An array's place; ``checked`` has a flag for each of its blocks, ``whole`` is for all."""

    __slots__ = ("checked", "code", "first_crc", "nbytes", "offset", "shape", "whole")

    def __init__(
        self, code: str, shape: tuple[int, ...], offset: int, nbytes: int, first_crc: int
    ) -> None:
        self.code = code
        self.shape = shape
        self.offset = offset
        self.nbytes = nbytes
        self.first_crc = first_crc
        self.checked = bytearray(-(-nbytes // _BLOCK))
        self.whole = False


class SegmentFile:
    """An open container. Arrays are read-only views of the bytes or of the mapped file.

    Safe to share between threads. ``name`` is what errors call the segment.
    """

    __slots__ = ("_body", "_crcs", "_data", "_entries", "kind", "meta", "name", "version")

    kind: str
    version: int
    meta: Mapping[str, JSON]

    def __init__(self, data: memoryview, name: str) -> None:
        self.name = name
        self._data = data
        directory, self._crcs = self._head()
        try:
            self._entries = self._read_directory(read_json(directory.decode()))
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
            raise self._corrupt(f"its directory cannot be read ({error})") from error

    @classmethod
    def open(cls, source: bytes | memoryview | str | PathLike[str], *, name: str) -> SegmentFile:
        """Open bytes, or map a file; ``StoreNotFound`` when the file is gone."""
        if isinstance(source, bytes | bytearray | memoryview):
            return cls(memoryview(source).toreadonly().cast("B"), name)
        return cls(_map(source, name), name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays, in the order they were written."""
        return tuple(self._entries)

    @property
    def nbytes(self) -> int:
        """The size of the whole container."""
        return self._data.nbytes

    @property
    def contents(self) -> memoryview:
        """The whole container, not verified: to be written elsewhere as it is."""
        return self._data

    @property
    def checksum(self) -> int:
        """The CRC-32 of header, directory and block checksums: it tells two segments apart."""
        return self.checksum_in(self._data)

    @staticmethod
    def checksum_in(header: bytes | memoryview) -> int:
        """The checksum of the container that begins with these bytes."""
        return _number(header, _CRC_AT, 4)

    def array(self, name: str) -> NDArray[Any]:
        """The whole array, every block verified."""
        entry = self._entry(name)
        self._check(name, entry, 0, entry.nbytes)
        array = self._view(entry).reshape(entry.shape)
        if entry.code == "b1" and not entry.whole:
            self._check_booleans(name, array)
        entry.whole = True
        return array

    def window(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Rows ``[start, stop)`` of an array, cut at its end; only their blocks are verified."""
        entry = self._entry(name)
        array = self._view(entry).reshape(entry.shape)[max(start, 0) : max(stop, 0)]
        stride = entry.nbytes // entry.shape[0] if entry.shape and entry.shape[0] else 0
        first = max(start, 0) * stride
        if array.nbytes:
            self._check(name, entry, first, first + array.nbytes)
        return array

    def blob(self, name: str) -> memoryview:
        """The raw bytes of an array, every block verified; needs no NumPy."""
        entry = self._entry(name)
        self._check(name, entry, 0, entry.nbytes)
        return self._data[entry.offset : entry.offset + entry.nbytes]

    def part(self, name: str, start: int, stop: int) -> memoryview:
        """Bytes [start, stop) of an array, their blocks verified; needs no NumPy."""
        entry = self._entry(name)
        if not 0 <= start <= stop <= entry.nbytes:
            raise self._corrupt(f"an offset lies beyond array {name!r}")
        self._check(name, entry, start, stop)
        return self._data[entry.offset + start : entry.offset + stop]

    def unverified(self, name: str) -> tuple[memoryview, memoryview]:
        """An array's raw bytes, and the CRC-32 (uint32) of each started 64 KiB of them, for a
        reader that verifies what it touches."""
        entry = self._entry(name)
        data = self._data[entry.offset : entry.offset + entry.nbytes]
        return data, self._crcs[4 * entry.first_crc : 4 * (entry.first_crc + len(entry.checked))]

    def ask(self, *names: str) -> None:
        """Have the system read these arrays of a mapped file, all at once, without waiting."""
        mapped = self._data.obj
        if not isinstance(mapped, mmap.mmap) or not hasattr(mmap, "MADV_WILLNEED"):
            return
        for name in names:
            entry = self._entry(name)
            begin = entry.offset // mmap.PAGESIZE * mmap.PAGESIZE
            if entry.nbytes:
                size = entry.offset + entry.nbytes - begin
                mapped.madvise(mmap.MADV_WILLNEED, begin, size)

    def verify(self) -> None:
        """Check every block of every array again, and that the bytes between arrays are zero."""
        end = self._body
        for name, entry in self._entries.items():
            if any(self._data[end : entry.offset]):
                raise self._corrupt(f"the bytes before array {name!r} are not zero")
            end = entry.offset + entry.nbytes
            entry.checked[:] = bytes(len(entry.checked))
            entry.whole = False
            self.array(name)

    def _head(self) -> tuple[bytes, memoryview]:
        data = self._data
        if data.nbytes < _HEADER:
            raise self._corrupt(f"it has {data.nbytes} bytes, fewer than its header")
        if bytes(data[: len(_MAGIC)]) != _MAGIC:
            raise self._corrupt("it does not begin like a segment")
        version, crc = _number(data, 8, 4), self.checksum
        size, directory, checksums = (_number(data, at, 8) for at in (16, 24, 32))
        if version > _CONTAINER:
            raise StoreCorrupt(
                f"Segment {self.name} has container version {version}, newer than {_CONTAINER}; "
                "open it with a newer Pincite."
            )
        start = _HEADER + directory + checksums
        if size != data.nbytes or start > size or checksums % 4:
            raise self._corrupt(f"it has {data.nbytes} bytes where {size} were written")
        if crc != zlib.crc32(data[_CRC_AT + 4 : start], _crc_before(data)):
            raise self._corrupt("its header or directory fails the checksum")
        middle, self._body = _HEADER + directory, start
        return bytes(data[_HEADER:middle]), data[middle:start]

    def _read_directory(self, document: dict[str, JSON]) -> dict[str, _Entry]:
        self.kind, self.version = _text(document["kind"]), _natural(document["version"])
        meta = document["meta"]
        if not isinstance(meta, dict):
            raise TypeError("meta is not a mapping")
        self.meta = meta
        entries: dict[str, _Entry] = {}
        end, crcs = self._body, 0
        for name, code, shape in document["arrays"]:
            dimensions = tuple(_natural(n) for n in shape)
            entry = _entry(_text(code), dimensions, end, self._data.nbytes, crcs)
            if _text(name) in entries:
                raise ValueError(f"array {name!r} twice")
            entries[name] = entry
            end = entry.offset + entry.nbytes
            crcs += len(entry.checked)
        if end != self._data.nbytes or crcs * 4 != self._crcs.nbytes:
            raise ValueError("arrays and size disagree")
        return entries

    def _entry(self, name: str) -> _Entry:
        try:
            return self._entries[name]
        except KeyError:
            raise self._corrupt(f"it has no array {name!r}") from None

    def _check(self, name: str, entry: _Entry, start: int, stop: int) -> None:
        """Verify the blocks that hold bytes ``[start, stop)`` of the array."""
        if entry.whole:
            return
        for block in range(start // _BLOCK, -(-stop // _BLOCK)):
            if entry.checked[block]:
                continue
            begin = entry.offset + block * _BLOCK
            end = min(begin + _BLOCK, entry.offset + entry.nbytes)
            stored = _number(self._crcs, 4 * (entry.first_crc + block), 4)
            if _crc32(self._data[begin:end]) != stored:
                raise self._corrupt(f"block {block} of array {name!r} fails its checksum")
            entry.checked[block] = 1

    def _check_booleans(self, name: str, array: NDArray[np.bool_]) -> None:
        import numpy as np

        if array.size and int(array.reshape(-1).view(np.uint8).max()) > 1:
            raise self._corrupt(f"array {name!r} holds bytes that are not booleans")

    def _view(self, entry: _Entry) -> NDArray[Any]:
        import numpy as np

        code = "u1" if entry.code == _BLOB else entry.code
        count = entry.nbytes // _ITEM_BYTES[entry.code]
        if not count:
            return np.frombuffer(b"", dtype=f"<{code}")
        array = np.frombuffer(self._data, dtype=f"<{code}", count=count, offset=entry.offset)
        if sys.byteorder == "big":
            array = array.astype(array.dtype.newbyteorder("="))
            array.flags.writeable = False
        return array

    def _corrupt(self, what: str) -> StoreCorrupt:
        return StoreCorrupt(f"Segment {self.name} is damaged: {what}. {MEND_SEGMENT}")


def _map(path: str | PathLike[str], name: str) -> memoryview:
    try:
        with open(path, "rb") as file:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except FileNotFoundError as error:
        raise StoreNotFound(f"Segment {name} is gone: {path}; open the store again.") from error
    except ValueError as error:  # mmap refuses an empty file
        raise StoreCorrupt(
            f"Segment {name} is damaged: the file is empty. {MEND_SEGMENT}"
        ) from error


def _crc32(block: memoryview) -> int:
    module = native()
    checksum = zlib.crc32 if module is None else getattr(module, "crc32", zlib.crc32)
    return int(checksum(block))


def _header(crc: int, *sizes: int) -> bytes:
    numbers = (_CONTAINER.to_bytes(4, "little"), crc.to_bytes(4, "little"))
    return b"".join((_MAGIC, *numbers, *(n.to_bytes(8, "little") for n in sizes))).ljust(
        _HEADER, b"\0"
    )


def _number(data: bytes | memoryview, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _crc_before(data: memoryview) -> int:
    """The CRC of the header up to its CRC field, with that field as zero."""
    return zlib.crc32(bytes(4), zlib.crc32(data[:_CRC_AT]))


def _entry(code: str, shape: tuple[int, ...], end: int, size: int, first_crc: int) -> _Entry:
    if code not in _ITEM_BYTES or len(shape) > _MAX_DIMENSIONS:
        raise ValueError(f"type {code!r} with {len(shape)} dimensions")
    items = extent = 1
    for n in shape:
        items *= n
        extent *= n or 1
    if extent > 1 << 59:  # NumPy limits empty arrays too
        raise ValueError("an array too large")
    nbytes = items * _ITEM_BYTES[code]
    offset = -(-end // _ALIGN) * _ALIGN
    if offset + nbytes > size:
        raise ValueError("an array beyond the end")
    return _Entry(code, shape, offset, nbytes, first_crc)


def _text(value: JSON) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _natural(value: JSON) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is not a count")
    return value
