"""Network file systems, whose locks and mapped files cannot be trusted by a writer."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pincite.errors import StoreUnavailable

__all__ = ["file_system_of", "refuse_network"]

_NETWORK: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "davfs"),
        *("ceph", "glusterfs", "lustre", "beegfs", "gpfs", "orangefs", "ocfs2"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone"),
        *("fuse.gcsfuse", "fuse.davfs2"),
    }
)
_MOUNTS: Final = Path("/proc/mounts")


def refuse_network(path: Path, *, mounts: Path = _MOUNTS) -> None:
    """Raise ``StoreUnavailable`` when ``path`` is on a network file system.

    ``mounts`` lists mounts as Linux does; where there is no such file nothing is refused.
    """
    kind = file_system_of(path, mounts=mounts)
    if kind in _NETWORK:
        raise StoreUnavailable(
            f"{path} is on a network file system ({kind}), where a store cannot be written safely;"
            " write to a local folder and copy a backup there. Reading works."
        )


def file_system_of(path: Path, *, mounts: Path = _MOUNTS) -> str:
    """The type of the file system that holds ``path``, "" when unknown."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    wanted, found, kind = path.resolve(), Path(), ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_unescaped(fields[1]))
        # The last mount on a point is the one that is seen.
        if wanted.is_relative_to(point) and len(point.parts) >= len(found.parts):
            found, kind = point, fields[2]
    return kind


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
