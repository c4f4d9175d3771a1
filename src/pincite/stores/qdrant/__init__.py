"""Qdrant: vectors, terms and chunks in one collection for each dimension."""
