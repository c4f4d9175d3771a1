"""The forms in which an embedding model is named, and one parser for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pincite.errors import InvalidArgument

__all__ = ["BUNDLED", "MODEL_FORMS", "ModelName", "parse_model"]

MODEL_FORMS = (
    "an endpoint name such as local--static",
    "ollama:<model>[:tag]",
    "custom:<model>:<url>",
    "huggingface:<model>:local",
)
"""What ``parse_model`` reads, for messages and help texts."""

BUNDLED = {
    "pincite-static-256": "local--static",
    "wordllama-l2-supercat-256": "local--wordllama",
}
"""The static models by name, and the endpoint that serves each. A collection keeps the name."""

_ENDPOINT = re.compile(r"[A-Za-z0-9][\w.-]*?--[\w.-]+")
_CUSTOM = re.compile(r"(?P<model>\S+?):(?P<url>https?://[^\s/]\S*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model name: an ``endpoint``, or a ``model`` of a kind (with the ``url`` of its
    OpenAI-compatible host when the kind is "custom")."""

    kind: Literal["endpoint", "ollama", "custom", "huggingface"]
    model: str
    url: str = ""

    @property
    def endpoint(self) -> str:
        """The name under which ``InferenceClient`` serves the model; it parses to this again."""
        if self.kind == "huggingface":
            return f"huggingface:{self.model}:local"
        return ":".join(part for part in (self._scheme, self.model, self.url) if part)

    @property
    def _scheme(self) -> str:
        return "" if self.kind == "endpoint" else self.kind


def parse_model(text: str) -> ModelName:
    """Read one of ``MODEL_FORMS``; raises ``InvalidArgument`` (a ``ValueError``) listing them."""
    stripped = text.strip()
    if _ENDPOINT.fullmatch(stripped):
        return ModelName("endpoint", stripped)
    scheme, _, rest = stripped.partition(":")
    parsed = _parse_scheme(scheme.lower(), rest)
    if parsed is None:
        raise InvalidArgument(
            f"{text!r} names no embedding model; give {', '.join(MODEL_FORMS[:-1])} "
            f"or {MODEL_FORMS[-1]}."
        )
    return parsed


def _parse_scheme(scheme: str, rest: str) -> ModelName | None:
    if scheme == "ollama" and re.fullmatch(r"[^\s:]+(:[^\s:]+)?", rest):
        return ModelName("ollama", rest)
    if scheme == "custom" and (match := _CUSTOM.fullmatch(rest)):
        return ModelName("custom", match["model"], match["url"].rstrip("/"))
    if scheme == "huggingface" and (match := re.fullmatch(r"([^\s:]+):local", rest)):
        return ModelName("huggingface", match[1])
    return None
