"""Chunks as bytes: what ``BM25Retriever`` keeps beside its index."""

from __future__ import annotations

from pincite.bm25.records import decode_chunk, encode_chunk

__all__ = ["decode_chunk", "encode_chunk"]
