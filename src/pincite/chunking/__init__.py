"""Chunkers: from Markdown with geometry to passages with offsets, pages and rectangles."""
