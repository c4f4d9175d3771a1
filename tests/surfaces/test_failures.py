"""Exceptions become one line and an exit status."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.exceptions import Exit

from pincite.cli.failures import guarded
from pincite.cli.terminal import OutputClosed
from pincite.errors import StoreLocked


def raising(error: BaseException) -> Callable[[], None]:
    def command() -> int:
        raise error

    return guarded(command)


@pytest.mark.parametrize(
    ("error", "status", "shown"),
    [
        (StoreLocked("held by 12\x1b; wait."), 2, "pincite: held by 12\\x1b; wait.\n"),
        (
            PermissionError(13, "Permission denied", "a.md"),
            2,
            "pincite: Permission denied (a.md); check the path and its permissions.\n",
        ),
        (
            KeyError("x"),
            2,
            (
                "pincite: unexpected KeyError: 'x'; run again with PINCITE_DEBUG=1 and report the "
                "traceback.\n"
            ),
        ),
        (KeyboardInterrupt(), 130, "\npincite: interrupted.\n"),
    ],
)
def test_one_line(
    error: BaseException,
    status: int,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("PINCITE_DEBUG", raising=False)
    with pytest.raises(Exit) as exit_:
        raising(error)()

    assert exit_.value.exit_code == status
    assert capsys.readouterr() == ("", shown)


def test_debug_lets_the_traceback_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_DEBUG", "1")
    with pytest.raises(StoreLocked):
        raising(StoreLocked("x"))()


def test_a_closed_output_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pincite.cli.failures.silence", lambda stream: None)
    with pytest.raises(Exit) as exit_:
        raising(OutputClosed())()

    assert exit_.value.exit_code == 141
    assert capsys.readouterr() == ("", "")
