"""Every error that Pincite raises on purpose.

    PinciteError
    ├── InvalidQueryError    (ValueError)         the call was rejected: target, filter, argument
    ├── InvalidArgument      (ValueError)         an option or a value that cannot be used
    ├── UnsupportedFormat    (ValueError)         no parser for this kind of file
    ├── ParseError           (ValueError)         a file that its parser cannot read
    ├── EmbeddingError       (ValueError)         vectors missing, empty, uneven or not finite
    ├── CollectionMismatch   (ValueError)         another embedding model than the collection's
    ├── MissingExtra         (ImportError)        an optional dependency is not installed
    ├── StoreNotFound        (FileNotFoundError)  nothing is stored there
    ├── StoreUnavailable     (ConnectionError)    no answer this time; the only error retried
    ├── StoreLocked                               another writer holds the store
    ├── StoreCorrupt                              stored bytes fail their checks
    └── Unconfigured                              the call needs something that was not set up

A message says what is wrong and ends with what to do.
"""

from __future__ import annotations

__all__ = [
    "CollectionMismatch",
    "EmbeddingError",
    "InvalidArgument",
    "InvalidQueryError",
    "MissingExtra",
    "ParseError",
    "PinciteError",
    "StoreCorrupt",
    "StoreLocked",
    "StoreNotFound",
    "StoreUnavailable",
    "Unconfigured",
    "UnsupportedFormat",
]

MEND_SEGMENT = (
    "Run `pincite doctor --repair` on the store that holds it, or restore a backup; an index of "
    "its own can also be built anew."
)
"""What to do about a damaged segment."""


class PinciteError(Exception):
    """Base of every error in this module."""


class InvalidQueryError(PinciteError, ValueError):
    """The store answered and rejected the call; change the call.

    ``field`` names the offending filter field, or is None when there is none.
    """

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class InvalidArgument(PinciteError, ValueError):
    """An argument or a value that cannot be used as given."""


class UnsupportedFormat(PinciteError, ValueError):
    """No parser reads this kind of file; the message names the supported formats."""


class ParseError(PinciteError, ValueError):
    """A file that its parser cannot read, or that holds no text."""


class EmbeddingError(PinciteError, ValueError):
    """Vectors that are missing, empty, of uneven length or not finite."""


class CollectionMismatch(PinciteError, ValueError):
    """The collection was written with another embedding model."""


class MissingExtra(PinciteError, ImportError):
    """An optional dependency is not installed; the message holds the install command."""


class StoreNotFound(PinciteError, FileNotFoundError):
    """Nothing is stored at the place given."""


class StoreUnavailable(PinciteError, ConnectionError):
    """The backend gave no answer this time; the same call can succeed later."""


class StoreLocked(PinciteError):
    """Another writer holds the store."""


class StoreCorrupt(PinciteError):
    """Stored bytes fail their checks; the message names the file."""


class Unconfigured(PinciteError):
    """The call needs an embedder, a backend or a parameter that was not set up."""
