"""Filling in the model card: what the weights are made of."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import export
import sources
import texts
from fit import Settings

__all__ = ["write"]

LIBRARIES = ("torch", "numpy", "safetensors", "tokenizers")
TEMPLATE = Path(__file__).with_name("MODEL_CARD.template.md")


def write(data: Path, versions: dict[str, str], digest: str, settings: Settings) -> None:
    """Write ``MODEL_CARD.md`` beside the weights."""
    harvest = json.loads((data / "corpus.json").read_text(encoding="utf-8"))
    rows = [
        f"| {group} | {name} | {versions[name]} | {_licences(data, name)} |"
        for group, names in sources.GROUPS.items()
        for name in names
    ]
    rows += [
        f"| chunks | {name} | {facts['version']} | {_licences(data, name)} |"
        for name, facts in harvest["packages"].items()
    ]
    text = TEMPLATE.read_text(encoding="utf-8")
    for mark, value in {
        "SHA256": digest,
        "CHUNKS_SHA256": harvest["sha256"],
        "TAUGHT": f"{sum(texts.TAUGHT.values()):,}",
        "TAUGHT_GROUPS": ", ".join(f"{n:,} of {name}" for name, n in texts.TAUGHT.items()),
        "SETTINGS": ", ".join(f"{name} {value}" for name, value in asdict(settings).items()),
        "VERSIONS": ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        "PACKAGES": "\n".join(rows),
    }.items():
        text = text.replace(f"{{{mark}}}", value)
    (export.MODEL / "MODEL_CARD.md").write_text(text, encoding="utf-8")


def _licences(data: Path, package: str) -> str:
    return ", ".join(sources.licences(data / "packages", package)) or "as its source package"
