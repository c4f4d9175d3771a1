"""Chroma: vectors and chunks in Chroma, keywords in an index of our own beside it."""

from __future__ import annotations

from typing import Final

__all__ = ["CHROMA_HNSW_SPACE"]

CHROMA_HNSW_SPACE: Final = "cosine"
"""The distance of new collections, so that scores are cosines; an old one keeps its own."""
