"""One collection of documents: add, search, locate, remove.

``core.Library`` is made by ``opening.open_library``; ``aio.AsyncLibrary`` by ``aio.open_async``.
"""
