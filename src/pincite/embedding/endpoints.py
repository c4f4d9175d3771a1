"""Endpoint files: what an embedding endpoint is, as ``<provider>--<name>.toml`` says it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pincite.errors import InvalidArgument

__all__ = ["KINDS", "Endpoint", "endpoint_files", "read_endpoint"]

KINDS = ("openai", "ollama", "sentence-transformers")
"""The kinds of endpoint that a file can describe."""

_URLS = {"openai": "https://api.openai.com/v1", "ollama": "http://127.0.0.1:11434"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One embedding endpoint; every attribute but ``name`` is a key of its file.

    ``dimension`` and ``max_tokens`` are 0 when not known; ``api_key_env`` is the name of the
    environment variable that holds the key, never the key; ``timeout`` is in seconds.
    ``normalize`` scales the vectors to length one.
    """

    name: str
    kind: str
    model: str
    url: str = ""
    dimension: int = 0
    max_tokens: int = 0
    query_prefix: str = ""
    passage_prefix: str = ""
    api_key_env: str = ""
    batch_size: int = 64
    timeout: float = 60.0
    attempts: int = 4
    normalize: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidArgument(
                f"Endpoint {self.name}: kind = {self.kind!r} is unknown; use {', '.join(KINDS)}."
            )
        if not self.model.strip():
            raise InvalidArgument(f"Endpoint {self.name} names no model; set model.")
        if self.batch_size < 1 or self.attempts < 1 or not 0 < self.timeout < float("inf"):
            raise InvalidArgument(
                f"Endpoint {self.name}: batch_size and attempts must be at least 1 and timeout "
                "above 0; correct them."
            )
        if self.dimension < 0 or self.max_tokens < 0:
            raise InvalidArgument(
                f"Endpoint {self.name}: dimension and max_tokens must not be negative; "
                "leave them out when they are not known."
            )
        if not self.url:
            object.__setattr__(self, "url", _URLS.get(self.kind, ""))


def endpoint_files(roots: Iterable[Path]) -> dict[str, Path]:
    """The endpoint files of the folders by endpoint name; an earlier folder wins.

    Raises ``InvalidArgument`` for a root that is not a folder.
    """
    found: dict[str, Path] = {}
    for root in roots:
        if not root.is_dir():
            raise InvalidArgument(f"{root} is not a folder of endpoint files; create or drop it.")
        for path in sorted(root.glob("?*--?*.toml")):
            found.setdefault(path.stem, path)
    return found


def read_endpoint(path: Path) -> Endpoint:
    """The endpoint that a file describes; raises ``InvalidArgument`` naming the file and key."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidArgument(f"Cannot read {path}: {error}; write it as UTF-8 TOML.") from error
    return Endpoint(name=path.stem, **_checked(values, path))


def _checked(values: Mapping[str, Any], path: Path) -> dict[str, Any]:
    known = {field.name: str(field.type) for field in fields(Endpoint) if field.name != "name"}
    for key, value in values.items():
        if key not in known:
            raise InvalidArgument(f"{path}: unknown key {key!r}; use {', '.join(known)}.")
        if type(value).__name__ not in (known[key], *(["int"] if known[key] == "float" else [])):
            raise InvalidArgument(f"{path}: {key} = {value!r} must be of type {known[key]}.")
    for key in ("kind", "model"):
        if key not in values:
            raise InvalidArgument(f"{path} does not set {key!r}; add it.")
    return dict(values)
