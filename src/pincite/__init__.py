"""Pincite: hybrid retrieval over your own documents, cited to file, page and rectangle."""
