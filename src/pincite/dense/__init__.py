"""The vector engine: coded segments, exact scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pincite.dense.index import DenseIndex

__all__ = ["DenseIndex"]


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: a store that searches needs the engine, not the index.
    if name == "DenseIndex":
        from pincite.dense.index import DenseIndex

        return DenseIndex
    raise AttributeError(f"module 'pincite.dense' has no attribute {name!r}")
