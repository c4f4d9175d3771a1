"""The keyword engine: formulas, segments of postings, exact search."""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from pincite.bm25.index import BM25Index

__all__ = ["BM25Index"]


def __getattr__(name: str) -> Any:
    # Loaded when it is asked for: a store that searches needs the engine, not the index.
    if name == "BM25Index":
        from pincite.bm25.index import BM25Index

        return BM25Index
    raise AttributeError(f"module 'pincite.bm25' has no attribute {name!r}")
