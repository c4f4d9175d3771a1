"""From the bytes of a file to Markdown with geometry; start at ``registry.parse``."""
