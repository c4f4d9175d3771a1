"""From an exception to one clear line and an exit status."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

from click.exceptions import Exit

from pincite.cli.terminal import OutputClosed, escape, paint, silence, warn
from pincite.errors import PinciteError

__all__ = ["guarded"]

_Args = ParamSpec("_Args")


def guarded(command: Callable[_Args, int]) -> Callable[_Args, None]:
    """A command whose result is its exit status and whose exceptions become one line.

    ``PINCITE_DEBUG=1`` lets exceptions through with their traceback.
    """

    @functools.wraps(command)
    def run(*args: _Args.args, **kwargs: _Args.kwargs) -> None:
        raise Exit(_status(functools.partial(command, *args, **kwargs)))

    return run


def _status(call: Callable[[], int]) -> int:
    try:
        return call()
    except KeyboardInterrupt:
        warn("\npincite: interrupted.")
        return 130
    except OutputClosed:
        silence(sys.stdout)
        return 141
    except Exception as error:  # a traceback is for us, one line is for the user
        if os.environ.get("PINCITE_DEBUG"):
            raise
        warn(f"{paint('pincite:', 'bold red', sys.stderr)} {escape(_message(error), block=True)}")
        return 2


def _message(error: Exception) -> str:
    if isinstance(error, PinciteError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        place = f" ({error.filename})" if error.filename else ""
        return f"{error.strerror}{place}; check the path and its permissions."
    kind = type(error).__name__
    return f"unexpected {kind}: {error}; run again with PINCITE_DEBUG=1 and report the traceback."
