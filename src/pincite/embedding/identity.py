"""Whether two embedders give vectors that can be compared."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pincite.model.documents import ModelIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pincite.embedding.embedder import Embedder

__all__ = [
    "PROBES",
    "explain_difference",
    "identify",
    "identify_sync",
    "model_identity",
    "same_model",
]

PROBES = (
    "The committee published its annual report on river pollution in March.",
    "def parse(line): return [int(part) for part in line.split(',')]",
    "Der Vertrag endet am 31. Dezember, sofern er nicht verlängert wird.",
)
"""The sentences whose vectors identify a model. They never change: stored identities hold them."""

_LEAST_COSINE = 0.999
_LENGTH_TOLERANCE = 1e-3


async def identify(embedder: Embedder) -> ModelIdentity:
    """The identity of the embedder's model, by one call of its client."""
    return model_identity(
        embedder.model_name, embedder.prefixes, await embedder.embed_texts(PROBES)
    )


def identify_sync(embedder: Embedder) -> ModelIdentity:
    """``identify`` without an event loop; see ``Embedder.supports_sync``."""
    return model_identity(embedder.model_name, embedder.prefixes, embedder.encode_texts(PROBES))


def same_model(a: ModelIdentity, b: ModelIdentity) -> bool:
    """Whether vectors of the two models can be compared: equal name, dimension, normalisation and
    prefixes, and cosine >= .999 between their vectors of each probe. The host does not count.
    An identity without probe vectors is compared by the rest."""
    return next(_differences(a, b), None) is None


def explain_difference(a: ModelIdentity, b: ModelIdentity) -> str:
    """What differs between two models, naming both as ``name/dimension``; "" when they are one."""
    differences = list(_differences(a, b))
    if not differences:
        return ""
    return f"{a.name}/{a.dimension} and {b.name}/{b.dimension} differ in {', '.join(differences)}"


def model_identity(
    name: str, prefixes: tuple[str, str], probe: NDArray[np.float32]
) -> ModelIdentity:
    """The identity of a model by its vectors of ``PROBES``, embedded as passages."""
    query, passage = prefixes
    lengths = [math.sqrt(math.fsum(x * x for x in row)) for row in probe.tolist()]
    return ModelIdentity(
        name=name,
        dimension=probe.shape[1],
        normalized=all(abs(length - 1) <= _LENGTH_TOLERANCE for length in lengths),
        query_prefix=query,
        passage_prefix=passage,
        probe=tuple(tuple(row) for row in probe.tolist()),
    )


def _differences(a: ModelIdentity, b: ModelIdentity) -> Iterator[str]:
    if a.name != b.name:
        yield "name"
    if a.dimension != b.dimension:
        yield "dimension"
    if a.normalized != b.normalized:
        yield "normalisation"
    if (a.query_prefix, a.passage_prefix) != (b.query_prefix, b.passage_prefix):
        yield "prefixes"
    if a.dimension == b.dimension and a.probe and b.probe and _drift(a, b):
        yield "their vectors of the same sentences"


def _drift(a: ModelIdentity, b: ModelIdentity) -> bool:
    pairs = zip(a.probe, b.probe, strict=False)
    return len(a.probe) != len(b.probe) or any(_cosine(x, y) < _LEAST_COSINE for x, y in pairs)


def _cosine(x: Sequence[float], y: Sequence[float]) -> float:
    lengths = math.sqrt(math.fsum(v * v for v in x)) * math.sqrt(math.fsum(v * v for v in y))
    dot = math.fsum(v * w for v, w in zip(x, y, strict=True))
    return dot / lengths if lengths else float(list(x) == list(y))
