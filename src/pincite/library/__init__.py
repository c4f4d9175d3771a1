"""One collection of documents: add, search, locate, remove."""

from pincite.library.aio import AsyncLibrary, open_async
from pincite.library.core import Library
from pincite.library.opening import open_library

__all__ = ["AsyncLibrary", "Library", "open_async", "open_library"]
