"""The nouns: frozen values without I/O. Import them from their modules or from ``pincite``."""
