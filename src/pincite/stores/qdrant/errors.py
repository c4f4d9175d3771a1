"""Qdrant's errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from pincite.errors import (
    InvalidArgument,
    PinciteError,
    StoreLocked,
    StoreNotFound,
    StoreUnavailable,
)

__all__ = ["translated"]

_REFUSED: Final = frozenset({400, 409, 413, 422})


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Raise every error of the client as one of ours that names ``place``."""
    try:
        yield
    except PinciteError:
        raise
    except UnexpectedResponse as error:
        raise _answered(place, error) from error
    except (ApiException, QdrantException, httpx.HTTPError, OSError) as error:
        raise StoreUnavailable(
            f"{place} gave no answer ({error}); check that it runs, and try again."
        ) from error
    except RuntimeError as error:
        # The local mode says this of a folder that another client holds.
        if "already accessed" not in str(error):
            raise StoreUnavailable(f"{place} cannot be used: {error}. Open it anew.") from error
        raise StoreLocked(
            f"{place} is in use by another program; close it there, or run a Qdrant server."
        ) from error
    except ValueError as error:
        if "not found" in str(error):
            raise StoreNotFound(
                f"{place} lacks a collection of this store ({error}); write to it first."
            ) from error
        raise InvalidArgument(f"{place} refused the call: {error}. Change the call.") from error


def _answered(place: str, error: UnexpectedResponse) -> PinciteError:
    status = error.status_code
    told = error.content.decode("utf-8", "replace")[:300] if error.content else error.reason_phrase
    if status == 404:
        return StoreNotFound(f"{place} lacks a collection of this store; write to it first.")
    if status in (401, 403):
        return StoreUnavailable(f"{place} refused access ({status}); check the API key.")
    if status in _REFUSED:
        return InvalidArgument(f"{place} refused the call: {told}. Change the call.")
    return StoreUnavailable(f"{place} answered {status}: {told}. Try again.")
