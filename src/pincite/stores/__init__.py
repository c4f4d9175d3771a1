"""Ports and adapters: whole documents in, ranked chunks out. Import from the modules."""
