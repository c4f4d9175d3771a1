"""The command line: parse arguments, call the library, draw what it says."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``pincite`` with ``arguments`` (default: those of the process) and exit.

    Exit status: 0 done, 1 done in part (a file failed, a document was not there), 2 not done
    (usage, a bad filter, a store that is missing), 130 interrupted, 141 the reader went away.
    """
    _open_closed_streams()
    try:
        from pincite.cli.app import app

        app(args=None if arguments is None else list(arguments), prog_name="pincite")
    except KeyboardInterrupt:
        sys.exit(130)


def _open_closed_streams() -> None:
    """A standard stream that the caller closed reads nothing and swallows what is written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
