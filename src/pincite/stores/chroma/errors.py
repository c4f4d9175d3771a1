"""Chroma's errors as ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import chromadb.errors as chroma
import httpx

from pincite.errors import (
    InvalidArgument,
    PinciteError,
    StoreCorrupt,
    StoreNotFound,
    StoreUnavailable,
)

__all__ = ["translated"]

_REFUSED = (
    chroma.InvalidArgumentError,
    chroma.InvalidDimensionException,
    chroma.InvalidUUIDError,
    chroma.BatchSizeExceededError,
    chroma.DuplicateIDError,
    chroma.IDAlreadyExistsError,
    chroma.UniqueConstraintError,
)
_AWAY = (chroma.RateLimitError, chroma.QuotaError, chroma.InternalError)


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise every error of the client as one of ours that names ``place``."""
    try:
        yield
    except PinciteError:
        raise
    except (chroma.ChromaAuthError, chroma.AuthorizationError) as error:
        raise StoreUnavailable(f"{place} refused access ({error}); check the token.") from error
    except chroma.NotFoundError as error:
        raise StoreNotFound(
            f"{place} lacks a collection of this store ({error}); write to it first."
        ) from error
    except (chroma.VersionMismatchError, chroma.InvalidHTTPVersion) as error:
        raise StoreCorrupt(
            f"{place} speaks another version of Chroma ({error}); use one that fits the client."
        ) from error
    except _REFUSED as error:
        raise InvalidArgument(f"{place} refused the call: {error}. Change the call.") from error
    except _AWAY as error:
        raise StoreUnavailable(
            f"{place} could not answer: {error}. Check the disk and the server, and try again."
        ) from error
    except (chroma.ChromaError, httpx.HTTPError, ConnectionError, sqlite3.Error) as error:
        raise StoreUnavailable(
            f"{place} gave no answer ({error}); check that it runs, and try again."
        ) from error
    except ValueError as error:
        # The HTTP client says this, and nothing else, when no server answers.
        if "connect" not in str(error).lower():
            raise InvalidArgument(f"{place} refused the call: {error}. Change the call.") from error
        raise StoreUnavailable(
            f"{place} gave no answer ({error}); check that it runs, and try again."
        ) from error
