"""Checks and scaling of the vectors that an endpoint returned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.floating] | Sequence[Sequence[float]]

__all__ = ["check_vectors", "unit_rows"]

_ADVICE = "check the endpoint and its model"


def check_vectors(vectors: Vectors, count: int) -> NDArray[np.float32]:
    """The vectors as a float32 array of shape (count, dimension); (0, 0) for [].

    Raises ``EmbeddingError`` when there are not ``count`` of them, or when they are empty, differ
    in length or hold a value that is not a finite float32.
    """
    import numpy as np

    if len(vectors) != count:
        raise EmbeddingError(
            f"The embedding endpoint returned {len(vectors)} vectors for {count} texts; {_ADVICE}."
        )
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            array = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(_unreadable(vectors)) from error
    if count == 0:
        return array.reshape(0, array.shape[1] if array.ndim == 2 else 0)
    if array.ndim != 2:
        raise EmbeddingError(_unreadable(vectors))
    if array.shape[1] == 0:
        raise EmbeddingError(f"The embedding endpoint returned empty vectors; {_ADVICE}.")
    if not np.isfinite(array).all():
        raise EmbeddingError(
            f"The embedding endpoint returned a value that is not finite; {_ADVICE}."
        )
    return array


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows scaled to length one; a zero row stays zero."""
    import numpy as np

    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    scaled = np.zeros_like(vectors)
    np.divide(vectors, norms, out=scaled, where=norms > 0)
    return scaled


def _unreadable(vectors: Vectors) -> str:
    lengths = {len(row) for row in vectors if hasattr(row, "__len__")}
    if len(lengths) > 1:
        return (
            "The embedding endpoint returned vectors that differ in length "
            f"({min(lengths)} to {max(lengths)}); {_ADVICE}."
        )
    return f"The embedding endpoint returned something that is not a list of vectors; {_ADVICE}."
