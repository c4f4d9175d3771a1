"""What the crash tests went through, written down where ``PINCITE_SOAK_JSON`` says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Summary:
    """Counts of one run of these tests, by what was counted."""

    def __init__(self) -> None:
        self.figures: dict[str, Any] = {}

    def add(self, name: str, count: float = 1) -> None:
        self.figures[name] = self.figures.get(name, 0) + count

    def most(self, name: str, value: float) -> None:
        self.figures[name] = max(self.figures.get(name, value), value)


@pytest.fixture(scope="session")
def summary() -> Iterator[Summary]:
    made = Summary()
    yield made
    if path := os.environ.get("PINCITE_SOAK_JSON"):
        body = {"cores": os.cpu_count(), **made.figures}
        Path(path).write_text(json.dumps(body, indent=1) + "\n", encoding="utf-8")
