"""The page on embedding: its example runs, its endpoint file is read."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from pincite.embedding.endpoints import Endpoint, read_endpoint

PAGE = Path(__file__).resolve().parents[3] / "docs" / "embedding.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)

    exec(compile(block, "embedding.md", "exec"), {})


def test_the_endpoint_file_names_every_key_with_its_default(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "openai--small.toml"
    path.write_text(block, encoding="utf-8")
    endpoint = read_endpoint(path)
    plain = Endpoint("openai--small", "openai", endpoint.model)

    assert [field.name for field in fields(Endpoint) if f"\n{field.name} = " not in block] == [
        "name"
    ]
    chosen = {"dimension", "max_tokens", "api_key_env"}
    assert {
        field.name
        for field in fields(Endpoint)
        if getattr(endpoint, field.name) != getattr(plain, field.name)
    } == chosen
