"""The page on chunking: its example runs."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "chunking.md"


def test_the_example_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)

    exec(compile(block, "chunking.md", "exec"), {})
