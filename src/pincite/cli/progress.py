"""A long run, told as it goes: a bar for people, lines of JSON for programs."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from pincite.cli.terminal import cut, escape, is_terminal, terminal_width, text_width, write_json

if TYPE_CHECKING:
    from pincite.model.documents import Progress

__all__ = ["ProgressBar", "ProgressLines"]

_BAR = 24
_EVERY = 0.1  # seconds between two drawings


class ProgressLines:
    """One JSON object a line on standard output for each step."""

    def __call__(self, progress: Progress) -> None:
        write_json(
            {
                "event": "progress",
                "stage": progress.stage,
                "done": progress.done,
                "total": progress.total,
                "source": progress.source,
                "chunks": progress.chunks,
            },
            indent=None,
        )

    def clear(self) -> None:
        """Lines stay."""


class ProgressBar:
    """A bar with rate and ETA on standard error; nothing when that is not a terminal."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._stage = ""
        self._drawn_at = 0.0
        self._active = is_terminal(sys.stderr)
        self._drawn = False

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage:
            self._started = now if self._stage else self._started
            self._stage, self._drawn_at = progress.stage, 0.0
        last = progress.done >= progress.total
        if self._active and (last or now - self._drawn_at >= _EVERY):
            self._drawn_at = now
            self._put(_line(progress, now - self._started, terminal_width() - 1))

    def clear(self) -> None:
        """Take the bar away, so that the report starts on a clean line."""
        if self._drawn:
            self._put("")

    def _put(self, line: str) -> None:
        sys.stderr.write(f"\r\x1b[2K{line}")
        sys.stderr.flush()
        self._drawn = bool(line)


def _line(progress: Progress, seconds: float, width: int) -> str:
    total = max(progress.total, 1)
    share = min(progress.done / total, 1.0)
    filled = int(share * _BAR)
    rate = progress.done / seconds if seconds > 0 else 0.0
    bar = "#" * filled + "-" * (_BAR - filled)
    head = f"{progress.stage} [{bar}] {progress.done}/{progress.total} {share:4.0%}"
    head += f"  {rate:.1f}/s  ETA {_clock(progress, rate)}  "
    name = escape(progress.source.rsplit("/", 1)[-1])
    return cut(head + cut(name, max(width - text_width(head), 1)), width)


def _clock(progress: Progress, rate: float) -> str:
    if rate <= 0:
        return "-:--"
    left = round(max(progress.total - progress.done, 0) / rate)
    hours, rest = divmod(left, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
