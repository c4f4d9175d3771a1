"""Chroma: vectors and chunks in Chroma, keywords in an index of our own beside it."""
